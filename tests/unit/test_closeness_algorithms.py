"""Releases of the algorithms for closeness, recounted in plain Python, and what each promises by itself."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import effort
import tablecloak as tc
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.closeness._bounded import bounded_columns
from tablecloak.algorithms.closeness._dealing import proportional_quotas
from tablecloak.algorithms.closeness.burel import buckets_of as buckets_by_frequency
from tablecloak.algorithms.closeness.sabre import buckets_of as buckets_by_reach
from tablecloak.algorithms.closeness.t_first import quotas_of, slices_for
from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.models.base import Goal
from tablecloak.models.beta_likeness import BetaLikeness
from tablecloak.models.t_closeness import TCloseness

ALGORITHMS = ["sabre", "burel", "t-first", "t-merge", {"kind": "t-merge", "merge": "nearest", "records": 4}, "auto"]
ILLS = {"lung": ["flu", "cold"], "skin": ["acne", "wart"], "heart": ["angina"]}
PATHS = {ill: [ill, kind, "*"] for kind, ills in ILLS.items() for ill in ills}
PAYS = [10, 20, 30, 40, 70]
EPS = Fraction(1, 10**8)
GOALS = {
    "equal": {"model": "t-closeness", "t": 0.3, "distance": "equal", "sensitive": "ill"},
    "hierarchical": {"model": "t-closeness", "t": 0.25, "distance": "hierarchical", "sensitive": "ill"},
    "ordered": {"model": "t-closeness", "t": 0.2, "distance": "ordered", "sensitive": "pay"},
    "beta": {"model": "beta-likeness", "beta": 1, "sensitive": "ill"},
    "enhanced": {"model": "beta-likeness", "beta": 2, "enhanced": True, "sensitive": "ill"},
}


def shares(values):
    return {v: Fraction(n, len(values)) for v, n in Counter(values).items()}


def equal(q, p):
    return sum(abs(q.get(v, 0) - p[v]) for v in p) / 2


def ordered(q, p):
    """Earth moved past every value but the last, one step each."""
    values, carried, moved = sorted(p), Fraction(0), Fraction(0)
    for value in values[:-1]:
        carried += q.get(value, 0) - p[value]
        moved += abs(carried)
    return moved / max(1, len(values) - 1)


def hierarchical(q, p):
    """Earth that must leave its kind costs all of the height of 2, what moves inside its kind half."""
    between = sum(abs(sum(q.get(v, 0) - p.get(v, 0) for v in ills)) for ills in ILLS.values()) / 2
    within = (equal(q, p) - between) / 2
    return between + within


def holds(goal, classes, rows):
    """Whether every class, a list of rows, satisfies a goal, counted value by value."""
    column = goal["sensitive"]
    p = shares([r[column] for r in rows])
    for own in classes:
        q = shares([r[column] for r in own])
        if goal["model"] == "t-closeness":
            distance = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}[goal["distance"]]
            if distance(q, p) > Fraction(str(goal["t"])) + EPS:
                return False
            continue
        for value, share in q.items():
            gain = (share - p[value]) / p[value]
            if gain > goal["beta"] + EPS or (goal.get("enhanced") and gain > -math.log(p[value]) + 1e-8):
                return False
    return True


def rows_of(seed, n):
    """Random rows, whose sensitive values follow the quasi-identifiers; every value occurs."""
    draw = random.Random(seed)
    ills = list(PATHS)
    rows = [{"age": 30, "job": "cook", "ill": ill, "pay": pay} for ill, pay in zip(ills, PAYS, strict=True)]
    for _ in range(n):
        age = draw.randrange(20, 60)
        near = draw.random() < 0.4
        rows.append(
            {
                "age": age,
                "job": draw.choice(["cook", "nurse", "smith"]),
                "ill": ills[(age - 20) // 8] if near else draw.choice(ills[:3]),
                "pay": PAYS[(age - 20) // 8] if near else draw.choice(PAYS),
            }
        )
    return rows


def release_of(rows, goals, algorithm):
    columns = {
        "age": {"role": "quasi"},
        "job": {"role": "quasi"},
        "ill": {"role": "sensitive", "hierarchy": {"kind": "tree", "tree": ILLS}},
        "pay": {"role": "sensitive"},
    }
    policy = tc.Policy(columns=columns, goals=goals, algorithm=algorithm, output={"path": "out.csv", "order": "keep"})
    return tc.anonymize(pl.DataFrame(rows), policy)


def classes_in(published):
    classes = {}
    for row in published:
        classes.setdefault((row["age"], row["job"]), []).append(row)
    return list(classes.values())


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_every_class_satisfies_the_goal(algorithm, goal):
    for seed in range(effort.often(3)):
        rows = rows_of(seed, (25, 60, 90)[seed % 3])
        published = release_of(rows, [{"model": "k-anonymity", "k": 3}, goal], algorithm).frame.to_dicts()
        classes = classes_in(published)
        assert len(published) == len(rows)
        assert min(map(len, classes)) >= 3
        assert holds(goal, classes, rows)


@pytest.mark.parametrize("algorithm", ["sabre", "burel", "t-first", "t-merge"])
def test_two_goals_hold_together(algorithm):
    rows = rows_of(7, 90)
    goals = [{"model": "k-anonymity", "k": 2}, GOALS["ordered"], GOALS["beta"], GOALS["equal"]]
    classes = classes_in(release_of(rows, goals, algorithm).frame.to_dicts())
    assert all(holds(goal, classes, rows) for goal in goals[1:])


@pytest.mark.parametrize(("algorithm", "goal"), [("sabre", "equal"), ("burel", "beta"), ("t-merge", "ordered")])
def test_a_goal_that_parts_can_reach_is_not_answered_by_the_whole_table(algorithm, goal):
    rows = [r for seed in range(4) for r in rows_of(seed, 60)]
    published = release_of(rows, [{"model": "k-anonymity", "k": 2}, GOALS[goal]], algorithm).frame.to_dicts()
    assert len(classes_in(published)) > 3


def problem_of(values, model):
    n = len(values)
    quasi = fit_domain(pl.Series("q", np.arange(n)), ColumnType.INTEGER)
    kind = ColumnType.INTEGER if isinstance(values[0], int) else ColumnType.TEXT
    return Problem(code_table([quasi], [fit_sensitive(pl.Series("s", values), kind)], by_row=True), Goal((model,)))


@pytest.mark.parametrize("t", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_what_a_class_strays_inside_sabre_buckets_is_within_what_was_allowed(distance, t):
    values = [draw for draw in [1, 2, 3, 5, 8, 9] for _ in range(draw)]
    (column,) = bounded_columns(problem_of(values, TCloseness(t=t, distance=distance)))
    buckets = buckets_by_reach(column, t)
    p = shares(values)
    names = sorted(p)
    worst = Fraction(0)
    for b in set(buckets.tolist()):
        members = [names[i] for i in np.flatnonzero(buckets == b)]
        mass = sum(p[v] for v in members)
        inside = {v: (p[v] / mass if v in members else Fraction(0)) for v in names}
        measure = equal if distance == "equal" else ordered
        worst += mass * max(measure({v: Fraction(1)}, inside) for v in members)
    assert worst <= Fraction(str(t)) + EPS
    if t == 0.6:
        assert len(set(buckets.tolist())) < len(names)


@pytest.mark.parametrize("beta", [0.5, 1, 3])
def test_a_burel_bucket_has_at_most_what_its_rarest_value_may_have_and_none_could_be_saved(beta):
    values = [v for i, v in enumerate("abcdef") for _ in range((1, 2, 2, 5, 8, 13)[i])]
    (column,) = bounded_columns(problem_of(values, BetaLikeness(beta=beta)))
    p = shares(values)
    names = sorted(p, key=lambda v: (p[v], v))

    def fits(members):
        return len(members) == 1 or sum(p[v] for v in members) <= min(p[v] for v in members) * (1 + Fraction(beta))

    of = dict(zip("abcdef", buckets_by_frequency(column).tolist(), strict=True))
    made = [[v for v in names if of[v] == b] for b in sorted(set(of.values()))]
    assert all(map(fits, made))
    fewest = len(names)
    for cuts in range(1 << (len(names) - 1)):  # all ways to cut the line of values
        parts = [[names[0]]]
        for i, v in enumerate(names[1:]):
            if cuts >> i & 1:
                parts.append([v])
            else:
                parts[-1].append(v)
        fewest = min(fewest, len(parts)) if all(map(fits, parts)) else fewest
    assert len(made) == fewest


def test_quotas_use_all_records_in_proportion():
    sizes = np.array([7, 0, 31, 12])
    quotas = proportional_quotas(sizes, lambda own: int(own.sum()) >= 10)
    assert quotas.sum(axis=0).tolist() == sizes.tolist()
    assert quotas.sum(axis=1).tolist() == [10, 10, 10, 10, 10]
    assert np.abs(quotas - sizes / 5).max() < 1.5


def test_quotas_of_what_never_passes_are_one_class():
    assert proportional_quotas(np.array([2, 3]), lambda _: False).tolist() == [[2, 3]]


@pytest.mark.parametrize(("n", "t"), [(60, 0.1), (120, 0.05), (24, 0.3)])
def test_one_record_of_every_slice_is_t_close_by_ranks(n, t):
    k = slices_for(n, 1, t)
    if n % k == 0:  # for which the bound was proven
        draw = random.Random(n)
        p = {v: Fraction(1, n) for v in range(n)}
        for _ in range(50):
            own = [s * (n // k) + draw.randrange(n // k) for s in range(k)]
            assert ordered(shares(own), p) <= Fraction(n - k, 2 * (n - 1) * k)
            assert ordered(shares(own), p) <= Fraction(str(t)) + EPS
    assert slices_for(n, n, t) == n


def test_records_beyond_a_multiple_come_from_the_middle_slices():
    quotas = quotas_of(23, 5, 4)
    assert quotas.sum() == 23
    assert quotas.sum(axis=0).tolist() == [4, 4, 7, 4, 4]
