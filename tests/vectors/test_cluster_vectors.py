"""Worked examples of the literature on clustering; each test names the vector it was computed from."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from cluster_costs import total_loss
from kernel_forms import compiled, plain
from tablecloak.algorithms.clustering._record_distances import weighted_climb
from tablecloak.algorithms.clustering._seeding import far_seeds
from tablecloak.algorithms.clustering.base import Clusters, Points
from tablecloak.algorithms.clustering.k_member import k_member
from tablecloak.algorithms.clustering.k_member_parallel import k_member_parallel
from tablecloak.algorithms.clustering.loukides_shao import diversity_of
from tablecloak.algorithms.one_pass.disk_clustering import prefers_optimized
from tablecloak.algorithms.one_pass.pile_dealing import halved, n_lent
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import QuasiColumn, SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.hierarchy.hierarchy import Hierarchy

A1 = {
    "gender": ["Male", "Male", "Female", "Female", "Female", "Female", "Male"],
    "age": [40, 32, 40, 38, 29, 34, 39],
    "zip": ["23051", "70825", "23051", "23038", "81307", "23038", "23051"],
}
TABLE_1_2 = [[1, 3, 7], [2, 5], [4, 6]]
RULE = {"abs": "total", "delta": "increase"}
# fmt: off
A9_GREEDY = [  # k, reference, leftover rule, start row, clusters, total loss
    (2, "fixed", "abs", 1, [[5, 6], [2, 7], [4, 3, 1]], 10.927273),
    (2, "fixed", "abs", 2, [[3, 4], [5, 6], [1, 7, 2]], 9.254545),
    (2, "fixed", "abs", 3, [[2, 7], [5, 6], [1, 3, 4]], 10.927273),
    (2, "fixed", "abs", 4, [[2, 7], [5, 6], [1, 3, 4]], 10.927273),
    (2, "fixed", "abs", 5, [[1, 7], [2, 6], [3, 4, 5]], 10.545455),
    (2, "fixed", "abs", 6, [[2, 7], [1, 3, 4], [5, 6]], 10.927273),
    (2, "fixed", "abs", 7, [[5, 6], [2, 7], [4, 3, 1]], 10.927273),
    (2, "fixed", "delta", 1, [[5, 6], [2, 7, 1], [4, 3]], 9.254545),
    (2, "fixed", "delta", 2, [[3, 4], [5, 6, 2], [1, 7]], 8.709091),
    (2, "fixed", "delta", 3, [[2, 7], [5, 6, 4], [1, 3]], 10.727273),
    (2, "fixed", "delta", 4, [[2, 7], [5, 6, 4], [1, 3]], 10.727273),
    (2, "fixed", "delta", 5, [[1, 7], [2, 6, 5], [3, 4]], 8.709091),
    (2, "fixed", "delta", 6, [[2, 7], [1, 3], [5, 6, 4]], 10.727273),
    (2, "fixed", "delta", 7, [[5, 6], [2, 7, 1], [4, 3]], 9.254545),
    (2, "last", "abs", 1, [[5, 6], [2, 7], [4, 3, 1]], 10.927273),
    (2, "last", "abs", 2, [[3, 4, 1], [2, 7], [5, 6]], 10.927273),
    (2, "last", "abs", 3, [[2, 7], [5, 6], [1, 3, 4]], 10.927273),
    (2, "last", "abs", 4, [[2, 7], [5, 6], [1, 3, 4]], 10.927273),
    (2, "last", "abs", 5, [[1, 7, 3], [5, 6], [2, 4]], 11.272727),
    (2, "last", "abs", 6, [[2, 7], [5, 6], [1, 3, 4]], 10.927273),
    (2, "last", "abs", 7, [[5, 6], [2, 7], [4, 3, 1]], 10.927273),
    (2, "last", "delta", 1, [[5, 6], [2, 7, 1], [4, 3]], 9.254545),
    (2, "last", "delta", 2, [[3, 4], [2, 7, 1], [5, 6]], 9.254545),
    (2, "last", "delta", 3, [[2, 7], [5, 6, 4], [1, 3]], 10.727273),
    (2, "last", "delta", 4, [[2, 7], [5, 6, 4], [1, 3]], 10.727273),
    (2, "last", "delta", 5, [[1, 7, 3], [5, 6], [2, 4]], 11.272727),
    (2, "last", "delta", 6, [[2, 7], [5, 6, 4], [1, 3]], 10.727273),
    (2, "last", "delta", 7, [[5, 6], [2, 7, 1], [4, 3]], 9.254545),
    (3, "fixed", "abs", 1, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "fixed", "abs", 2, [[3, 4, 6, 1], [5, 2, 7]], 16.509091),
    (3, "fixed", "abs", 3, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "abs", 4, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "abs", 5, [[1, 7, 3, 4], [2, 6, 5]], 13.690909),
    (3, "fixed", "abs", 6, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "abs", 7, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "fixed", "delta", 1, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "fixed", "delta", 2, [[3, 4, 6], [5, 2, 7, 1]], 14.836364),
    (3, "fixed", "delta", 3, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "delta", 4, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "delta", 5, [[1, 7, 3, 4], [2, 6, 5]], 13.690909),
    (3, "fixed", "delta", 6, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "fixed", "delta", 7, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "last", "abs", 1, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "last", "abs", 2, [[3, 4, 6, 5], [2, 7, 1]], 13.181818),
    (3, "last", "abs", 3, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "abs", 4, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "abs", 5, [[1, 7, 3, 4], [2, 6, 5]], 13.690909),
    (3, "last", "abs", 6, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "abs", 7, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "last", "delta", 1, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
    (3, "last", "delta", 2, [[3, 4, 6, 5], [2, 7, 1]], 13.181818),
    (3, "last", "delta", 3, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "delta", 4, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "delta", 5, [[1, 7, 3, 4], [2, 6, 5]], 13.690909),
    (3, "last", "delta", 6, [[2, 7, 1], [5, 6, 4, 3]], 13.181818),
    (3, "last", "delta", 7, [[5, 6, 4, 3], [2, 7, 1]], 13.181818),
]
A10 = [  # k, start row, seeds, rounds, clusters and loss by "abs", by "delta"
    (2, 1, [1, 5, 2], 2, [[1, 7, 3], [5, 6], [2, 4]], 11.272727, [[1, 7, 3], [5, 6], [2, 4]], 11.272727),
    (2, 2, [2, 3, 5], 1, [[2, 7], [3, 4, 1], [5, 6]], 10.927273, [[2, 7, 1], [3, 4], [5, 6]], 9.254545),
    (2, 3, [3, 2, 5], 1, [[3, 4, 1], [2, 7], [5, 6]], 10.927273, [[3, 4], [2, 7, 1], [5, 6]], 9.254545),
    (2, 4, [4, 2, 5], 2, [[4, 6], [2, 7, 1], [5, 3]], 9.909091, [[4, 6], [2, 7, 1], [5, 3]], 9.909091),
    (2, 5, [5, 1, 2], 2, [[5, 6], [1, 7, 3], [2, 4]], 11.272727, [[5, 6, 3], [1, 7], [2, 4]], 11.272727),
    (2, 6, [6, 2, 5], 2, [[6, 4], [2, 7, 1], [5, 3]], 9.909091, [[6, 4], [2, 7, 1], [5, 3]], 9.909091),
    (2, 7, [7, 5, 2], 2, [[7, 1, 3], [5, 6], [2, 4]], 11.272727, [[7, 1, 3], [5, 6], [2, 4]], 11.272727),
    (3, 1, [1, 5], 2, [[1, 7, 3, 2], [5, 6, 4]], 16.363636, [[1, 7, 3], [5, 6, 4, 2]], 14.545455),
    (3, 2, [2, 3], 2, [[2, 7, 1], [3, 4, 6, 5]], 13.181818, [[2, 7, 1], [3, 4, 6, 5]], 13.181818),
    (3, 3, [3, 2], 2, [[3, 4, 6, 5], [2, 7, 1]], 13.181818, [[3, 4, 6, 5], [2, 7, 1]], 13.181818),
    (3, 4, [4, 2], 2, [[4, 6, 3, 5], [2, 7, 1]], 13.181818, [[4, 6, 3, 5], [2, 7, 1]], 13.181818),
    (3, 5, [5, 1], 2, [[5, 6, 4], [1, 7, 3, 2]], 16.363636, [[5, 6, 4, 2], [1, 7, 3]], 14.545455),
    (3, 6, [6, 2], 2, [[6, 4, 3, 5], [2, 7, 1]], 13.181818, [[6, 4, 3, 5], [2, 7, 1]], 13.181818),
    (3, 7, [7, 5], 2, [[7, 1, 3, 2], [5, 6, 4]], 16.363636, [[7, 1, 3], [5, 6, 4, 2]], 14.545455),
]
A5_MATRIX = [
    [0.0, 2.666667, 2.0, 3.060827, 4.666667, 3.060827, 0.666667],
    [2.666667, 0.0, 4.666667, 4.666667, 4.666667, 4.666667, 2.666667],
    [2.0, 4.666667, 0.0, 1.060827, 2.666667, 1.060827, 2.666667],
    [3.060827, 4.666667, 1.060827, 0.0, 2.666667, 0.666667, 3.060827],
    [4.666667, 4.666667, 2.666667, 2.666667, 0.0, 2.666667, 4.666667],
    [3.060827, 4.666667, 1.060827, 0.666667, 2.666667, 0.0, 3.060827],
    [0.666667, 2.666667, 2.666667, 3.060827, 4.666667, 3.060827, 0.0],
]
A7_MATRIX = [
    [0.0, 1.727273, 1.0, 1.581818, 3.0, 1.945455, 0.090909],
    [1.727273, 0.0, 2.727273, 2.545455, 2.272727, 2.181818, 1.636364],
    [1.0, 2.727273, 0.0, 0.581818, 2.0, 0.945455, 1.090909],
    [1.581818, 2.545455, 0.581818, 0.0, 1.818182, 0.363636, 1.490909],
    [3.0, 2.272727, 2.0, 1.818182, 0.0, 1.454545, 2.909091],
    [1.945455, 2.181818, 0.945455, 0.363636, 1.454545, 0.0, 1.854545],
    [0.090909, 1.636364, 1.090909, 1.490909, 2.909091, 1.854545, 0.0],
]
A3 = [  # levels, beta, from level, to level, share of the weight
    (2, 1, 2, 1, 1.0),
    (2, 1, 2, 2, 0.0),
    (2, 2, 2, 1, 1.0),
    (2, 2, 2, 2, 0.0),
    (3, 1, 3, 1, 1.0),
    (3, 1, 3, 2, 0.333333),
    (3, 1, 3, 3, 0.0),
    (3, 2, 3, 1, 1.0),
    (3, 2, 3, 2, 0.2),
    (3, 2, 3, 3, 0.0),
    (6, 1, 6, 1, 1.0),
    (6, 1, 6, 2, 0.562044),
    (6, 1, 6, 3, 0.343066),
    (6, 1, 6, 4, 0.19708),
    (6, 1, 6, 5, 0.087591),
    (6, 1, 6, 6, 0.0),
    (6, 2, 6, 1, 1.0),
    (6, 2, 6, 2, 0.316758),
    (6, 2, 6, 3, 0.145948),
    (6, 2, 6, 4, 0.070032),
    (6, 2, 6, 5, 0.02733),
    (6, 2, 6, 6, 0.0),
]
A13 = [  # records, k, clusters, left over
    (200, 7, 28, 4),
    (30000, 50, 600, 0),
    (2000, 5, 400, 0),
    (2000, 10, 200, 0),
    (2000, 15, 133, 5),
    (2000, 20, 100, 0),
    (2000, 25, 80, 0),
    (2000, 30, 66, 20),
    (2000, 35, 57, 5),
    (2000, 40, 50, 0),
    (2000, 45, 44, 20),
    (2000, 50, 40, 0),
    (400, 15, 26, 10),
    (800, 15, 53, 5),
    (1200, 15, 80, 0),
    (1600, 15, 106, 10),
]
A13_DM = [  # k, least and most discernibility for 2000 records
    (5, 10000, 10000),
    (10, 20000, 20000),
    (15, 30080, 30100),
    (20, 40000, 40000),
    (25, 50000, 50000),
    (30, 60620, 61000),
    (35, 70180, 70200),
    (40, 80000, 80000),
    (45, 90920, 91300),
    (50, 100000, 100000),
]
# fmt: on


def levels(*labels):
    """A hierarchy maker: from a value to its path up to the root."""
    return lambda values: Hierarchy.from_paths([[label(str(v)) for label in labels] for v in values.to_list()])


ZIP = levels(*(lambda z, hidden=hidden: z[: 5 - hidden] + "*" * hidden for hidden in range(6)))
GENDER = levels(str, lambda _: "****")
AGE = levels(str, lambda _: "[DD,DD]", lambda _: "**")


def points(columns, **options):
    """Points of columns given as (values, type, hierarchy maker)."""
    fitted = [fit_domain(pl.Series(n, v), t, make_hierarchy=h) for n, (v, t, h) in columns.items()]
    return Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], **options)


def patients(*, age=None, **options):
    return points(
        {
            "gender": (A1["gender"], ColumnType.TEXT, GENDER),
            "age": (A1["age"], ColumnType.INTEGER, age),
            "zip": (A1["zip"], ColumnType.TEXT, ZIP),
        },
        **options,
    )


def one_based(clusters):
    return [[row + 1 for row in rows] for rows in clusters.members]


def zero_based(clusters):
    return [[row - 1 for row in rows] for rows in clusters]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("undergrad", "postgrad", 0.5),
        ("primary", "undergrad", 1.0),
        ("primary", "h-school", 0.5),
        (*["primary"] * 2, 0.0),
    ],
)
def test_a2_categories_by_the_height_of_their_common_ancestor(one, other, distance):
    tree = Hierarchy.from_tree(
        {"any-edu": {"basic-edu": ["primary", "h-school"], "higher-edu": ["undergrad", "postgrad"]}}
    )
    values = ["primary", "h-school", "undergrad", "postgrad"]
    four = points({"education": (values, ColumnType.TEXT, lambda _: tree)}, distance="height")
    assert four.distances(values.index(one))[values.index(other)] / four.unit == distance


@pytest.mark.parametrize(("n_levels", "beta", "bottom", "top", "share"), A3)
def test_a3_weighted_climb(n_levels, beta, bottom, top, share):
    assert weighted_climb(n_levels, top, bottom, beta=beta) == pytest.approx(share, abs=1e-6)


def test_a3_climbs_add_up():
    assert weighted_climb(3, 1, 2) == pytest.approx(0.666667, abs=1e-6)
    assert weighted_climb(3, 2) + weighted_climb(3, 1, 2) == pytest.approx(1.0)
    assert weighted_climb(6, 4, beta=0) == pytest.approx(0.4)


@pytest.mark.parametrize(("beta", "total"), [(1, 9.333333), (2, 8.4)])
def test_a4_distortion_of_table_1_2(beta, total):
    seven = patients(age=AGE, distance="weighted", beta=beta)
    assert total_loss(seven, zero_based(TABLE_1_2)) == pytest.approx(total, abs=1e-6)


def test_a4_distortion_of_one_record_of_every_class():
    seven = patients(age=AGE, distance="weighted")
    each = [total_loss(seven, [rows]) / len(rows) for rows in zero_based(TABLE_1_2)]
    assert each == pytest.approx([1.333333, 2.333333, 0.333333], abs=1e-6)


def test_a5_distance_is_the_distortion_of_both_records():
    seven = patients(age=AGE, distance="weighted")
    matrix = np.array([2 * seven.distances(row) / seven.unit for row in range(7)])
    np.testing.assert_allclose(matrix, A5_MATRIX, atol=1e-6)


def test_a6_distance_of_two_clusters_of_equal_records():
    mixed = points(
        {
            "gender": (["Male", "Female", "Female"], ColumnType.TEXT, GENDER),
            "age": ([40, 40, 40], ColumnType.INTEGER, AGE),
            "zip": (["23051"] * 3, ColumnType.TEXT, ZIP),
        },
        distance="weighted",
    )
    assert total_loss(mixed, [[0, 1, 2]]) == pytest.approx(3.0)
    apart = points(
        {
            "gender": (["Male"] * 5, ColumnType.TEXT, GENDER),
            "age": ([39, 39, 40, 40, 40], ColumnType.INTEGER, AGE),
            "zip": (["23051", "23051", "23038", "23038", "23038"], ColumnType.TEXT, ZIP),
        },
        distance="weighted",
    )
    assert total_loss(apart, [[0, 1, 2, 3, 4]]) == pytest.approx(2.652068, abs=1e-6)
    assert total_loss(apart, [[0, 1, 2, 3]]) == pytest.approx(2.121655, abs=1e-6)  # two and a stub of two


@pytest.mark.parametrize(
    ("k", "n_small", "n_large", "stub", "trunk"),
    [(4, 2, 3, 3, 0), (4, 2, 7, 2, 5), (5, 3, 6, 6, 0), (5, 3, 7, 2, 5), (5, 3, 9, 2, 7)],
)
def test_a6_stub_and_trunk(k, n_small, n_large, stub, trunk):
    assert n_lent(n_small, n_large, k) == stub
    assert n_large - n_lent(n_small, n_large, k) == trunk


def test_a7_distances_without_weights():
    seven = patients(distance="height")
    np.testing.assert_allclose([seven.distances(row) / seven.unit for row in range(7)], A7_MATRIX, atol=1e-6)


def test_a8_information_loss_of_table_1_2():
    seven = patients(distance="height")
    each = [total_loss(seven, [rows]) for rows in zero_based(TABLE_1_2)]
    assert each == pytest.approx([3.272727, 4.545455, 0.727273], abs=1e-6)
    assert total_loss(seven, zero_based(TABLE_1_2)) / (7 * 3) == pytest.approx(0.406926, abs=1e-6)


def partitions(rows, k):
    """All partitions into sets of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for n in range(k - 1, len(rest) + 1):
        for others in combinations(rest, n):
            left = [row for row in rest if row not in others]
            for more in partitions(left, k):
                yield [[first, *others], *more]


@pytest.mark.parametrize(
    ("k", "n_partitions", "best"),
    [
        (2, 162, [([[1, 7], [2, 5], [3, 4, 6]], 7.563636), ([[1, 3, 7], [2, 5], [4, 6]], 8.545455),
                  ([[1, 7], [2, 5, 6], [3, 4]], 8.709091)]),
        (3, 36, [([[1, 2, 7], [3, 4, 5, 6]], 13.181818), ([[1, 3, 4, 7], [2, 5, 6]], 13.690909)]),
    ],
)  # fmt: skip
def test_a9_optima(k, n_partitions, best):
    seven = patients(distance="height")
    ranked = sorted(
        (total_loss(seven, p), [[row + 1 for row in rows] for rows in p]) for p in partitions([*range(7)], k)
    )
    assert len(ranked) == n_partitions
    for (loss, clusters), (expected, total) in zip(ranked, best, strict=False):
        assert clusters == expected
        assert loss == pytest.approx(total, abs=1e-6)


# compiling takes longer than all of these together
both_ways = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])


@both_ways
def test_a9_greedy_in_all_56_settings(compiled):
    seven = patients(distance="height", compiled=compiled)
    for k, reference, rule, start, clusters, loss in A9_GREEDY:
        found = k_member(seven, k, start - 1, reference=reference, leftover=RULE[rule])
        assert one_based(found) == clusters
        assert total_loss(seven, found.members) == pytest.approx(loss, abs=1e-6)


@both_ways
@pytest.mark.parametrize("threads", [1, 2])
def test_a10_parallel(compiled, threads):
    seven = patients(distance="height", compiled=compiled)
    for k, start, seeds, n_rounds, by_total, loss_by_total, by_increase, increase_loss in A10:
        found = far_seeds(seven, 7 // k, start - 1)
        assert [row + 1 for row in found] == seeds
        for rule, clusters, loss in (("total", by_total, loss_by_total), ("increase", by_increase, increase_loss)):
            grown, rounds = k_member_parallel(seven, k, found, leftover=rule, threads=threads)
            assert one_based(grown) == clusters
            assert rounds == n_rounds
            assert total_loss(seven, grown.members) == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize(("n", "k", "n_clusters", "n_left"), [case for case in A13 if case[0] <= 400])
def test_a13_number_of_clusters_and_what_is_left_over(n, k, n_clusters, n_left):
    line = points({"x": (list(range(n)), ColumnType.INTEGER, None)})
    sizes = k_member(line, k, 0).sizes
    assert len(sizes) == n_clusters
    assert int((sizes - k).sum()) == n_left


@pytest.mark.slow
def test_a13_discernibility_stays_in_its_band():
    line = points({"x": (list(range(2000)), ColumnType.INTEGER, None)}, compiled=True)
    for k, least, most in A13_DM:
        assert least <= int((k_member(line, k, 0).sizes ** 2).sum()) <= most


BIG = {
    "age": ([89, 43, 28, 76, 30, 4, 59, 22], ColumnType.INTEGER, None),
    "salary": ([5422, 1280, 7785, 2374, 4214, 3012, 895, 1624], ColumnType.INTEGER, None),
    "gender": (["male", "female", "male", "male", "male", "female", "male", "female"], ColumnType.TEXT, GENDER),
    "icd": (
        [
            "ICD9:7048",
            "ICD10:O91213",
            "ICD9:94158",
            "ICD10:V983",
            "ICD9:3530",
            "ICD10:S32313K",
            "ICD9:59970",
            "ICD9:0579",
        ],
        ColumnType.TEXT,
        levels(str, lambda code: code.partition(":")[0], lambda _: "*"),
    ),
}  # V-BIGDATA-1


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [(3, 5, 1.041817), (1, 2, 3.142338), (2, 6, 1.210202), (4, 7, 1.414659), (6, 8, 1.413216)],
)
def test_v_dist_d1_between_records(one, other, total):
    eight = points(BIG, distance="height", compiled=False)
    assert eight.distances(one - 1)[other - 1] / eight.unit == pytest.approx(total, abs=1e-6)


@both_ways
def test_v_dist_d1_to_a_centroid(compiled):
    eight = points(BIG, distance="height", compiled=compiled)
    _, distance = eight.nearest(eight.codes[:, [2, 4, 7]], Clusters(eight, [[2, 4]]).centroid(0))
    np.testing.assert_allclose(distance / eight.unit, [0.770908, 0.770908, 2.217404], atol=1e-6)


@pytest.mark.parametrize(("k", "expected"), [(4, True), (10, True), (20, False), (100, False), (500, False)])
def test_v_switch_1(k, expected):
    assert prefers_optimized(1_000_000, k, 1_000_000 // k) is expected


both_kernels = pytest.mark.parametrize(
    "kernels", [plain, pytest.param(compiled, marks=pytest.mark.slow)], ids=["plain", "compiled"]
)


def test_v_split_d1_nearer_half_stays():
    away = {"d": 3.0, "c": 2.0, "a": 1.0, "b": 4.0}
    part, n_parts = halved(np.array(list(away.values())), np.array([0, 4]), 2)
    halves = [{name for name, p in zip(away, part.tolist(), strict=True) if p == half} for half in range(n_parts)]
    assert halves == [{"a", "c"}, {"b", "d"}]


@both_kernels
@pytest.mark.parametrize(
    ("k", "size", "final"), [(2, 11, [2, 3, 3, 3]), (4, 8, [4, 4]), (4, 7, [7]), (5, 23, [5, 6, 6, 6])]
)
def test_v_split_d1_until_no_cluster_is_too_large(kernels, k, size, final):
    line = points({"x": (list(range(size)), ColumnType.INTEGER, None)})
    cut, _, n_cut = kernels.cut(line.lines, line.lines, line.codes, np.array([0, size]), k)
    half, n_halves = halved(np.arange(size) / size, np.array([0, size]), k)
    for part, n_parts in ((cut, n_cut), (half, n_halves)):
        assert sorted(np.bincount(part, minlength=n_parts).tolist()) == final


@both_kernels
def test_v_split_d1_with_a_tree_beside_the_numbers(kernels):
    """Halves along the tree lose less than halves along the line."""
    places = {"d": 0, "c": 1, "a": 4, "b": 7}
    towns = levels(str, lambda town: "near" if town in "ac" else "far", lambda _: "*")
    both = points({
        "x": (list(places.values()), ColumnType.INTEGER, None), "town": (list(places), ColumnType.TEXT, towns),
    })  # fmt: skip
    part, distance, n_parts = kernels.cut(both.lines, both.lines, both.codes, np.array([0, 4]), 2)
    halves = [{name for name, p in zip(places, part.tolist(), strict=True) if p == half} for half in range(n_parts)]
    assert sorted(map(sorted, halves)) == [["a", "c"], ["b", "d"]]
    # from the middle of their half: 1.5 and 3.5 of 7, and half the tree
    assert sorted((distance / both.unit * 7).tolist()) == pytest.approx([1.5 + 3.5, 1.5 + 3.5, 3.5 + 3.5, 3.5 + 3.5])


@both_kernels
@pytest.mark.parametrize(("k", "size", "final"), [(2, 11, [2, 3, 3, 3]), (4, 7, [7]), (5, 23, [5, 6, 6, 6])])
def test_v_split_d1_in_a_tree_alone_makes_the_same_sizes(kernels, k, size, final):
    towns = levels(str, lambda town: town[0], lambda _: "*")
    names = [f"{'abc'[i % 3]}{i:02d}" for i in range(size)]
    tree = points({"town": (names, ColumnType.TEXT, towns)})
    part, _, n_parts = kernels.cut(tree.lines, tree.lines, tree.codes, np.array([0, size]), k)
    assert sorted(np.bincount(part, minlength=n_parts).tolist()) == final


def test_a11_diversity_of_table_1_2():
    frame = pl.DataFrame({**A1, "lspw": [100, 200, 150, 170, 195, 200, 150], "ds": list("CFCTFTC")})
    coded = LocalEngine().contingency(
        table_of(frame),
        [QuasiColumn(name, None, 1.0) for name in A1],
        [SensitiveColumn(name, None) for name in ("lspw", "ds")],
        by_row=True,
    )
    classes = np.array([0, 1, 0, 2, 1, 2, 0])
    found = diversity_of(coded.table, classes)
    assert found.quasi == pytest.approx([1.340909, 1.772727, 1.113636], abs=1e-6)
    assert found.sensitive == pytest.approx([0.833333, 0.383333, 0.633333], abs=1e-6)
    assert found.usefulness == pytest.approx(1.409091, abs=1e-6)
    assert found.protection == pytest.approx(1.795881, abs=1e-6)


def test_a11_protection_without_any_spread_is_infinite():
    coded = LocalEngine().contingency(
        table_of(pl.DataFrame({"a": [1, 2, 3, 4], "s": [5, 5, 6, 6]})),
        [QuasiColumn("a", None, 1.0)],
        [SensitiveColumn("s", None)],
        by_row=True,
    )
    assert diversity_of(coded.table, np.array([0, 0, 1, 1])).protection == np.inf
