"""What reports say about utility beyond the cells: learning a target, and releases in groups."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import oracle_attacks
import tablecloak as tc
from tablecloak.errors import IncompatibleChoice
from tablecloak.measure.attack import attack
from tablecloak.measure.two_releases import judge_files

pytestmark = pytest.mark.slow

LINKED = {"contingency-error", "association-error", "query-error", "propensity", "classification", "hce-tdr", "igpl"}


def people(n=600):
    """Income follows from age, illness from nothing."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 70, n)
    return pl.DataFrame({
        "age": age, "sex": rng.choice(["f", "m"], n), "illness": rng.choice(list("abcdef"), n),
        "income": np.where(age > 45, "high", "low"),
    })  # fmt: skip


def policy(**settings):
    roles = tc.roles(quasi=["age", "sex"], sensitive=["illness", "income"])
    return tc.Policy(columns=roles, **{"goals": [tc.KAnonymity(k=5)], **settings})


def run(folder, n=600, **settings):
    people(n).write_csv(folder / "people.csv")
    output = {"path": str(folder / "out.csv"), "report": str(folder / "report.html"), **settings.pop("output", {})}
    tc.run(policy(input=str(folder / "people.csv"), output=output, **settings), force=True)
    return (folder / "report.html").read_text()


def test_a_report_learns_the_target_of_the_policy(tmp_path):
    pytest.importorskip("sklearn")
    plain = run(tmp_path)
    page = run(tmp_path, output={"target": "income"})
    assert "Learning to predict income" in page
    assert "Learning to predict" not in plain


def test_what_decides_the_target_survives_small_classes_and_not_one_class(tmp_path):
    pytest.importorskip("sklearn")
    fine = tc.run(policy_for(tmp_path, k=5), force=True).learning
    coarse = tc.run(policy_for(tmp_path, k=600), force=True).learning
    assert fine.original == pytest.approx(1.0, abs=0.02)
    assert fine.release > 0.9
    assert coarse.release <= coarse.majority + 3 * coarse.error


def policy_for(folder, k):
    people().write_csv(folder / "people.csv")
    output = {"path": str(folder / "out.csv"), "report": str(folder / "r.html"), "target": "income"}
    return policy(goals=[tc.KAnonymity(k=k)], input=str(folder / "people.csv"), output=output)


def test_a_target_that_is_not_coded_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(IncompatibleChoice, match=r"neither quasi-identifier nor sensitive"):
        run(tmp_path, output={"target": "ag"})


@pytest.mark.parametrize("kind", ["anatomy", "slicing", "permutation"])
def test_groups_are_measured_by_the_links_they_cut(kind):
    goals = [tc.LDiversity(l=3, sensitive="illness")]
    roles = tc.roles(quasi=["age", "sex"], sensitive=["illness"])
    release = tc.anonymize(people(), tc.Policy(columns=roles, goals=goals, algorithm={"kind": kind}))
    found = {m.name: m for m in release.measure()}
    assert all(found[name].reason is None for name in LINKED)
    assert found["hellinger"].reason == "cells are exact; groups only cut the link between columns"


def test_readers_of_groups_keep_what_is_linked_and_draw_the_rest_inside_the_group():
    goals = [tc.LDiversity(l=3, sensitive="illness")]
    roles = tc.roles(quasi=["age", "sex"], sensitive=["illness"])
    output = {"path": "out.csv", "order": "keep"}
    release = tc.anonymize(
        people(), tc.Policy(columns=roles, goals=goals, algorithm={"kind": "anatomy"}, output=output)
    )
    records = release._counts.records
    age, sex, illness = records.columns
    assert np.array_equal(age.cells, age.before)
    assert np.array_equal(sex.cells, sex.before)
    groups = release.frame["group_id"].to_numpy()
    assert not np.array_equal(illness.cells, illness.before)
    for group in np.unique(groups):
        rows = groups == group
        assert Counter(illness.cells[rows].tolist()) == Counter(illness.before[rows].tolist())


def test_a_report_attacks_with_the_register_of_the_policy(tmp_path):
    """The register has every person twice, so a row that looks like one of 5 is one of 10 there."""
    twice = pl.concat([people(100), people(100)]).select("age", "sex")
    twice.write_csv(tmp_path / "city.csv")
    page = run(tmp_path, n=100, population={"path": str(tmp_path / "city.csv")})
    assert "journalist" in page
    assert "membership" in page
    wanted = policy(population={"path": str(tmp_path / "city.csv")})
    report = attack(tmp_path / "people.csv", tmp_path / "out.csv", policy=wanted, kinds=["membership", "journalist"])
    membership, journalist = (exposure.finding for exposure in report.after)
    released = pl.read_csv(tmp_path / "out.csv", infer_schema=False).to_dicts()
    chances = oracle_attacks.membership(twice.to_dicts(), released, ["age", "sex"])
    assert membership.highest == pytest.approx(float(max(chances)))
    assert journalist.details["k_map"] == oracle_attacks.k_map(twice.to_dicts(), released, ["age", "sex"])
    both = judge_files(tmp_path / "people.csv", tmp_path / "out.csv", policy=wanted).attacks
    assert {"journalist", "membership"} <= {e.attack for e in both.after if e.finding}


def test_the_report_of_a_release_in_groups_has_its_utility(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    wanted = tc.Policy(
        columns=tc.roles(quasi=["age", "sex"], sensitive=["illness"]), input=str(tmp_path / "people.csv"),
        goals=[tc.LDiversity(l=3, sensitive="illness")], algorithm={"kind": "anatomy"},
        output={"path": str(tmp_path / "out.csv"), "report": str(tmp_path / "report.html")},
    )  # fmt: skip
    tc.run(wanted)
    page = (tmp_path / "report.html").read_text()
    assert "which of its values belong to which record" in page
    assert "Count-query error" not in page  # the owner's: it follows from who belongs to which value
