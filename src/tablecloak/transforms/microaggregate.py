"""microaggregate: what neighbors on the line have in common."""

from __future__ import annotations

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
    the quadrangle inequality), so few begins are tried for each end.
    """
    count, sums, squares = _until(line, n)
    arrays = [np.array(each, np.float64) for each in (count, sums, squares)]
    cost, start = [0.0, *[np.inf] * len(line)], [0] * (len(line) + 1)
    costs = np.array(cost)
    # the last begin with k records before every end; -1: there is none
    latest = (np.searchsorted(arrays[0], arrays[0] - k, side="right") - 1).tolist()
    first = 0
    for end in range(1, len(count)):
        last = latest[end]
        if last - first >= FEW:
            best, begin = _best_of_many(arrays, costs, end, slice(first, last + 1))
        else:
            best, begin = np.inf, first
            for tried in range(first, last + 1):
                total, size = sums[end] - sums[tried], count[end] - count[tried]
                through = cost[tried] + (size * (squares[end] - squares[tried]) - total * total) / size
                if through < best:
                    best, begin = through, tried
        if best < np.inf:
            first = start[end] = begin
            cost[end] = costs[end] = best
    return _begins(start)


def _until(line: Line, n: IntArray) -> tuple[list[int], list[Any], list[Any]]:
    """Records up to every value, the sums of what they hold and of its squares; of whole numbers exactly."""
    count = [0, *np.cumsum(n).tolist()]
    if line.dtype.kind == "f":  # small numbers keep the digits of their squares
        shifted = (line - float(np.average(line, weights=n))).tolist()
    else:
        shifted = [value - int(line[0]) for value in line.tolist()]
    sizes = n.tolist()
    sums = accumulate((value * size for value, size in zip(shifted, sizes, strict=True)), initial=0)
    squares = accumulate((value * value * size for value, size in zip(shifted, sizes, strict=True)), initial=0)
    return count, list(sums), list(squares)


def _best_of_many(arrays: list[FloatArray], costs: FloatArray, end: int, tried: slice) -> tuple[float, int]:
    count, sums, squares = arrays
    total = sums[end] - sums[tried]
    through = costs[tried] + squares[end] - squares[tried] - total**2 / (count[end] - count[tried])
    best = int(np.argmin(through))
    return float(through[best]), tried.start + best


def _begins(start: list[int]) -> IntArray:
    """Where runs begin, from where the run that ends at each place begins."""
    begins, at = [], len(start) - 1
    while at > 0:
        at = start[at]
        begins.append(at)
    return np.array(begins[::-1])
