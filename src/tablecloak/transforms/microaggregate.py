"""microaggregate: what neighbors on the line have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.transforms._groups import Size, group_size, require_records
from tablecloak.transforms._places import means_of, medians_of, positions
from tablecloak.transforms.base import LINE, ByValue, Family, Fitting, Transform, transform
from tablecloak.values.bounds import Line

HELD = 1 << 16  # different values that are numbers of Python at once, which take many times as much as in an array
FEW = 32  # sums that are compared one by one sooner than in an array


@transform("microaggregate", Family.COARSEN, types=LINE)
class Microaggregate(Transform):
    """Numbers, dates and times are published as the mean of a group of at least k neighbors on the line.

    The groups are those with the least squared distances to their means among all that keep equal values together.
    Means of whole numbers, dates and times are the nearest such values, means of decimals have as many decimals as the
    column. One column at a time does not make records alike: several columns that others may know need an algorithm.
    Infinite numbers are refused.

    Reference: Hansen, Mukherjee, IEEE TKDE 15, 2003.
    """

    k: Annotated[Size | Literal["auto"], Field(description="records of a group; auto: as many as goals ask for")] = (
        "auto"
    )
    value: Annotated[Literal["mean", "median"], Field(description="what stands for a group")] = "mean"

    def fit(self, fitting: Fitting) -> CellStep:
        k, counts = group_size(fitting, self.k), fitting.counts()
        values, n = counts["value"], counts["n"].to_numpy()
        require_records(fitting, int(n.sum()), k)
        line = positions(values, fitting.type)
        if line.dtype.kind == "f" and not np.isfinite(line).all():
            raise DataError(
                f"column '{fitting.column}' has infinite numbers, of which there is no mean",
                hint=f"columns.{fitting.column}.transform: top-code and bottom-code before it",
            )
        if not len(line):
            return ByValue(_InGroups(fitting.type, line, values))
        begins = best_runs(line, n, k)
        center = means_of if self.value == "mean" else medians_of
        return ByValue(_InGroups(fitting.type, line[begins], center(values, fitting.type, n, begins)))


@dataclass(frozen=True, slots=True, eq=False)
class _InGroups:
    type: ColumnType
    begins: Line  # places where groups begin
    shown: pl.Series

    def __call__(self, values: pl.Series) -> pl.Series:
        if not len(self.begins):
            return values
        group = np.searchsorted(self.begins, positions(values, self.type), side="right") - 1
        return self.shown.gather(np.maximum(group, 0)).alias(values.name)


def best_runs(line: Line, n: IntArray, k: int) -> IntArray:
    """Where runs of different values begin, each of at least k records, with the least squares around their means.

    Dynamic programme over the ends of runs. The best begin never moves back when the end moves on (the squares satisfy
    the quadrangle inequality), so few begins are tried for each end, and what lies before them is forgotten.
    """
    counts = np.concatenate([[0], np.cumsum(n)])
    arrays = [counts.astype(np.float64), *np.zeros((2, len(counts)))]
    costs, start = np.full(len(counts), np.inf), np.zeros(len(counts), np.int64)
    costs[0] = 0.0
    latest = np.searchsorted(counts, counts - k, side="right") - 1  # begin with k records before every end; -1: none
    held, first = 0, 0  # the place that the lists begin with, and the best begin
    sums, squares = [0], [0]
    for here in _parts(line, n):
        sums, squares = _continued(sums[first - held :], squares[first - held :], here)
        held, begin, stop = first, here.begin, here.begin + len(here.sizes)
        for array, new in zip(arrays[1:], (sums, squares), strict=True):
            array[begin + 1 : stop + 1] = new[begin + 1 - held :]
        count, cost = counts[held : stop + 1].tolist(), costs[held : stop + 1].tolist()
        for end, last in enumerate(latest[begin + 1 : stop + 1].tolist(), start=begin + 1):
            at = end - held
            if last - first >= FEW:
                best, chosen = _best_of_many(arrays, costs, end, slice(first, last + 1))
            else:
                best, chosen = np.inf, first
                for tried in range(first - held, last + 1 - held):
                    total, size = sums[at] - sums[tried], count[at] - count[tried]
                    through = cost[tried] + (size * (squares[at] - squares[tried]) - total * total) / size
                    if through < best:
                        best, chosen = through, tried + held
            if best < np.inf:
                first = start[end] = chosen
                cost[at] = costs[end] = best
    return _begins(start)


@dataclass(frozen=True, slots=True)
class _HeldPart:
    """Some values one after the other: how far each is from a place in the middle, and its records."""

    begin: int
    shifted: list[Any]  # whole numbers exactly; of others, small ones keep the digits of their squares
    sizes: list[int]


def _parts(line: Line, n: IntArray) -> Iterator[_HeldPart]:
    is_whole = line.dtype.kind != "f"
    middle = int(line[0]) if is_whole else float(np.average(line, weights=n))
    for begin in range(0, len(line), HELD):
        values = line[begin : begin + HELD]
        shifted = [value - middle for value in values.tolist()] if is_whole else (values - middle).tolist()
        yield _HeldPart(begin, shifted, n[begin : begin + HELD].tolist())


def _continued(sums: list[Any], squares: list[Any], part: _HeldPart) -> tuple[list[Any], list[Any]]:
    """Sums of what records hold up to every value, and of its squares, after those of more values."""
    pairs = list(zip(part.shifted, part.sizes, strict=True))
    more = accumulate((value * size for value, size in pairs), initial=sums[-1])
    more_squares = accumulate((value * value * size for value, size in pairs), initial=squares[-1])
    return [*sums[:-1], *more], [*squares[:-1], *more_squares]


def _best_of_many(arrays: list[FloatArray], costs: FloatArray, end: int, tried: slice) -> tuple[float, int]:
    count, sums, squares = arrays
    total = sums[end] - sums[tried]
    through = costs[tried] + squares[end] - squares[tried] - total**2 / (count[end] - count[tried])
    best = int(np.argmin(through))
    return float(through[best]), tried.start + best


def _begins(start: IntArray) -> IntArray:
    """Where runs begin, from where the run that ends at each place begins."""
    begins, at = [], len(start) - 1
    while at > 0:
        at = int(start[at])
        begins.append(at)
    return np.array(begins[::-1])
