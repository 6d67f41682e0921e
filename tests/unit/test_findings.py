"""Findings: what besides the goals singles people out, each counted by hand or by a slow plain loop."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Coding, Recount
from tablecloak.engines.disk.recount import count_in_parts
from tablecloak.engines.equal_rows import Alike, count_alike
from tablecloak.errors import GoalNotMet, PolicyError
from tablecloak.findings.base import Change, Finding, Fix, Shown, Status, find_all, status_of
from tablecloak.io.frames import column_type
from tablecloak.models.base import Goal
from tablecloak.policy.load import parse_policy
from tablecloak.registry import known
from tablecloak.release.recount import evidence_of
from tablecloak.stats.classes import ClassStats


def policy(text: str, tmp_path=None):
    return parse_policy(text, name="policy.yaml", base=tmp_path)


def people(n: int = 400, **more) -> pl.DataFrame:
    """Many alike: age and sex make classes of 20, illness has four values everywhere."""
    rows = np.arange(n)
    columns = {
        "age": 20 + rows % 10,
        "sex": np.where(rows // 10 % 2 == 0, "f", "m"),
        "illness": np.array(list("abcd"))[rows // 20 % 4],
    }
    return pl.DataFrame({**columns, **more})


BASE = """
columns: {age: quasi, sex: quasi, illness: sensitive%s}
goals: [{model: k-anonymity, k: 5}, {model: l-diversity, l: 2, sensitive: illness}]
"""


def released(frame: pl.DataFrame, columns: str = "", more: str = ""):
    return pipeline.anonymize(frame, policy(BASE % columns + more)).report


def kinds(report) -> list[tuple[str, str | None]]:
    return [(f.kind, f.column) for f in report.findings]


# Counting ------------------------------------------------------------------------------------------------------------


def by_hand(frame: pl.DataFrame, columns) -> Alike:
    sizes = Counter(frame.select(columns).rows())
    alone = sum(size == 1 for size in sizes.values())
    return Alike(frame.height, alone, len(sizes), min(sizes.values(), default=0))


def odd_table(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    text = pl.Series("t", [None if i % 7 == 0 else f"v{i}" for i in rng.integers(0, 60, n)])
    return pl.DataFrame(
        {
            "t": text,
            "c": text.cast(pl.Categorical),
            "n": rng.integers(0, 40, n),
            "f": [None if i % 11 == 0 else float(i) for i in rng.integers(0, 50, n)],
            "b": rng.random(n) < 0.5,
            "d": pl.Series(rng.integers(0, 90, n).astype(np.int32)).cast(pl.Date),
        }
    )


SETS = (("t",), ("c",), ("c", "n"), ("f",), ("f", "b"), ("d", "t", "n"), ("t", "c", "n", "f", "b", "d"))


def test_records_that_stand_alone_are_those_counted_by_hand():
    frame = odd_table()
    assert count_alike(frame, SETS) == [by_hand(frame, columns) for columns in SETS]


@pytest.mark.parametrize("work", [10_000, 10**9])  # 7 parts, and one
def test_counting_in_parts_and_batches_finds_the_same(tmp_path, work):
    frame = odd_table()
    batches = (frame.slice(begin, 37) for begin in range(0, frame.height, 37))
    found = count_in_parts(batches, SETS, tmp_path, n_rows=frame.height, work=work)
    assert found == [by_hand(frame, columns) for columns in SETS]
    assert not list(tmp_path.rglob("*.keys"))


def test_sets_that_begin_alike_are_counted_like_others():
    frame, sets = odd_table(), (("t", "n"), ("t", "n", "f"), ("t", "n", "b", "d"), ("t", "n"))
    assert count_alike(frame, sets) == [by_hand(frame, columns) for columns in sets]


def test_a_value_in_another_column_is_another_record():
    frame = pl.DataFrame({"a": ["x", None], "b": [None, "x"]})
    assert count_alike(frame, [("a", "b")])[0].n_alone == 2


# Status --------------------------------------------------------------------------------------------------------------


def a_finding(accepted=None):
    return Finding(
        "kept-order", "rows are in order", Fix("mix them", (Change("output.order", "content"),)), None, 3, 1.0, accepted
    )


def test_status_follows_from_goals_and_findings():
    assert status_of([]) is Status.READY
    assert status_of([a_finding("known order")]) is Status.ACCEPTED
    assert status_of([a_finding("known order"), a_finding()]) is Status.FINDINGS


def test_a_release_that_nobody_looked_at_is_not_ready():
    found = pipeline.anonymize(people(), policy(BASE % "")).report.verification
    assert replace(found, handover=None).status is Status.UNCHECKED
    assert replace(found, covers=False).status is Status.FAILS


def test_a_finding_is_plain_data_for_machines():
    assert json.loads(json.dumps(a_finding().to_dict())) == {
        "kind": "kept-order", "column": None, "count": 3, "share": 1.0, "what": "rows are in order", "accepted": None,
        "fix": {"text": "mix them", "changes": [{"set": "output.order", "to": "content"}]},
    }  # fmt: skip


def test_a_release_without_other_columns_is_ready():
    report = released(people())
    assert report.status == "ready"
    assert report.to_dict()["findings"] == []


# Kinds ---------------------------------------------------------------------------------------------------------------


def test_every_registered_finding_has_a_test_of_its_own():
    names = {name.removeprefix("test_").partition("_finds_")[0] for name in globals() if "_finds_" in name}
    assert {kind.replace("-", "_") for kind in known("findings")} <= names


def test_standing_alone_finds_a_kept_column_in_which_everybody_differs():
    report = released(people(cost=np.arange(400) * 1.5), ", cost: keep")
    assert report.status == "findings"
    (found,) = report.findings
    assert (found.kind, found.column, found.count, found.share) == ("standing-alone", "cost", 400, 1.0)
    assert found.fix.to_dict()["changes"] == [{"set": "columns.cost.role", "to": "drop"}]


def test_its_fix_ends_the_finding():
    frame = people(cost=np.arange(400) * 1.5)
    assert released(frame, ", cost: drop").status == "ready"


def test_one_per_cent_of_records_may_stand_alone():
    # 4 of 400 records have a value of their own: exactly 1 %
    few = np.where(np.arange(400) < 4, np.arange(400) + 10, 0)
    more = np.where(np.arange(400) < 5, np.arange(400) + 10, 0)
    assert released(people(ward=few), ", ward: keep").status == "ready"
    assert kinds(released(people(ward=more), ", ward: keep")) == [("standing-alone", "ward")]


def test_columns_count_together_with_the_published_quasi_identifiers():
    # ten wards of 40 are nothing by themselves, and with age and sex leave records alone
    ward = np.arange(400) // 20 % 20 + 1
    frame = people(ward=ward)
    by_itself = Counter(ward.tolist())
    assert min(by_itself.values()) > 1
    release = pipeline.anonymize(frame, policy(BASE % ", ward: keep"))
    alone = sum(size == 1 for size in Counter(release.frame.select("age", "sex", "ward").rows()).values())
    assert alone == 400
    assert [(f.column, f.count) for f in release.report.findings] == [("ward", alone)]


def test_standing_alone_finds_columns_that_single_out_only_together():
    rows = np.arange(10_000)
    frame = people(10_000, a=rows // 20 % 23, b=rows // 460 % 23)
    report = released(frame, ", a: keep, b: keep")
    apart = [released(frame, f", {name}: keep").status for name in ("a", "b")]
    assert apart == ["ready", "ready"]
    (found,) = report.findings
    assert found.kind == "standing-alone"
    assert [c["set"] for c in found.fix.to_dict()["changes"]] == [f"columns.{found.column}.role"]


def test_columns_that_nobody_named_count_where_the_policy_keeps_them():
    report = released(people(visit=np.arange(400)), "", "others: keep\n")
    assert kinds(report) == [("standing-alone", "visit")]


def test_sensitive_columns_that_a_goal_protects_are_no_finding_and_count_for_the_second_attacker():
    frame = people(income=np.arange(400))
    text = BASE.replace("l: 2, sensitive: illness", "l: 2") % ", income: sensitive"
    report = pipeline.anonymize(frame, policy(text)).report
    assert report.status == "ready"
    risk = report.to_dict()["risk"]
    assert risk["quasi"]["after"]["unique"] == 0
    assert risk["published"]["after"]["unique"] == 400


def test_unnamed_sensitive_finds_a_sensitive_column_that_no_goal_protects():
    frame = people(blood=np.array(list("xy"))[np.arange(400) // 20 % 2])
    assert kinds(released(frame, ", blood: sensitive")) == [("unnamed-sensitive", "blood")]


def test_identifying_column_finds_addresses_of_mail_that_are_kept():
    mail = [f"person{i % 20}@example.org" for i in range(400)]
    report = released(people(contact=mail), ", contact: keep")
    assert ("identifying-column", "contact") in kinds(report)


def test_kept_order_finds_rows_in_the_order_of_the_input():
    assert kinds(released(people(), "", "output: {path: out.csv, order: keep}\n")) == [("kept-order", None)]
    assert released(people(), "", "output: {path: out.csv, order: random}\n").status == "ready"
    told = policy(BASE % "")
    goal = Goal(tuple(told.goals))
    assert [f.kind for f in find_all(Shown(told, goal, 9, is_released=False, keeps_order=True))] == ["kept-order"]


def persons(n_persons: int = 100, n_rows: int = 4, **more) -> pl.DataFrame:
    """Several visits of every person: what a person is stays, what a visit is changes."""
    person = np.repeat(np.arange(n_persons), n_rows)
    visit = np.tile(np.arange(n_rows), n_persons)
    return pl.DataFrame(
        {
            "number": person * 7 % 101,
            "age": 20 + person % 10,
            "sex": np.where(person // 10 % 2 == 0, "f", "m"),
            "illness": np.array(list("abcd"))[(person + visit) % 4],
            **more,
        }
    )


def test_repeated_key_finds_the_number_of_persons_who_have_several_rows():
    report = released(persons(), ", number: keep")
    assert [(f.kind, f.column, f.count) for f in report.findings] == [("repeated-key", "number", 400)]
    assert report.findings[0].fix.changes == (Change("columns.number.role", "person"),)


def test_it_finds_a_household_whose_members_differ_in_age_and_sex():
    rng = np.random.default_rng(1)
    household = np.repeat(np.arange(200), 3)
    frame = pl.DataFrame(
        {
            "household": household, "age": rng.integers(20, 26, 600), "sex": rng.choice(["f", "m"], 600),
            "region": household % 3, "rooms": household % 2, "illness": rng.choice(list("abcd"), 600),
        }
    )  # fmt: skip
    columns = "{age: quasi, sex: quasi, household: keep, region: keep, rooms: keep, illness: sensitive}"
    text = f"columns: {columns}\ngoals: [{{model: k-anonymity, k: 5}}, {{model: l-diversity, l: 2}}]\n"
    assert ("repeated-key", "household") in kinds(pipeline.anonymize(frame, policy(text)).report)


def test_a_place_with_many_unrelated_people_is_no_key():
    rng = np.random.default_rng(2)
    frame = people(400, ward=rng.integers(0, 25, 400))
    assert not any(f.kind == "repeated-key" for f in released(frame, ", ward: keep").findings)


def test_exact_bounds_finds_intervals_that_end_at_data_points():
    weights = pl.Series("weight", [60.5, 60.5, 61.25, 70.0, 70.0, 70.0])
    domain, codes = fit_domain(weights, ColumnType.FLOAT)
    coding = Coding((domain,), (), 6, 6, {}, (), codes={"weight": codes})
    labels = pl.Series(["[60.5, 61.25]", "[60, 75]", "70.0", "*"])
    sizes = ClassStats(np.array([2, 3, 1, 1]), labels={"weight": np.arange(4)})
    recount = Recount((sizes,), 7, 0, {"weight": labels}, classes=np.zeros(7, np.int64))
    found = evidence_of(recount, Goal((tc.KAnonymity(k=3),)), coding).rare_bounds["weight"]
    # 60.5 is the weight of two and 61.25 that of one; 60 and 75 are nobody's; 70.0 alone is no interval
    assert (found.n_bounds, found.n_records, found.k) == (2, 2, 3)


RARE = {
    "weight": np.random.default_rng(0).normal(70, 10, 600).round(2),
    "income": np.random.default_rng(0).integers(10_000, 90_000, 600),
    "born": pl.Series(np.random.default_rng(0).integers(0, 9_000, 600).astype(np.int32)).cast(pl.Date),
}


def offered_hierarchy(series: pl.Series):
    """What the finding offers for a column whose two intervals end at data points."""
    domain, codes = fit_domain(series, column_type(series.name, series.dtype))
    coding = Coding((domain,), (), len(series), len(series), {}, (), codes={series.name: codes})
    ends = [str(value) for value in series.unique().sort().to_list()]
    labels = pl.Series([f"[{ends[0]}, {ends[99]}]", f"[{ends[100]}, {ends[-1]}]"])
    sizes = ClassStats(np.array([300, 300]), labels={series.name: np.arange(2)})
    recount = Recount((sizes,), 600, 0, {series.name: labels}, classes=np.repeat([0, 1], 300))
    found = evidence_of(recount, Goal((tc.KAnonymity(k=50),)), coding).rare_bounds[series.name]
    assert (found.n_bounds, found.n_records) == (4, 600)
    return found.hierarchy


@pytest.mark.parametrize("name", RARE)
def test_the_fix_of_exact_bounds_ends_the_finding(name):
    frame = pl.DataFrame({name: RARE[name]})
    written = json.dumps(offered_hierarchy(frame[name]))
    text = f"columns: {{{name}: {{role: quasi, hierarchy: {written}}}}}\ngoals: [{{model: k-anonymity, k: 5}}]\n"
    assert pipeline.anonymize(frame, policy(text)).report.status == "ready"


def test_dates_of_which_every_day_occurs_are_published_finely_and_without_a_finding():
    days = pl.Series("born", np.repeat(np.arange(9_000, 10_500), 2).astype(np.int32)).cast(pl.Date)
    made = pipeline.anonymize(days.to_frame(), policy("columns: {born: quasi}\ngoals: [{model: k-anonymity, k: 5}]\n"))
    assert made.report.status == "ready"
    assert made.report.loss < 0.01
    assert made.frame["born"].n_unique() > 100


def test_pseudonymised_finds_a_column_of_them():
    named = people().with_columns(pl.Series("name", [f"N{i}" for i in range(people().height)]))
    assert kinds(released(named, ", name: {role: identifier, transform: hmac}")) == [("pseudonymised", "name")]


def test_public_secret_finds_a_file_that_others_may_read(tmp_path):
    (tmp_path / "key").write_text("0123456789abcdef" * 4)
    told = policy(BASE % "" + "secret: {file: key}\n", tmp_path)
    (tmp_path / "key").chmod(0o600)
    assert pipeline.anonymize(people(), told).report.status == "ready"
    (tmp_path / "key").chmod(0o644)
    assert kinds(pipeline.anonymize(people(), told).report) == [("public-secret", None)]


@pytest.mark.parametrize(("t", "is_idle"), [(0.76, True), (0.74, False)])
def test_idle_goal_finds_a_distance_that_four_equal_values_cannot_exceed(t, is_idle):
    # a class of one value of four equally frequent ones is 1 - 1/4 away from the table
    text = BASE.replace("l-diversity, l: 2", f"t-closeness, t: {t}") % ""
    found = kinds(pipeline.anonymize(people(), policy(text)).report)
    assert (("idle-goal", "illness") in found) == is_idle


def test_strong_attack_finds_classes_that_tell_nearly_everybodys_value():
    # in every class of 20, 18 have the illness of their age: guessing without the release is right 1 time of 10
    rows = np.arange(400)
    own = np.where(rows // 20 < 18, 20 + rows % 10, 20 + (rows + 1) % 10)
    frame = people().with_columns(illness=pl.Series(own.astype(str)))
    (found,) = released(frame).findings
    assert (found.kind, found.column) == ("strong-attack", "illness")
    assert "90%" in found.what
    assert "10% without" in found.what


def test_pseudonymised_finds_a_column_published_under_pseudonyms():
    frame = people(number=[f"P{i}" for i in range(400)])
    assert kinds(released(frame, ", number: {role: identifier, transform: hmac}")) == [("pseudonymised", "number")]


def test_weak_transform_finds_pseudonyms_that_their_frequencies_give_away():
    # half of the people are in one town, 150 in the next, 50 in the last: three frequencies, three towns
    towns = np.repeat(["a", "b", "c"], [200, 150, 50])
    (found,) = [f for f in released(people(town=towns), ", town: {role: keep, transform: hmac}").findings
                if f.kind == "weak-transform"]  # fmt: skip
    assert (found.column, found.share) == ("town", 1.0)
    assert "about 100%" in found.what
    assert [change.place for change in found.fix.changes] == ["columns.town.role"]


# Accepting -----------------------------------------------------------------------------------------------------------


ACCEPT = "accepted: [{finding: standing-alone, column: cost, because: prices are public}]\n"


def test_an_accepted_finding_stays_with_its_reason_and_the_release_is_ready():
    report = released(people(cost=np.arange(400) * 1.5), ", cost: keep", ACCEPT)
    assert report.status == "accepted"
    assert report.findings[0].accepted == "prices are public"
    assert "ready, with 1 accepted finding" in str(report)


def test_an_acceptance_of_another_column_accepts_nothing():
    frame = people(cost=np.arange(400) * 1.5, visit=np.arange(400))
    assert released(frame, ", cost: keep, visit: keep", ACCEPT).status == "findings"


def test_an_acceptance_that_matches_nothing_is_a_note():
    report = released(people(cost=np.ones(400)), ", cost: keep", ACCEPT)
    assert report.status == "ready"
    assert any("accepts a finding standing-alone of 'cost'" in note for note in report.to_dict()["notes"])


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{finding: standing-alne, because: x}", "did you mean 'standing-alone'?"),
        ("{finding: standing-alone, column: cots, because: x}", "did you mean 'cost'?"),
        ("{finding: standing-alone, because: ' '}", "a reason is needed"),
    ],
)
def test_acceptances_that_cannot_be_meant_are_refused(written, says):
    with pytest.raises(PolicyError, match=says.replace("?", r"\?")):
        policy(BASE % ", cost: keep" + f"accepted: [{written}]\n")


# Strict --------------------------------------------------------------------------------------------------------------


def test_strict_releases_nothing_that_has_findings(tmp_path):
    people(cost=np.arange(400) * 1.5).write_csv(tmp_path / "in.csv")
    text = "input: in.csv\noutput: out.csv\nstrict: true\n" + BASE % ", cost: keep"
    with pytest.raises(GoalNotMet, match="stand alone"):
        pipeline.run(policy(text, tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]
    assert pipeline.run(policy(text + ACCEPT, tmp_path)).status == "accepted"


def test_reasons_stand_in_report_and_certificate(tmp_path):
    people(cost=np.arange(400) * 1.5).write_csv(tmp_path / "in.csv")
    output = "output: {path: out.csv, report: report.html, certificate: certificate.json}\n"
    pipeline.run(policy("input: in.csv\n" + output + BASE % ", cost: keep" + ACCEPT, tmp_path))
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["status"] == "accepted"
    assert certificate["findings"][0]["accepted"] == "prices are public"
    assert certificate["risk"]["published"]["after"]["unique"] == 400
    head = (tmp_path / "report.html").read_text().split("</header>")[0]
    assert "Ready, with 1 accepted finding" in head
    assert "prices are public" in head


# Before a release -----------------------------------------------------------------------------------------------------


def test_check_tells_what_needs_no_release(tmp_path):
    people(cost=np.arange(400) * 1.5, blood=["x", "y"] * 200).write_csv(tmp_path / "in.csv")
    told = policy("input: in.csv\n" + BASE % ", cost: keep, blood: sensitive", tmp_path)
    report = pipeline.check(told)
    assert [(f.kind, f.column) for f in report.findings] == [("standing-alone", "cost"), ("unnamed-sensitive", "blood")]
    assert "would stand alone" in report.findings[0].what
    assert not (tmp_path / "out.csv").exists()


def test_no_cell_stands_in_a_finding():
    frame = people(cost=[f"secret-{i}" for i in range(400)])
    assert "secret" not in json.dumps([f.to_dict() for f in released(frame, ", cost: keep").findings])


def test_quick_releases_have_a_status():
    frame = people()
    release = tc.anonymize(
        frame, tc.Policy(columns=tc.roles(quasi=["age", "sex"], drop=["illness"]), goals=(tc.KAnonymity(k=5),))
    )
    assert release.report.status == "ready"
