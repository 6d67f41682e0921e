"""Totals, means, variances and correlations of columns before and after they were changed, added up in batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray

FIRST_ROWS = 1000  # sums are those of the differences to a value in the middle of so many
ROWS_AT_ONCE = 1 << 16
DAY_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Moments:
    """A column in numbers; None where it has too few."""

    n: int
    total: float
    mean: float | None
    variance: float | None
    low: float | None = None
    high: float | None = None

    @property
    def deviation(self) -> float | None:
        return None if self.variance is None else math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class MomentChanges:
    """Columns of numbers before and after they were changed; dates are days since 1970."""

    columns: Mapping[str, tuple[Moments, Moments]]
    correlations: Mapping[tuple[str, str], tuple[float | None, float | None]]

    def largest(self) -> tuple[str, str] | None:
        """The columns whose correlation changed most; None where there are no two that have one on both sides."""
        changes = {pair: abs(a - b) for pair, (a, b) in self.correlations.items() if a is not None and b is not None}
        return max(changes, key=lambda pair: changes[pair], default=None)


class MomentSums:
    """What is added up of columns, and of every two of them in the rows where both have a value."""

    def __init__(self, n_columns: int) -> None:
        self._origin = np.full(n_columns, math.nan)  # near the values, so that no digits are lost
        self._low, self._high = np.full(n_columns, math.inf), np.full(n_columns, -math.inf)
        # (n_columns, n_columns) over rows where both have a value: rows, x of the first, its square, x of both
        self._n, self._x, self._xx, self._xy = (np.zeros((n_columns, n_columns)) for _ in range(4))

    def add(self, rows: pl.DataFrame, columns: Sequence[str]) -> None:
        """Add rows of a table, in which the columns may have other names."""
        for part in rows.iter_slices(ROWS_AT_ONCE) if columns else ():
            self._add(np.column_stack([numbers_of(part[name]) for name in columns]))

    def _add(self, cells: FloatArray) -> None:
        has_value: BoolArray = np.isfinite(cells)  # (n_rows, n_columns)
        self._find_origin(cells, has_value)
        shifted = np.where(has_value, cells - self._origin, 0.0)
        self._low = np.minimum(self._low, np.where(has_value, cells, math.inf).min(axis=0))
        self._high = np.maximum(self._high, np.where(has_value, cells, -math.inf).max(axis=0))
        is_there = has_value.astype(np.float64)
        self._n += is_there.T @ is_there
        self._x += shifted.T @ is_there
        self._xx += (shifted**2).T @ is_there
        self._xy += shifted.T @ shifted

    def _find_origin(self, cells: FloatArray, has_value: BoolArray) -> None:
        for i in np.flatnonzero(np.isnan(self._origin) & has_value.any(axis=0)).tolist():
            self._origin[i] = float(np.median(cells[has_value[:, i], i][:FIRST_ROWS]))

    def merge(self, other: MomentSums) -> None:
        """Add the sums of other rows."""
        self._origin = np.where(np.isnan(self._origin), other._origin, self._origin)
        moved = np.nan_to_num(other._origin - self._origin)  # where one has no values yet, there is nothing to move
        of_first, of_second = moved[:, None], moved[None, :]
        self._n += other._n
        self._x += other._x + other._n * of_first
        self._xx += other._xx + 2 * of_first * other._x + other._n * of_first**2
        self._xy += other._xy + of_first * other._x.T + of_second * other._x + other._n * of_first * of_second
        self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)

    def moments(self, i: int) -> Moments:
        """Those of a column."""
        n = int(self._n[i, i])
        if not n:
            return Moments(0, 0.0, None, None)
        x, xx, origin = float(self._x[i, i]), float(self._xx[i, i]), float(self._origin[i])
        variance = max(0.0, (xx - x * x / n) / (n - 1)) if n > 1 else None
        return Moments(n, n * origin + x, origin + x / n, variance, float(self._low[i]), float(self._high[i]))

    def correlation(self, i: int, j: int) -> float | None:
        """Pearson's, of two columns; None where one of them has less than two different values."""
        n = float(self._n[i, j])
        if n < 2:
            return None
        x, y = float(self._x[i, j]), float(self._x[j, i])
        spread = (n * float(self._xx[i, j]) - x * x) * (n * float(self._xx[j, i]) - y * y)
        if not spread > 0:
            return None
        return max(-1.0, min(1.0, (n * float(self._xy[i, j]) - x * y) / math.sqrt(spread)))


def sums_of(batches: Iterable[pl.DataFrame], sides: Sequence[Sequence[str]]) -> list[MomentSums]:
    """The sums of several lists of columns over the same rows."""
    sums = [MomentSums(len(columns)) for columns in sides]
    for batch in batches:
        for each, columns in zip(sums, sides, strict=True):
            each.add(batch, columns)
    return sums


def columns_of(sides: Sequence[Sequence[str]]) -> list[str]:
    """All columns of several lists, each once."""
    return list(dict.fromkeys(name for columns in sides for name in columns))


def changes_of(
    names: Sequence[str], before: MomentSums, after: MomentSums, changed: Sequence[str] | None = None
) -> MomentChanges:
    """The sums of two tables with the same columns as changes.

    Args:
        changed: the columns to tell, and of which correlations are told; None: all.
    """
    told = list(names) if changed is None else list(changed)
    place = {name: i for i, name in enumerate(names)}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if a in told or b in told]
    return MomentChanges(
        {name: (before.moments(place[name]), after.moments(place[name])) for name in told},
        {
            (a, b): (before.correlation(place[a], place[b]), after.correlation(place[a], place[b]))
            for a, b in pairs
        },
    )  # fmt: skip


def numbers_of(cells: pl.Series) -> FloatArray:
    """(n,) numbers, NaN where a cell is empty or no number; dates are days since 1970."""
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if isinstance(cells.dtype, pl.Datetime):
        cells = cells.dt.epoch("us") / DAY_MICROSECONDS
    elif cells.dtype == pl.Date:
        cells = cells.to_physical()
    numbers = cells.cast(pl.Float64, strict=False)
    return numbers.fill_null(math.nan).to_numpy()
