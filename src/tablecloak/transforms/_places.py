"""Numbers, dates and times as places on a line, and what stands for several of them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.table import ColumnType
from tablecloak.io.frames import DTYPES
from tablecloak.values.bounds import Line

SAFE = 2**62  # sums below this fit 64 bits
MOST_DECIMALS = 12


def positions(values: pl.Series, type_: ColumnType) -> Line:
    """(n,) places of values, none missing: floats, or whole numbers, days or microseconds since 1970-01-01."""
    if type_ is ColumnType.FLOAT:
        return values.cast(pl.Float64).to_numpy()
    if type_ is ColumnType.INTEGER:
        return values.cast(pl.Int64).to_numpy()
    return values.cast(DTYPES[type_]).to_physical().cast(pl.Int64).to_numpy()


def values_at(places: Line, type_: ColumnType) -> pl.Series:
    """The values at some places."""
    if type_ is ColumnType.DATE:
        return pl.Series(places, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date)
    return pl.Series(places).cast(DTYPES[type_])


def day_or_moment(written: Any) -> Any:
    """The date or time that a text says in ISO order; anything else as it is."""
    if not isinstance(written, str):
        return written
    try:
        return dt.date.fromisoformat(written) if len(written) == 10 else dt.datetime.fromisoformat(written)
    except ValueError:
        return written


def means_of(values: pl.Series, type_: ColumnType, n: IntArray, begins: IntArray) -> pl.Series:
    """The mean of every run of values, each of `n` records, with the decimals that the values have; of whole numbers,
    dates and times the nearest one."""
    line, total = positions(values, type_), np.add.reduceat(n, begins)
    first = np.repeat(line[begins], np.diff(np.append(begins, len(line))))
    if type_ is ColumnType.FLOAT:
        means = line[begins] + np.add.reduceat((line - first) * n, begins) / total
        decimals = _decimals(line)
        return values_at(means if decimals is None else np.round(means, decimals), type_)
    largest = max(abs(int(line.max())), abs(int(line.min())))
    exact = line if 4 * largest * int(total.max()) < SAFE else line.astype(object)
    sums = np.add.reduceat(exact * n, begins)
    return values_at(np.asarray((2 * sums + total) // (2 * total)).astype(np.int64), type_)


def _decimals(line: Line) -> int | None:
    """The least number of decimals with which all numbers can be written; None where it is more than a float holds."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest have no decimals to speak of
        return next((d for d in range(MOST_DECIMALS + 1) if np.array_equal(np.round(line, d), line)), None)


def medians_of(values: pl.Series, type_: ColumnType, n: IntArray, begins: IntArray) -> pl.Series:
    """The median of every run of values, each of `n` records; of two in the middle their mean."""
    line, until = positions(values, type_), np.cumsum(n)
    total = np.add.reduceat(n, begins)
    before = until[begins] - n[begins]
    low = line[np.searchsorted(until, before + (total - 1) // 2, side="right")]
    high = line[np.searchsorted(until, before + total // 2, side="right")]
    if type_ is ColumnType.FLOAT:
        return values_at(low / 2 + high / 2, type_)
    middle = [(a + b + 1) // 2 for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    return values_at(np.array(middle, np.int64), type_)
