"""Numbers and dates as what they are counted in: whole numbers, days and seconds, or decimals.

Whole numbers are moved by whole numbers, so that none is rounded on the way, however large it is.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms.base import DATES

PER_DAY = {ColumnType.DATE: 1, ColumnType.DATETIME: 86_400}  # units of a day
_EPOCH = dt.date(1970, 1, 1).toordinal()
DAYS = dt.date.min.toordinal() - _EPOCH, dt.date.max.toordinal() - _EPOCH
_RANGES = {
    ColumnType.DATE: DAYS,
    ColumnType.DATETIME: (DAYS[0] * 86_400, (DAYS[1] + 1) * 86_400 - 1),
    ColumnType.INTEGER: (4096 - 2**63, 2**63 - 4096),  # sums are compared as floats, which end a little earlier
}
_MICRO = 1_000_000
_WHOLE_FLOATS = 2.0**53  # floats from here on are apart by more than 1


def to_units(cells: pl.Series, type_: ColumnType) -> tuple[IntArray | FloatArray, BoolArray]:
    """(n,) values in the unit of their type, 0 for missing ones, and (n,) which are missing."""
    is_missing = cells.is_null().to_numpy()
    if type_ is ColumnType.FLOAT:
        return cells.cast(pl.Float64).fill_null(0.0).to_numpy(), is_missing
    if type_ is ColumnType.DATETIME:
        micro = cells.cast(pl.Datetime("us")).cast(pl.Int64).fill_null(0).to_numpy()
        return (micro + _MICRO // 2) // _MICRO, is_missing
    whole = cells.cast(pl.Int32) if type_ is ColumnType.DATE else cells
    return whole.cast(pl.Int64).fill_null(0).to_numpy(), is_missing


def from_units(values: IntArray | FloatArray, is_missing: BoolArray, type_: ColumnType) -> pl.Series:
    """Cells of a type, of values in its unit."""
    cells = pl.Series("cell", values)
    if type_ is ColumnType.DATE:
        cells = cells.cast(pl.Int32).cast(pl.Date)
    elif type_ is ColumnType.DATETIME:
        cells = (cells * _MICRO).cast(pl.Datetime("us"))
    if not is_missing.any():
        return cells
    frame = pl.DataFrame({"cell": cells, "is_missing": is_missing})
    return frame.select(pl.when(~pl.col("is_missing")).then("cell").alias("cell")).to_series()


def whole(amounts: FloatArray, fill: FloatArray) -> IntArray:
    """Amounts as whole numbers; the digits that a large float does not have are filled by numbers from 0 to below 1.

    Else the last digits of a large number would be published as they were.
    """
    rounded = np.rint(amounts).astype(np.int64)
    is_large = np.abs(amounts) >= _WHOLE_FLOATS
    if is_large.any():
        rounded[is_large] += (np.spacing(np.abs(amounts[is_large])) * fill[is_large]).astype(np.int64)
    return rounded


def refuse_out_of_range(
    values: IntArray | FloatArray, by: IntArray | FloatArray, is_missing: BoolArray, type_: ColumnType, column: str
) -> None:
    """Raise DataError where values that are moved by some units leave what their type can hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = values.astype(np.float64) + by.astype(np.float64)
    if type_ is ColumnType.FLOAT:
        is_outside = ~np.isfinite(sums)
    else:
        low, high = _RANGES[type_]
        is_outside = ~((sums >= low) & (sums <= high))
    n = int(np.count_nonzero(is_outside & ~is_missing))
    if n:
        what = "the years 1 to 9999" if type_ in DATES else "the numbers that a cell can hold"
        raise DataError(f"column '{column}': {n} of these cells would leave {what}", hint="smaller changes")


def refuse_too_large(values: IntArray | FloatArray, column: str) -> None:
    """Raise DataError for whole numbers that cannot be reflected without leaving 64 bits."""
    if values.dtype == np.int64 and (n := int(np.count_nonzero((values >= 2**61) | (values <= -(2**61))))):
        raise DataError(f"column '{column}': {n} of these cells are too large to come back", hint="at_bounds: clip")


def refuse_infinite(values: IntArray | FloatArray, column: str) -> None:
    """Raise DataError for infinite numbers, which nothing moves."""
    if values.dtype == np.float64 and (n := int(np.count_nonzero(~np.isfinite(values)))):
        raise DataError(f"column '{column}': {n} of these cells are infinite, and stay so", hint="remove these rows")


def to_digits(values: FloatArray, exponents: IntArray | int) -> FloatArray:
    """Numbers rounded to multiples of powers of ten, one power for all or one for each."""
    powers = np.asarray(exponents, np.int64)
    scale = 10.0 ** np.minimum(np.abs(powers), 300).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.where(powers < 0, np.rint(values * scale) / scale, np.rint(values / scale) * scale)
    return np.where(np.isfinite(rounded), rounded, values) + 0.0  # no minus zero


# Bounds --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which values a column stays, in its units; None: no end."""

    low: float | int | None
    high: float | int | None
    reflects: bool = False  # what would leave by some amount comes back by it

    def __call__(self, values: IntArray | FloatArray) -> IntArray | FloatArray:
        """Values inside the bounds; those that come back must be smaller than 2^61."""
        low, high = self.low, self.high
        if self.reflects and low is not None and high is not None:
            period = 2 * (high - low)
            beyond = np.mod(values - low, period) if period else np.zeros_like(values)
            values = low + np.minimum(beyond, period - beyond)
        elif self.reflects and low is not None:
            values = np.where(values < low, 2 * low - values, values)
        elif self.reflects and high is not None:
            values = np.where(values > high, 2 * high - values, values)
        if low is not None:
            values = np.maximum(values, low)
        return values if high is None else np.minimum(values, high)


def bounds_of(
    ends: tuple[int | float | dt.date | None, int | float | dt.date | None], type_: ColumnType, column: str
) -> tuple[int | float | None, int | float | None]:
    """The ends of a range in the units of a column; those of whole units lie inside.

    Raises: IncompatibleChoice for dates between which numbers should lie, or the reverse.
    """
    low, high = (None if end is None else _end(end, type_, column, is_high=i == 1) for i, end in enumerate(ends))
    if low is not None and high is not None and low > high:
        raise IncompatibleChoice(f"column '{column}': no whole number lies between the ends of clip")
    return low, high


def _end(end: int | float | dt.date, type_: ColumnType, column: str, *, is_high: bool) -> int | float:
    if isinstance(end, dt.date) != (type_ in DATES):
        wanted = "dates" if type_ in DATES else "numbers"
        raise IncompatibleChoice(f"column '{column}': clip needs {wanted}, for the column is of type {type_}")
    if isinstance(end, dt.date):
        unit = PER_DAY[type_]
        return (end.toordinal() - _EPOCH) * unit + (unit - 1 if is_high else 0)  # a day ends with its last second
    if type_ is ColumnType.FLOAT:
        return float(end)
    within = math.floor(end) if is_high else math.ceil(end)
    return max(-(2**63), min(within, 2**63 - 1))


def outside(cells: pl.Series, ends: tuple[int | float | dt.date | None, int | float | dt.date | None]) -> pl.Series:
    """Which cells, read back as texts or as what they are, lie outside a range."""
    if any(isinstance(end, dt.date) for end in ends):
        days = cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if cells.dtype == pl.String else cells
        values = days.cast(pl.Date).cast(pl.Int32).cast(pl.Float64)
    else:
        values = cells.cast(pl.Float64, strict=False)
    low, high = (end.toordinal() - _EPOCH if isinstance(end, dt.date) else end for end in ends)
    is_outside = pl.repeat(value=False, n=len(cells), eager=True)
    if low is not None:
        is_outside |= values < low
    if high is not None:
        is_outside |= values > high
    return is_outside.fill_null(value=False)
