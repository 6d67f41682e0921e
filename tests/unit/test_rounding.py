"""Round bounds: inside the gap, nobody's value, and as round as the gap allows."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.values.bounds import is_continuous, round_bounds, shares

HUGE = 1.7976931348623157e308


def bounds(values, kind):
    """Lower and upper bound of the interval of every single value."""
    line = np.array(values, np.float64 if kind == "float" else np.int64)
    at = np.arange(len(line))
    lower, upper = round_bounds(line, at, at, kind)
    return lower.tolist(), upper.tolist()


def has_room(below, above, kind):
    return above - below > 1 if kind != "float" else math.nextafter(below, above) < above


def check(values, kind):
    lower, upper = bounds(values, kind)
    for i, value in enumerate(values):
        assert lower[i] <= value <= upper[i]
    for (_, end, below), (begin, _, above) in zip(
        zip(lower, upper, values, strict=True), list(zip(lower, upper, values, strict=True))[1:], strict=False
    ):
        assert below <= end <= begin <= above
        if has_room(below, above, kind):
            assert below < end
            assert begin < above
            if above - below > 2 and kind != "float":
                assert end < begin
        else:
            assert (end, begin) == (below, above)


@given(st.sets(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=12))
def test_bounds_of_any_floats_lie_in_the_gaps(values):
    check(sorted({value + 0.0 for value in values}), "float")


@given(st.sets(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=2, max_size=12))
def test_bounds_of_usual_floats_lie_in_the_gaps(values):
    check(sorted({value + 0.0 for value in values}), "float")


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=12))
def test_bounds_of_any_whole_numbers_lie_in_the_gaps(values):
    check(sorted(values), "integer")


@given(st.integers(-(2**63), 2**63 - 40), st.sets(st.integers(0, 30), min_size=2))
def test_bounds_of_near_whole_numbers_lie_in_the_gaps(begin, steps):
    check(sorted(begin + step for step in steps), "integer")


@given(st.sets(st.dates(), min_size=2, max_size=12))
def test_bounds_of_dates_lie_in_the_gaps(values):
    check(sorted((value - date(1970, 1, 1)).days for value in values), "date")


@given(st.sets(st.integers(-(10**17) // 2, 10**17), min_size=2, max_size=12))
def test_bounds_of_moments_lie_in_the_gaps(values):
    check(sorted(values), "datetime")


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_no_number_between_two_has_fewer_digits_than_the_lower_bound(a, b):
    below, above = sorted((a, b))
    if not has_room(below, above, "float"):
        return
    begin = bounds([below, above], "float")[0][1]
    exponent = Decimal(repr(begin)).normalize().as_tuple().exponent
    coarser = Decimal(10) ** (exponent + 1)  # no multiple of the next power of ten lies in the gap
    below, above = (Decimal(repr(end)) for end in (below, above))  # as they read: 1.1 is 1.1, not a little more
    assert below // coarser * coarser + coarser >= above


def test_bounds_are_round_numbers():
    assert bounds([4.93, 5.12, 7.01], "float") == ([4.5, 5.0, 6.0], [4.95, 5.5, 7.5])
    assert bounds([12345, 13017, 25100], "integer") == ([10000, 13000, 20000], [12999, 19999, 27999])


def test_bounds_of_dates_are_first_and_last_days_of_periods():
    days = [date(1933, 2, 9), date(1933, 5, 20), date(1941, 7, 1)]
    lower, upper = bounds([(day - date(1970, 1, 1)).days for day in days], "date")
    texts = [[(date(1970, 1, 1) + timedelta(days=at)).isoformat() for at in side] for side in (lower, upper)]
    assert texts[0][1:] == ["1933-04-01", "1940-01-01"]
    assert texts[1][:2] == ["1933-03-31", "1939-12-31"]


def test_a_gap_of_one_place_is_shared_and_neighbors_keep_their_values():
    assert bounds([10, 12, 13], "integer")[1][:2] == [11, 12]
    assert bounds([10, 12, 13], "integer")[0][1:] == [11, 13]


@pytest.mark.parametrize("values", [[-HUGE, -5e-324, 0.0, 5e-324, HUGE], [1e300, 1.0000000000000001e300, 1.1e300]])
def test_floats_at_the_ends_of_their_range_have_bounds(values):
    check(sorted(set(values)), "float")
    lower, upper = bounds(sorted(set(values)), "float")
    assert all(map(math.isfinite, [*lower, *upper]))


def test_shares_neither_overflow_nor_vanish():
    line = np.array([-HUGE, 0.0, HUGE])
    assert shares(line[:2], line[1:], line).tolist() == [0.5, 0.5]
    tiny = np.array([0.0, 5e-324, 1e-323])
    assert shares(tiny[:2], tiny[1:], tiny).tolist() == [0.5, 0.5]
    whole = np.array([-(2**63), -1, 2**63 - 1])
    assert shares(whole[:2], whole[1:], whole) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (range(18, 91), "integer", False),  # ages
        (range(0, 200_000, 1000), "integer", False),  # amounts in thousands
        ([i * i * 37 for i in range(60)], "integer", True),  # incomes
        ([1000 + 17 * i // 6 for i in range(900)], "integer", True),  # postcodes: every third number
        ([3, 70, 1000], "integer", False),  # too few to say
        ([1.5], "float", True),
        ([0, 1, 2], "date", True),
        ([-(2**63), *range(0, 10**18, 10**16), 2**63 - 1], "integer", True),
    ],
)
def test_whole_numbers_are_continuous_where_they_are_sparse(values, kind, expected):
    line = np.array(sorted(values), np.float64 if kind == "float" else np.int64)
    assert is_continuous(line, kind) is expected


def test_where_values_lie_side_by_side_a_bound_goes_on_to_the_next_free_place():
    line = np.array([10, 250, 1307, 1308, 1309, 4000, 9000])
    lower, upper = round_bounds(line, np.array([0, 3]), np.array([2, 5]), "integer", may_overlap=True)
    assert lower[1] < 1307  # holds its neighbours, too, and is nobody's value
    assert upper[0] > 1309
    assert not set(lower.tolist()) & set(line.tolist())
    assert not set(upper.tolist()) & set(line.tolist())


def test_without_overlap_a_bound_that_has_no_free_place_is_the_value():
    line = np.array([10, 1307, 1308, 9000])
    lower, upper = round_bounds(line, np.array([0, 2]), np.array([1, 3]), "integer")
    assert (upper[0], lower[1]) == (1307, 1308)


def test_where_every_day_occurs_bounds_are_public_places():
    """Without them an interval of neighbouring days would reach to the ends of the table."""
    line = np.arange(7000, 9000)  # every day from 1989-03-02 on
    first = np.arange(100, 1900, 7)
    lower, upper = round_bounds(line, first, first + 20, "date", may_overlap=True)
    days = {str(day)[8:] for day in lower.astype("datetime64[D]")}
    after = {str(day)[8:] for day in (upper + 1).astype("datetime64[D]")}
    assert days == after == {"01", "05", "10", "15", "20", "25"}
    assert (lower <= line[first]).all()
    assert (upper >= line[first + 20]).all()
    assert (upper - lower).max() <= 20 + 2 * 6


def test_bounds_at_public_places_follow_from_the_values_of_the_interval_alone():
    """Who is in the table elsewhere, and whether anybody has the bound itself, does not move it."""
    line = np.arange(7000, 7400)
    at = int(np.flatnonzero(line == 7214)[0])  # 1989-10-02
    lower, _ = round_bounds(line, np.array([at]), np.array([at + 9]), "date", may_overlap=True)
    assert str(lower.astype("datetime64[D]")[0]) == "1989-10-01"
    sparse = np.delete(line, np.arange(0, at - 30, 2))
    moved = int(np.flatnonzero(sparse == 7214)[0])
    again, _ = round_bounds(sparse, np.array([moved]), np.array([moved + 9]), "date", may_overlap=True)
    assert again[0] == lower[0]
