"""V04: a microaggregated table, its clusters, its broken product, and why columns alone are not enough."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from effort import often
from tablecloak.algorithms.micro._centers import spread_within
from tablecloak.algorithms.micro._points import PointRecords
from tablecloak.algorithms.micro.mdav import mdav
from tablecloak.algorithms.micro.univariate import univariate
from tablecloak.progress import silent

T4A = pl.DataFrame(
    {
        "id": list(range(1, 13)),
        "Hours": [7, 23, 30, 21, 8, 11, 26, 65, 5, 11, 51, 9],
        "Rate": [32, 25, 50, 60, 40, 60, 75, 30, 32, 75, 60, 50],
        "Sum": [224, 575, 1500, 1260, 320, 660, 1950, 1950, 160, 825, 3060, 450],
        "Total": [11, 35, 41, 38, 13, 15, 32, 72, 9, 19, 57, 12],
    }
)
ALL = ["Hours", "Rate", "Sum", "Total"]
PRINTED = {
    (1, 5, 9): (6.667, 34.667, 234.667, 11),
    (2, 4, 7): (23.333, 53.333, 1261.667, 35),
    (3, 8, 11): (48.667, 46.667, 2170, 56.667),
    (6, 10, 12): (10.333, 61.667, 645, 15.333),
}
SURVEY = set(PRINTED)


def points(columns, *, standardized):
    raw = T4A.select(columns).to_numpy().astype(float)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0) if standardized else raw


def as_sets(clusters):
    return {tuple(np.flatnonzero(clusters == c) + 1) for c in np.unique(clusters)}


def classes(frame, columns):
    found = {}
    for row_id, cell in zip(frame["id"], frame.select(columns).iter_rows(), strict=True):
        found.setdefault(cell, []).append(row_id)
    return {tuple(ids) for ids in found.values()}


def release(kind, columns, **params):
    policy = tc.Policy(
        columns={**tc.roles(quasi=columns), "id": "keep"},
        goals=[tc.KAnonymity(k=3)],
        algorithm={"kind": kind, **params},
    )
    return tc.anonymize(T4A, policy)


@pytest.mark.parametrize(
    ("columns", "standardized"), [(["Hours", "Total"], False), (["Hours", "Total"], True), (["Hours"], False)]
)
def test_mdav_on_hours_gives_the_clusters_of_the_survey(columns, standardized):
    assert as_sets(mdav(PointRecords(points(columns, standardized=standardized)), 3, silent)) == SURVEY


@pytest.mark.parametrize(
    ("standardized", "expected"),
    [
        (False, {(7, 8, 11), (1, 5, 9), (3, 4, 10), (2, 6, 12)}),
        (True, {(3, 8, 11), (1, 5, 9), (2, 4, 12), (6, 7, 10)}),
    ],
)
def test_mdav_on_all_columns(standardized, expected):
    assert as_sets(mdav(PointRecords(points(ALL, standardized=standardized)), 3, silent)) == expected
    assert classes(release("mdav", ALL, standardize=standardized).frame, ALL) == expected


def test_published_cells_are_the_printed_means():
    clusters = mdav(PointRecords(points(["Hours", "Total"], standardized=True)), 3, silent)
    for ids in as_sets(clusters):
        means = T4A.filter(pl.col("id").is_in(ids)).select(ALL).mean().row(0)
        assert means == pytest.approx(PRINTED[ids], abs=0.0005)


def test_means_of_a_release_are_means_of_its_classes():
    published = release("mdav", ["Hours", "Total"]).frame
    assert classes(published, ["Hours", "Total"]) == SURVEY
    for row in published.iter_rows(named=True):
        ids = next(c for c in SURVEY if row["id"] in c)
        assert (row["Hours"], row["Total"]) == pytest.approx((PRINTED[ids][0], PRINTED[ids][3]), abs=0.0005)


def test_squared_spread_that_is_lost():
    clusters = mdav(PointRecords(points(["Hours", "Total"], standardized=True)), 3, silent)
    raw = points(ALL, standardized=False)
    assert spread_within(raw, clusters) == pytest.approx(0.266712, abs=5e-7)
    assert spread_within(points(ALL, standardized=True), clusters) == pytest.approx(0.299263, abs=5e-7)
    assert spread_within(raw, clusters) * ((raw - raw.mean(axis=0)) ** 2).sum() == pytest.approx(2321652.0)


def test_product_of_means_is_not_the_mean_of_products():
    products = {(1, 5, 9): 231.1111, (2, 4, 7): 1244.4444, (3, 8, 11): 2271.1111, (6, 10, 12): 637.2222}
    for ids, product in products.items():
        hours, rate, total, _ = T4A.filter(pl.col("id").is_in(ids)).select(ALL).mean().row(0)
        assert hours * rate == pytest.approx(product, abs=5e-5)
        assert hours * rate != pytest.approx(total, rel=1e-3)


def test_tie_keeps_the_product():
    published = release("mdav", ALL, tie="Sum = Hours * Rate")
    for row in published.frame.iter_rows(named=True):
        assert row["Sum"] == pytest.approx(row["Hours"] * row["Rate"])
    assert any("held in 12 of 12 records" in note for note in published.report.verification.notes)
    assert published.report.verification.verdicts[0].achieved >= 3


def test_univariate_groups_of_the_survey():
    hours = univariate(T4A["Hours"].to_numpy().astype(float), 3) + 1
    total = univariate(T4A["Total"].to_numpy().astype(float), 3) + 1
    assert hours.tolist() == [1, 3, 4, 3, 1, 2, 3, 4, 1, 2, 4, 2]
    assert total.tolist() == [1, 3, 4, 3, 2, 2, 3, 4, 1, 2, 4, 1]
    joint = Counter(zip(hours, total, strict=True))
    assert min(joint.values()) == 1
    alone = [i + 1 for i, pair in enumerate(zip(hours, total, strict=True)) if joint[pair] == 1]
    assert alone == [5, 12]


def test_univariate_refuses_several_columns():
    with pytest.raises(tc.IncompatibleChoice, match="not k-anonymous"):
        release("univariate", ["Hours", "Total"])


def test_mdav_is_close_to_the_optimum_of_the_vector():
    raw = points(["Hours", "Total"], standardized=False)
    clusters = mdav(PointRecords(raw), 3, silent)
    sse = sum(((raw[clusters == c] - raw[clusters == c].mean(axis=0)) ** 2).sum() for c in range(4))
    assert sse == pytest.approx(1172.0)
    best = [(1, 9, 12), (2, 4, 7), (3, 8, 11), (5, 6, 10)]
    parts = [raw[[i - 1 for i in ids]] for ids in best]
    assert sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts) == pytest.approx(1169.333333)


def test_no_cell_covers_its_original_and_the_report_says_so():
    verification = release("mdav", ["Hours", "Total"]).report.verification
    assert verification.covers is None
    assert any("centers" in note for note in verification.notes)


def sse_of_runs(values, bounds):
    return sum(((part - part.mean()) ** 2).sum() for part in np.split(values, bounds))


@pytest.mark.parametrize("seed", range(often(20)))
def test_univariate_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(0, 30, rng.integers(4, 12)).astype(float))
    k = int(rng.integers(2, 4))
    best = min(
        sse_of_runs(values, bounds)
        for n in range(len(values) // k)
        for bounds in combinations(range(1, len(values)), n)
        if min(np.diff([0, *bounds, len(values)])) >= k
    )
    values = rng.permuted(values)
    clusters = univariate(values, k)
    assert min(Counter(clusters.tolist()).values()) >= k
    parts = [values[clusters == c] for c in np.unique(clusters)]
    assert sum(((p - p.mean()) ** 2).sum() for p in parts) == pytest.approx(best)
