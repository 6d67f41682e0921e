"""Explorations equal the runs they stand for."""

from __future__ import annotations

import pytest

import oracle_sets
import tablecloak as tc
from tablecloak.errors import IncompatibleChoice, PolicyError
from tablecloak.policy.variations import axis_of, parse_axis, variants
from tablecloak.release.shapes.sets import shape

PATIENTS = tc.sample.patients(400)
ROLES = tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"])
POLICY = tc.Policy(columns=ROLES, goals=[tc.KAnonymity(k=2)])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=2..5", ["2", "3", "4", "5"]),
        ("k=2..10:4", ["2", "6", "10"]),
        ("k=2,5..6", ["2", "5", "6"]),
        ("t=0.1..0.3", ["0.1", "0.2", "0.3"]),
        ("algorithm=mondrian,auto", ["mondrian", "auto"]),
    ],
)
def test_axes(text, values):
    assert list(parse_axis(text).values) == values


@pytest.mark.parametrize("text", ["k", "k=", "=3", "k=9..2", "k=1..100000"])
def test_axes_that_are_none(text):
    with pytest.raises(PolicyError):
        parse_axis(text)


def test_variants_change_every_goal_that_has_the_parameter():
    found = variants(POLICY, [axis_of("k", [3, 4]), axis_of("algorithm", ["mondrian", "flash"])])
    assert [(v.policy.goals[0].k, v.policy.algorithm.name) for v in found] == [
        (3, "mondrian"), (3, "flash"), (4, "mondrian"), (4, "flash"),
    ]  # fmt: skip


def test_the_suppression_limit_goes_with_the_algorithm():
    limited = POLICY.model_copy(update={"algorithm": tc.Mondrian(suppression_limit=0.1)})
    (found,) = variants(limited, [axis_of("algorithm", "flash")])
    assert found.policy.algorithm.suppression_limit == 0.1


def test_a_parameter_that_no_goal_has_is_an_error():
    with pytest.raises(PolicyError, match="no goal has a parameter 'l'"):
        variants(POLICY, [axis_of("l", 3)])


@pytest.mark.slow
def test_points_are_what_runs_give():
    found = tc.explore(PATIENTS, POLICY, k=[3, 8], algorithm=["mondrian", "flash"], threads=2)
    assert len(found.points) == 4
    for point in found.points:
        kind, k = point.changes["algorithm"], int(point.changes["k"])
        policy = tc.Policy(columns=ROLES, goals=[tc.KAnonymity(k=k)], algorithm={"kind": kind})
        release = tc.anonymize(PATIENTS, policy)
        risk = tc.risk(release.frame, ROLES)
        assert point.metrics["gcp"] == pytest.approx(release.report.loss)
        assert (point.risks["highest"], point.risks["average"]) == pytest.approx((risk.highest, risk.average))
        assert point.n_classes == release.report.verification.n_classes


def test_the_original_is_measured_too():
    found = tc.explore(PATIENTS, POLICY, k=[2, 3])
    assert found.before.unique_share == pytest.approx(tc.risk(PATIENTS, ROLES).unique_share)


def test_a_variant_without_a_release_says_why():
    found = tc.explore(PATIENTS, POLICY, k=[2, 5000])
    assert found.points[0].reason is None
    assert "best: 400" in found.points[1].reason
    assert found.to_dict()["points"][1]["reason"]


def test_an_algorithm_that_refuses_the_goal_says_why():
    found = tc.explore(PATIENTS, POLICY, algorithm=["anatomy"])
    assert "k-anonymity" in found.points[0].reason


@pytest.mark.slow
def test_other_axes():
    goals = [tc.KAnonymity(k=2), tc.LDiversity(l=2, sensitive="diagnosis")]
    policy = tc.Policy(columns=ROLES, goals=goals)
    found = tc.explore(PATIENTS, policy, risk="guess", utility="query-error", **{"goals.1.l": [2, 3, 4]})
    guesses = [point.risks["guess"] for point in found.points]
    assert all(g <= 1 / 2 + 0.5 for g in guesses)
    assert all(point.metrics["query-error"] is not None for point in found.points)


def test_unknown_axes_are_errors():
    with pytest.raises(PolicyError, match="unknown risk"):
        tc.explore(PATIENTS, POLICY, risk="hihgest", k=[2])
    with pytest.raises(PolicyError, match="unknown metric"):
        tc.explore(PATIENTS, POLICY, utility="gpc", k=[2])


SHOP = {"drinks": {"alcohol": ["beer", "wine", "gin"], "soft": ["milk", "tea"]}, "food": ["bread", "salt", "egg"]}
GOODS = ["beer", "wine", "gin", "milk", "tea", "bread", "salt", "egg"]
BASKETS = [[GOODS[(i * 7 + j * (1 + i % 3)) % 8] for j in range(i % 5)] for i in range(60)]


def policy_of_sets(**goal):
    items = {"role": "items", "hierarchy": {"kind": "tree", "tree": SHOP}}
    return tc.Policy(columns={"items": items}, goals=[{"model": "km-anonymity", **goal}])


def test_variants_of_sets_are_looked_at_by_one_attacker():
    found = tc.explore(BASKETS, policy_of_sets(k=2, m=2), k=[2, 5], m=[1, 3])
    assert found.notes == (
        "risk is that of someone who knows up to 3 items of a person, the most that a variant speaks of",
    )
    left = oracle_sets.candidates(BASKETS, 3)[-1]
    assert found.before.highest == 1 / min(left)
    assert found.before.unique_share == left.count(1) / 60
    for point in found.points:
        k, m = int(point.changes["k"]), int(point.changes["m"])
        release = tc.anonymize(BASKETS, policy_of_sets(k=k, m=m))
        shown = [cell.split(";") if cell else [] for cell in release.frame["items"]]
        left = oracle_sets.candidates(shown, 3)[-1]
        assert point.risks["highest"] == 1 / min(left)
        assert point.risks["average"] == pytest.approx(sum(1 / n for n in left) / 60)
        assert point.risks["unique"] == left.count(1) / 60
        assert point.metrics["gcp"] == release.report.loss
        assert point.smallest == oracle_sets.max_k(shown, m) >= k


@pytest.mark.parametrize(
    ("axis", "hint"), [({"risk": "guess"}, "--risk highest"), ({"utility": "emd"}, "--utility gcp")]
)
def test_what_is_not_measured_on_sets_is_refused(axis, hint):
    with pytest.raises(IncompatibleChoice, match="is not measured on sets of items") as caught:
        tc.explore(BASKETS, policy_of_sets(k=2, m=2), k=[2, 5], **axis)
    assert hint in caught.value.hint


def test_where_there_are_too_many_itemsets_the_risk_is_left_open(monkeypatch):
    monkeypatch.setattr(shape, "MOST_ITEMSETS", 0)
    found = tc.explore(BASKETS, policy_of_sets(k=2, m=2), k=[2, 5])
    assert found.before is None
    assert {point.risks["highest"] for point in found.points} == {None}
    assert "original" in found.to_dict()
    assert "No knee" in str(found)
