"""Every metric of random releases equals its definition, written once more in plain Python."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

import oracle
import oracle_metrics as slow
import tablecloak as tc
from effort import often
from tablecloak.metrics import every
from tablecloak.metrics.iloss import iloss
from tablecloak.metrics.lp_norm import lp_norm
from tablecloak.metrics.query_error import answers, workload
from tablecloak.rng import child

PLACES = {"North": ["a", "b", "c"], "South": {"Coast": ["d", "e"], "Hills": ["f", "g"]}}
TREE = {
    **dict.fromkeys("abc", "North"),
    **dict.fromkeys("de", "Coast"),
    **dict.fromkeys("fg", "Hills"),
    "Coast": "South",
    "Hills": "South",
    "North": "*",
    "South": "*",
}
LEVELS = {**dict.fromkeys("abcdefg", 0), "North": 1, "Coast": 1, "Hills": 1, "South": 2, "*": 3}
JOBS = {**dict.fromkeys("wx", "Office"), **dict.fromkeys("yz", "Field"), "Office": "*", "Field": "*"}
JOB_LEVELS = {**dict.fromkeys("wxyz", 0), "Office": 1, "Field": 1, "*": 2}
TREES = {"place": TREE, "job": JOBS}
SPECS = {"place": PLACES, "job": {"Office": ["w", "x"], "Field": ["y", "z"]}}
DRAWN = {
    "place": lambda r: r.choice("aabcddefg"),
    "job": lambda r: r.choice("wxxyz"),
    "age": lambda r: r.choice([20, 21, 21, 25, 30, 42, 60]),
    "color": lambda r: r.choice(["red", "red", "green", "blue", "pink"]),
}
QUASI = [("place", "job"), ("place", "age"), ("age", "color"), ("place", "color", "age"), ("job",)]


def drawn(seed):
    """Rows, quasi-identifiers, weights and the verified release of a random table."""
    r = random.Random(seed)
    quasi = QUASI[seed % len(QUASI)]
    rows = [
        {"row": i, **{name: DRAWN[name](r) for name in quasi}, "illness": r.choice("ppqrs")}
        for i in range(r.randint(8, 40))
    ]
    weights = {name: r.choice([1, 1, 2, 5]) for name in quasi}
    columns = {
        name: {"role": "quasi", "weight": weights[name], "hierarchy": {"kind": "tree", "tree": SPECS[name]}}
        if name in SPECS
        else {"role": "quasi", "weight": weights[name]}
        for name in quasi
    }
    columns |= {"row": {"role": "keep"}, "illness": {"role": "sensitive"}}
    algorithm = {"kind": "mondrian", "suppression_limit": r.choice([0.0, 0.1, 0.3])}
    policy = tc.Policy(columns=columns, goals=[{"model": "k-anonymity", "k": r.choice([2, 3])}], algorithm=algorithm)
    return rows, quasi, weights, tc.anonymize(pl.DataFrame(rows), policy)


def judged(rows, quasi, weights, release):
    """The release as the oracle sees it: rows of text."""
    shown = {row["row"]: row for row in release.frame.with_columns(pl.col(quasi).cast(pl.String)).to_dicts()}
    published = [shown.get(row["row"]) for row in rows]
    covers = {name: covered(name, [row[name] for row in rows], published) for name in quasi}
    levels, heights = {"place": LEVELS, "job": JOB_LEVELS}, {"place": 3, "job": 2}
    return slow.Release(rows, published, list(quasi), covers, levels, heights, weights)


def covered(name, originals, published):
    if name in TREES:
        tree = TREES[name]
        return {label: oracle.leaves_under(tree, label) or {label} for label in {*tree, *tree.values()}}
    cells = {"*", *(row[name] for row in published if row is not None)}
    return {cell: {v for v in originals if oracle.covers(cell, v)} for cell in cells}


@cache
def seeded(seed):
    case = drawn(seed)
    return case[-1], judged(*case)


@pytest.fixture(params=range(60))
def case(request):
    return seeded(request.param)


def value(release, name):
    (found,) = release.measure(name)
    assert found.reason is None
    return found.value


def test_metrics_of_covered_values(case):
    release, r = case
    assert value(release, "star-count") == pytest.approx(float(slow.star_count(r)))
    assert value(release, "iloss") == pytest.approx(float(slow.iloss(r)))
    assert iloss(release._counts, denominator="|D|").value == pytest.approx(float(slow.iloss(r, less=0)))
    assert value(release, "ambiguity") == pytest.approx(float(slow.ambiguity(r)))
    assert value(release, "ambiguity-data") == pytest.approx(float(slow.ambiguity_data(r)))
    assert value(release, "non-uniform-entropy") == pytest.approx(slow.non_uniform_entropy(r), abs=1e-9)


def test_metrics_of_distributions(case):
    release, r = case
    assert value(release, "kl") == pytest.approx(slow.mean_distance(r, slow.kl), abs=1e-9)
    assert value(release, "hellinger") == pytest.approx(slow.mean_distance(r, slow.hellinger), abs=1e-9)
    for p in (1, 2, 3):
        expected = slow.mean_distance(r, lambda a, b, p=p: slow.lp(a, b, p))
        assert lp_norm(release._counts, p=p).value == pytest.approx(expected, abs=1e-9)


def test_earth_movers_distance(case):
    release, r = case

    def distance(name):
        before, after = slow.shares(r, name)
        if name == "age":
            return slow.emd_of_a_line(before, after, sorted(r.values[name]))
        return slow.lp(before, after, 1) / 2

    (found,) = release.measure("emd")
    for name in r.columns:
        assert found.per_column[name] == pytest.approx(distance(name), abs=1e-9)


ORDERS = {"place": "abcdefg", "job": "wxyz"}


def ordered(r, name):
    """The values of a column in the order of their codes."""
    return ORDERS.get(name) or sorted(r.values.get(name) or {row[name] for row in r.originals})


def test_count_queries(case):
    release, r = case
    names = [*r.columns, "illness"]
    orders = [ordered(r, name) for name in names]
    asked = workload([len(values) for values in orders], 25, 3, 0.2, np.random.default_rng(1))
    right, expected = answers(release._counts.records, asked)
    for i, query in enumerate(asked):
        ends = zip(query.columns, query.first, query.last, strict=True)
        ranges = {names[c]: set(orders[c][first : last + 1]) for c, first, last in ends}
        assert (right[i], expected[i]) == pytest.approx(tuple(map(float, slow.answers(r, ranges))), abs=1e-9)


def test_query_error_is_the_mean_of_relative_errors(case):
    release, r = case
    records = release._counts.records
    asked = workload([c.n_codes for c in records.columns], 100, 3, 0.05, child(0, "queries"))
    pairs = zip(*answers(records, asked), strict=True)
    errors = [abs(after - before) / max(before, r.n / 1000) for before, after in pairs]
    assert value(release, "query-error") == pytest.approx(sum(errors) / len(errors))


def pairs(r):
    return list(itertools.combinations([*r.columns, "illness"], 2))


def test_contingency_tables(case):
    release, r = case
    distances = [slow.total_variation(*slow.joint(r, a, b)) for a, b in pairs(r)]
    assert value(release, "contingency-error") == pytest.approx(float(sum(distances)) / len(distances), abs=1e-9)


def test_association(case):
    release, r = case
    tables = [slow.joint(r, a, b) for a, b in pairs(r)]
    changes = [abs(slow.cramers_v(before) - slow.cramers_v(after)) for before, after in tables]
    assert value(release, "association-error") == pytest.approx(sum(changes) / len(changes), abs=1e-7)


@pytest.mark.parametrize("seed", range(often(12)))
def test_correlation(seed):
    r = random.Random(seed)
    rows = [{"row": i, "age": (a := r.choice([20, 25, 31, 60])), "pay": a + r.choice([0, 10, 40])} for i in range(20)]
    columns = {"row": {"role": "keep"}, "age": {"role": "quasi"}, "pay": {"role": "quasi"}}
    policy = tc.Policy(columns=columns, goals=[tc.KAnonymity(k=r.choice([2, 5]))])
    release = tc.anonymize(pl.DataFrame(rows), policy)
    before, after = slow.joint(judged(rows, ("age", "pay"), {"age": 1, "pay": 1}, release), "age", "pay")
    expected = abs(slow.pearson(before) - (slow.pearson(after) or 0.0))
    assert value(release, "correlation-error") == pytest.approx(expected, abs=1e-9)


def test_metrics_of_a_target(case):
    release, r = case
    assert value(release, "classification") == pytest.approx(float(slow.classification(r, "illness")))
    assert value(release, "hce-tdr") == pytest.approx(slow.hce_tdr(r, "illness"), abs=1e-9)
    assert value(release, "igpl") == pytest.approx(slow.igpl(r, "illness"), abs=1e-9)


def test_metrics_of_levels(case):
    release, r = case
    names = ("minimal-distortion", "height", "total", "precision")
    flat = [name for name in r.columns if name not in TREES]
    if flat:
        assert {m.reason for m in release.measure(*names)} == {f"column '{flat[0]}' has no hierarchy"}
        return
    expected = [slow.minimal_distortion(r), slow.height(r), slow.total(r), slow.precision(r)]
    assert [value(release, name) for name in names] == pytest.approx([float(x) for x in expected])


def test_total_il(case):
    release, r = case
    if "color" in r.columns:
        assert release.measure("total-il")[0].reason == "column 'color' has no hierarchy"
        return
    ages = [row["age"] for row in r.originals] if "age" in r.columns else []
    widths = {"age": {cell: oracle.ncp(cell, ages) for cell in r.covers["age"]}} if ages else {}
    assert value(release, "total-il") == pytest.approx(float(slow.total_il(r, widths, {"age"})))


def test_columns_add_up_to_the_table(case):
    release, r = case
    for found in release.measure("star-count", "iloss", "non-uniform-entropy"):
        assert sum(found.per_column.values()) == pytest.approx(found.value, abs=1e-9)
    for found in release.measure("kl", "hellinger", "lp-norm"):
        mean = sum(r.weight[name] * Fraction(part) for name, part in found.per_column.items()) / len(r.columns)
        assert float(mean) == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(often(10)))
def test_a_comparison_of_the_release_measures_the_same(seed):
    rows, _, _, release = drawn(seed)
    policy = release._plan.policy
    found = {m.name: m for m in tc.compare(pl.DataFrame(rows), release.frame, policy=policy).metrics}
    assert list(found) == every()
    for ours in release.measure():
        theirs = found[ours.name]
        assert theirs.reason == ours.reason
        assert theirs.value == pytest.approx(ours.value, abs=1e-9, nan_ok=True)


def test_random_releases_are_not_all_alike():
    kinds = {(bool(r.suppressed()), len(r.columns)) for _, r in map(seeded, range(60))}
    assert kinds == {(is_suppressed, n) for is_suppressed in (True, False) for n in (1, 2, 3)}


@pytest.mark.parametrize("seed", range(4))
def test_a_release_of_sets_measures_what_its_comparison_does(seed):
    r = random.Random(seed)
    rows = [{"color": r.choice("abcdefg"), "age": r.randint(20, 60), "illness": r.choice("pqr")} for _ in range(80)]
    roles = tc.roles(quasi=["color", "age"], sensitive=["illness"])
    algorithm = {"kind": "auto", "labels": "set"}
    output = {"path": "out.csv", "order": "keep"}
    policy = tc.Policy(columns=roles, goals=[tc.KAnonymity(k=4)], algorithm=algorithm, output=output)
    release = tc.anonymize(pl.DataFrame(rows), policy)
    assert release.frame["color"].cast(pl.String).str.starts_with("{").any()
    found = {m.name: m for m in tc.compare(pl.DataFrame(rows), release.frame, policy=policy).metrics}
    for ours in release.measure():
        assert found[ours.name].value == pytest.approx(ours.value, abs=1e-9, nan_ok=True)
