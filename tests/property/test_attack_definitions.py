"""Attacks on small random tables reach what slow attackers reach who read the same definitions."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import effort
import oracle_attacks
from tablecloak.attacks import _possible_worlds
from tablecloak.attacks import definetti as definetti_module
from tablecloak.attacks.case import Attacker
from tablecloak.attacks.critical_absence import find_absence
from tablecloak.attacks.definetti import definetti_chances
from tablecloak.attacks.minimality import credibility
from tablecloak.attacks.population_uniques import (
    negative_binomial_fit,
    pitman_fit,
    pitman_uniques,
    zayatz,
)
from tablecloak.attacks.risk_by_columns import dependencies, keys, minimal_uniques, subset_risks
from tablecloak.measure.attack import attack, build_case
from tablecloak.models.ck_safety import disclosure
from tablecloak.registry import find
from tablecloak.stats.classes import SensitiveDomain, count_classes

QUASI = ["age", "sex"]
often = settings(max_examples=effort.often(25), derandomize=True)


def generalised(person, rng):
    """Cells that cover a person, some exact and some coarse."""
    low, high = person["age"] - rng.randint(0, 3), person["age"] + rng.randint(0, 3)
    age = rng.choice([str(person["age"]), f"[{low}, {high}]", "*"])
    return {"age": age, "sex": rng.choice([person["sex"], "*"]), "dx": person["dx"], "cost": person["cost"]}


@st.composite
def releases(draw, most=7):
    """A table and a release of it: rows of a few classes, every cell covering its original."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    n = draw(st.integers(2, most))
    people = [
        {"age": rng.randint(20, 26), "sex": rng.choice("fm"), "dx": rng.choice("abc"), "cost": rng.randint(0, 20)}
        for _ in range(n)
    ]
    if draw(st.booleans()):
        return people, [generalised(p, rng) for p in people]
    halves = [p["age"] <= 23 for p in people]
    cells = [{"age": "[20, 23]" if h else "[24, 26]", "sex": "*"} for h in halves]
    return people, [{**c, "dx": p["dx"], "cost": p["cost"]} for c, p in zip(cells, people, strict=True)]


def reached(name, people, rows, *, sensitive=("dx",), **beside):
    found = attack(
        pl.DataFrame(people), pl.DataFrame(rows), quasi=QUASI, sensitive=list(sensitive), kinds=[name],
        with_before=False, **beside,
    ).after[0]  # fmt: skip
    assert found.finding is not None, found.reason
    return found.finding


@often
@given(made=releases())
def test_prosecutor_and_marketer(made):
    people, rows = made
    chances = oracle_attacks.link_chances(people, rows, QUASI)
    found = reached("prosecutor", people, rows)
    assert found.highest == pytest.approx(float(max(chances)))
    assert found.average == pytest.approx(float(sum(chances) / len(chances)))
    assert found.n_victims == sum(c > Fraction(1, 2) for c in chances)
    assert reached("marketer", people, rows).average == pytest.approx(found.average)


@often
@given(made=releases())
def test_known_sensitive(made):
    people, rows = made
    chances = oracle_attacks.chances_with_value(people, rows, QUASI, "dx")
    found = reached("known-sensitive", people, rows)
    assert found.highest == pytest.approx(float(max(chances)))
    assert found.average == pytest.approx(float(sum(chances) / len(chances)))
    assert found.n_victims == sum(c > Fraction(1, 2) for c in chances)


@settings(max_examples=effort.often(15), derandomize=True)
@given(made=releases(most=6))
def test_linkage_knowing_everybody(made):
    people, rows = made
    chances = oracle_attacks.matching_chances(people, rows, QUASI)
    found = reached("linkage-knowing-everybody", people, rows)
    assert found.highest == pytest.approx(float(max(chances)))
    assert found.average == pytest.approx(float(sum(chances) / len(chances)))
    assert found.details["people_counted"] == len(people)


@settings(max_examples=effort.often(15), derandomize=True)
@given(made=releases(most=3), seed=st.integers(0, 1000))
def test_linkage_knowing_everybody_with_repeated_rows(made, seed):
    people, rows = made
    again = [random.Random(seed).randrange(len(people)) for _ in range(3)]
    people, rows = people + [people[i] for i in again], rows + [rows[i] for i in again]
    chances = oracle_attacks.matching_chances(people, rows, QUASI)
    found = reached("linkage-knowing-everybody", people, rows)
    assert found.highest == pytest.approx(float(max(chances)))
    assert found.average == pytest.approx(float(sum(chances) / len(chances)))


@often
@given(made=releases())
def test_homogeneity_attribute_linkage_and_skewness(made):
    people, rows = made
    assert reached("homogeneity", people, rows).n_victims == oracle_attacks.homogeneous(rows, QUASI, "dx")
    found = reached("attribute-linkage", people, rows)
    highest, average, victims = oracle_attacks.attribute_linkage(rows, QUASI, "dx", people)
    assert (found.highest, found.average) == pytest.approx((float(highest), float(average)))
    assert found.n_victims == victims
    skewed = reached("skewness", people, rows)
    factor, own, victims = oracle_attacks.skewness(rows, QUASI, "dx", people)
    assert (skewed.details["largest_factor"], skewed.details["own_share"]) == pytest.approx((float(factor), float(own)))
    assert skewed.n_victims == victims


@settings(max_examples=effort.often(50), derandomize=True)
@given(made=releases(), radius=st.integers(0, 5), empty=st.sets(st.integers(0, 6)))
def test_proximity_and_range_disclosure(made, radius, empty):
    people, rows = made
    for i in empty & set(range(len(people))):
        rows[i]["sex"] = people[i]["sex"]  # a row that says nothing at all would be a suppressed one
        people[i]["cost"] = rows[i]["cost"] = None
    costs = [p["cost"] for p in people if p["cost"] is not None]
    assume(costs and max(costs) > min(costs))
    attacker = Attacker(radius=radius / (max(costs) - min(costs)))
    found = reached("proximity", people, rows, sensitive=["cost"], attacker=attacker)
    assert (found.highest, found.average, found.n_victims) == pytest.approx(
        tuple(map(float, oracle_attacks.proximity(rows, QUASI, "cost", radius)))
    )
    found = reached("range-disclosure", people, rows, sensitive=["cost"], attacker=attacker)
    assert (found.highest, found.average, found.n_victims) == pytest.approx(
        tuple(map(float, oracle_attacks.range_disclosure(rows, QUASI, "cost", 2 * radius)))
    )


@often
@given(made=releases(), seed=st.integers(0, 1000))
def test_membership_and_journalist(made, seed):
    people, rows = made
    rng = random.Random(seed)
    others = [{"age": rng.randint(20, 26), "sex": rng.choice("fm")} for _ in range(rng.randint(0, 8))]
    everybody = [{q: p[q] for q in QUASI} for p in people] + others
    chances = oracle_attacks.membership(everybody, rows, QUASI)
    found = reached("membership", people, rows, population=pl.DataFrame(everybody))
    assert found.highest == pytest.approx(float(max(chances)))
    assert found.details["delta_min"] == pytest.approx(float(min(chances)))
    assert found.details["certainly_not_in"] == sum(c == 0 for c in chances)
    journalist = reached("journalist", people, rows, population=pl.DataFrame(everybody))
    assert journalist.details["k_map"] == oracle_attacks.k_map(everybody, rows, QUASI)
    assert journalist.highest == pytest.approx(1 / journalist.details["k_map"])


@often
@given(made=releases(), seed=st.integers(0, 1000))
def test_composition(made, seed):
    people, first = made
    rng = random.Random(seed)
    second = [generalised(p, rng) for p in people]
    remaining = oracle_attacks.composition(people, [first, second], QUASI, "dx")
    found = reached("composition", people, first, others=[pl.DataFrame(second)])
    assert found.n_victims == sum(left == {p["dx"]} for p, (left, _) in zip(people, remaining, strict=True))
    assert found.highest == pytest.approx(max(1 / len(left) for left, _ in remaining))


CLASSES = ("a", "ab", "aab", "abc", "aabc", "abbcc")


@pytest.mark.parametrize("k", [0, 1])
def test_worst_case_knowledge(k):
    """One class, and two that share out the implications, in either order."""
    groups = [[c] for c in CLASSES] + [[c, d] for c in CLASSES for d in CLASSES if len(c + d) <= 6]
    for found in groups:
        assert worst_of(found, k) == pytest.approx(float(oracle_attacks.worst_knowledge(found, k))), found


@pytest.mark.parametrize("groups", [["ab"], ["aab"], ["aabb"], ["ab", "a"], ["a", "ab"], ["ab", "ab"]])
def test_worst_case_knowledge_of_two_implications(groups):
    assert worst_of(groups, 2) == pytest.approx(float(oracle_attacks.worst_knowledge(groups, 2)))


def worst_of(groups, k):
    codes = np.array(["abc".index(value) for group in groups for value in group])
    numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    hist = count_classes(numbers, len(groups), {"s": (codes, SensitiveDomain("s", tuple("abc")))}).hist["s"]
    return disclosure(hist, k)


@settings(max_examples=effort.often(60), derandomize=True)
@given(data=st.data(), m=st.integers(2, 3), k=st.integers(1, 2))
def test_minimality(data, m, k):
    values = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=7))
    values = [sorted(set(values)).index(v) for v in values]
    a_cut = st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))
    cuts = data.draw(st.lists(a_cut, min_size=1, max_size=4))
    expected = oracle_attacks.minimality(values, cuts, m, k)
    found = credibility(np.array(values), [np.array(c) for c in cuts], m=m, k=k)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.n_worlds, found.n_consistent, found.errors) == (*expected[:2], None)
    if not expected[1]:
        assert found.chances is None
        return
    for chances, exact in zip(found.chances.tolist(), expected[2], strict=True):
        assert {v: chances[v] for v in exact} == {v: float(c) for v, c in exact.items()}


@often
@given(data=st.data())
def test_possible_worlds(data):
    counts = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=3).filter(lambda c: 1 <= sum(c) <= 5))
    weight = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    weights = [[data.draw(weight) for _ in counts] for _ in range(sum(counts))]
    found, _ = _possible_worlds.posteriors(np.array(weights), np.array(counts), steps_up_to=10**6)
    assert found.tolist() == pytest.approx(np.array(oracle_attacks.assignments(weights, counts)))


@often
@given(seed=st.integers(0, 10**6))
def test_definetti(seed):
    rng = random.Random(seed)
    groups = [g for g in range(rng.randint(1, 4)) for _ in range(rng.randint(1, 4))]
    values = [rng.randint(0, 2) for _ in groups]
    rows = [{"a": rng.randint(0, 2), "b": rng.randint(0, 1)} for _ in groups]
    counts = {g: Counter(v for h, v in zip(groups, values, strict=True) if h == g) for g in groups}
    expected = oracle_attacks.definetti(
        rows, ["a", "b"], groups, counts, definetti_module.ROUNDS, _possible_worlds.ROUNDS, definetti_module.SMOOTHING
    )
    domain = SensitiveDomain("s", ("x", "y", "z"))
    hist = count_classes(np.array(groups), max(groups) + 1, {"s": (np.array(values), domain)}).hist["s"]
    arcs = _possible_worlds.Arcs(np.array(groups), hist)
    # the oracle counts only values that occur, as codes do here
    found = definetti_chances([np.array([r[q] for r in rows]) for q in ("a", "b")], arcs, 3)
    pairs = zip(arcs.person.tolist(), arcs.value.tolist(), found.tolist(), strict=True)
    for person, value, chance in pairs:
        assert chance == pytest.approx(expected[person][value], abs=1e-9)


@often
@given(seed=st.integers(0, 10**6))
def test_critical_absence(seed):
    rng = random.Random(seed)
    groups = [g for g in range(rng.randint(1, 4)) for _ in range(rng.randint(1, 4))]
    values = [rng.randint(0, 3) for _ in groups]
    stays = [rng.random() < 0.6 for _ in groups]
    new = {v: rng.randint(0, 2) for v in range(4)}
    signatures = [
        tuple(sorted({v for h, v in zip(groups, values, strict=True) if h == g})) for g in range(max(groups) + 1)
    ]
    found = find_absence(
        np.array(groups), signatures, np.array(values), np.array(stays), np.array([new[v] for v in range(4)])
    )
    assert (found.is_victim.tolist(), found.n_counterfeits) == oracle_attacks.absent(groups, values, stays, new)


@often
@given(seed=st.integers(0, 10**6))
def test_minimal_uniques_subsets_keys_and_dependencies(seed):
    rng = random.Random(seed)
    rows = [{c: rng.randint(0, 3) for c in "abc"} for _ in range(rng.randint(1, 9))]
    for row in rows:
        row["d"] = row["a"] // 2
    columns = {c: np.array([row[c] for row in rows]) for c in "abcd"}
    expected = oracle_attacks.minimal_uniques(rows, "abcd", 3)
    found = minimal_uniques(columns, largest=3)
    assert found.n_of_record.tolist() == [len(sets) for sets in expected]
    assert dict(found.counts) == Counter(s for sets in expected for s in sets)
    weight = {1: 6, 2: 2, 3: 1}  # products of (4 - i) for i = m ... 2
    assert found.scores.tolist() == [sum(weight[len(s)] for s in sets) for sets in expected]
    risks = subset_risks(columns, largest=4)
    for risk in risks:
        counted = Counter(tuple(row[c] for c in risk.columns) for row in rows)
        assert (risk.n_classes, risk.highest) == (len(counted), 1 / min(counted.values()))
        assert risk.average == len(counted) / len(rows)
        assert risk.n_unique == sum(n == 1 for n in counted.values())
    unique_on = [r.columns for r in risks if r.is_key]
    assert set(keys(risks)) == {k for k in unique_on if not any(set(o) < set(k) for o in unique_on)}
    for found_one in dependencies(risks):
        decided = {tuple(row[c] for c in found_one.columns): row[found_one.decides] for row in rows}
        assert all(decided[tuple(row[c] for c in found_one.columns)] == row[found_one.decides] for row in rows)


@often
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=12), extra=st.integers(1, 300))
def test_zayatz(sizes, extra):
    population = sum(sizes) + extra
    found = zayatz(np.array(sizes), population)
    assert found.given_sample_unique == pytest.approx(float(oracle_attacks.zayatz(sizes, population)))
    assert found.n_unique == pytest.approx(found.given_sample_unique * sizes.count(1) * population / sum(sizes))


def test_pitman_parameters_are_most_likely():
    sizes, counts = [1, 2, 3, 5, 9], [40, 12, 5, 3, 1]
    n, u = sum(s * c for s, c in zip(sizes, counts, strict=True)), sum(counts)

    def likelihood(alpha, theta):
        new = sum(math.log(theta + i * alpha) for i in range(1, u))
        drawn = sum(math.log(theta + i) for i in range(1, n))
        inside = sum(c * sum(math.log(i - alpha) for i in range(1, s)) for s, c in zip(sizes, counts, strict=True))
        return new - drawn + inside

    alpha, theta = pitman_fit(sizes, counts)
    best = likelihood(alpha, theta)
    for a in (-0.02, 0.0, 0.02):
        for t in (0.9, 1.0, 1.1):
            assert likelihood(min(0.999, max(0.001, alpha + a)), theta * t) <= best + 1e-9


def test_pitman_uniques_are_expected_by_the_urn():
    """The chance that each of n records opens a class and stays alone, followed record by record."""
    alpha, theta, n = 0.4, 3.0, 7
    expected = 0.0
    for record in range(n):
        # classes before it do not matter: a record opens one with chance (theta + classes alpha) / (theta + record)
        expected += _opens_and_stays_alone(alpha, theta, record, n)
    assert pitman_uniques(alpha, theta, n) == pytest.approx(expected)


def _opens_and_stays_alone(alpha, theta, record, n):
    states = {0: 1.0}  # number of classes: chance
    for i in range(record):
        after: dict[int, float] = {}
        for k, chance in states.items():
            new = (theta + k * alpha) / (theta + i)
            after[k + 1] = after.get(k + 1, 0.0) + chance * new
            after[k] = after.get(k, 0.0) + chance * (1 - new)
        states = after
    opens = sum(chance * (theta + k * alpha) / (theta + record) for k, chance in states.items())
    alone = math.prod(1 - (1 - alpha) / (theta + i) for i in range(record + 1, n))
    return opens * alone


def test_negative_binomial_parameters_are_most_likely():
    sizes, counts = [1, 2, 3, 4, 8], [50, 30, 14, 6, 1]

    def likelihood(shape, mean):
        p = shape / (shape + mean)
        total = 0.0
        for s, c in zip(sizes, counts, strict=True):
            ways = math.gamma(shape + s) / (math.gamma(shape) * math.factorial(s))
            total += c * math.log(ways * p**shape * (1 - p) ** s / (1 - p**shape))
        return total

    shape, mean = negative_binomial_fit(sizes, counts)
    best = likelihood(shape, mean)
    for a in (0.9, 1.0, 1.1):
        for b in (0.95, 1.0, 1.05):
            assert likelihood(shape * a, mean * b) <= best + 1e-9


def test_every_attack_ends_on_odd_tables():
    """No rows for some columns, one row, equal rows, missing cells: a finding with chances, or a reason."""
    tables = [
        pl.DataFrame({"age": [30], "sex": ["f"], "dx": ["a"], "cost": [1]}),
        pl.DataFrame({"age": [30] * 5, "sex": ["f"] * 5, "dx": ["a"] * 5, "cost": [1] * 5}),
        pl.DataFrame({"age": [30, None, 40], "sex": ["f", None, "m"], "dx": ["a", None, "b"], "cost": [1, None, 3]}),
    ]
    from tablecloak.attacks.base import every

    for table in tables:
        case = build_case(table, quasi=QUASI, sensitive=["dx", "cost"], original=table)
        for name in every():
            found = find("attacks", name)(case)
            assert (found.finding is None) == (found.reason is not None)
            if found.finding is not None:
                highest = 1.0 if found.finding.highest is None else found.finding.highest
                assert 0 <= found.finding.average <= highest + 1e-9 <= 1 + 2e-9, name
                assert 0 <= found.finding.baseline <= 1
                assert 0 <= found.finding.excess <= 1
                assert 0 <= found.finding.n_victims <= found.finding.n_targets
