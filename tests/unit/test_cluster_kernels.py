"""Compiled clustering kernels say what the plain ones say, on random tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cluster_costs import total_loss
from kernel_forms import compiled, plain
from tablecloak.algorithms.clustering.base import Clusters, Points
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.clustering import FAR

pytestmark = pytest.mark.slow
TREE = Hierarchy.from_tree({"*": {"n": {"x": ["a", "b"], "y": ["c"]}, "s": ["d", "e"]}})


def points(seed, n=70):
    generator = np.random.default_rng(seed)
    columns = {
        "number": (pl.Series(generator.integers(0, 30, n)), ColumnType.INTEGER, None),
        "measure": (pl.Series([None, *generator.random(n - 1).round(2).tolist()]), ColumnType.FLOAT, None),
        "place": (pl.Series(generator.choice(list("abcde"), n).tolist()), ColumnType.TEXT, lambda _: TREE),
        "job": (pl.Series([None, *generator.choice(["p", "q", "r"], n - 1).tolist()]), ColumnType.TEXT, None),
    }
    fitted = [fit_domain(s.rename(name), t, make_hierarchy=h) for name, (s, t, h) in columns.items()]
    return Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], compiled=False), fitted


seeds = pytest.mark.parametrize("seed", [1, 2, 3])


@seeds
def test_cost_of_a_box_is_the_loss_of_its_domains(seed):
    table, fitted = points(seed)
    codes = np.stack([c.astype(np.int64) for _, c in fitted])
    for rows in ([0, 5], [1, 2, 3], [7], list(range(70))):
        lo, hi = codes[:, rows].min(axis=1), codes[:, rows].max(axis=1)
        losses = [d.loss(lo[[i]], hi[[i]])[0] for i, (d, _) in enumerate(fitted)]
        assert total_loss(table, [rows]) == pytest.approx(len(rows) * sum(losses), abs=1e-6)


@seeds
def test_unions_and_joined(seed):
    table, _ = points(seed)
    other = Clusters(table, [[0, 3, 4], [1], [5, 6]])
    box = table.codes[:, [8, 9]].min(axis=1), table.codes[:, [8, 9]].max(axis=1)
    np.testing.assert_array_equal(
        compiled.unions(table.lines, other.lo, other.hi, *box), plain.unions(table.lines, other.lo, other.hi, *box)
    )
    np.testing.assert_array_equal(
        compiled.joined(table.lines, table.codes, *box), plain.joined(table.lines, table.codes, *box)
    )


@seeds
@pytest.mark.parametrize("penalty", [0, 1])
@pytest.mark.parametrize("limit", [0.3, None])
def test_grow(seed, penalty, limit):
    table, _ = points(seed)
    target = np.random.default_rng(seed).integers(0, 3, table.n).astype(np.int32)
    most = FAR // 2 if limit is None else int(limit * table.unit)
    found = []
    for kernels in (plain, compiled):
        is_gone = np.zeros(table.n, np.bool_)
        is_gone[10:20] = True
        found.append(
            kernels.grow(
                table.lines, table.codes, is_gone, 4, size=80, limit=most, target=target, penalty=penalty * table.unit
            )
        )
        assert is_gone[found[-1]].all()
    np.testing.assert_array_equal(found[0], found[1])
    if limit is None:
        assert len(found[0]) == 60


@seeds
def test_candidates(seed):
    table, _ = points(seed)
    boxes = Clusters(table, [[0, 3, 4], [1], [5, 6]])
    is_gone = np.zeros(table.n, np.bool_)
    is_gone[::2] = True
    lo, hi = np.ascontiguousarray(boxes.lo), np.ascontiguousarray(boxes.hi)
    for n in (1, 4, 50):
        one, other = (k.candidates(table.lines, table.codes, is_gone, lo, hi, n) for k in (plain, compiled))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    every = plain.joined(table.lines, table.codes, lo[:, 0], hi[:, 0])
    left = sorted((int(every[row]), row) for row in range(1, table.n, 2))
    assert [row for _, row in left] == [row for row in one[0][0].tolist() if row >= 0]


@seeds
def test_nearest(seed):
    table, _ = points(seed)
    centroids = Clusters(table, [[0, 3, 4], [1], [5, 6], [0]]).centroids
    weight, handicap = np.array([1.0, 0.5, 2.0, 1.0]), np.array([1.0, 1.5, 1.0, 1.0])
    one, other = (k.nearest(table.lines, table.codes, centroids, weight, handicap) for k in (plain, compiled))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_allclose(one[1], other[1])
