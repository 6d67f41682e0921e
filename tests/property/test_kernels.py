"""Compiled kernels equal their plain forms; the search depends on neither threads nor the order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import effort
from kernel_forms import compiled, plain
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.data.coded import code_table
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.packed_codes import UNKNOWN, ClassCost, pack, plan_layout
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent
from tablecloak.stats.classes import SensitiveDomain

import polars as pl  # isort: skip

pytestmark = pytest.mark.slow
often = settings(max_examples=effort.often(10), derandomize=True)
RULES = [CutRule(by_saving=True, relaxed=False), CutRule(by_saving=False, relaxed=False), CutRule(False, True)]
RULES += [CutRule(True, False, cost) for cost in ClassCost if cost is not ClassCost.CELLS]
GOALS = [
    Goal((KAnonymity(k=2),)),
    Goal((KAnonymity(k=7),)),
    Goal((KAnonymity(k=3), LDiversity(l=2))),
    Goal((LDiversity(variant="entropy", l=1.5), TCloseness(t=0.4))),
]


def ordered(rng, n, n_values):
    values = np.sort(rng.choice(10 * n_values, n_values, replace=False))
    return Domain("o", ColumnType.INTEGER, DomainKind.ORDERED, False, pl.Series(values, dtype=pl.Int64))


def listed(rng, n, n_values):
    return Domain("s", ColumnType.TEXT, DomainKind.SET, False, pl.Series([f"v{i:09d}" for i in range(n_values)]))


def treed(rng, n, n_values):
    """A tree of random shape and depth over the values."""
    labels, parent, level = [f"v{i}" for i in range(n_values)], [-1] * n_values, list(range(n_values))
    while len(level) > 1:
        n_groups = max(1, len(level) // int(rng.integers(2, 5)))
        bounds = np.sort(rng.integers(0, n_groups, len(level)))
        above = {}
        for node, group in zip(level, bounds.tolist(), strict=True):
            if group not in above:
                above[group] = len(labels)
                labels.append(f"n{len(labels)}")
                parent.append(-1)
            parent[node] = above[group]
        level = list(above.values())
    tree = Hierarchy.from_nodes(labels, parent)
    return Domain("t", ColumnType.TEXT, DomainKind.TREE, False, pl.Series(labels[:n_values]), tree)


def with_missing(domain):
    tree = domain.hierarchy.with_missing() if domain.hierarchy else None
    return Domain("m", domain.type, domain.kind, True, domain.values, tree)


@st.composite
def tables(draw, max_rows=150):
    """Coded tables: every kind of dimension, missing codes, skew, weights, keys of one to four words."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, max_rows))
    quasi = []
    for make in draw(st.lists(st.sampled_from([ordered, listed, treed]), min_size=1, max_size=5)):
        n_values = draw(st.sampled_from([2, 3, 9, 40, 300]))
        domain = make(rng, n, n_values)
        domain = with_missing(domain) if draw(st.booleans()) else domain
        skewed = (rng.random(n) ** draw(st.sampled_from([1, 3])) * domain.n_codes).astype(np.uint32)
        quasi.append((domain, skewed))
    for _ in range(draw(st.sampled_from([0, 0, 2, 7]))):  # wide dimensions fill several words
        domain = listed(rng, n, 70_000)
        quasi.append((domain, rng.integers(0, 70_000, n).astype(np.uint32)))
    sensitive = [(SensitiveDomain("illness", ("a", "b", "c", "d")), rng.integers(0, 4, n).astype(np.uint32))]
    return code_table(quasi, sensitive, by_row=draw(st.booleans()))


def nodes_of(draw_rng, n):
    """Ranges that together make up all tuples."""
    cuts = np.unique(draw_rng.integers(0, n, 3))
    bounds = np.unique(np.concatenate([[0], cuts, [n]]))
    return bounds[:-1].astype(np.int64), bounds[1:].astype(np.int64)


def both(call):
    return call(compiled), call(plain)


def equal(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@often
@given(tables(), st.integers(0, 99), st.integers(1, 6), st.sampled_from(RULES))
def test_propose_and_split(table, seed, min_size, rule):
    rng = np.random.default_rng(seed)
    starts, ends = nodes_of(rng, table.n_tuples)
    tried = rng.random((len(starts), table.space.n_dims)) < 0.2
    options = {"min_size": min_size, "by_saving": rule.by_saving, "relaxed": rule.relaxed, "cost": rule.cost}
    ours, theirs = both(lambda k: k.propose(table.keys, table.weights, starts, ends, table.space, tried, **options))
    equal(ours, theirs)
    goes = ours[0] >= 0

    def split(kernels):
        keys, weights, ids = table.keys.copy(), table.weights.copy(), np.arange(table.n_tuples, dtype=np.uint32)
        chosen = [part[goes] for part in (starts, ends)]
        middles = kernels.split(keys, ids, weights, *chosen, table.space, *(part[goes] for part in ours[:3]))
        return keys, weights, ids, middles

    moved, expected = both(split)
    equal(moved, expected)
    np.testing.assert_array_equal(np.sort(moved[2]), np.arange(table.n_tuples))
    np.testing.assert_array_equal(moved[0], table.keys[:, moved[2]])


@often
@given(tables(), st.integers(0, 99))
def test_counting(table, seed):
    starts, ends = nodes_of(np.random.default_rng(seed), table.n_tuples)
    equal(*both(lambda k: [k.sizes(table.weights, starts, ends)]))
    dim, n_values = table.space.n_dims, table.sensitive[0].n_values
    equal(*both(lambda k: k.count_codes(table.keys, table.weights, starts, ends, table.space, dim, n_values)))


@often
@given(tables(), st.integers(1, 6), st.sampled_from(RULES))
def test_descend(table, min_size, rule):
    def descend(kernels):
        keys, weights, ids = table.keys.copy(), table.weights.copy(), np.arange(table.n_tuples, dtype=np.uint32)
        found = kernels.descend(
            keys, ids, weights, 0, table.n_tuples, table.space,
            min_size=min_size, by_saving=rule.by_saving, relaxed=rule.relaxed, cost=rule.cost,
        )  # fmt: skip
        return (*found, ids)

    equal(*both(descend))


@often
@given(st.integers(1, 3), st.integers(1, 400), st.integers(0, 2**32), st.sampled_from([2, 50, 2**60]))
def test_group(n_words, n, seed, top):
    keys = np.random.default_rng(seed).integers(0, top, (n_words, n)).astype(np.uint64)
    for firsts, group in both(lambda k: k.group_keys(keys)):
        assert len(firsts) == len({tuple(key) for key in keys.T.tolist()})
        np.testing.assert_array_equal(keys[:, firsts[group]], keys)
        np.testing.assert_array_equal(group[firsts], np.arange(len(firsts)))
        assert all(first == np.flatnonzero(group == g)[0] for g, first in enumerate(firsts))


def solved(table, goal, rule, *, threads=1, use_compiled=False):
    found = partition(Problem(table, goal, threads), rule, silent, compiled=use_compiled)
    return found.class_of_tuple, found.lo, found.hi, *(getattr(found.tree, n) for n in ("dim", "cut", "left", "right"))


@often
@given(tables(), st.sampled_from(GOALS), st.sampled_from(RULES))
def test_partition(table, goal, rule):
    equal(solved(table, goal, rule, use_compiled=True), solved(table, goal, rule))


@settings(max_examples=effort.often(7), derandomize=True)
@given(table=tables(), goal=st.sampled_from(GOALS), rule=st.sampled_from(RULES), job=st.sampled_from([1, 8, 64]))
def test_partition_does_not_depend_on_threads_or_jobs(table, goal, rule, job):
    with pytest.MonkeyPatch.context() as patch:
        alone = solved(table, goal, rule)
        patch.setattr("tablecloak.algorithms.topdown._partition.JOB_TUPLES", job)  # many small jobs instead of one
        one, two = (solved(table, goal, rule, threads=n, use_compiled=True) for n in (1, 2))
    equal(one, two)
    equal(boxes(table, one), boxes(table, alone))


def boxes(table, found):
    """The box of every tuple, whatever the classes are called."""
    return found[1][found[0]], found[2][found[0]]


@often
@given(tables(max_rows=60), st.integers(0, 99), st.sampled_from(GOALS), st.booleans())
def test_the_order_of_rows_does_not_matter(table, seed, goal, by_saving):
    rule = CutRule(by_saving=by_saving, relaxed=False)
    n = table.n_rows
    tuple_of_row = np.arange(n) if table.tuple_of_row is None else table.tuple_of_row
    order = np.random.default_rng(seed).permutation(n)
    quasi = [(d, table.quasi_codes(i)[tuple_of_row][order].astype(np.uint32)) for i, d in enumerate(table.domains)]
    sensitive = [
        (s, table.sensitive_codes(i)[tuple_of_row][order].astype(np.uint32)) for i, s in enumerate(table.sensitive)
    ]
    other = code_table(quasi, sensitive, by_row=table.tuple_of_row is None)
    tuple_of_other = np.arange(n) if other.tuple_of_row is None else other.tuple_of_row
    lo, hi = boxes(table, solved(table, goal, rule))
    other_lo, other_hi = boxes(other, solved(other, goal, rule))
    np.testing.assert_array_equal(lo[tuple_of_row][order], other_lo[tuple_of_other])
    np.testing.assert_array_equal(hi[tuple_of_row][order], other_hi[tuple_of_other])


def test_a_long_chain_of_cuts():
    """Distances that double make every cut take one value off the end, so the tree is as deep as it is long."""
    values = pl.Series([2.0**i for i in range(900)])
    domain = Domain("x", ColumnType.FLOAT, DomainKind.ORDERED, False, values)
    table = code_table([(domain, np.repeat(np.arange(900, dtype=np.uint32), 2))], [], by_row=True)
    rule, goal = RULES[0], GOALS[0]
    ours = solved(table, goal, rule, use_compiled=True)
    equal(ours, solved(table, goal, rule))
    assert len(ours[1]) == 900


@often
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.uint8, np.uint16, np.uint32, np.int16, np.int64]))
def test_codes_are_looked_up_alike(seed, dtype):
    rng = np.random.default_rng(seed)
    values = rng.integers(3, 60, 200).astype(dtype)
    table = rng.integers(0, 100, 64).astype(np.uint64) << np.uint64(7)
    if rng.random() < 0.3:
        table[rng.integers(0, 64)] = UNKNOWN
    low = int(rng.integers(0, 5))
    before = rng.integers(0, 128, 200).astype(np.uint64)
    found = []
    for module in (compiled, plain):
        words = before.copy()
        found.append((module.add_codes(words, values, low, table), words))
    expected = [table[v - low] if 0 <= v - low < 64 else UNKNOWN for v in values.tolist()]
    assert found[0][0] == found[1][0] == (UNKNOWN not in expected)
    if found[0][0]:
        for _, words in found:
            assert words.tolist() == [int(b) | int(e) for b, e in zip(before, expected, strict=True)]


@often
@given(st.integers(0, 2**32 - 1))
def test_rows_are_led_counted_and_checked_alike(seed):
    rng = np.random.default_rng(seed)
    widths = rng.integers(2, 40, 4).tolist()
    layout = plan_layout([*widths, 2**60])  # the last one needs a second word
    columns = [rng.integers(0, w, 300).astype(np.uint64) for w in widths]
    keys = pack([*columns, np.zeros(300, np.uint64)], layout)
    dim, cut = np.array([0, 1, 0]), np.array([w // 2 for w in (widths[0], widths[1], widths[0])])
    left, right = np.array([1, ~0, ~2]), np.array([2, ~1, ~3])
    expected = [
        (0 if b <= cut[1] else 1) if a <= cut[0] else (2 if a <= cut[2] else 3)
        for a, b in zip(columns[0].tolist(), columns[1].tolist(), strict=True)
    ]
    ends = np.cumsum(widths)
    lo, hi = np.sort(rng.integers(0, 40, (2, widths[1])), axis=0)
    shown = pack([columns[1]], plan_layout([widths[1]]))
    covers = all(lo[b] <= a <= hi[b] for a, b in zip(columns[0].tolist(), columns[1].tolist(), strict=True))
    for module in (compiled, plain):
        leaves = module.leaves_of(keys, layout, dim, cut, left, right)
        assert leaves.tolist() == expected
        counts = np.ones((4, int(ends[-1])), np.int64)
        module.count_leaves(keys, layout, leaves, ends - widths, counts)
        for leaf in range(4):
            for d, width in enumerate(widths):
                codes = [c for c, at in zip(columns[d].tolist(), expected, strict=True) if at == leaf]
                assert (counts[leaf, ends[d] - width : ends[d]] - 1).tolist() == [codes.count(c) for c in range(width)]
        assert module.covers(shown, plan_layout([widths[1]]), 0, lo, hi, keys, layout, 0) == covers
        everything = np.zeros(widths[1], np.int64), np.full(widths[1], 40)
        assert module.covers(shown, plan_layout([widths[1]]), 0, *everything, keys, layout, 0)
        assert module.leaves_of(keys, layout, *(np.zeros(0, np.int64),) * 4).tolist() == [0] * 300
