"""Round bounds of intervals: where one may begin and end so that no bound is anybody's value.

An interval of published values ends somewhere in the gap between its last value and the next one that occurs. The
roundest place of the gap is taken, so that readers learn nothing about where values lie in it, and neighbors never
share a bound unless the gap has a single place: `[10, 19.5]` and `[20, 42]`, `[1933-01-01, 1941-12-31]`.

Where values lie side by side there is no gap, as in birth dates of which every day occurs. There an interval begins at
the nearest public place below, the 1st, 5th, 10th, .. of a month or a multiple of ten: places that are the same whoever
is in the table.

Values are numbers on the line of their type: floats, whole numbers, days or microseconds since 1970-01-01.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray

Line = NDArray[Any]  # ascending values of a column
Round = Callable[[Line, Line], tuple[Line, Line]]

# Whole numbers are continuous if they are many and fill little of their range.
SPARSE_FROM, SPARSE = 20, 10  # so many different ones, at most one in so many places
HALF_FROM, HALF = 100, 2
HUGE = 1e300
DAY = 24 * 60 * 60 * 1_000_000  # microseconds
SPANS = {"integer": (-(2**63), 2**63 - 1), "date": (-719_162, 2_932_896)}  # what a column can hold; years 1 to 9999
SPANS["datetime"] = (SPANS["date"][0] * DAY, (SPANS["date"][1] + 1) * DAY - 1)
PUBLIC_DAYS = (1, 5, 10, 15, 20, 25)  # of a month
PUBLIC_UNIT = 10  # of whole numbers
MONTHS = (12_000, 1200, 120, 60, 12, 6, 3, 1)
CLOCK = tuple(DAY // n for n in (1, 2, 4, 24, 48, 144, 288, 1440, 2880, 8640, 17_280, 86_400))  # a day, 12 h, .., 1 s


def is_continuous(line: Line, column_type: str) -> bool:
    """Whether intervals of a column get round bounds: floats, dates and times, and whole numbers that are sparse.

    Whole numbers are sparse if at least 20 different ones occur and fill at most a tenth of the places between the
    least and the largest, or at least 100 and at most half. Places are as far apart as the numbers' common unit, so
    that amounts in thousands are as dense as their thousands.
    """
    if column_type != "integer":
        return len(line) > 0
    if len(line) < SPARSE_FROM:
        return False
    whole = line.astype(np.uint64)
    unit = int(np.gcd.reduce(whole[1:] - whole[:-1]))  # exact, also where 63 bits do not suffice
    n_places = (int(line[-1]) - int(line[0])) // unit + 1
    return len(line) * SPARSE <= n_places or (len(line) >= HALF_FROM and len(line) * HALF <= n_places)


def round_bounds(
    line: Line, first: IntArray, last: IntArray, column_type: str, *, may_overlap: bool = False
) -> tuple[Line, Line]:
    """Where intervals begin and end that hold the values from `line[first]` to `line[last]`, (n,) each.

    Args:
        may_overlap: where values lie side by side, so that no place is free between them, a bound goes on to the next
            gap that has one, or to the next public place; otherwise it is the value itself.
    """
    between = _BETWEEN[column_type]
    line = line if line.dtype.kind == "f" else line.astype(np.int64)
    every = np.arange(len(line))
    below, above = nearest_gaps(line, column_type) if may_overlap else (every - 1, every)
    below, above = below[first], above[last]
    # what is asked for of every gap, each looked at once: where intervals below it end and those above it begin
    is_asked = np.zeros(len(line) + 1, np.bool_)  # by gap, from that below all values on
    is_asked[below + 1] = is_asked[above + 1] = True
    is_asked[[0, -1]] = False
    gaps = np.flatnonzero(is_asked) - 1
    ends, begins = np.empty(len(line) + 1, line.dtype), np.empty(len(line) + 1, line.dtype)
    ends[gaps + 1], begins[gaps + 1] = between(line[gaps], line[gaps + 1])
    begins[0], ends[-1] = _beyond(line, column_type, between)
    return begins[below + 1], ends[above + 1]


def is_public(begins: Line, column_type: str) -> BoolArray:
    """Whether intervals may begin at a place, and end before it, whoever has that value: it follows from no data."""
    if column_type == "date":
        days = begins.astype(np.int64).astype("datetime64[D]")
        of_month = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
        return np.isin(of_month, PUBLIC_DAYS)
    return begins.astype(np.int64) % PUBLIC_UNIT == 0 if column_type == "integer" else np.zeros(len(begins), np.bool_)


def nearest_gaps(line: Line, column_type: str) -> tuple[IntArray, IntArray]:
    """The nearest gaps with a free or a public place below and above every value, (n,) each; gap g is above line[g].

    -1: there is none below; n - 1: there is none above.
    """
    line = line if line.dtype.kind == "f" else line.astype(np.int64)
    n = len(line)
    # beyond the last value there is always room
    has_room = np.append(_has_room(line) | is_public(line[1:], column_type), True)
    above = np.minimum.accumulate(np.where(has_room, np.arange(n), n)[::-1])[::-1]
    below = np.maximum.accumulate(np.where(has_room, np.arange(n), -1))
    return np.append(-1, below[:-1]), above


def _has_room(line: Line) -> BoolArray:
    """Whether a place is free between one value and the next, (n - 1,)."""
    if line.dtype.kind == "f":
        return np.nextafter(line[:-1], np.inf) < line[1:]
    whole = line.astype(np.uint64)  # exact, also where 63 bits do not suffice
    return (whole[1:] - whole[:-1]) > 1


def shares(lower: Line, upper: Line, line: Line) -> FloatArray:
    """Widths of intervals over the width of a column, whose values ascend."""
    if not len(line) or line[0] == line[-1]:
        return np.zeros(np.broadcast(lower, upper).shape)
    if line.dtype.kind == "f":
        is_huge = np.abs(line[[0, -1]]).max() > HUGE  # the distance of the two largest floats is no float
        lower, upper, line = (side / 4 if is_huge else side for side in (lower, upper, line))
        return np.asarray((upper - lower) / (line[-1] - line[0]))
    # whole numbers are subtracted exactly, wrapping around where 63 bits do not suffice, and rounded only then
    lower, upper, line = (side.astype(np.int64).astype(np.uint64) for side in (lower, upper, line))
    return np.asarray((upper - lower).astype(np.float64) / (line[-1:] - line[:1]).astype(np.float64))


def _beyond(line: Line, column_type: str, between: Round) -> tuple[Any, Any]:
    """Bounds outside all values, about as far as values lie apart; the values themselves at the end of the line."""
    ends = line[[0, -1]]
    if column_type == "float":
        step = float(ends[1] / len(line) - ends[0] / len(line))
        with np.errstate(over="ignore"):
            far = np.array([ends[0] - step, ends[1] + step])
            far = np.where(far == ends, np.nextafter(ends, [-np.inf, np.inf]), far)
        far = np.clip(far, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    else:
        step_ = max(3, (int(ends[1]) - int(ends[0])) // len(line) + 2)
        low, high = SPANS[column_type]
        far = np.array([max(low, int(ends[0]) - step_), min(high, int(ends[1]) + step_)])
    least = between(far[:1], ends[:1])[1][0] if far[0] < ends[0] else ends[0]
    if far[1] == ends[1]:
        return least, ends[1]
    before, roundest = between(ends[1:], far[1:])
    return least, (before if column_type in ("integer", "date") else roundest)[0]  # 29, not 30, ends whole numbers


# Floats ---------------------------------------------------------------------------------------------------------------

EXACT_POWERS = 10.0 ** np.arange(23)  # powers of ten that are floats
LEAST_EXPONENT, MOST_EXPONENT = -5, 20  # of numbers whose 17 digits are multiples of such powers


def _between_floats(below: FloatArray, above: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each gap an upper and a lower bound inside it, upper < lower; what the gap has no room for is its end."""
    lower = _roundest_floats(below, above, towards_high=True)
    has_room = ~np.isnan(lower)
    upper = np.full(len(below), np.nan)
    upper[has_room] = _roundest_floats(below[has_room], lower[has_room], towards_high=False)
    upper = np.where(np.isnan(upper), np.where(has_room, lower, below), upper)
    return upper, np.where(has_room, lower, above)


def _roundest_floats(low: FloatArray, high: FloatArray, *, towards_high: bool) -> FloatArray:
    """The roundest number between others, NaN where there is none; of several the one nearest to one side."""
    roundest = np.where((low < 0) & (high > 0), 0.0, np.nan)
    positive = np.flatnonzero(low >= 0)
    roundest[positive] = _roundest_positive(low[positive], high[positive], towards_high=towards_high)
    negative = np.flatnonzero(high <= 0)
    roundest[negative] = -_roundest_positive(-high[negative], -low[negative], towards_high=not towards_high)
    return roundest


def _roundest_positive(low: FloatArray, high: FloatArray, *, towards_high: bool) -> FloatArray:
    roundest = np.full(len(low), np.nan)
    exponent = np.floor(np.log10(np.maximum(high, 5e-324))).astype(np.int64)
    is_usual = (exponent >= LEAST_EXPONENT) & (exponent <= MOST_EXPONENT)
    pending = np.flatnonzero(is_usual)
    for digit in range(-1, 16):
        for unit in (10, 5, 2):
            power = exponent[pending] - digit - 1
            a, b = low[pending], high[pending]
            scale = EXACT_POWERS[np.abs(power)]
            times = np.where(power >= 0, scale, 1.0)
            step = unit * times / np.where(power >= 0, 1.0, scale)
            count = np.ceil(b / step) - 1 if towards_high else np.floor(a / step) + 1
            number = count * unit * times / np.where(power >= 0, 1.0, scale)
            fits = (number > a) & (number < b)
            roundest[pending[fits]] = number[fits]
            pending = pending[~fits]
        if not len(pending):
            break
    rest = np.flatnonzero(np.isnan(roundest))
    roundest[rest] = [
        _roundest_decimal(*pair, towards_high=towards_high)
        for pair in zip(low[rest].tolist(), high[rest].tolist(), strict=True)
    ]
    return roundest


_DIGITS = Context(prec=1200, Emin=-2000, Emax=2000)  # every float has fewer


def _roundest_decimal(low: float, high: float, *, towards_high: bool) -> float:
    """The same for one pair of any size, in exact decimals."""
    if math.nextafter(low, high) >= high:
        return math.nan
    a, b = Decimal(low), Decimal(high)
    side, rounding, inwards = (b, ROUND_FLOOR, -1) if towards_high else (a, ROUND_CEILING, 1)
    for exponent in range(b.adjusted() + 1, -326, -1):
        for step in (Decimal((0, (digit,), exponent - 1 + (digit == 1))) for digit in (1, 5, 2)):
            nearest = _DIGITS.divide(side, step).to_integral_value(rounding, _DIGITS)
            for count in (nearest, nearest + inwards):  # a float may be just beside its round number
                number = float(_DIGITS.multiply(count, step))
                if low < number < high:
                    return number
    return math.nextafter(low, high)


# Whole numbers, days and moments --------------------------------------------------------------------------------------

Floors = Callable[[Line], Iterator[Line]]  # from the roundest on: the last round place up to each of the given


def _between_whole(floors: Floors, *, closes_before: bool) -> Round:
    """Bounds in gaps of discrete values.

    Args:
        floors: the round places of the line.
        closes_before: an interval ends one before the next begins, as 29 before 30; otherwise at a round place.
    """

    def between(below: Line, above: Line) -> tuple[Line, Line]:
        a, b = below.astype(np.int64), above.astype(np.int64)
        if len(a) and (int(a.min()) < -(2**62) or int(b.max()) > 2**62):  # sums would not fit 64 bits
            a, b = a.astype(object), b.astype(object)
        upper, lower = a.copy(), b.copy()
        single = b - a == 2
        upper[single] = lower[single] = (a + 1)[single]
        roomy = np.flatnonzero(b - a > 2)
        lower[roomy] = _roundest_whole(a[roomy] + 2, b[roomy] - 1, floors)
        last = lower[roomy] - 1
        upper[roomy] = last if closes_before else _roundest_whole(a[roomy] + 1, last, floors)
        return upper.astype(np.int64), lower.astype(np.int64)

    return between


def _roundest_whole(low: Line, high: Line, floors: Floors) -> Line:
    """The roundest place from `low` to `high`, both included; of several the last."""
    roundest, is_found = high.copy(), np.zeros(len(low), np.bool_)
    for place in floors(high):
        fits = ~is_found & (place >= low).astype(np.bool_)
        roundest[fits] = place[fits]
        is_found |= fits
        if is_found.all():
            break
    return roundest


def _numbers(high: Line) -> Iterator[Line]:
    for power in range(18, 0, -1):
        for step in (10**power, 5 * 10 ** (power - 1), 2 * 10 ** (power - 1)):
            yield high // step * step


def _months(days: Line) -> Iterator[Line]:
    months = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 12 * 1970
    for length in MONTHS:
        begin = months // length * length
        yield (begin - 12 * 1970).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _days(high: Line) -> Iterator[Line]:
    yield from _months(high)
    month = high.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]")
    begin = month.astype(np.int64)
    for step in (10, 5, 1):  # the 20th before the 15th
        day = (high - begin + 1) // step * step
        yield np.where(day > 0, begin + day - 1, begin)


def _moments(high: Line) -> Iterator[Line]:
    for days in _months(high // DAY):
        yield days * DAY
    for step in CLOCK:
        yield high // step * step
    for power in range(5, -1, -1):
        for step in (5 * 10**power, 2 * 10**power, 10**power):
            yield high // step * step


_BETWEEN: dict[str, Round] = {
    "float": _between_floats,
    "integer": _between_whole(_numbers, closes_before=True),
    "date": _between_whole(_days, closes_before=True),
    "datetime": _between_whole(_moments, closes_before=False),
}
