"""Transforms that make values coarser: against slow plain versions, and counted."""

from __future__ import annotations

import calendar
import datetime as dt
import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tablecloak import registry
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms import microaggregate
from tablecloak.values.cell_grammar import covers, parse
from transform_runs import applied, cells_of

pytestmark = pytest.mark.slow

KINDS = registry.known("transforms")
LARGE = 10**18


def skewed(draw, n):
    return [round(draw.lognormvariate(7, 1.5)) * draw.choice([1, 1, -1]) for _ in range(n)]


def days(draw, n):
    return [dt.date(1850, 1, 1) + dt.timedelta(draw.randrange(60_000)) for _ in range(n)]


def no_faults(made, chosen):
    """What is published has no faults, typed and as text."""
    for cells in (made, made.cast(pl.String)):
        faults = chosen.faults(cells)
        if faults is not None and faults.any():
            return False
    return True


# round ----------------------------------------------------------------------------------------------------------------


def plainly_rounded(value, base, towards):
    ratio = Fraction(value) / Fraction(str(base))
    if towards == "down":
        count = math.floor(ratio)
    elif towards == "up":
        count = math.ceil(ratio)
    else:
        count = math.floor(abs(ratio) + Fraction(1, 2)) * (1 if ratio > 0 else -1)
    return count * Fraction(str(base))


@pytest.mark.parametrize("towards", ["nearest", "down", "up"])
def test_whole_numbers_are_rounded_exactly_up_to_64_bits(towards):
    draw = random.Random(1)
    values = [0, -5, 5, LARGE, LARGE + 5, -LARGE - 5, 2**62 + 1, *(draw.randrange(-(2**61), 2**61) for _ in range(300))]
    for base in (1, 2, 10, 7, 999_983, 10**9, 2 * 10**17):
        made, chosen = applied("round", values, base=base, towards=towards)
        assert made.to_list() == [plainly_rounded(v, base, towards) for v in values]
        assert no_faults(made, chosen)


@pytest.mark.parametrize("towards", ["nearest", "down", "up"])
def test_decimals_are_rounded_as_they_are_written(towards):
    draw = random.Random(2)
    texts = [f"{draw.uniform(-50, 50):.{draw.randrange(4)}f}" for _ in range(400)] + ["0.15", "-0.25", "1.005", "0.3"]
    for base in (0.1, 0.5, 0.25, 2.0, 0.01):
        made, chosen = applied("round", [float(t) for t in texts], base=base, towards=towards)
        assert made.to_list() == [float(plainly_rounded(t, base, towards)) for t in texts]
        assert no_faults(made, chosen)


def test_missing_infinite_and_huge_numbers_stay():
    values = [None, math.inf, -math.inf, 1e300, 5e-324]
    assert cells_of("round", values, base=0.1) == [None, math.inf, -math.inf, 1e300, 0.0]


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_base_for_k_is_the_smallest_with_which_every_number_is_that_of_k_records(k):
    """All smaller bases of the series 1, 2, 5, 10, .. fail, counted in plain Python."""
    draw = random.Random(k)
    for case in range(15):
        values = skewed(draw, 80) if case % 2 else [draw.randrange(1000) for _ in range(200)]
        made = cells_of("round", values, k=k)
        assert min(Counter(made).values()) >= k
        tried = [d * 10**p for p in range(7) for d in (1, 2, 5)]
        fewest = {b: min(Counter(plainly_rounded(v, b, "nearest") for v in values).values()) for b in tried}
        smallest = next(base for base in tried if fewest[base] >= k)
        assert made == [plainly_rounded(v, smallest, "nearest") for v in values]


def test_decimals_get_a_base_for_k_too():
    draw = random.Random(3)
    for _ in range(20):
        values = [round(draw.gauss(1.7, 0.1), draw.randrange(2, 6)) for _ in range(120)] + [None]
        made = cells_of("round", values, k="auto", smallest=4)
        assert min(Counter(v for v in made if v is not None).values()) >= 4
        assert max(abs(a - b) for a, b in zip(made, values, strict=True) if b is not None) <= 1.0


def test_a_column_of_fewer_than_k_records_is_refused_with_the_numbers():
    with pytest.raises(DataError, match="has a value in 3 records, fewer than the 5 that must share one"):
        applied("round", [1, 2, 3, None], k=5)


def test_with_signs_that_never_meet_no_base_is_refused():
    with pytest.raises(DataError, match="with no base is every multiple the one of at least 2 records"):
        applied("round", [-5, 3, 4, 5], k=2, towards="down")


def test_k_of_the_goals_is_needed_where_none_is_given():
    with pytest.raises(IncompatibleChoice, match="no goal says how many"):
        applied("round", [1, 2, 3], k="auto", smallest=1)


def test_a_multiple_beyond_64_bits_is_refused_without_the_number():
    with pytest.raises(DataError, match="no 64-bit number") as caught:
        applied("round", [2**63 - 1], base=5 * 10**18)
    assert str(2**63 - 1) not in str(caught.value)


def test_random_rounding_is_a_neighbor_and_right_on_average():
    values = [13] * 20_000
    made, chosen = applied("round", values, base=10, random=True)
    assert set(made.to_list()) == {10, 20}
    assert abs(sum(made) / len(values) - 13) < 4 * 10 * math.sqrt(0.3 * 0.7 / 20_000)
    assert chosen.is_drawn
    assert not made.equals(applied("round", values, base=10, random=True, secret=b"t" * 32)[0])
    exact = cells_of("round", [LARGE, LARGE + 1, -LARGE], base=LARGE, random=True)
    assert exact[0] == LARGE
    assert exact[2] == -LARGE
    thirds = cells_of("round", [0.25] * 8000 + [None, 0.5], base=0.5, random=True)
    assert set(thirds[:8000]) == {0.0, 0.5}
    assert abs(sum(thirds[:8000]) / 8000 - 0.25) < 0.02
    assert thirds[8000:] == [None, 0.5]


@pytest.mark.parametrize("params", [{}, {"base": 1, "k": 2}, {"k": 3, "random": True}, {"base": 0}, {"k": 1}])
def test_round_must_be_decided(params):
    with pytest.raises(ValidationError):
        KINDS["round"].model_validate(params)


def test_a_multiple_that_is_none_is_a_fault():
    chosen = KINDS["round"].model_validate({"base": 10})
    cells = pl.Series([LARGE, LARGE + 1, 15, None])
    assert chosen.faults(cells).to_list() == [False, True, True, False]
    assert chosen.faults(cells.cast(pl.String)).to_list() == [False, True, True, False]


# top-code and bottom-code ---------------------------------------------------------------------------------------------


def test_ages_above_89_are_90_and_more():
    made, chosen = applied("top-code", [0, 89, 90, 104, None], at=89)
    assert made.to_list() == ["0", "89", "90+", "90+", None]
    assert no_faults(made, chosen)
    assert chosen.faults(pl.Series(["89", "91", "nobody", None])).to_list() == [False, True, True, False]


def test_whole_decimals_are_labelled_as_whole_numbers():
    """A column of ages with missing cells is often one of decimals."""
    made, chosen = applied("top-code", [0.0, 89.0, 95.0, None], at=89)
    assert made.to_list() == ["0", "89", "90+", None]
    assert no_faults(made, chosen)
    assert cells_of("top-code", [0.5, 89.0, 95.0], at=89) == ["0.5", "89.0", ">89.0"]
    assert cells_of("bottom-code", [17.0, 18.0], at=17.5) == ["<18", "18"]


def test_below_a_bound_is_one_too():
    made, chosen = applied("bottom-code", [17, 18, 3, None], at=18)
    assert made.to_list() == ["<18", "18", "<18", None]
    assert no_faults(made, chosen)


@pytest.mark.parametrize("kind", ["top-code", "bottom-code"])
def test_the_bound_stands_for_the_tail_without_a_label(kind):
    draw = random.Random(4)
    for values in ([*skewed(draw, 60), LARGE], [v / 8 for v in skewed(draw, 60)], days(draw, 60)):
        at = sorted(values)[30]
        made, chosen = applied(kind, values, at=at, label=False)
        clipped = min if kind == "top-code" else max
        assert made.to_list() == [clipped(v, at) for v in values]
        assert no_faults(made, chosen)
        assert (chosen.faults(pl.Series(values)).to_list()) == [clipped(v, at) != v for v in values]


def test_the_mean_of_the_tail_keeps_the_sum():
    values = [1, 2, 3, 10, 20, 30]
    assert cells_of("top-code", values, at=5, label=False, value="mean") == [1, 2, 3, 20, 20, 20]
    decimals = cells_of("bottom-code", [float(v) for v in values], at=5, label=False, value="mean")
    assert decimals == [2.0, 2.0, 2.0, 10.0, 20.0, 30.0]


def test_the_mean_of_a_few_is_refused():
    with pytest.raises(DataError, match="2 records are beyond the bound, and the mean of fewer than 5"):
        applied("top-code", [1, 2, 30, 40], at=5, label=False, value="mean", smallest=5)


@pytest.mark.parametrize("kind", ["top-code", "bottom-code"])
def test_a_tail_of_k_records_is_as_short_as_it_can_be(kind):
    draw = random.Random(5)
    for case in range(60):
        values = [skewed(draw, 50), [v / 16 for v in skewed(draw, 50)], days(draw, 50)][case % 3]
        k = draw.randrange(2, 12)
        made = cells_of(kind, values, k=k)
        tail = {m for m in made if m[0] in "<>" or m[-1] == "+"}
        assert len(tail) == 1
        coded = [v for v, m in zip(values, made, strict=True) if m in tail]
        counted = Counter(values)
        last = min(coded) if kind == "top-code" else max(coded)
        assert len(coded) >= k > len(coded) - counted[last]  # without its last value it would have fewer than k
        rest = [v for v, m in zip(values, made, strict=True) if m not in tail]
        assert not rest or (max(rest) < min(coded) if kind == "top-code" else min(rest) > max(coded))


def test_infinite_numbers_are_in_the_tail_and_have_no_bound_by_k():
    assert cells_of("top-code", [1.5, math.inf, 89.0], at=89) == ["1.5", ">89.0", "89.0"]
    with pytest.raises(DataError, match="infinite numbers"):
        applied("top-code", [1.5, math.inf, 89.0], k=2)


def test_dates_before_1900_are_coded():
    values = [dt.date(1850, 2, 28), dt.date(1899, 12, 31), dt.date(1950, 1, 1), None]
    made, chosen = applied("bottom-code", values, at="1900-01-01")
    assert made.to_list() == ["<1900-01-01", "<1900-01-01", "1950-01-01", None]
    assert no_faults(made, chosen)


def test_a_bound_of_another_type_is_refused():
    with pytest.raises(IncompatibleChoice, match="the bound is a number, and the column is of type date"):
        applied("top-code", [dt.date(2020, 1, 1)], at=5)


# bin ------------------------------------------------------------------------------------------------------------------


def test_every_interval_of_a_width_covers_its_value_and_no_two_overlap():
    draw = random.Random(6)
    whole = [*skewed(draw, 100), LARGE, -LARGE, 2**62, 0]
    cases = [
        (whole, {"width": 10}, "integer"), (whole, {"width": 7, "origin": 3}, "integer"),
        ([v / 32 for v in skewed(draw, 100)] + [0.1, 0.3, 0.7], {"width": 0.1}, "float"),
        ([v / 32 for v in skewed(draw, 100)], {"width": 2.5, "origin": 0.75}, "float"),
        (days(draw, 100), {"width": 30}, "date"), (days(draw, 100), {"width": 365, "origin": "1900-01-01"}, "date"),
        ([dt.datetime(1880, 1, 1) + dt.timedelta(seconds=draw.randrange(10**9)) for _ in range(50)],
         {"width": 0.5}, "datetime"),
    ]  # fmt: skip
    for values, params, type_ in cases:
        made, chosen = applied("bin", [*values, None], **params)
        assert made[-1] is None
        for text, value in zip(made, values, strict=False):
            assert covers(parse(text, type_), value), (text, params)
        others = {text: parse(text, type_) for text in set(made.drop_nulls())}
        for text, value in zip(made.to_list()[:40], values, strict=False):
            assert [t for t, cell in others.items() if covers(cell, value)] == [text]
        assert no_faults(made, chosen)


def test_whole_numbers_have_closed_intervals_and_decimals_open_ones():
    assert cells_of("bin", [23, -1, LARGE], width=10) == ["[20, 29]", "[-10, -1]", f"[{LARGE}, {LARGE + 9}]"]
    assert cells_of("bin", [0.3, 2.5], width=0.1) == ["[0.3, 0.4)", "[2.5, 2.6)"]
    assert cells_of("bin", [dt.date(1888, 2, 29)], width=7) == ["[1888-02-27, 1888-03-04]"]  # Monday to Sunday
    assert dt.date(1888, 2, 27).weekday() == 0


def test_edges_leave_open_ends():
    made, chosen = applied("bin", [1, 18, 64, 65, 200, None], edges=[18, 40, 65])
    assert made.to_list() == ["<18", "[18, 39]", "[40, 64]", ">=65", ">=65", None]
    assert no_faults(made, chosen)
    assert cells_of("bin", [-math.inf, 2.5, math.inf], edges=[0, 5]) == ["<0.0", "[0.0, 5.0)", ">=5.0"]
    assert chosen.faults(pl.Series(["[18, 39]", "[18, 40]", "23"])).to_list() == [False, True, True]


@pytest.mark.parametrize("k", [2, 5, 9])
def test_quantiles_have_k_records_each_and_no_bound_of_a_few(k):
    draw = random.Random(k)
    for case in range(45):
        type_ = ("integer", "float", "date")[case % 3]
        values = [skewed(draw, 70), [draw.gauss(0, 3) for _ in range(70)], days(draw, 70)][case % 3]
        n = draw.randrange(2, 9)
        made, chosen = applied("bin", values, n=n, k=k)
        counts = Counter(made)
        assert min(counts.values()) >= k
        assert len(counts) <= n
        assert all(covers(parse(text, type_), value) for text, value in zip(made, values, strict=True))
        assert no_faults(made, chosen)
        if type_ == "float":
            bounds = {b for text in counts for b in (parse(text, type_).lo, parse(text, type_).hi)}
            assert not bounds & set(values)


def test_the_ends_of_time_and_of_numbers_are_no_bug():
    last = dt.date(9999, 12, 31)
    assert cells_of("bin", [last, dt.date(1, 1, 1)], width=1000, origin="9999-12-30") == [
        "[9999-12-30, 9999-12-31]", "[0001-01-01, 0001-02-26]",
    ]  # fmt: skip
    assert (last.toordinal() - 1 - dt.date(1, 2, 26).toordinal() - 1) % 1000 == 0  # the next one begins a day later
    assert cells_of("bin", [dt.datetime(9999, 12, 31, 5)], width=10)[0].startswith("[9999-12-2")
    assert cells_of("top-code", [last], at=last) == ["9999-12-31"]
    with pytest.raises(DataError, match="so large that floats have no intervals"):
        applied("bin", [1e300, 0.1], width=0.1)
    with pytest.raises(DataError, match="all its values are the tail"):
        applied("top-code", [-(2**63), -(2**63)], k=2)
    assert cells_of("round", [1e-300, 1e300, 5e-324], k=3) == [0.0, 0.0, 0.0]
    assert cells_of("bin", [2**63 - 1, -(2**63)], width=10) == [
        f"[{2**63 - 8}, {2**63 + 1}]", f"[{-(2**63) - 2}, {-(2**63) + 7}]",
    ]  # fmt: skip


def test_a_value_of_most_records_is_an_interval_of_its_own():
    values = [0] * 50 + list(range(1, 21))
    assert Counter(cells_of("bin", values, n=4, k=5))["[0, 0]"] == 50


def test_what_bin_cannot_do_is_refused():
    with pytest.raises(DataError, match="infinite numbers, which are in no interval of a width"):
        applied("bin", [1.0, math.inf], width=1)
    with pytest.raises(IncompatibleChoice, match="begin and end at whole numbers"):
        applied("bin", [1, 2], width=0.5)
    with pytest.raises(IncompatibleChoice, match="edges must be days"):
        applied("bin", [dt.date(2020, 1, 1)], edges=[1, 2])
    for params in ({}, {"width": 1, "n": 2}, {"edges": [2, 1]}, {"origin": 1, "n": 3}, {"edges": [1, "2020-01-01"]}):
        with pytest.raises(ValidationError):
            KINDS["bin"].model_validate(params)


# truncate -------------------------------------------------------------------------------------------------------------


def test_dates_lose_their_last_parts():
    draw = random.Random(7)
    moments = [dt.datetime(1850, 1, 1) + dt.timedelta(seconds=draw.randrange(6 * 10**9)) for _ in range(300)]
    moments += [dt.datetime(2021, 1, 3, 23), dt.datetime(2020, 12, 31), dt.datetime(1888, 2, 29, 4), None]
    plainly = {
        "year": lambda m: m.year,
        "quarter": lambda m: f"{m.year}-Q{(m.month + 2) // 3}",
        "month": lambda m: f"{m.year}-{m.month:02}",
        "week": lambda m: f"{m.isocalendar()[0]}-W{m.isocalendar()[1]:02}",
        "day": lambda m: m.date(),
        "hour": lambda m: f"{m.date().isoformat()}T{m.hour:02}",
    }
    for to, plain in plainly.items():
        made, chosen = applied("truncate", moments, to=to)
        assert made.to_list() == [None if m is None else plain(m) for m in moments]
        assert no_faults(made, chosen)
    assert cells_of("truncate", [dt.date(1888, 2, 29)], to="month") == ["1888-02"]


def test_a_day_has_no_hour():
    with pytest.raises(IncompatibleChoice, match="holds days, which have no hour"):
        applied("truncate", [dt.date(2020, 1, 1)], to="hour")


def test_a_day_is_a_fault_where_months_are_published():
    chosen = KINDS["truncate"].model_validate({"to": "month"})
    assert chosen.faults(pl.Series(["2021-03", "2021-03-04", "2021", None])).to_list() == [False, True, True, False]


# derive ---------------------------------------------------------------------------------------------------------------


def plain_age(born, at):
    """Counted birthday by birthday; of 29 February on 1 March in other years."""
    age = -1 if born > at else 0
    for year in range(born.year + 1, at.year + 1):
        has_day = not (born.month == 2 and born.day == 29) or calendar.isleap(year)
        birthday = born.replace(year=year) if has_day else dt.date(year, 3, 1)
        age += birthday <= at
    return age


def test_ages_are_counted_by_birthdays():
    draw = random.Random(8)
    births = [*days(draw, 200), dt.date(1888, 2, 29), dt.date(2000, 2, 29), dt.date(1900, 3, 1), dt.date(1896, 2, 29)]
    for at in (dt.date(2023, 2, 28), dt.date(2024, 2, 29), dt.date(2023, 3, 1), dt.date(2024, 1, 1)):
        made, chosen = applied("derive", births, what="age", at=at.isoformat())
        assert made.to_list() == [plain_age(born, at) for born in births]
        assert no_faults(made, chosen)
    later = [born + dt.timedelta(draw.randrange(30_000)) for born in births]
    made = cells_of("derive", births, what="age", at="seen", beside={"seen": later})
    assert made == [plain_age(born, at) for born, at in zip(births, later, strict=True)]


def test_ages_that_have_not_begun_are_refused_or_missing():
    births = [dt.date(2024, 1, 2), dt.date(2023, 12, 31), None, dt.date(2024, 1, 1)]
    with pytest.raises(DataError, match="1 dates lie after the day") as caught:
        applied("derive", births, what="age", at="2024-01-01")
    assert "2024-01-02" not in str(caught.value)
    assert cells_of("derive", births, what="age", at="2024-01-01", future="missing") == [None, 0, None, 0]


def test_days_between_dates_have_a_sign():
    births = [dt.date(1888, 2, 29), dt.date(2024, 1, 2), None]
    assert cells_of("derive", births, what="days-between", at="2024-01-01") == [49_614, -1, None]
    assert (dt.date(2024, 1, 1) - dt.date(1888, 2, 29)).days == 49_614


def test_days_since_the_first_are_counted_for_each_person():
    draw = random.Random(9)
    moments = [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=draw.randrange(10**7)) for _ in range(200)]
    who = [draw.choice(["a", "b", "c", None]) for _ in moments]
    first = {p: min(m.date() for m, w in zip(moments, who, strict=True) if w == p) for p in set(who)}
    made, chosen = applied("derive", moments, what="days-since-first", beside={"who": who}, person="who")
    assert made.to_list() == [(m.date() - first[p]).days for m, p in zip(moments, who, strict=True)]
    assert no_faults(made, chosen)
    assert chosen.needs("who") == ("who",)


def test_parts_of_dates():
    dates = [dt.date(1888, 2, 29), dt.date(2024, 12, 1), None]
    assert cells_of("derive", dates, what="year") == [1888, 2024, None]
    assert cells_of("derive", dates, what="month") == [2, 12, None]
    assert cells_of("derive", dates, what="weekday") == [3, 7, None]  # a Wednesday, a Sunday


def test_a_column_can_be_made_of_another():
    chosen = KINDS["derive"].model_validate({"what": "age", "from": "born", "at": "seen"})
    assert chosen.makes_column
    assert chosen.needs("who") == ("born", "seen")
    assert KINDS["derive"].model_validate({"what": "days-since-first", "from": "seen"}).needs("who") == ("seen", "who")


def test_what_derive_needs_is_asked_for():
    with pytest.raises(IncompatibleChoice, match="no column says who"):
        applied("derive", [dt.date(2020, 1, 1)], what="days-since-first")
    with pytest.raises(DataError, match="which does not hold dates"):
        applied("derive", [dt.date(2020, 1, 1)], what="age", at="seen", beside={"seen": ["2021"]})
    for params in ({"what": "age"}, {"what": "year", "at": "2020-01-01"}, {"what": "year", "per": "who"}, {}):
        with pytest.raises(ValidationError):
            KINDS["derive"].model_validate(params)


# microaggregate -------------------------------------------------------------------------------------------------------


def plain_groups(values, k):
    """All ways to cut the sorted different values into groups of k records, the least sum of squares."""
    counts = sorted(Counter(values).items())
    best = {0: (Fraction(0), [])}
    for end in range(1, len(counts) + 1):
        for begin in range(end):
            run = [v for v, n in counts[begin:end] for _ in range(n)]
            if begin not in best or len(run) < k:
                continue
            mean = Fraction(sum(map(Fraction, run)), len(run))
            cost = best[begin][0] + sum((v - mean) ** 2 for v in run)
            if end not in best or cost < best[end][0]:
                best[end] = (cost, [*best[begin][1], run])
    return best[len(counts)]


@pytest.mark.parametrize("k", [2, 3, 7])
def test_groups_of_neighbors_are_the_best_ones(k):
    draw = random.Random(k)
    for case in range(25):
        values = (
            [draw.randrange(60) for _ in range(30)] if case % 2 else [draw.randrange(-50, 50) / 8 for _ in range(30)]
        )
        made = cells_of("microaggregate", values, k=k)
        cost, _ = plain_groups(values, k)
        groups = {}
        for value, shown in zip(values, made, strict=True):
            groups.setdefault(shown, []).append(value)
        assert min(map(len, groups.values())) >= k
        if case % 2 == 0:
            means = {shown: sum(map(Fraction, own)) / len(own) for shown, own in groups.items()}
            assert all(abs(shown - mean) <= Fraction(501, 1_000_000) for shown, mean in means.items())
            total = sum((Fraction(v) - means[shown]) ** 2 for shown, own in groups.items() for v in own)
            assert math.isclose(total, cost, rel_tol=1e-9, abs_tol=1e-9)
        else:  # of whole numbers the mean is the nearest one
            for shown, members in groups.items():
                assert abs(sum(members) / len(members) - shown) <= 0.5


def test_wide_windows_find_the_same_groups():
    draw = random.Random(1)
    values = [draw.gauss(0, 1) for _ in range(150)]
    made = cells_of("microaggregate", values, k=70)
    cost, _ = plain_groups(values, 70)
    assert math.isclose(sum((v - s) ** 2 for v, s in zip(values, made, strict=True)), cost, rel_tol=1e-9)


def test_large_numbers_and_small_ones_are_grouped_exactly():
    values = [1, 2, 3, 100, 101, LARGE, LARGE + 2, None]
    assert cells_of("microaggregate", values, k=2) == [2, 2, 2, 101, 101, LARGE + 1, LARGE + 1, None]


def test_dates_get_the_mean_or_the_median_day():
    dates = [dt.date(1888, 2, 28), dt.date(1888, 3, 1), dt.date(1999, 1, 1), dt.date(1999, 1, 3), dt.date(1999, 1, 20)]
    shown = cells_of("microaggregate", dates, k=2)
    assert shown == [dt.date(1888, 2, 29)] * 2 + [dt.date(1999, 1, 8)] * 3
    assert cells_of("microaggregate", dates, k=2, value="median")[2:] == [dt.date(1999, 1, 3)] * 3


def test_medians_are_those_of_the_records():
    draw = random.Random(2)
    for _ in range(20):
        values = [draw.randrange(0, 40, 2) for _ in range(41)]
        made = cells_of("microaggregate", values, k=4, value="median")
        groups = {}
        for value, shown in zip(values, made, strict=True):
            groups.setdefault(shown, []).append(value)
        for shown, members in groups.items():
            ordered = sorted(members)
            half = len(ordered) // 2
            assert shown == (ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def test_means_of_decimals_have_the_decimals_of_the_column():
    zeros_and_a_cent = [0.0] * 2_000 + [0.01, 27.25, 31.5, 40.0]
    assert sorted(set(cells_of("microaggregate", zeros_and_a_cent, k=3))) == [0.0, 32.92]
    draw = random.Random(5)
    values = [round(draw.gauss(0, 50), draw.randrange(4)) for _ in range(300)]
    for value in cells_of("microaggregate", values, k=4):
        assert value == round(value, 3)


def test_means_of_numbers_with_more_decimals_than_a_float_holds_stay_exact():
    tiny = [3e-20, 5e-20, 1e150, 1e150]
    assert cells_of("microaggregate", tiny, k=2) == pytest.approx([4e-20, 4e-20, 1e150, 1e150], rel=1e-12, abs=0)


def test_microaggregation_refuses_what_has_no_mean():
    with pytest.raises(DataError, match="infinite numbers"):
        applied("microaggregate", [1.0, math.inf], k=2)
    with pytest.raises(DataError, match="has a value in 1 records"):
        applied("microaggregate", [1.0, None], k=2)


# zip3 -----------------------------------------------------------------------------------------------------------------


def test_zip_codes_keep_three_digits_where_many_people_live():
    cells = ["10115", "03601", "89301-1234", "02139", "203", "abc", " 94105 ", None, ""]
    made, chosen = applied("zip3", cells)
    assert made.to_list() == ["101", "000", "000", "021", "000", "000", "941", None, "000"]
    assert cells_of("zip3", [2139, 10115, 3601, 21391234]) == ["021", "101", "000", "021"]
    assert no_faults(made, chosen)
    assert chosen.faults(pl.Series(["036", "1011", "101", "21"])).to_list() == [True, True, False, False]


@pytest.mark.parametrize("few", [1, 32])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_groups_of_a_line_that_is_held_in_parts_have_the_least_squares(dtype, few, monkeypatch):
    monkeypatch.setattr(microaggregate, "HELD", 3)
    monkeypatch.setattr(microaggregate, "FEW", few)
    random = np.random.default_rng(5)
    for k in (1, 2, 5):
        values = sorted(random.choice(500, 25, replace=False).tolist())
        n = random.integers(1, 4, 25).tolist()
        cells = [[Fraction(v)] * m for v, m in zip(values, n, strict=True)]
        least = [Fraction(0), *[None] * 25]
        for end in range(1, 26):
            for begin in range(end):
                run = [v for cell in cells[begin:end] for v in cell]
                if len(run) >= k and least[begin] is not None:
                    mean = sum(run) / len(run)
                    total = least[begin] + sum((v - mean) ** 2 for v in run)
                    least[end] = total if least[end] is None else min(least[end], total)
        begins = microaggregate.best_runs(np.array(values, dtype), np.array(n), k).tolist()
        lost = Fraction(0)
        for begin, end in itertools.pairwise([*begins, 25]):
            run = [v for cell in cells[begin:end] for v in cell]
            assert len(run) >= k
            lost += sum((v - sum(run) / len(run)) ** 2 for v in run)
        assert lost == least[25]
