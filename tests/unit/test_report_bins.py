"""Bins: what a chart may show of a column, counted by hand."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from tablecloak.data.coverage import coverage_of
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.release.facts.bins import category_bins, ordered_bins, quasi_bins


def bins_of(values, labels, *, column=ColumnType.INTEGER, tree=None, floor=2):
    """Bins of a column given as original values and published labels, one of each per record."""
    series = pl.Series("x", values)
    domain, codes = fit_domain(series, column, make_hierarchy=(lambda _: tree) if tree else None)
    distinct = list(dict.fromkeys(labels))
    return quasi_bins(
        domain,
        np.bincount(codes, minlength=domain.n_codes),
        coverage_of(pl.Series(distinct, dtype=pl.String), domain),
        names=distinct,
        counts=np.array([labels.count(label) for label in distinct]),
        floor=floor,
    )


def test_an_interval_is_spread_evenly_over_its_whole_numbers():
    # [0, 19] holds twenty whole numbers, two of them below 2
    bins = bins_of([0] * 10 + [19] * 10, ["[0, 19]"] * 20)
    assert bins.labels == ("below 2", "2 and more")
    assert bins.before == pytest.approx((0.5, 0.5))
    assert bins.after == pytest.approx((0.1, 0.9))


def test_exact_values_are_counted_where_they_are():
    values = [1, 1, 1, 2, 2, 3, 3, 3, 3]
    bins = bins_of(values, [str(v) for v in values])
    assert bins.before == bins.after


def test_every_bin_holds_enough_records_of_the_original():
    values = [1] * 50 + [20] * 2 + [55] * 3 + [100] * 50
    bins = bins_of(values, ["[1, 100]"] * len(values), floor=5)
    assert min(bins.before) * len(values) >= 5 - 1e-9
    assert all(text not in label for label in bins.labels for text in ("1 ", "55", "100"))


def test_bounds_are_round_numbers_and_no_values_of_the_data():
    rng = np.random.default_rng(3)
    values = (rng.integers(0, 5000, 400) * 7 + 13).tolist()
    bins = bins_of(values, ["*"] * 400, floor=5)
    assert all(int(edge.replace(",", "")) % 1000 == 0 for edge in bins.edges)


def test_dates_are_parted_by_years():
    days = [date(year, 5, 17) for year in range(1950, 1990) for _ in range(2)]
    bins = bins_of(days, ["*"] * 80, column=ColumnType.DATE)
    assert bins.edges == ("1955", "1960", "1965", "1970", "1975", "1980", "1985")
    assert bins.labels[:2] == ("before 1955", "1955 – 1959")
    assert bins.before == pytest.approx((1 / 8,) * 8)


def test_anything_is_spread_over_the_values_and_missing_cells_are_left_out():
    # 10..90 are 81 whole numbers, ten of them below 20
    bins = bins_of([None, None, *([10] * 5), *([90] * 5)], ["*"] * 12)
    assert bins.before == pytest.approx((0.5, 0.5))
    assert bins.after == pytest.approx((10 / 81, 71 / 81))


TREE = Hierarchy.from_tree({"*": {"north": ["a", "b"], "south": ["c", "d"]}})


def test_nodes_finer_than_what_is_published_are_not_named():
    values = ["a"] * 4 + ["b"] * 4 + ["c"] * 4 + ["d"] * 4
    bins = bins_of(values, ["north"] * 8 + ["south"] * 8, column=ColumnType.TEXT, tree=TREE)
    assert bins.labels == ("north", "south")
    assert bins.before == bins.after == (0.5, 0.5)


def test_a_column_published_as_anything_shows_nothing():
    assert bins_of(["a"] * 4 + ["c"] * 4, ["*"] * 8, column=ColumnType.TEXT, tree=TREE) is None


def test_a_label_of_a_node_is_spread_evenly_over_its_leaves():
    values = ["a"] * 3 + ["b"] * 1 + ["c"] * 8 + ["a"] * 2 + ["b"] * 2
    labels = ["north"] * 4 + ["c"] * 8 + ["a"] * 2 + ["b"] * 2
    bins = bins_of(values, labels, column=ColumnType.TEXT, tree=TREE)
    assert bins.labels == ("a", "b", "c")
    assert bins.before == pytest.approx((5 / 16, 3 / 16, 8 / 16))
    assert bins.after == pytest.approx((4 / 16, 4 / 16, 8 / 16))


def test_members_of_a_published_set_are_not_named_unless_published_alone():
    values = ["x"] * 5 + ["y"] * 2 + ["z"] * 3
    bins = bins_of(values, ["x"] * 5 + ["{y, z}"] * 5, column=ColumnType.TEXT)
    assert bins.labels == ("x", "other values")
    assert bins.after == (0.5, 0.5)


def test_true_and_false_are_named_as_they_are_published():
    bins = bins_of([True] * 6 + [False] * 4, ["true"] * 6 + ["false"] * 4, column=ColumnType.BOOLEAN)
    assert dict(zip(bins.labels, bins.after, strict=True)) == {"false": 0.4, "true": 0.6}


def test_rare_sensitive_values_are_other_values():
    bins = category_bins(["flu", "rare", "cold", "rarer"], np.array([9, 3, 6, 2]), np.array([8, 3, 6, 2]), 5)
    assert bins.labels == ("flu", "cold", "other values")
    assert bins.before == pytest.approx((9 / 20, 6 / 20, 5 / 20))


def test_other_values_that_are_too_few_are_left_out():
    bins = category_bins(["flu", "rare", "cold"], np.array([9, 3, 6]), np.array([9, 3, 6]), 5)
    assert bins.labels == ("flu", "cold")
    assert bins.before == pytest.approx((0.6, 0.4))


def test_numbers_of_a_sensitive_column_are_counted_in_bins():
    places = np.arange(100, dtype=np.float64)
    counts = np.ones(100, np.int64)
    bins = ordered_bins(places, ColumnType.INTEGER, counts, counts, 5)
    assert bins.edges == ("10", "20", "30", "40", "50", "60", "70", "80", "90")
    assert bins.before == pytest.approx((0.1,) * 10)


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_have_bins_though_no_float_says_how_far_apart_they_are():
    bins = bins_of([-1.7e308] * 4 + [0.0] * 4 + [1.7e308] * 4, ["[-1.7e308, 1.7e308]"] * 12, column=ColumnType.FLOAT)
    assert sum(bins.before) == pytest.approx(1)
    assert sum(bins.after) == pytest.approx(1)
    assert all(0 < share < 1 for share in bins.after)


@pytest.mark.filterwarnings("error")
def test_narrow_intervals_beside_wide_ones_are_spread_without_overflow():
    # an interval of the least width that a float has, asked for at 1e300
    values = [0.0, 5e-324] * 4 + [1e300] * 8
    bins = bins_of(values, ["[0.0, 5e-324]"] * 8 + ["1e300"] * 8, column=ColumnType.FLOAT)
    assert bins.before == pytest.approx((0.5, 0.5))
    assert bins.after == pytest.approx((0.5, 0.5))


def test_labels_that_are_all_sets_name_no_value_to_compare():
    """Found by a random case: without any interval, counts were whole numbers to which no share could be added."""
    assert bins_of(["a", "b", "c", "d"] * 5, ["{a, c}", "{b, d}"] * 10, column=ColumnType.TEXT) is None
