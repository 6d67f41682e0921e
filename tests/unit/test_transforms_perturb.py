"""Transforms that change cells by chance, held against plain Python."""

from __future__ import annotations

import datetime as dt
import math
import random
import statistics
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

import tablecloak as tc
from effort import often
from tablecloak import registry
from tablecloak.data.changed_columns import CellRows
from tablecloak.engines.disk.engine import DuckEngine
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import column_type
from tablecloak.io.sources import Source
from tablecloak.release.plan import make_plan
from tablecloak.release.transform import transformed
from tablecloak.rng import Secret
from tablecloak.transforms._draws import Distribution, quantiles, share_below
from tablecloak.transforms._line import Bounds
from tablecloak.transforms.base import Fitting, Key, fitted

pytestmark = pytest.mark.slow

SECRET = Secret(b"p" * 32)


def chosen(kind, **params):
    return registry.known("transforms")[kind].model_validate(params)


def fitting_of(frame, column, *, secret=SECRET, person=None, key=b"k" * 32, changed=None):
    counts = frame.select(value=column).drop_nulls().group_by("value").agg(n=pl.len().cast(pl.Int64)).sort("value")
    return Fitting(
        column=column,
        type=column_type(column, frame.schema[column]),
        secret=secret.child(column),
        shared=secret.child("transforms"),
        n_rows=frame.height,
        counts=lambda _where=None: counts,
        rows=frame.select,
        key=Key(key),
        person=person,
        changed=changed or {},
    )


def made(transform, frame, column, numbers=None, **given):
    step = fitted(transform, fitting_of(frame, column, **given))
    numbers = np.arange(frame.height) if numbers is None else np.asarray(numbers)
    here = frame[numbers]
    beside = here.select(transform.needs(given.get("person")))
    return step(here[column], CellRows(numbers, beside)).alias(column)


def run(engine, frame, columns, secret=SECRET):
    policy = tc.Policy.model_validate({"columns": columns, "goals": [{"model": "k-anonymity", "k": 2}]})
    plan = make_plan(policy, frame.columns, secret=secret)
    table = engine.read(Source.in_memory(frame), columns=plan.read_columns, categorical=plan.categorical)
    return engine.frame(transformed(engine, table, plan)[0])


# --- noise: what is drawn -------------------------------------------------------------------------------------------


def test_normal_quantiles_are_those_of_the_standard_library():
    shares = [2.0**-54, 1e-12, 1e-6, 0.0749, 0.0751, 0.3, 0.4999]
    centered = [share - 0.5 for share in shares]  # adding 1/2 again is exact
    expected = [statistics.NormalDist().inv_cdf(0.5 + place) for place in centered]
    assert quantiles(Distribution.NORMAL, np.array(centered)) == pytest.approx(expected, rel=1e-14)
    assert quantiles(Distribution.NORMAL, -np.array(centered)) == pytest.approx([-x for x in expected], rel=1e-14)


def test_quantiles_and_shares_below_are_inverse():
    centered = np.linspace(-0.49, 0.49, 99)
    for distribution in (Distribution.NORMAL, Distribution.LAPLACE, Distribution.UNIFORM):
        assert share_below(distribution, quantiles(distribution, centered)) == pytest.approx(centered + 0.5)


@pytest.mark.parametrize(
    ("distribution", "variance", "fourth"),  # of scale 1
    [("normal", 1.0, 3.0), ("laplace", 2.0, 24.0), ("uniform", 1 / 3, 1 / 5)],
)
def test_noise_has_the_mean_and_variance_of_its_distribution(distribution, variance, fourth):
    n, scale = 100_000, 10.0
    frame = pl.DataFrame({"x": np.full(n, 50.0)})
    noise = (made(chosen("noise", distribution=distribution, scale=scale), frame, "x") - 50).to_numpy()
    assert abs(noise.mean()) < 5 * scale * math.sqrt(variance / n)
    assert abs(noise.var() - variance * scale**2) < 5 * scale**2 * math.sqrt((fourth - variance**2) / n)
    if distribution == "uniform":
        assert np.abs(noise).max() <= scale


def test_factors_keep_the_conditional_mean_and_vary_with_the_value():
    n, sigma = 50_000, 0.1
    frame = pl.DataFrame({"x": np.repeat([20.0, 400.0], n)})
    after = made(chosen("noise", mode="multiplicative", scale=sigma), frame, "x").to_numpy().reshape(2, n)
    for value, cells in zip((20.0, 400.0), after, strict=True):
        assert abs(cells.mean() - value) < 5 * value * sigma / math.sqrt(n)
        assert abs(cells.var() / (value * sigma) ** 2 - 1) < 5 * math.sqrt(2 / n)


def test_a_relative_scale_is_a_share_of_the_standard_deviation():
    draw = random.Random(1)
    n = 50_000
    values = [draw.gauss(0, 300) for _ in range(n)]
    frame = pl.DataFrame({"x": values})
    noise = (made(chosen("noise", relative=0.2), frame, "x") - frame["x"]).to_numpy()
    assert abs(noise.std() / (0.2 * statistics.pstdev(values)) - 1) < 5 / math.sqrt(2 * n)


def test_whole_numbers_and_days_stay_whole_and_times_have_whole_seconds():
    n = 2000
    moment = dt.datetime(1893, 5, 17, 8, 30, 12, 345678)
    frame = pl.DataFrame({"n": list(range(n)), "day": [dt.date(1893, 5, 17)] * n, "time": [moment] * n})
    numbers = made(chosen("noise", scale=3.7), frame, "n")
    days = made(chosen("noise", scale=20), frame, "day")
    times = made(chosen("noise", scale=20), frame, "time")
    assert [numbers.dtype, days.dtype, times.dtype] == [pl.Int64, pl.Date, pl.Datetime("us")]
    moved = np.array([(day - dt.date(1893, 5, 17)).days for day in days])
    assert abs(moved.std() - 20) < 5 * 20 / math.sqrt(2 * n)
    assert {time.microsecond for time in times} == {0}
    apart = np.array([(time - moment).total_seconds() for time in times]) / 86_400
    assert abs(apart.std() - 20) < 5 * 20 / math.sqrt(2 * n)


def test_decimals_are_published_to_a_millionth_of_the_scale():
    frame = pl.DataFrame({"x": np.random.default_rng(1).uniform(0, 1, 500)})
    after = made(chosen("noise", scale=0.5), frame, "x")
    assert all(float(f"{cell:.7f}") == cell for cell in after)
    assert any(float(f"{cell:.6f}") != cell for cell in after)


@pytest.mark.parametrize("kind", ["normal", "laplace", "uniform"])
def test_missing_cells_stay_missing_and_others_are_drawn_by_their_row(kind):
    frame = pl.DataFrame({"x": [1.0, None, 3.0, None, 5.0]})
    chosen_noise = chosen("noise", distribution=kind, scale=1)
    whole = made(chosen_noise, frame, "x")
    assert whole.is_null().to_list() == [False, True, False, True, False]
    parts = [made(chosen_noise, frame, "x", rows) for rows in ([4, 0], [1, 2, 3])]
    assert pl.concat(parts).to_list() == [whole[i] for i in (4, 0, 1, 2, 3)]


# --- noise: sums, bounds, other columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_zero_sum_noise_of_whole_numbers_and_dates_adds_up_to_exactly_nothing(seed):
    draw = random.Random(seed)
    n = draw.randrange(3, 400)
    values = [draw.choice([None, draw.randrange(-(10**6), 10**6)]) for _ in range(n)]
    values[0], values[1] = 5, 10**17
    days = [None if value is None else dt.date(1888, 1, 1) + dt.timedelta(value % 50_000) for value in values]
    frame = pl.DataFrame({"x": values, "day": days})
    secret = Secret(bytes([seed]) * 32)
    after = made(chosen("noise", relative=0.3, zero_sum=True), frame, "x", secret=secret)
    moved = [new - old for new, old in zip(after.to_list(), values, strict=True) if old is not None]
    assert sum(moved) == 0
    assert any(moved)
    later = made(chosen("noise", scale=40, zero_sum=True), frame, "day", secret=secret)
    assert sum((new - old).days for new, old in zip(later.to_list(), days, strict=True) if old is not None) == 0


def test_zero_sum_noise_of_decimals_adds_up_to_nothing_but_rounding():
    frame = pl.DataFrame({"x": [None, *np.random.default_rng(2).normal(50, 9, 3000)]})
    after = made(chosen("noise", scale=2.0, zero_sum=True), frame, "x")
    assert abs(after.sum() - frame["x"].sum()) < 3000 * 1e-6
    assert (after - frame["x"]).drop_nulls().std() == pytest.approx(2.0, rel=0.1)


def reflected(value, low, high):
    while not low <= value <= high:
        value = 2 * low - value if value < low else 2 * high - value
    return value


def test_reflection_folds_values_as_often_as_needed():
    draw = random.Random(3)
    for _ in range(300):
        low = draw.randrange(-50, 50)
        high = low + draw.randrange(1, 30)
        values = [draw.randrange(-400, 400) for _ in range(5)]
        folded = Bounds(low, high, reflects=True)(np.array(values))
        assert folded.tolist() == [reflected(value, low, high) for value in values]
        assert Bounds(low, None, reflects=True)(np.array(values)).tolist() == [
            2 * low - value if value < low else value for value in values
        ]
        assert Bounds(None, high)(np.array(values)).tolist() == [min(value, high) for value in values]


@pytest.mark.parametrize("at_bounds", ["clip", "reflect"])
def test_clipped_noise_stays_in_its_range_and_says_which_cells_do_not(at_bounds):
    frame = pl.DataFrame({"age": [0, 1, 2, 90, None] * 40})
    noise = chosen("noise", scale=30, clip=[0, 110], at_bounds=at_bounds)
    after = made(noise, frame, "age")
    assert (after.min(), after.max()) >= (0, 0)
    assert after.max() <= 110
    assert not noise.faults(after).any()
    assert noise.faults(pl.Series(["-1", "0", None, "110", "111"])).to_list() == [True, False, False, False, True]
    dates = chosen("noise", scale=30, clip=["1900-01-01", None])
    assert dates.faults(pl.Series([dt.date(1899, 12, 31), dt.date(1900, 1, 1)])).to_list() == [True, False]
    assert dates.faults(pl.Series(["1899-12-31T10:00:00", "1900-01-01"])).to_list() == [True, False]


def test_noise_with_other_columns_keeps_correlations_where_noise_alone_weakens_them():
    n = 20_000
    numbers = np.random.default_rng(4)
    height = numbers.normal(170, 10, n)
    weight = 0.9 * height + numbers.normal(0, 4, n)
    frame = pl.DataFrame({"age": [30, 40] * (n // 2), "height": height, "weight": weight})
    before = np.corrcoef(height, weight)[0, 1]

    def correlation(one, other):
        columns = {
            "age": "quasi",
            "height": {"role": "keep", "transform": one},
            "weight": {"role": "keep", "transform": other},
        }
        after = run(LocalEngine(), frame, columns)
        return np.corrcoef(after["height"], after["weight"])[0, 1], after

    alone = {"kind": "noise", "relative": 1.0}
    weakened, _ = correlation(alone, alone)
    kept, after = correlation({**alone, "with": ["weight"]}, {**alone, "with": ["height"]})
    bound = 5 * (1 - before**2) / math.sqrt(n)
    assert weakened < before / 2 + bound
    assert abs(kept - before) < bound
    noise = np.stack([after["height"] - height, after["weight"] - weight])
    assert np.cov(noise) == pytest.approx(np.cov(height, weight), rel=5 * math.sqrt(2 / n))


def test_noise_with_a_column_that_has_other_noise_is_refused():
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 1.0, 4.0, 5.0]})
    columns = {"age": "quasi", "b": "keep", "a": {"role": "keep", "transform": {"kind": "noise", "with": ["b"]}}}
    with pytest.raises(IncompatibleChoice, match="goes with 'b', which does not have the same noise"):
        run(LocalEngine(), frame, columns)


def test_noise_with_others_is_the_same_on_every_engine():
    draw = random.Random(5)
    frame = pl.DataFrame(
        {"age": [draw.randrange(9) for _ in range(200)],
         "a": [draw.choice([None, draw.randrange(1000)]) for _ in range(200)],
         "day": [dt.date(1900, 1, 1) + dt.timedelta(draw.randrange(9999)) for _ in range(200)]}
    )  # fmt: skip
    columns = {
        "age": "quasi",
        "a": {"role": "keep", "transform": {"kind": "noise", "with": ["day"], "zero_sum": True}},
        "day": {"role": "keep", "transform": {"kind": "noise", "with": ["a"]}},
    }
    whole = run(LocalEngine(), frame, columns)
    disk = DuckEngine(memory=1 << 30)
    disk.batch_rows = 33
    assert run(disk, frame, columns).equals(whole)
    disk.close()
    assert sum(x - y for x, y in zip(whole["a"].drop_nulls(), frame["a"].drop_nulls(), strict=True)) == 0


def test_discrete_noise_draws_every_value_of_the_column_equally_often():
    n = 30_000
    frame = pl.DataFrame({"x": [7] * (n - 3) + [None, 8, 9]})
    after = made(chosen("noise", distribution="discrete"), frame, "x")
    counts = Counter(after.drop_nulls().to_list())
    assert set(counts) == {7, 8, 9}
    assert all(abs(count - n / 3) < 5 * math.sqrt(n * 2 / 9) for count in counts.values())
    part = made(chosen("noise", distribution="discrete", share=0.3), frame, "x")
    changed = sum(x != 7 for x in part[: n - 3])
    assert abs(changed - n * 0.2) < 5 * math.sqrt(n * 0.2 * 0.8)


# --- noise: what cannot be -------------------------------------------------------------------------------------------


def test_large_whole_numbers_lose_no_digit_and_keep_none():
    """Noise beyond 2^53 has gaps as a float; if it were added as it is, the last digits would be published."""
    value = 10**18 + 7
    frame = pl.DataFrame({"x": [value] * 2000})
    small = made(chosen("noise", scale=2), frame, "x").to_list()
    assert all(abs(cell - value) < 20 for cell in small)
    assert len({cell - value for cell in small}) > 8
    large = made(chosen("noise", scale=1e17), frame, "x").to_list()
    remainders = Counter((cell - value) % 16 for cell in large)
    assert len(remainders) == 16
    assert max(remainders.values()) < 2000 / 16 + 5 * math.sqrt(2000 / 16)


@pytest.mark.parametrize(
    ("cells", "params", "message"),
    [
        ([2**63 - 1] * 9, {"scale": 1e4}, "would leave the numbers that a cell can hold"),
        ([-(2**63)] * 9, {"scale": 1e30}, "would leave the numbers that a cell can hold"),
        ([1e308, 1.7e308] * 9, {"scale": 1e308}, "would leave the numbers that a cell can hold"),
        ([dt.date(9999, 12, 30)] * 9, {"scale": 300}, "would leave the years 1 to 9999"),
        ([dt.datetime(1, 1, 2)] * 9, {"scale": 300}, "would leave the years 1 to 9999"),
        ([1.0, math.inf], {"scale": 1}, "column 'x': 1 of these cells are infinite, and stay so"),
        ([2**62, 1], {"scale": 1, "clip": [0, None], "at_bounds": "reflect"}, "1 of these cells are too large to come"),
    ],
)
def test_cells_that_noise_cannot_change_are_refused(cells, params, message):
    with pytest.raises(DataError, match=message) as caught:
        made(chosen("noise", **params), pl.DataFrame({"x": cells}), "x")
    assert not any(str(cell) in str(caught.value) for cell in cells if cell not in (1, math.inf))


def test_a_column_without_spread_has_no_relative_noise():
    with pytest.raises(DataError, match="column 'x' has no spread that noise could be a share of"):
        made(chosen("noise"), pl.DataFrame({"x": [4, 4, 4]}), "x")
    assert made(chosen("noise", scale=1), pl.DataFrame({"x": [4, 4, None]}), "x").null_count() == 1


@pytest.mark.parametrize(
    ("cells", "params", "message"),
    [
        ([dt.date(2020, 1, 1)], {"mode": "multiplicative"}, "dates are not multiplied"),
        ([1, 2], {"clip": ["2020-01-01", None]}, "clip needs numbers, for the column is of type integer"),
        ([dt.date(2020, 1, 1)], {"scale": 1, "clip": [1, 2]}, "clip needs dates, for the column is of type date"),
        ([1, 2], {"clip": [1.2, 1.8]}, "no whole number lies between the ends of clip"),
        (["a"], {}, "noise changes columns of type integer or float or date or datetime, and this one is text"),
    ],
)
def test_noise_that_does_not_fit_a_column_is_refused(cells, params, message):
    with pytest.raises(IncompatibleChoice, match=message):
        made(chosen("noise", **params), pl.DataFrame({"x": cells}), "x")


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("noise", {"scale": 1, "relative": 1}, "give scale or relative, not both"),
        ("noise", {"scale": 0}, "greater than 0"),
        ("noise", {"scale": float("inf")}, "finite number"),
        ("noise", {"distribution": "discrete", "scale": 1}, "discrete noise has no scale"),
        ("noise", {"share": 0.5}, "only discrete noise has a share"),
        ("noise", {"mode": "multiplicative", "relative": 1}, "give scale, not relative"),
        ("noise", {"mode": "multiplicative", "zero_sum": True}, "only noise that is added can add up to 0"),
        ("noise", {"clip": [0, 1], "zero_sum": True}, "noise that is cut off does not add up to 0"),
        ("noise", {"with": ["b"], "distribution": "laplace"}, "is normal, added and relative"),
        ("noise", {"at_bounds": "reflect"}, "at_bounds needs clip"),
        ("noise", {"clip": [5, 5]}, "the first end of clip must be below the second"),
        ("noise", {"clip": [5, "2020-01-01"]}, "two numbers or two dates"),
        ("blur", {"percent": 0}, "greater than 0"),
        ("shift-dates", {"days": 6, "weeks": True}, "whole weeks need days: 7 or more"),
        ("rank-swap", {"window": 101}, "less than or equal to 100"),
        ("swap", {"forbidden": [[{"a": 1}]]}, "names two columns or more, each of them once"),
        ("swap", {"forbidden": [[{"a": 1}, {"a": 2}]]}, "names two columns or more, each of them once"),
        ("pram", {}, "give a matrix, or invariant: true"),
        ("pram", {"matrix": {"a": {"a": 1}}, "invariant": True}, "give a matrix, or invariant: true"),
        ("pram", {"matrix": {"a": {"a": 0.5, "b": 0.4}}}, "those of value 1 to 0.9"),
        ("pram", {"matrix": {"a": {"a": 1}}, "keep": 0.5}, "keep is for invariant: true"),
        ("pram", {"matrix": {"a": {"a": 1.5, "b": -0.5}}}, "less than or equal to 1"),
        ("recompute", {"expression": "2 + 3"}, "it names no column"),
        ("recompute", {"expression": "a ** b"}, "only hold columns, numbers"),
        ("recompute", {"expression": "f(a)"}, "only hold columns, numbers"),
        ("recompute", {"expression": "a.b"}, "only hold columns, numbers"),
        ("recompute", {"expression": "a if b else c"}, "only hold columns, numbers"),
        ("recompute", {"expression": "a + 'x'"}, "only hold numbers"),
        ("recompute", {"expression": "a + True"}, "only hold numbers"),
        ("recompute", {"expression": "a + 1e999"}, "only hold numbers"),
        ("recompute", {"expression": "a +"}, "it is not written as in"),
        ("recompute", {"expression": "(" * 300 + "a" + ")" * 90}, "it is not written as in"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(kind, params, message):
    with pytest.raises(ValidationError, match=message):
        chosen(kind, **params)


# --- warnings --------------------------------------------------------------------------------------------------------


def test_noise_warns_of_the_mistakes_that_are_common():
    draw = random.Random(6)
    ages = pl.DataFrame({"age": [draw.randrange(0, 90) for _ in range(1000)]})

    def warned(**params):
        return chosen("noise", **params).warnings(fitting_of(ages, "age"))

    negative = next(text for text in warned(scale=10) if "negative" in text)
    share = float(negative.split("about ")[1].split(" %")[0].split("%")[0]) / 100
    expected = statistics.mean(statistics.NormalDist(age, 10).cdf(0) for age in ages["age"])
    assert abs(share - expected) < 0.002
    assert warned(scale=10, clip=[0, 110]) == []
    assert "times the spread" in warned(scale=500, clip=[0, 110])[0]
    assert "little is hidden" in warned(scale=0.01, clip=[0, 110])[0]
    assert "leave the range" in chosen("noise", scale=20).warnings(fitting_of(ages - 45, "age"))[0]
    few = pl.DataFrame({"age": [30, 40, 50]})
    assert chosen("noise", scale=5, clip=[0, 110]).warnings(fitting_of(few, "age")) == [
        "3 cells with 3 different values are too sparse for noise to hide any of them"
    ]
    assert chosen("noise").warnings(fitting_of(pl.DataFrame({"age": [None, None]}, {"age": pl.Int64}), "age")) != []


def test_noise_warns_of_cells_that_stay():
    frame = pl.DataFrame({"x": [*range(100)] * 10, "y": [0.0, 5.0] * 500})
    (text,) = (t for t in chosen("noise", scale=0.8).warnings(fitting_of(frame, "x")) if "stay as they are" in t)
    expected = 2 * statistics.NormalDist(0, 0.8).cdf(0.5) - 1
    assert text == f"about {expected:.0%} of the cells stay as they are: the noise rounds to nothing"
    after = made(chosen("noise", scale=0.8), frame, "x")
    assert abs((after == frame["x"]).mean() - expected) < 5 * math.sqrt(expected * (1 - expected) / 1000)
    texts = chosen("noise", mode="multiplicative").warnings(fitting_of(frame, "y"))
    assert "about 50% of the cells stay as they are: the noise rounds to nothing" in texts
    assert not any("stay" in t for t in chosen("noise").warnings(fitting_of(frame, "y")))


@pytest.mark.parametrize("kind", ["noise", "blur"])
def test_values_that_a_person_has_twice_are_told_by_the_mean(kind):
    frame = pl.DataFrame({"who": ["a", "a", "b", "b", None, None, "c"], "x": [70, 70, 80, 90, 60, 60, 50]})
    texts = chosen(kind).warnings(fitting_of(frame, "x", person="who"))
    assert "1 persons have the same value in several rows: the mean of these tells it" in texts
    assert not any("persons" in t for t in chosen(kind).warnings(fitting_of(frame, "x")))


ODD = {
    "none": pl.Series([None] * 5, dtype=pl.Int64),
    "same": pl.Series([7_654_321] * 40),
    "one": pl.Series([7_654_321]),
    "infinite": pl.Series([math.inf] * 3),
    "mixed": pl.Series([math.inf, 7_654_321.5, None, -7_654_321.5] * 20),
    "days": pl.Series([dt.date(1776, 7, 4), None] * 20),
}


@pytest.mark.parametrize("name", ODD)
def test_warnings_of_odd_columns_show_no_cell(name):
    cells = ODD[name]
    frame = pl.DataFrame({"x": cells, "g": ["a"] * len(cells), "h": [7_654_321] * len(cells)})
    kinds = [("noise", {}), ("noise", {"scale": 3}), ("noise", {"distribution": "discrete"}), ("blur", {}),
             ("shuffle", {}), ("shuffle", {"within": "g"}), ("rank-swap", {}),
             ("swap", {"forbidden": [[{"x": 7_654_321}, {"g": "a"}]]}),
             ("pram", {"invariant": True}), ("shift-dates", {})]  # fmt: skip
    if name != "days":
        kinds += [("noise", {"mode": "multiplicative"}), ("recompute", {"expression": "h * 2"})]
    for kind, params in kinds:
        for text in chosen(kind, **params).warnings(fitting_of(frame, "x", person="h")):
            assert not any(part in text for part in ("7654321", "7,654,321", "7.65", "1776", "inf"))


def test_other_kinds_warn_where_little_is_hidden():
    frame = pl.DataFrame({"x": [0, 0, 2, 50, 60], "g": ["a", "a", "b", "c", "c"], "y": [1, 1, 4, 100, 121]})

    def warned(kind, column="x", **params):
        return chosen(kind, **params).warnings(fitting_of(frame, column))

    assert warned("blur") == ["2 cells are 0, which no percentage changes",
                              "1 cells are so small that 10 % of them rounds to nothing"]  # fmt: skip
    assert warned("shuffle") == ["5 cells are too few to hide in"]
    assert warned("shuffle", within="g") == ["1 rows stand alone in their group and keep their cells"]
    assert warned("rank-swap", window=20) == ["cells move by 1 ranks at most, among 5: little is hidden"]
    assert warned("pram", "g", invariant=True) == ["3 of 3 values are held by fewer than 5 rows"]
    assert warned("swap", "g", forbidden=[[{"g": "c"}, {"x": 60}]]) == ["1 rows hold a forbidden pair already"]
    assert warned("recompute", "y", expression="2 * x + 1") == ["2 of 5 cells are not what the expression gives"]
    assert warned("recompute", "y", expression="x + `y` - x") == []


# --- blur ------------------------------------------------------------------------------------------------------------


def test_blur_stays_within_its_percentage_and_fills_it_evenly():
    n = 20_000
    frame = pl.DataFrame({"pay": [5000.0] * n, "units": [-2000] * n, "day": [dt.date(1850, 6, 1)] * n})
    pay = made(chosen("blur"), frame, "pay").to_numpy()
    assert (pay.min() >= 4500, pay.max() <= 5500) == (True, True)
    assert abs(pay.mean() - 5000) < 5 * 500 / math.sqrt(3 * n)
    assert abs(pay.var() / (500**2 / 3) - 1) < 5 * math.sqrt(0.8 / n)
    units = made(chosen("blur", percent=50), frame, "units").to_list()
    assert (min(units), max(units)) == (-3000, -1000)
    days = Counter((day - dt.date(1850, 6, 1)).days for day in made(chosen("blur", days=5), frame, "day"))
    assert sorted(days) == list(range(-5, 6))
    assert all(abs(count - n / 11) < 5 * math.sqrt(n / 11) for count in days.values())


# --- shift-dates -----------------------------------------------------------------------------------------------------


def visits(seed, n=300):
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "who": [draw.choice([None, *range(40)]) for _ in range(n)],
            "seen": [draw.choice([None, dt.date(1850, 1, 1) + dt.timedelta(draw.randrange(70_000))]) for _ in range(n)],
            "left": [dt.datetime(1950, 1, 1, 3, 4, 5, 6) + dt.timedelta(draw.randrange(30_000)) for _ in range(n)],
        },
        schema_overrides={"who": pl.Int64},
    )


@pytest.mark.parametrize("weeks", [False, True])
def test_dates_of_a_person_move_alike_in_every_column_table_and_batch(weeks):
    offsets = defaultdict(set)
    shift = chosen("shift-dates", days=30, weeks=weeks)
    for seed in (1, 2):  # two tables
        frame = visits(seed).with_columns(pl.col("who").cast(pl.Float64 if seed == 2 else pl.Int64))
        for column in ("seen", "left"):
            after = made(shift, frame, column, person="who", secret=Secret(bytes([seed]) * 32))
            parts = [made(shift, frame, column, range(i, i + 60), person="who", secret=Secret(bytes([seed]) * 32))
                     for i in range(0, 300, 60)]  # fmt: skip
            assert pl.concat(parts).equals(after)
            assert after.null_count() == frame[column].null_count()
            for who, old, new in zip(frame["who"], frame[column], after, strict=True):
                if who is not None and old is not None:
                    offsets[who].add(new - old)
    assert all(len(found) == 1 for found in offsets.values())
    days = [found.pop() for found in offsets.values()]
    assert all(dt.timedelta() < abs(day) <= dt.timedelta(30) for day in days)
    assert len(set(days)) > (5 if weeks else 20)
    assert all(day.days % 7 == 0 for day in days) == weeks


def test_every_offset_but_none_is_drawn_equally_often():
    n = 20_000
    frame = pl.DataFrame({"who": range(n), "seen": [dt.date(2000, 1, 1)] * n})
    moved = Counter(
        (day - dt.date(2000, 1, 1)).days for day in made(chosen("shift-dates", days=5), frame, "seen", person="who")
    )
    assert sorted(moved) == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
    assert all(abs(count - n / 10) < 5 * math.sqrt(n / 10) for count in moved.values())
    stays = made(chosen("shift-dates", days=5, may_stay=True), frame, "seen", person="who")
    assert abs((stays == dt.date(2000, 1, 1)).sum() - n / 11) < 5 * math.sqrt(n / 11)


def test_offsets_follow_key_and_domain():
    frame = visits(3)

    def after(key=b"k" * 32, person="who", **params):
        return made(chosen("shift-dates", **params), frame, "left", person=person, key=key).to_list()

    assert after() == after(domain="dates of who")
    assert after() != after(domain="other")
    assert after() != after(key=b"l" * 32)
    assert after(per="who", person=None) == after()
    with pytest.raises(IncompatibleChoice, match="no column says whose a date is"):
        after(person=None)


def test_dates_at_the_end_of_the_calendar_are_refused():
    frame = pl.DataFrame({"who": range(50), "seen": [dt.date(9999, 12, 31)] * 50})
    n = 0
    with pytest.raises(DataError, match="of these dates would leave the years 1 to 9999") as caught:
        made(chosen("shift-dates"), frame, "seen", person="who")
    n = int(str(caught.value).split("': ")[1].split()[0])
    assert 10 < n < 40


def test_shifted_dates_take_the_key_that_the_policy_names(monkeypatch):
    monkeypatch.setenv("SHIFT_KEY", "0123456789abcdef" * 4)
    frame = visits(4).drop_nulls().with_columns(age=1)
    shift = {"kind": "shift-dates", "key": "env:SHIFT_KEY"}
    columns = {"age": "quasi", "who": "person", "seen": {"role": "keep", "transform": shift}}
    one, other = (run(LocalEngine(), frame, columns, Secret(bytes([i]) * 32))["seen"] for i in (1, 2))
    assert one.equals(other)
    assert not one.equals(frame["seen"])


# --- shuffle, rank-swap, swap ----------------------------------------------------------------------------------------


def small_table(seed):
    draw = random.Random(seed)
    n = draw.randrange(2, 60)
    return pl.DataFrame(
        {
            "x": [draw.choice([None, draw.randrange(draw.choice([3, 1000]))]) for _ in range(n)],
            "t": [draw.choice(["flu", "cold", "cancer", None]) for _ in range(n)],
            "g": [draw.choice(["a", "b", None]) for _ in range(n)],
            "h": [draw.choice([1, 2]) for _ in range(n)],
        },
        schema_overrides={"x": pl.Int64, "t": pl.String, "g": pl.String},
    )


@pytest.mark.parametrize("seed", range(often(60)))
def test_shuffled_cells_are_the_same_in_every_group(seed):
    frame = small_table(seed)
    for within in (None, "g", ("g", "h")):
        keys = [within] if isinstance(within, str) else list(within or [])
        for column in ("x", "t"):
            after = made(chosen("shuffle", within=within), frame, column, secret=Secret(bytes([seed]) * 32))
            groups = frame.select(keys).rows() if keys else [()] * frame.height
            before_, after_ = defaultdict(Counter), defaultdict(Counter)
            for group, old, new in zip(groups, frame[column], after, strict=True):
                before_[group][old] += 1
                after_[group][new] += 1
            assert before_ == after_


def test_every_order_of_three_cells_is_equally_likely():
    frame = pl.DataFrame({"x": [1, 2, 3]})
    n = 300
    orders = Counter(
        tuple(made(chosen("shuffle"), frame, "x", secret=SECRET.child(str(i))).to_list()) for i in range(n)
    )
    assert len(orders) == 6
    assert all(abs(count - n / 6) < 5 * math.sqrt(n * 5 / 36) for count in orders.values())


def test_columns_that_are_shuffled_together_stay_together():
    frame = pl.DataFrame({"age": [1] * 90, "a": range(90), "b": [str(i) for i in range(90)], "c": range(90)})
    together = {"kind": "shuffle", "within": "age"}
    columns = {
        "age": "quasi",
        "a": {"role": "keep", "transform": {**together, "with": ["b"]}},
        "b": {"role": "keep", "transform": {**together, "with": ["a"]}},
        "c": {"role": "keep", "transform": together},
    }
    after = run(LocalEngine(), frame, columns)
    assert after["a"].cast(pl.String).to_list() == after["b"].to_list()
    assert after["a"].to_list() != list(range(90))
    assert after["c"].to_list() != after["a"].to_list()
    with pytest.raises(IncompatibleChoice, match="shuffled with 'b', which does not have the same shuffle"):
        run(LocalEngine(), frame, {**columns, "b": "keep"})


def test_a_column_within_itself_is_refused():
    with pytest.raises(IncompatibleChoice, match="cannot be shuffled within itself"):
        made(chosen("shuffle", within="x"), pl.DataFrame({"x": [1, 2]}), "x")


@pytest.mark.parametrize("seed", range(often(80)))
def test_ranks_move_by_no_more_than_the_window(seed):
    draw = random.Random(seed)
    frame = small_table(seed)
    values = [value for value in frame["x"] if value is not None]
    window = draw.choice([1, 5, 20, 50, 100])
    most = min(window * len(values) // 100, len(values) - 1)
    swap = chosen("rank-swap", window=window)
    if values and most < 1:
        with pytest.raises(DataError, match="is less than one rank"):
            made(swap, frame, "x")
        return
    after = made(swap, frame, "x", secret=Secret(bytes([seed]) * 32))
    assert Counter(after.to_list()) == Counter(frame["x"].to_list())
    ranked = sorted(values)
    first, last = {}, {}
    for rank, value in enumerate(ranked):
        first.setdefault(value, rank)
        last[value] = rank
    for old, new in zip(frame["x"], after, strict=True):
        assert (old is None) == (new is None)
        if old is not None:  # equal values share their ranks
            assert max(first[new] - last[old], first[old] - last[new]) <= most


def test_every_rank_moves_and_the_window_is_used():
    n = 500
    for window in (0.2, 0.4, 1, 5):
        frame = pl.DataFrame({"x": random.Random(7).sample(range(10**6), n)})
        rank = {value: i for i, value in enumerate(sorted(frame["x"]))}
        distances = [
            abs(rank[a] - rank[b])
            for a, b in zip(frame["x"], made(chosen("rank-swap", window=window), frame, "x"), strict=True)
        ]
        most = int(window * n / 100)
        assert most - 1 <= max(distances) <= most
        assert distances.count(0) <= (2 if most == 1 else 0)


def forbids(rules, row):
    return any(all(row[name] == value for part in rule for name, value in part.items()) for rule in rules)


def most_pairs(rows, may):
    """The most rows that can exchange cells in pairs, by trying everything."""
    if len(rows) < 2:
        return 0
    first, rest = rows[0], rows[1:]
    best = most_pairs(rest, may)
    for other in rest:
        if may(first, other):
            best = max(best, 1 + most_pairs([row for row in rest if row != other], may))
    return best


@pytest.mark.parametrize("seed", range(often(120)))
def test_swapped_cells_never_make_a_forbidden_pair(seed):
    draw = random.Random(seed)
    frame = small_table(seed)
    frame = frame.head(draw.choice([5, 8, 60]))
    rules = draw.choice([
        [],
        [[{"t": "cancer"}, {"g": "a"}]],
        [[{"t": "cancer"}, {"g": "a"}], [{"g": "b"}, {"t": "flu"}], [{"h": 2, "t": "cold"}]],
        [[{"t": "cancer"}, {"g": "a"}, {"h": 1}], [{"t": "flu", "h": 2}], [{"t": "cold", "h": 2}]],
    ])  # fmt: skip
    rules = [[dict(part) for part in rule] if len(rule) > 1 else [{k: v} for k, v in rule[0].items()] for rule in rules]
    share = draw.choice([0.2, 0.5, 1.0])
    table = frame.to_dicts()
    present = [i for i, row in enumerate(table) if row["t"] is not None]
    wanted = int(share * len(present) / 2)

    def may(i, j):
        return not forbids(rules, {**table[i], "t": table[j]["t"]}) and not forbids(
            rules, {**table[j], "t": table[i]["t"]}
        )

    swap = chosen("swap", share=share, forbidden=rules)
    best = most_pairs(present, may) if len(present) <= 8 else None
    if wanted == 0 and present:
        with pytest.raises(DataError, match="is no pair"):
            made(swap, frame, "t")
        return
    if best is not None and best < wanted:
        with pytest.raises(
            DataError, match=f"{2 * wanted} of {len(present)} cells should move, and only {2 * best} can"
        ):
            made(swap, frame, "t")
        return
    if best is None and rules:
        share = 0.5  # where rows are many, half of them can move
        swap, wanted = chosen("swap", share=share, forbidden=rules), int(share * len(present) / 2)
    after = made(swap, frame, "t", secret=Secret(bytes([seed]) * 32))
    assert Counter(after.to_list()) == Counter(frame["t"].to_list())
    moved = [i for i, (old, new) in enumerate(zip(frame["t"], after, strict=True)) if old != new]
    assert len(moved) <= 2 * wanted
    for i in moved:
        assert not forbids(rules, {**table[i], "t": after[i]})


def test_as_many_rows_are_swapped_as_asked_for():
    frame = pl.DataFrame({"x": range(1000)})
    for share in (0.1, 0.5, 1.0):
        after = made(chosen("swap", share=share), frame, "x").to_list()
        assert sum(i != cell for i, cell in enumerate(after)) == 1000 * share
        assert all(after[cell] == i for i, cell in enumerate(after))  # pairs


def test_a_share_that_cannot_be_swapped_is_refused_with_numbers():
    frame = pl.DataFrame({"sex": ["m", "f", "f", "f"], "ill": ["prostate", "flu", "flu", "cold"]})
    rules = [[{"sex": "f"}, {"ill": "prostate"}]]
    message = "column 'ill': 4 of 4 cells should move, and only 2 can: others would make forbidden pairs"
    with pytest.raises(DataError, match=message) as caught:
        made(chosen("swap", share=1, forbidden=rules), frame, "ill")
    assert caught.value.hint == "share: 0.5"
    assert made(chosen("swap", share=0.5, forbidden=rules), frame, "ill")[0] == "prostate"
    with pytest.raises(IncompatibleChoice, match="each forbidden pair must name it"):
        made(chosen("swap", share=1, forbidden=[[{"sex": "f"}, {"x": 1}]]), frame.with_columns(x=1), "ill")
    with pytest.raises(IncompatibleChoice, match="forbidden names 'sex', whose cells change by chance, too"):
        made(chosen("swap", forbidden=rules), frame, "ill", changed={"sex": (chosen("shuffle"),)})


def test_forbidden_values_are_found_in_columns_of_every_type():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    frame = pl.DataFrame({"x": [1.0, 2.5] * 20, "day": days * 20, "is": [True, False] * 20})
    for rule in ([{"x": 1}, {"day": dt.date(2020, 1, 2)}], [{"x": 2.5}, {"is": True}], [{"x": 1.0}, {"is": False}]):
        after = made(chosen("swap", share=1, forbidden=[rule]), frame, "x")
        assert after.equals(frame["x"])  # each value can only stand where it stood


# --- pram ------------------------------------------------------------------------------------------------------------


def test_invariant_pram_keeps_expected_frequencies():
    n, keep = 40_000, 0.6
    before = {"a": 0.5, "b": 0.3, "c": 0.19, "d": 0.01}
    cells = [value for value, share in before.items() for _ in range(round(n * share))]
    random.Random(8).shuffle(cells)
    frame = pl.DataFrame({"x": [*cells, None]})
    after = made(chosen("pram", invariant=True, keep=keep), frame, "x")
    assert after[-1] is None
    counts, stayed = Counter(after[:-1]), Counter(new for old, new in zip(cells, after[:-1], strict=True) if old == new)
    for value, share in before.items():
        assert abs(counts[value] - n * share) < 5 * math.sqrt(n * share)
        stays = keep + (1 - keep) * share
        assert abs(stayed[value] - n * share * stays) < 5 * math.sqrt(n * share * stays * (1 - stays))


@pytest.mark.parametrize(
    ("cells", "matrix"),
    [
        (["a", "b"], {"a": {"a": 0.7, "b": 0.2, "z": 0.1}, "b": {"b": 1}}),
        ([1, -2], {1: {1: 0.5, -2: 0.5}, -2: {1: 0.1, -2: 0.9}}),
        ([True, False], {True: {True: 0.9, False: 0.1}, False: {True: 0.4, False: 0.6}}),
    ],
)
def test_a_matrix_gives_the_chances_of_what_each_value_becomes(cells, matrix):
    n = 20_000
    frame = pl.DataFrame({"x": [*cells * n, None]})
    pram = chosen("pram", matrix=matrix)
    after = made(pram, frame, "x")
    assert after.dtype == frame.schema["x"]
    assert after[-1] is None
    counts = Counter(zip(frame["x"][:-1], after[:-1], strict=True))
    for value in cells:
        for becomes, chance in matrix[value].items():
            assert abs(counts[value, becomes] - n * chance) <= 5 * math.sqrt(n * chance * (1 - chance))
    assert sum(counts.values()) == 2 * n
    assert not pram.faults(after).any()
    assert pram.faults(pl.Series(["nobody", None])).to_list() == [True, False]


def test_a_matrix_that_does_not_fit_the_column_is_refused():
    pram = chosen("pram", matrix={"1": {"1": 0.5, "x": 0.5}})
    with pytest.raises(DataError, match="the matrix has no chances for 1 of 2 values"):
        made(pram, pl.DataFrame({"x": [1, 2]}), "x")
    with pytest.raises(IncompatibleChoice, match="1 values of the matrix are not of type integer"):
        made(pram, pl.DataFrame({"x": [1, 1]}), "x")


# --- recompute -------------------------------------------------------------------------------------------------------


def test_an_expression_is_computed_as_python_does():
    draw = random.Random(9)
    frame = pl.DataFrame(
        {"a": [draw.randrange(-9, 9) for _ in range(50)], "b c": [draw.uniform(1, 5) for _ in range(50)], "y": 0.0}
    )
    for text in ("a + 2", "-a * `b c` / 4", "(a - `b c`) * (1.5 + a)", "+a - -a", "a * 2 - `b c` * `b c`"):
        expected = [eval(text.replace("`b c`", "bc"), {"a": a, "bc": bc}) for a, bc in frame.select("a", "b c").rows()]
        assert made(chosen("recompute", expression=text), frame, "y").to_list() == pytest.approx(expected)


def test_recomputed_cells_are_missing_where_they_cannot_be_computed():
    frame = pl.DataFrame({"a": [6, 0, None, 4], "b": [4, 0, 1, 0], "y": [1, 1, 1, None], "z": [1.0, 1.0, 1.0, 1.0]})
    assert made(chosen("recompute", expression="a / b"), frame, "y").to_list() == [2, None, None, None]
    assert made(chosen("recompute", expression="a / b"), frame, "z").to_list() == [1.5, None, None, None]
    with pytest.raises(DataError, match="1 of these cells follow from numbers that are too large"):
        made(chosen("recompute", expression="a - a"), frame.with_columns(a=pl.Series([2**60, 1, 2, 3])), "y")
    with pytest.raises(IncompatibleChoice, match="recompute needs numbers, and 't' holds none"):
        made(chosen("recompute", expression="t + 1"), frame.with_columns(t=pl.lit("x")), "y")
    with pytest.raises(IncompatibleChoice, match="cannot be computed from itself"):
        made(chosen("recompute", expression="y + 1"), frame, "y")


def work(n=60):
    draw = random.Random(10)
    drawn = {"age": range(5), "hours": range(1, 40), "rate": range(10, 90)}
    frame = pl.DataFrame({name: [draw.choice(values) for _ in range(n)] for name, values in drawn.items()})
    return frame.with_columns(total=pl.col("hours") * pl.col("rate")).with_columns(twice=2 * pl.col("total"))


NOISY = {"role": "keep", "transform": {"kind": "noise", "scale": 5}}


def computed(expression):
    return {"role": "keep", "transform": {"kind": "recompute", "expression": expression}}


@pytest.mark.parametrize("role", ["keep", "sensitive"])
def test_columns_are_recomputed_from_what_is_published_of_others(role):
    """Also of others that are recomputed, and whichever stands first in the policy."""
    frame = work()
    columns = {"twice": computed("total * 2"), "age": "quasi", "total": computed("hours * rate"),
               "rate": "keep", "hours": {**NOISY, "role": role}}  # fmt: skip
    disk = DuckEngine(memory=1 << 30)
    disk.batch_rows = 17
    for engine in (LocalEngine(), disk):
        after = run(engine, frame, columns)
        shown = after["\0published hours"] if "\0published hours" in after.columns else after["hours"]
        assert shown.to_list() != frame["hours"].to_list()
        assert after["total"].to_list() == [h * r for h, r in zip(shown, frame["rate"], strict=True)]
        assert after["twice"].to_list() == [2 * t for t in after["total"]]
    disk.close()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"rate": "keep", "total": computed("hours * rate")}, "computed from 'hours', which is not published"),
        ({"hours": "drop", "rate": "keep", "total": computed("hours * rate")}, "from 'hours', which is not published"),
        ({"hours": "quasi", "rate": "keep", "total": computed("hours * rate")}, "'hours', which is published coarser"),
        ({"total": computed("twice / 2"), "twice": computed("total * 2")}, "total, twice are computed from each other"),
    ],
)
def test_what_would_tell_more_than_is_published_is_refused(columns, message):
    """Else who divides by published hours learns a rate that was dropped."""
    with pytest.raises(IncompatibleChoice, match=message):
        run(LocalEngine(), work(), {"age": "quasi", **columns})


# --- all of them -----------------------------------------------------------------------------------------------------


def test_pairs_of_kinds_go_after_each_other():
    frame = work().with_columns(x=pl.Series(range(60)))
    kinds = [{"kind": "noise", "scale": 3}, {"kind": "rank-swap", "window": 10}, {"kind": "shuffle"}, {"kind": "blur"},
             {"kind": "swap"}, {"kind": "pram", "invariant": True}]  # fmt: skip
    for one, other in combinations(kinds, 2):
        columns = {"age": "quasi", "x": {"role": "keep", "transform": [one, other]}}
        first = run(LocalEngine(), frame, {"age": "quasi", "x": {"role": "keep", "transform": one}})["x"]
        after = run(LocalEngine(), frame, columns)["x"]
        assert not after.equals(first)
        if other["kind"] in ("rank-swap", "shuffle", "swap"):
            assert Counter(after.to_list()) == Counter(first.to_list())
