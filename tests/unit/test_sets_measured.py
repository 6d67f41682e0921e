"""Sets compared, attacked and measured: every number is that of the slow judge of sets."""

from __future__ import annotations

import random

import polars as pl
import pytest

import oracle_sets
import tablecloak as tc
from tablecloak.data import itemsets
from tablecloak.errors import CloakError, IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.measure.attack import attack
from tablecloak.measure.compare import compare
from tablecloak.measure.sets import expose_sets
from tablecloak.measure.two_releases import contrast_files, judge_files
from tablecloak.policy.schema import Policy

TREE = {"*": ["drinks", "food"], "drinks": ["alcohol", "soft"], "alcohol": ["beer", "wine", "gin"],
        "soft": ["milk", "tea"], "food": ["bread", "salt", "egg"]}  # fmt: skip
NESTED = {"drinks": {"alcohol": TREE["alcohol"], "soft": TREE["soft"]}, "food": TREE["food"]}
GOODS = oracle_sets.leaves_of(TREE, "*")


def policy_of(k=3, m=2, *, multiset=False, limit=0.0, **more):
    return Policy.model_validate(
        {
            "columns": {"items": {"role": "items", "hierarchy": {"kind": "tree", "tree": NESTED}}},
            "goals": [{"model": "km-anonymity", "k": k, "m": m, "multiset": multiset}],
            "algorithm": {"kind": "apriori", "suppression_limit": limit},
            **more,
        }
    )


def random_sets(rng, n=30, longest=5):
    weights = [8, 4, 1, 9, 2, 7, 3, 1]
    return [list(dict.fromkeys(rng.choices(GOODS, weights, k=rng.randint(0, longest)))) for _ in range(n)]


def frame_of(sets):
    return pl.DataFrame({"items": [";".join(items) for items in sets]}, schema={"items": pl.String})


def sets_of(frame):
    return [cell.split(";") if cell else [] for cell in frame["items"]]


def known(report, side="after"):
    (result,) = report.after if side == "after" else report.before
    return result.finding.details["by_known_items"]


def is_told(found, left, k):
    """Whether risks by number of items known are those of the candidates of every record."""
    for risk, row in zip(found, left, strict=True):
        assert risk["least_candidates"] == min(row)
        assert risk["average_candidates"] == pytest.approx(sum(row) / len(row))
        assert risk["unique"] == row.count(1)
        assert risk["below_k"] == sum(n < k for n in row)
        assert risk["highest"] == 1 / min(row)
        assert risk["average"] == pytest.approx(sum(1 / n for n in row) / len(row))


@pytest.mark.parametrize("multiset", [False, True])
def test_an_attack_on_published_labels_alone_counts_who_holds_the_rarest(multiset):
    rng = random.Random(1)
    for _ in range(15):
        sets, m = random_sets(rng), rng.randint(1, 3)
        if multiset:
            sets = [items + items[:1] for items in sets]
        found = attack(None, frame_of(sets), policy=policy_of(m=m, multiset=multiset))
        is_told(known(found), oracle_sets.candidates(sets, m, multiset=multiset), 3)
        assert found.before is None
        assert found.after[0].finding.n_victims == sum(
            n < 3 for n in oracle_sets.candidates(sets, m, multiset=multiset)[-1]
        )


def test_an_attack_beside_the_original_counts_records_that_can_hold_what_is_known():
    rng = random.Random(2)
    for _ in range(15):
        sets, m = random_sets(rng), rng.randint(1, 3)
        policy = policy_of(k=2, m=m)
        release = tc.anonymize(sets, policy).frame
        found = attack(frame_of(sets), release, policy=policy)
        is_told(known(found), oracle_sets.possible(sets, sets_of(release), m, TREE), 2)
        is_told(known(found, "before"), oracle_sets.candidates(sets, m), 2)
        assert found.after[0].finding.n_victims == 0
        assert known(found) == known(attack(None, release, policy=policy))


def test_labels_of_other_tools_may_cover_each_other():
    rng = random.Random(3)
    for _ in range(25):
        sets, m = random_sets(rng, n=12), rng.randint(1, 3)
        up = {child: parent for parent, children in TREE.items() for child in children}

        def raised(item, rng=rng, up=up):
            for _ in range(rng.choice([0, 0, 1, 2])):
                item = up.get(item, item)
            return item

        shown = [list(dict.fromkeys(raised(item) for item in items)) for items in sets]
        rng.shuffle(shown)
        found = attack(frame_of(sets), frame_of(shown), policy=policy_of(m=m))
        is_told(known(found), oracle_sets.possible(sets, shown, m, TREE), 3)


def test_a_rare_item_is_a_victim_with_its_place_in_the_original():
    sets = [["milk", "bread"]] * 5 + [["milk", "gin"]]
    found = attack(frame_of(sets), frame_of(sets[::-1]), policy=policy_of(k=3, m=1)).after[0].finding
    assert (found.highest, found.n_victims, found.worst[0], found.rows_of) == (1.0, 1, 6, "original")
    alone = attack(None, frame_of(sets[::-1]), policy=policy_of(k=3, m=1)).after[0].finding
    assert (alone.worst[0], alone.rows_of) == (1, "release")


def test_attacks_on_columns_say_that_there_are_none():
    (found,) = attack(None, frame_of([["milk"]]), policy=policy_of(), kinds=["prosecutor"]).after
    assert found.reason == "it looks at columns of records, and this is a release of sets of items"


def test_attacks_on_sets_say_that_there_are_none():
    table = pl.DataFrame({"age": [1, 1, 2]})
    (found,) = attack(None, table, quasi=["age"], kinds=["itemset-linkage"]).after
    assert found.reason == "the release has no sets of items"
    assert "itemset-linkage" not in {a.attack for a in attack(None, table, quasi=["age"]).after}


def test_too_many_itemsets_are_a_reason(monkeypatch):
    monkeypatch.setattr(itemsets, "MOST_ITEMSETS", 1)
    (found,) = attack(None, frame_of([["milk", "tea"]]), policy=policy_of()).after
    assert "itemsets to count" in found.reason


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("multiset", [False, True])
def test_the_loss_of_a_comparison_is_that_of_the_run(limit, multiset):
    rng = random.Random(4)
    n_left_out = 0
    for _ in range(25):
        sets = random_sets(rng)
        if multiset:
            sets = [items + items[:1] for items in sets]
        policy = policy_of(k=rng.randint(2, 6), m=rng.randint(1, 3), multiset=multiset, limit=limit)
        try:
            release = tc.anonymize(sets, policy)
        except CloakError:
            continue
        told = compare(frame_of(sets), release.frame, policy=policy)
        became = told.became
        n_all = sum(len(items) for items in sets)
        assert became.n_as_they_are + became.n_generalised + became.n_left_out == n_all
        assert told.loss == pytest.approx(release.report.loss, abs=1e-12)
        n_left_out += became.n_left_out
    assert (n_left_out > 0) == (limit > 0)


def test_a_comparison_counts_sets_items_and_sizes():
    sets = [["milk", "gin"], ["milk", "beer"], ["milk", "wine"], [], ["bread", "milk", "tea"]]
    shown = [["milk", "alcohol"], ["milk", "alcohol"], ["milk", "alcohol"], [], ["milk"]]
    found = compare(frame_of(sets), frame_of(shown), policy=policy_of(k=3, m=2)).to_dict()
    assert found["before"] | {"risk": None} == {
        "records": 5, "different": 5, "empty": 1, "items": 6, "occurrences": 9, "average_size": 9 / 5, "longest": 3,
        "risk": None,
    }  # fmt: skip
    assert found["after"]["different"] == 3
    assert found["occurrences"] == {"as_they_are": 4, "generalised": 3, "left_out": 2}
    # alcohol has 3 of 8 leaves; bread and tea lose all
    assert found["loss"] == pytest.approx((3 * 3 / 8 + 2) / 9)
    # shares of beer, wine, gin, milk, tea, bread: 1 1 1 4 1 1 of 9 became 1 1 1 4 0 0 of 7
    assert found["distances"]["l1"] == pytest.approx(3 * (1 / 7 - 1 / 9) + (4 / 7 - 4 / 9) + 2 / 9)
    assert found["distances"]["kl"] is None
    is_told(found["before"]["risk"], oracle_sets.candidates(sets, 2), 3)
    is_told(found["after"]["risk"], oracle_sets.candidates(shown, 2), 3)


def test_items_may_be_left_out_below_a_label_of_others():
    sets = [["gin", "milk"], ["beer", "milk"], ["wine", "tea"], ["wine", "gin"]]
    shown = [["alcohol"], [], ["alcohol", "milk"], ["alcohol", "milk"]]
    told = compare(frame_of(sets), frame_of(shown), policy=policy_of())
    assert told.became.to_dict() == {"as_they_are": 2, "generalised": 3, "left_out": 3}
    assert told.loss == pytest.approx((3 * 3 / 8 + 3) / 8)
    assert any("one way that fits was taken" in note for note in told.notes)
    found = attack(frame_of(sets), frame_of(shown), policy=policy_of())
    assert known(found) == known(attack(None, frame_of(shown), policy=policy_of()))
    fewer = compare(frame_of(sets), frame_of(shown[:3]), policy=policy_of())
    assert any("it is not known which" in note for note in fewer.notes)


def test_a_release_of_nothing_but_empty_sets_tells_nothing():
    sets, nothing = frame_of([["milk", "gin"], ["milk"], []]), frame_of([[], [], []])
    told = compare(sets, nothing, policy=policy_of())
    assert (told.loss, told.became.n_left_out, told.distances) == (1.0, 3, None)
    for original in (sets, None):
        found = attack(original, nothing, policy=policy_of())
        assert known(found)[-1]["least_candidates"] == 3
    empty = compare(nothing, nothing, policy=policy_of())
    assert (empty.loss, empty.after.n_items) == (0.0, 0)


def test_copies_are_not_told_apart_where_labels_cover_each_other():
    sets = [["gin", "gin"], ["gin"], ["beer", "gin"]]
    shown = [["alcohol", "alcohol"], ["gin"], ["alcohol", "gin"]]
    found = attack(frame_of(sets), frame_of(shown), policy=policy_of(multiset=True))
    is_told(known(found), oracle_sets.possible(sets, shown, 2, TREE), 3)


def test_a_comparison_says_what_it_cannot_tell():
    sets = [["milk", "gin"], ["gin"]]
    told = compare(frame_of(sets), frame_of([["milk", "alcohol"], ["gin", "caviar"]]), policy=policy_of())
    assert (told.loss, told.became) == (None, None)
    assert "1 published items are no labels of the hierarchy, and tell nothing of anybody" in told.notes
    assert any("cover each other" in note for note in told.notes)
    fewer = compare(frame_of(sets), frame_of([["milk", "tea"]]), policy=policy_of())
    assert "the release has 1 records and the original 2" in fewer.notes
    assert "1 labels are published of more records than have an item below them" in fewer.notes


def test_columns_beside_sets_are_compared():
    sets = frame_of([["milk"], ["gin"], ["milk"]]).with_columns(year=pl.Series([1, 2, 2]))
    policy = policy_of(others="keep")
    (column,) = compare(sets, sets.with_columns(year=pl.Series([1, 1, 2])), policy=policy).columns
    assert (column.name, column.distances.l1) == ("year", pytest.approx(2 / 3))


@pytest.fixture
def shop(tmp_path):
    """A file of sets with two releases of it, and their policy."""
    rng = random.Random(6)
    sets = random_sets(rng, n=60)
    (tmp_path / "sets.txt").write_text("".join("|".join(items) + "\n" for items in sets))
    policy = policy_of(k=3, m=2, input={"path": "sets.txt", "format": "sets"}, output="mild.txt").at(tmp_path)
    strict = policy_of(k=9, m=2, input={"path": "sets.txt", "format": "sets"}, output="strict.txt").at(tmp_path)
    losses = [tc.run(each).loss for each in (policy, strict)]
    return sets, policy, losses, tmp_path


def test_files_say_what_frames_say(shop):
    sets, policy, (loss, _), folder = shop
    judged = judge_files(folder / "sets.txt", folder / "mild.txt", policy=policy)
    assert judged.comparison.loss == pytest.approx(loss, abs=1e-12)
    shown = [line.split("|") if line else [] for line in (folder / "mild.txt").read_text().splitlines()]
    is_told(known(judged.attacks), oracle_sets.candidates(shown, 2), 3)
    alone = attack(None, folder / "mild.txt", policy=policy)
    assert known(alone) == known(judged.attacks)
    frames = attack(frame_of(sets), frame_of(shown), policy=policy_of(k=3, m=2))
    assert known(frames) == known(judged.attacks)
    for name, there in (("sets.txt", sets), ("mild.txt", shown)):
        told = expose_sets(Source.of(str(folder / name), format="sets"), "items", n_known=3).to_dict()
        is_told(told["risk"], oracle_sets.candidates(there, 3), 2)


def test_two_releases_of_sets_side_by_side(shop):
    _, policy, losses, folder = shop
    found = contrast_files(folder / "mild.txt", folder / "strict.txt", folder / "sets.txt", policy=policy)
    rows = {row.name: row for row in found.rows()}
    assert rows["detail lost in items"].values == pytest.approx(tuple(losses))
    assert rows["detail lost in items"].better == 0
    assert rows["highest risk"].better == 1
    assert rows["itemset-linkage"].better == 1


@pytest.mark.parametrize("option", [{"quasi": ["age"]}, {"target": "age"}])
def test_what_is_about_columns_is_refused_by_name(option):
    with pytest.raises(IncompatibleChoice, match=f"`{next(iter(option))}` speaks of columns of records"):
        compare(frame_of([["milk"]]), frame_of([["milk"]]), policy=policy_of(), **option)


def test_sets_in_a_table_have_a_separator(tmp_path):
    (tmp_path / "t.csv").write_text("who,bought\na,milk|gin\nb,milk\nc,\n")
    found = expose_sets(Source(tmp_path / "t.csv"), "bought", separator="|").to_dict()
    is_told(found["risk"], oracle_sets.candidates([["milk", "gin"], ["milk"], []], 2), 2)
    assert found["items_column"] == "bought"
