"""What can be estimated from perturbed columns, held against simulation and plain sums."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter

import numpy as np
import polars as pl
import pytest
from test_transforms_perturb import chosen, made

from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.measure.perturbed import (
    estimate,
    estimated_correlation,
    estimated_mean,
    estimated_product,
    estimated_shares,
    estimated_sum,
    estimated_variance,
    factor_variance,
    invariant_matrix,
    moment_changes,
    noise_variance,
    response_matrix,
)
from tablecloak.rng import Secret

pytestmark = pytest.mark.slow

RUNS = 4000


def within_chance(covered, runs=RUNS, chance=0.95):
    return abs(covered - runs * chance) < 5 * math.sqrt(runs * chance * (1 - chance))


def test_an_interval_reaches_as_far_as_the_normal_distribution_says():
    found = estimate(10.0, 4.0, 0.9)
    assert (found.value, found.deviation) == (10.0, 2.0)
    assert (found.low, found.high) == pytest.approx((10 - 1.6448536 * 2, 10 + 1.6448536 * 2))


@pytest.mark.parametrize("distribution", ["normal", "laplace", "uniform"])
def test_variances_are_those_of_what_the_transform_draws(distribution):
    n = 100_000
    frame = pl.DataFrame({"x": np.zeros(n)})
    noise = made(chosen("noise", distribution=distribution, scale=3.0), frame, "x").to_numpy()
    fourth = {"normal": 3, "laplace": 6, "uniform": 1.8}[distribution]  # moment, over the squared variance
    expected = noise_variance(distribution, 3.0)
    assert abs(noise.var() / expected - 1) < 5 * math.sqrt((fourth - 1) / n)


def test_discrete_noise_has_no_variance_of_its_own():
    with pytest.raises(IncompatibleChoice, match="noise that is discrete has no variance of its own"):
        noise_variance("discrete", 1.0)


def test_intervals_of_sums_and_means_hold_what_they_say():
    draw = np.random.default_rng(1)
    values = draw.uniform(20, 60, 50)
    noisy = values + draw.normal(0, 10, (RUNS, 50))
    sums = [estimated_sum(cells, 100.0) for cells in noisy]
    assert all(found.deviation == pytest.approx(10 * math.sqrt(50)) for found in sums)
    assert within_chance(sum(found.low <= values.sum() <= found.high for found in sums))
    means = [estimated_mean(cells, 100.0) for cells in noisy]
    assert within_chance(sum(found.low <= values.mean() <= found.high for found in means))


def test_zero_sum_noise_leaves_the_sum():
    frame = pl.DataFrame({"x": list(range(1000))})
    after = made(chosen("noise", scale=25, zero_sum=True), frame, "x")
    found = estimated_sum(after.to_numpy(), 625.0, zero_sum=True)
    assert (found.value, found.deviation, found.low, found.high) == (499_500, 0, 499_500, 499_500)


@pytest.mark.parametrize("zero_sum", [False, True])
def test_intervals_of_scalar_products_hold_what_they_say(zero_sum):
    draw = np.random.default_rng(2)
    n = 60
    a, b = draw.uniform(20, 60, n), draw.normal(5, 3, n)
    truth = sum(x * y for x, y in zip(a, b, strict=True))
    r, v = draw.normal(0, 4, (RUNS, n)), draw.laplace(0, 1.5, (RUNS, n))
    if zero_sum:
        r, v = r - r.mean(axis=1, keepdims=True), v - v.mean(axis=1, keepdims=True)
    variances = (16.0, noise_variance("laplace", 1.5))
    found = [estimated_product(a + r[i], b + v[i], variances, zero_sum=zero_sum) for i in range(RUNS)]
    values = [each.value for each in found]
    spread = statistics.pstdev(values)
    assert abs(statistics.mean(values) - truth) < 5 * spread / math.sqrt(RUNS)
    assert abs(statistics.mean(each.deviation for each in found) / spread - 1) < 0.06
    assert within_chance(sum(each.low <= truth <= each.high for each in found) - 0, chance=0.95)


def test_zero_sum_noise_makes_scalar_products_surer():
    a = np.linspace(1000, 1010, 40)
    loose, tight = (estimated_product(a, a, (1.0, 1.0), zero_sum=is_zero) for is_zero in (False, True))
    assert loose.value == tight.value
    assert tight.deviation < loose.deviation / 50


def test_products_of_columns_that_the_transform_made_hold():
    draw = random.Random(3)
    n = 5000
    frame = pl.DataFrame({"a": [draw.uniform(0, 9) for _ in range(n)], "b": [draw.uniform(5, 6) for _ in range(n)]})
    truth = sum(a * b for a, b in frame.rows())
    for i in range(10):
        noise = chosen("noise", scale=2.0, zero_sum=True)
        a, b = (made(noise, frame, name, secret=Secret(bytes([i + 1]) * 32)).to_numpy() for name in ("a", "b"))
        found = estimated_product(a, b, (4.0, 4.0), zero_sum=True, confidence=1 - 1e-6)
        assert found.low < truth < found.high


def test_the_variance_of_the_noise_is_taken_out():
    draw = np.random.default_rng(4)
    values = draw.normal(0, 3, (RUNS, 200))
    noisy = values + draw.uniform(-6, 6, (RUNS, 200))
    found = [estimated_variance(cells, noise_variance("uniform", 6)) for cells in noisy]
    spread = statistics.pstdev([each.value for each in found])
    assert abs(statistics.mean(each.value for each in found) - 9) < 5 * spread / math.sqrt(RUNS)
    assert abs(statistics.mean(each.deviation for each in found) / spread - 1) < 0.06


def test_the_correlation_that_noise_weakened_is_found_again():
    draw = np.random.default_rng(5)
    n = 50_000
    x = draw.normal(0, 1, n)
    y = 0.8 * x + 0.6 * draw.normal(0, 1, n)
    noisy = x + draw.normal(0, 1, n), y + draw.normal(0, 0.5, n)
    weak = np.corrcoef(*noisy)[0, 1]
    assert weak == pytest.approx(0.8 / math.sqrt(2 * 1.25), abs=0.02)
    assert estimated_correlation(*noisy, (1.0, 0.25)) == pytest.approx(0.8, abs=0.03)
    with pytest.raises(DataError, match="vary no more than their noise"):
        estimated_correlation(*noisy, (9.0, 9.0))


def test_factors_vary_with_the_square_of_the_value():
    assert factor_variance([10, 20, -30], 0.1).tolist() == pytest.approx([1, 4, 9])


def test_empty_cells_are_left_out():
    assert estimated_sum([1.0, math.nan, 2.0], 4.0).deviation == pytest.approx(math.sqrt(8))
    assert estimated_product([1.0, math.nan, 2.0], [3.0, 4.0, math.nan], (0.0, 0.0)).value == 3
    assert estimated_mean(pl.Series([1.0, None, 3.0]), 0.0).value == 2


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(DataError, match="0 cells are too few, 1 are needed"):
        estimated_mean([], 1.0)
    with pytest.raises(DataError, match="1 cells are too few, 2 are needed"):
        estimated_variance([3.0], 1.0)
    with pytest.raises(DataError, match="2 cells do not go with 3"):
        estimated_product([1, 2], [1, 2, 3], (1.0, 1.0))


# --- frequencies -----------------------------------------------------------------------------------------------------


def test_an_invariant_matrix_keeps_the_frequencies():
    draw = random.Random(6)
    for _ in range(50):
        weights = [draw.random() for _ in range(draw.randrange(1, 9))]
        shares = [weight / sum(weights) for weight in weights]
        matrix = invariant_matrix(shares, draw.random()).tolist()
        assert all(sum(row) == pytest.approx(1) for row in matrix)
        after = [sum(share * row[j] for share, row in zip(shares, matrix, strict=True)) for j in range(len(shares))]
        assert after == pytest.approx(shares)


def test_shares_are_unbiased_and_their_intervals_hold():
    draw = np.random.default_rng(7)
    n, truth = 400, np.array([0.55, 0.25, 0.2])
    matrix = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.05, 0.15, 0.8]])
    counts = draw.multinomial(n, truth @ matrix, RUNS)
    found = [estimated_shares(each, matrix) for each in counts]
    for i, share in enumerate(truth):
        values = [shares[i].value for shares in found]
        spread = statistics.pstdev(values)
        assert abs(statistics.mean(values) - share) < 5 * spread / math.sqrt(RUNS)
        assert statistics.mean(shares[i].deviation for shares in found) == pytest.approx(spread, rel=0.06)
        covered = sum(shares[i].low <= share <= shares[i].high for shares in found)
        assert 0.93 * RUNS < covered < 0.97 * RUNS  # counts are whole numbers
    assert all(sum(each.value for each in shares) == pytest.approx(1) for shares in found[:50])


def test_shares_before_pram_are_estimated_from_what_it_made():
    n = 30_000
    cells = ["a"] * (n // 2) + ["b"] * (n // 3) + ["c"] * (n // 6)
    matrix = {"a": {"a": 0.6, "b": 0.4}, "b": {"b": 0.5, "c": 0.5}, "c": {"a": 0.2, "c": 0.8}}
    after = Counter(made(chosen("pram", matrix=matrix), pl.DataFrame({"x": cells}), "x").to_list())
    square = [[matrix[was].get(becomes, 0) for becomes in "abc"] for was in "abc"]
    found = estimated_shares([after[value] for value in "abc"], square)
    assert abs(after["a"] / n - 1 / 2) > 0.1
    for share, expected in zip(found, (1 / 2, 1 / 3, 1 / 6), strict=True):
        assert abs(share.value - expected) < 5 * share.deviation < 0.05


def test_randomised_response_keeps_one_value_and_spreads_the_rest():
    assert response_matrix(3, 0.6).tolist() == [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    assert response_matrix(1, 1.0).tolist() == [[1.0]]


def test_matrices_that_lose_values_are_refused():
    with pytest.raises(IncompatibleChoice, match="what the matrix did cannot be undone"):
        estimated_shares([5, 5], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(DataError, match="2 values need a matrix of as many rows and columns"):
        estimated_shares([5, 5], [[1.0]])
    with pytest.raises(DataError, match="there are no cells"):
        estimated_shares([0, 0], [[1, 0], [0, 1]])


# --- two tables ------------------------------------------------------------------------------------------------------


def test_moments_of_two_tables_are_those_of_the_statistics_module():
    before = pl.DataFrame({"x": [1, 2, None, 4], "y": [2.0, 1.0, 7.0, 9.0], "t": list("abcd"), "gone": [1, 2, 3, 4]})
    after = pl.DataFrame({"y": ["3.5", "1", "", "9"], "x": [2, 2, 2, None], "t": [1, 2, 3, 4]})
    found = moment_changes(before, after)
    assert list(found.columns) == ["x", "y"]
    old, new = found.columns["x"]
    assert (old.n, old.total, old.mean) == (3, 7.0, pytest.approx(7 / 3))
    assert old.variance == pytest.approx(statistics.variance([1, 2, 4]))
    assert (new.n, new.total, new.mean, new.variance) == (3, 6.0, 2.0, 0.0)
    assert found.columns["y"][1].variance == pytest.approx(statistics.variance([3.5, 1, 9]))
    kept = statistics.correlation([1, 2, 4], [2, 1, 9])
    assert found.correlations == {("x", "y"): (pytest.approx(kept), None)}


def test_moments_of_nothing_are_none():
    empty = pl.DataFrame({"x": [None, None]}, schema={"x": pl.Int64})
    old, _ = moment_changes(empty, empty).columns["x"]
    assert (old.n, old.total, old.mean, old.variance) == (0, 0.0, None, None)
    with pytest.raises(DataError, match="'z' is no column of numbers in both tables"):
        moment_changes(empty, empty, ["z"])


def test_a_shuffled_column_keeps_its_moments_and_loses_its_correlation():
    n = 2000
    numbers = np.random.default_rng(8).normal(0, 1, n)
    frame = pl.DataFrame({"x": numbers, "y": numbers * 2})
    after = frame.with_columns(made(chosen("shuffle"), frame, "y"))
    found = moment_changes(frame, after)
    old, new = found.columns["y"]
    assert (new.total, new.mean, new.variance) == pytest.approx((old.total, old.mean, old.variance))
    was, is_now = found.correlations["x", "y"]
    assert was == pytest.approx(1)
    assert abs(is_now) < 5 / math.sqrt(n)
