"""Runs on sets of items: files of sets, tables with a column of sets, what is refused and in which words."""

from __future__ import annotations

import gzip
import json

import polars as pl
import pytest

import oracle_sets
from tablecloak import pipeline
from tablecloak.errors import CloakError, DataError, GoalNotMet, IncompatibleChoice, Infeasible, PolicyError
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.pipeline import anonymize
from tablecloak.policy.load import load_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.release.shapes.sets.verify import verify_sets
from tablecloak.sample import baskets, write_baskets

TREE = {"*": ["Food", "Drinks"], "Food": ["brød", "äpple", "日本"], "Drinks": ["beer", "wine", "=milk"]}
HIERARCHY = {"kind": "tree", "tree": {"Food": TREE["Food"], "Drinks": TREE["Drinks"]}}
SETS = [["brød", "beer"], ["brød", "wine"], ["äpple", "beer", "=milk"], ["日本"], [], ["äpple", "beer"],
        ["wine", "brød"], ["=milk"]]  # fmt: skip


def policy_of(folder, **changes):
    """A policy on a file of sets in a folder."""
    (folder / "sets.txt").write_text("".join("|".join(items) + "\n" for items in SETS), encoding="utf-8")
    plain = {
        "input": {"path": "sets.txt", "format": "sets"},
        "columns": {"items": {"role": "items", "hierarchy": HIERARCHY}},
        "goals": [{"model": "km-anonymity", "k": 2, "m": 2}],
        "output": {"path": "out.txt", "report": "report.html", "certificate": "cert.json", "recoding": "recoding.json"},
        **changes,
    }
    return Policy.model_validate(plain).at(folder)


def lines(path):
    return [line.split("|") if line else [] for line in path.read_text(encoding="utf-8").splitlines()]


def unprotected(sets):
    return [[item.removeprefix("'") for item in items] for items in sets]


def test_a_file_of_sets_becomes_a_safe_file_of_sets(tmp_path):
    report = pipeline.run(policy_of(tmp_path, output={"path": "out.txt", "order": "keep"}))
    shown = unprotected(lines(tmp_path / "out.txt"))
    assert oracle_sets.is_km_anonymous(shown, 2, 2)
    assert oracle_sets.covers(SETS, shown, TREE)
    assert report.verification.holds
    assert report.verification.covers is True
    assert report.verification.n_rows == len(SETS)
    assert report.verification.verdicts[0].achieved == oracle_sets.max_k(shown, 2)
    cut = {item: next(n for n in one if item in oracle_sets.leaves_of(TREE, n))
           for items, one in zip(SETS, shown, strict=True) for item in items}  # fmt: skip
    assert report.loss == pytest.approx(oracle_sets.loss(SETS, cut, TREE, "*"))


def test_what_a_spreadsheet_would_execute_is_protected_and_read_back(tmp_path):
    policy = policy_of(tmp_path, goals=[{"model": "km-anonymity", "k": 2, "m": 1}])
    pipeline.run(policy)
    assert "'=milk" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert pipeline.verify(tmp_path / "out.txt", policy, original=tmp_path / "sets.txt").covers is True


def test_counts_before_and_after_are_those_of_plain_counting(tmp_path):
    found = pipeline.run(policy_of(tmp_path)).to_dict()["itemsets"]
    before, after = oracle_sets.supports(SETS, 2), oracle_sets.supports(lines(tmp_path / "out.txt"), 2)
    for counted, said in ((before, found["before"]), (after, found["after"])):
        by_size = [[n for s, n in counted.items() if len(s) == size] for size in (1, 2)]
        assert said["itemsets"] == [len(c) for c in by_size]
        assert said["lowest"] == [min(c) for c in by_size]
        assert said["rare"] == [sum(n < 2 for n in c) for c in by_size]
    assert found["occurrences"] == sum(map(len, SETS))
    assert sum(level["occurrences"] for level in found["levels"]) == sum(map(len, SETS))
    assert found["empty"] == 1


def test_the_certificate_holds_and_breaks_with_the_file(tmp_path):
    pipeline.run(policy_of(tmp_path))
    certified = pipeline.verify_certificate(
        tmp_path / "out.txt", tmp_path / "cert.json", original=tmp_path / "sets.txt"
    )
    assert certified.holds
    assert all(check.ok for check in certified.checks)
    text = (tmp_path / "out.txt").read_text(encoding="utf-8")
    (tmp_path / "out.txt").write_text(text.replace("Food", "Drinks", 1), encoding="utf-8")
    assert not pipeline.verify_certificate(tmp_path / "out.txt", tmp_path / "cert.json").holds


def test_report_and_recoding_say_what_happened(tmp_path):
    pipeline.run(policy_of(tmp_path))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Ready to hand over: every goal holds" in page
    assert all(f"<h2>{title}</h2>" in page for title in ("Goals", "Risk", "Utility", "What changed", "Method"))
    stored = json.loads((tmp_path / "recoding.json").read_text(encoding="utf-8"))
    assert set(stored["items"]) == {*TREE["Food"], *TREE["Drinks"]}
    assert (tmp_path / "recoding.json").stat().st_mode & 0o077 == 0


def test_a_stored_recoding_is_applied_to_new_sets(tmp_path):
    pipeline.run(policy_of(tmp_path))
    (tmp_path / "new.txt").write_text("brød|beer\n" * 3, encoding="utf-8")
    report = pipeline.apply_file(tmp_path / "recoding.json", tmp_path / "new.txt", tmp_path / "new-out.txt")
    assert report.verification.holds
    items = json.loads((tmp_path / "recoding.json").read_text(encoding="utf-8"))["items"]
    assert sorted(lines(tmp_path / "new-out.txt")[0]) == sorted({items["brød"], items["beer"]})
    (tmp_path / "one.txt").write_text("brød\n", encoding="utf-8")
    with pytest.raises(GoalNotMet):
        pipeline.apply_file(tmp_path / "recoding.json", tmp_path / "one.txt", tmp_path / "one-out.txt")
    assert not (tmp_path / "one-out.txt").exists()


@pytest.mark.parametrize("order", ["content", "random", "keep"])
def test_a_table_with_a_column_of_sets(tmp_path, order):
    rows = [
        {"name": f"n{i}", "bought": ";".join(items), "year": 2000 + i % 2, "note": "x"} for i, items in enumerate(SETS)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "table.csv")
    columns = {"name": {"role": "identifier", "transform": "star"}, "bought": {"role": "items", "hierarchy": HIERARCHY},
               "year": "keep"}  # fmt: skip
    output = {"path": "out.csv", "report": "r.html", "order": order}
    policy = policy_of(tmp_path, input="table.csv", columns=columns, output=output)
    report = pipeline.run(policy)
    release = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert release.columns == ["name", "bought", "year"]
    assert set(release["name"]) == {"*"}
    shown = [cell.removeprefix("'").split(";") if cell else [] for cell in release["bought"].fill_null("")]
    assert oracle_sets.is_km_anonymous(shown, 2, 2)
    assert report.verification.covers is True
    assert any("protected by no goal: year" in note for note in report.to_dict()["notes"])
    again = pipeline.verify(tmp_path / "out.csv", policy, original=tmp_path / "table.csv")
    assert again.covers is True
    if order == "keep":
        assert oracle_sets.covers(SETS, shown, TREE)


def test_numbers_are_items_too(tmp_path):
    (tmp_path / "table.csv").write_text("id,paid\n1,10\n2,11\n3,30\n4,31\n", encoding="utf-8")
    columns = {"paid": {"role": "items", "type": "integer", "separator": "+",
                        "hierarchy": {"kind": "intervals", "width": 10, "closed": True}}}  # fmt: skip
    policy = policy_of(tmp_path, input="table.csv", columns=columns, output="out.csv")
    pipeline.run(policy)
    assert pl.read_csv(tmp_path / "out.csv")["paid"].to_list() == ["[10, 19]", "[10, 19]", "[30, 39]", "[30, 39]"]


def test_multisets_keep_copies():
    tree = {"kind": "tree", "tree": {"A": ["a1", "a2"], "B": ["b1"]}}
    policy = Policy(
        columns={"items": {"role": "items", "hierarchy": tree}}, goals=[KmAnonymity(k=2, m=2, multiset=True)]
    )
    release = anonymize([["a1", "a1", "b1"], ["a1", "a2", "b1"], ["b1"]], policy)
    assert release.frame["items"].to_list() == ["b1", "b1;A;A", "b1;A;A"]


def test_a_tampered_release_is_found():
    policy = Policy(columns={"items": {"role": "items", "hierarchy": HIERARCHY}}, goals=[KmAnonymity(k=2, m=1)])
    before = pl.DataFrame({"items": ["brød;beer", "brød;wine"]})
    good = pl.DataFrame({"items": ["Food;Drinks", "Food;Drinks"]})
    assert verify_sets(good, policy, original=before).holds
    for cells, words in (
        (["Food;Drinks", "Food;Drinks;äpple"], "cover no item"),
        (["Food", "Food"], "are missing"),
        (["Food;Drinks", "Food;Wein"], "no labels of the hierarchy"),
    ):
        found = verify_sets(pl.DataFrame({"items": cells}), policy, original=before)
        assert found.covers is False
        assert any(words in note for note in found.notes)
    assert not verify_sets(pl.DataFrame({"items": ["Food", "Drinks"]}), policy).holds


def test_a_frame_can_be_released_and_written(tmp_path):
    policy = Policy(columns={"items": {"role": "items", "hierarchy": HIERARCHY}}, goals=[KmAnonymity(k=2)])
    release = pipeline.anonymize(pl.DataFrame({"items": [";".join(items) for items in SETS]}), policy)
    release.write(tmp_path / "r.csv", report=tmp_path / "r.html", certificate=tmp_path / "c.json")
    assert pipeline.verify(pl.read_csv(tmp_path / "r.csv"), policy).holds
    assert (tmp_path / "r.html").exists()
    assert release.measure("gcp")[0].value == release.report.loss


def test_compressed_files_and_other_line_ends(tmp_path):
    policy = policy_of(tmp_path, input={"path": "sets.txt.gz", "format": "sets"}, output="out.txt.gz")
    text = "\ufeff" + "\r\n".join("|".join(items) for items in SETS)  # the last line without its end
    (tmp_path / "sets.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert pipeline.run(policy).verification.n_rows == len(SETS)
    assert len(gzip.decompress((tmp_path / "out.txt.gz").read_bytes()).decode().splitlines()) == len(SETS)


def test_another_delimiter_and_another_format(tmp_path):
    pipeline.run(policy_of(tmp_path, output={"path": "out.txt", "delimiter": "\t"}))
    assert "\t" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    pipeline.run(policy_of(tmp_path, output="out.parquet"))
    assert pl.read_parquet(tmp_path / "out.parquet").columns == ["items"]


def test_folders_and_patterns_of_files(tmp_path):
    policy = policy_of(tmp_path, input={"path": "many/*.txt", "format": "sets", "delimiter": "|"}, output="out/")
    text = (tmp_path / "sets.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "many").mkdir()
    for number, part in enumerate((text[:3], text[3:])):
        (tmp_path / f"many/{number}.txt").write_text("".join(part), encoding="utf-8")
    assert pipeline.run(policy).verification.n_rows == len(SETS)
    found = pipeline.verify(tmp_path / "out", policy, original=tmp_path / "sets.txt")
    assert found.holds
    assert found.covers is True


def test_repeated_items_count_once_and_are_mentioned():
    policy = Policy(columns={"items": {"role": "items", "hierarchy": HIERARCHY}}, goals=[KmAnonymity(k=2)])
    release = anonymize([["beer", "beer"], ["beer"]], policy)
    assert release.frame["items"].to_list() == ["beer", "beer"]
    assert any("stood twice" in note for note in release.report.notes)


def test_without_a_hierarchy_rare_items_are_left_out_if_allowed():
    columns = {"items": {"role": "items"}}
    sets = [["a", "b"]] * 9 + [["a", "c"]]
    strict = anonymize(sets, Policy(columns=columns, goals=[KmAnonymity(k=2)]))
    assert set(strict.frame["items"]) == {"*"}
    policy = Policy(columns=columns, goals=[KmAnonymity(k=2)], algorithm={"kind": "apriori", "suppression_limit": 0.05})
    release = anonymize(sets, policy)
    assert release.frame["items"].to_list() == ["a"] + ["a;b"] * 9
    assert release.report.verification.itemsets["left_out"] == 1


REFUSED = {
    "quasi": ({"columns": {"items": {"role": "items", "hierarchy": HIERARCHY}, "zip": "quasi"}}, "zip"),
    "no-goal": ({"goals": [{"model": "k-anonymity", "k": 2}]}, "no goal speaks of them"),
    "more-goals": (
        {"goals": [{"model": "km-anonymity", "k": 2}, {"model": "k-anonymity", "k": 2}]}, "judges classes of records"),
    "two-goals": (
        {"goals": [{"model": "km-anonymity", "k": 2}, {"model": "km-anonymity", "k": 3, "m": 1}]}, "several goals"),
    "algorithm": ({"algorithm": "mondrian"}, "mondrian forms classes"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused_in_words(tmp_path, case):
    changes, words = REFUSED[case]
    with pytest.raises((IncompatibleChoice, DataError), match=words) as error:
        pipeline.run(policy_of(tmp_path, **changes))
    assert error.value.hint
    assert not (tmp_path / "out.txt").exists()


def test_goals_and_columns_of_sets_need_each_other(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    policy = policy_of(tmp_path, input="t.csv", columns={"a": "quasi"})
    with pytest.raises(IncompatibleChoice, match="no column has the role items"):
        pipeline.check(policy)
    with pytest.raises(IncompatibleChoice, match="sets of items have no lattice"):
        pipeline.explore(policy)
    columns = {"a": {"role": "items"}, "b": {"role": "items"}}
    with pytest.raises(IncompatibleChoice, match="one can be protected"):
        pipeline.check(policy_of(tmp_path, input="t.csv", columns=columns))
    columns = {"a": {"role": "items"}, "b": {"role": "person"}}
    with pytest.raises(IncompatibleChoice, match="every record is counted as a person"):
        pipeline.check(policy_of(tmp_path, input="t.csv", columns=columns))


def test_items_missing_in_the_hierarchy_are_counted_and_not_named(tmp_path):
    (tmp_path / "h.csv").write_text("".join(f"{item};Food;*\n" for item in ("brød", "beer")), encoding="utf-8")
    policy = policy_of(tmp_path, columns={"items": {"role": "items", "hierarchy": "h.csv"}})
    (tmp_path / "sets.txt").write_text("brød|CANARY\nCANARY|beer|canary2\n", encoding="utf-8")
    with pytest.raises(DataError, match="2 different items") as error:
        pipeline.run(policy)
    assert "3 of 5" in error.value.message
    assert "canary" not in json.dumps(error.value.to_dict()).lower()
    assert "h.csv" in error.value.location


def test_labels_that_hold_the_separator_are_refused(tmp_path):
    hierarchy = {"kind": "tree", "tree": {"Food|Drinks": [*TREE["Food"], *TREE["Drinks"]]}}
    with pytest.raises(DataError, match="hold the separator"):
        pipeline.run(policy_of(tmp_path, columns={"items": {"role": "items", "hierarchy": hierarchy}}))


def test_an_impossible_goal_names_the_best_and_what_to_relax(tmp_path):
    with pytest.raises(Infeasible, match="best: 7, with all items as one") as error:
        pipeline.run(policy_of(tmp_path, goals=[{"model": "km-anonymity", "k": 100, "m": 2}]))
    assert error.value.best == [{"model": "km-anonymity", "achieved": 7, "required": 100}]
    assert error.value.relaxations[0]["change"].startswith("goals.0.k: 7")
    assert list(tmp_path.glob("out*")) == []


def test_the_relaxations_offered_work(tmp_path):
    pipeline.run(policy_of(tmp_path, goals=[{"model": "km-anonymity", "k": 7, "m": 2}]))
    algorithm = {"kind": "apriori", "suppression_limit": 1.0}
    goals = [{"model": "km-anonymity", "k": 100, "m": 2}]
    report = pipeline.run(policy_of(tmp_path, goals=goals, algorithm=algorithm), force=True)
    assert report.verification.holds
    assert report.loss == 1


def test_long_sets_are_refused_with_the_cost(tmp_path):
    goals = [{"model": "km-anonymity", "k": 2, "m": 8}]
    policy = policy_of(tmp_path, columns={"items": {"role": "items"}}, goals=goals)
    line = "|".join(f"i{n}" for n in range(200))
    (tmp_path / "sets.txt").write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(IncompatibleChoice, match="up to 200 items") as error:
        pipeline.run(policy)
    assert "m: 4" in error.value.hint


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"a|\xff\xfeb\n" * 3, None), (b"a\x00b\n", "NUL"), (b"", "empty")],
    ids=["bytes", "nul", "empty"],
)
def test_files_that_are_no_text_are_refused(tmp_path, content, words):
    policy = policy_of(tmp_path, columns={"items": {"role": "items"}},
                       input={"path": "sets.txt", "format": "sets", "encoding": "utf-8"})  # fmt: skip
    (tmp_path / "sets.txt").write_bytes(content)
    with pytest.raises(CloakError, match=words or "not utf-8 text"):
        pipeline.run(policy)


def test_only_sets_have_a_separator():
    with pytest.raises(PolicyError, match="only sets of items have one"):
        parse_policy("columns: {a: {role: quasi, separator: ','}}\ngoals: [{model: k-anonymity, k: 2}]",
                     name="p", base=__import__("pathlib").Path())  # fmt: skip


def test_engines_that_do_not_count_sets_are_refused(tmp_path):
    with pytest.raises(IncompatibleChoice, match="not counted by duckdb"):
        pipeline.run(policy_of(tmp_path), engine="duckdb")


def test_a_dry_run_writes_nothing(tmp_path):
    report = pipeline.run(policy_of(tmp_path), dry_run=True)
    assert report.verification.holds
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sets.txt"]


def test_check_says_what_a_run_will_lose(tmp_path):
    policy = policy_of(tmp_path)
    found = pipeline.check(policy)
    assert (found.rows, found.feasible) == (len(SETS), True)
    assert found.loss == pipeline.run(policy).loss


@pytest.mark.slow
def test_the_sample_is_the_same_every_time_and_has_rare_pairs(tmp_path):
    assert baskets(50, seed=3) == baskets(50, seed=3)
    assert baskets(50, seed=3) != baskets(50, seed=4)
    everything = baskets()
    assert oracle_sets.max_k(everything, 2) == 1
    policy = load_policy(write_baskets(tmp_path))
    pipeline.run(policy)
    lines = (tmp_path / "out/baskets-release.txt").read_text().splitlines()
    shown = [line.split(";") if line else [] for line in lines]
    assert oracle_sets.is_km_anonymous(shown, 5, 2)


def test_commands_for_tables_say_so(tmp_path):
    with pytest.raises(IncompatibleChoice, match="sets of items have no lattice"):
        pipeline.explore(policy_of(tmp_path))


def test_an_item_that_is_called_as_the_root_is_found_again_in_any_order(tmp_path):
    # `*` is an item here, and in a release it might be anything
    sets = ["*;cat", "*;dog", "cat", "dog", "*", ""]
    (tmp_path / "in.sets").write_text("".join(f"{one}\n" for one in sets))
    policy = Policy.model_validate(
        {
            "input": {"path": "in.sets", "delimiter": ";"},
            "columns": {"items": {"role": "items"}},
            "goals": [{"model": "km-anonymity", "k": 2, "m": 1}],
            "output": "out.sets",
        }
    ).at(tmp_path)
    pipeline.run(policy)
    out = tmp_path / "out.sets"
    assert pipeline.verify(out, policy, original=tmp_path / "in.sets").covers is True
    out.write_text(out.read_text().replace("\ncat\n", "\ndog\n"))
    assert pipeline.verify(out, policy, original=tmp_path / "in.sets").covers is False
