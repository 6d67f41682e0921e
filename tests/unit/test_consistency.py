"""The graph of originals and published rows, against enumeration of all perfect matchings."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_forms import compiled, plain
from tablecloak.attacks.linkage_knowing_everybody import link_chances
from tablecloak.data.coverage import Coverage
from tablecloak.data.row_origins import consistency_of
from tablecloak.stats.consistency import Consistency

often = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def small_graphs(draw):
    n = draw(st.integers(1, 6))
    return [sorted(draw(st.sets(st.integers(0, n - 1)))) for _ in range(n)]


def perfect(covered):
    """All perfect matchings: tuples of the published row of every original."""
    n = len(covered)
    return [p for p in permutations(range(n)) if all(o in covered[row] for o, row in enumerate(p))]


@often
@given(small_graphs())
def test_admissible_arcs_are_those_of_some_perfect_matching(covered):
    pairs = Consistency.of_rows(covered, len(covered))
    used = {(o, row) for p in perfect(covered) for o, row in enumerate(p)}
    ok = pairs.is_admissible()
    found = set(zip(pairs.originals[ok].tolist(), pairs.published[ok].tolist(), strict=True))
    assert found == used


@often
@given(small_graphs())
def test_chances_are_shares_of_perfect_matchings(covered):
    every = perfect(covered)
    counts = [Counter(p[o] for p in every) for o in range(len(covered))]
    expected = [max(c.values()) / len(every) if every else 0.0 for c in counts]
    chances, is_counted = link_chances(Consistency.of_rows(covered, len(covered)))
    assert chances.tolist() == pytest.approx(expected)
    assert is_counted.all() or not every


@often
@given(small_graphs())
def test_matching_is_maximum(covered):
    n = len(covered)
    ones = np.ones(n, np.int64)
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in covered])]).astype(np.int64)
    heads = np.array([o for c in covered for o in c], np.int64)
    amount = plain.transport(indptr, heads, ones, ones)
    used = heads[amount > 0].tolist()
    assert set(amount.tolist()) <= {0, 1}
    assert all(amount[a:b].sum() <= 1 for a, b in pairwise(indptr.tolist()))
    assert len(set(used)) == len(used)
    most = max(sum(o in covered[row] for o, row in enumerate(p)) for p in permutations(range(n)))
    assert len(used) == most


@often
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_equal_rows_grouped_or_not_say_the_same(rows):
    codes = np.array([sorted(r)[1] for r in rows])
    boxes = sorted({(min(r), max(r)) for r in rows})
    labels = np.array([boxes.index((min(r), max(r))) for r in rows])
    coverage = Coverage(np.array([b[0] for b in boxes]), np.array([b[1] for b in boxes]), {})
    covered = [[i for i, c in enumerate(codes.tolist()) if min(r) <= c <= max(r)] for r in rows]
    single = Consistency.of_rows(covered, len(rows))
    for in_order in (True, False):
        grouped = consistency_of([(coverage, labels, codes)], is_in_order=in_order)
        assert grouped.rows_per_original().min() == single.rows_per_original().min()
        assert grouped.originals_per_row().min() == single.originals_per_row().min()
        assert grouped.admissible_rows().min() == single.admissible_rows().min()


@pytest.mark.slow
def test_compiled_graph_kernels_say_the_same():
    generator = np.random.default_rng(1)
    for n in (1, 5, 40):
        covered = [np.flatnonzero(generator.random(n) < 0.1) for _ in range(n)]
        indptr = np.concatenate([[0], np.cumsum([len(c) for c in covered])]).astype(np.int64)
        heads = np.concatenate([*covered, np.zeros(0, np.int64)]).astype(np.int64)
        unit = (indptr, heads, np.ones(n, np.int64), np.ones(n, np.int64))
        np.testing.assert_array_equal(compiled.transport(*unit), plain.transport(*unit))
        np.testing.assert_array_equal(compiled.components(indptr, heads), plain.components(indptr, heads))


def test_kk_anonymity_does_not_imply_concealment():
    # originals 0 and 1 fit only rows 0 and 1, so rows 0 and 1 can be nobody else, though they cover original 2
    covered = [[0, 1, 2], [0, 1, 2], [2, 3], [2, 3]]
    pairs = Consistency.of_rows(covered, 4)
    assert min(pairs.rows_per_original().min(), pairs.originals_per_row().min()) == 2
    assert pairs.rows_per_original()[2] == 4
    assert pairs.admissible_rows()[2] == 2


@pytest.mark.parametrize("covered", [[[], [0, 1]], [[0], [0]]])
def test_without_a_perfect_matching_nothing_is_admissible(covered):
    assert Consistency.of_rows(covered, 2).admissible_rows().tolist() == [0, 0]
