"""rank-swap: cells are exchanged with others that are near them in rank."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.errors import DataError
from tablecloak.rng import Stream
from tablecloak.transforms._moves import moved, rotated
from tablecloak.transforms.base import LINE, Family, Fitting, Transform, random_of, transform


@transform("rank-swap", Family.PERTURB, types=LINE)
class RankSwap(Transform):
    """Every cell gets the value of another one whose rank is at most some percent of the cells away.

    Ranks are cut into stretches, the first of a secret length; inside each one values go round in random order. Equal
    values are ranked by chance, missing cells stay. Where only neighbours in rank are exchanged, an end may stay.
    Reference: Moore, Controlled data-swapping techniques for masking public use microdata sets, 1996.
    """

    is_drawn = True

    window: Annotated[
        float, Field(gt=0, le=100, description="largest distance in rank, in percent of the cells that are not missing")
    ] = 5.0

    def fit(self, fitting: Fitting) -> CellStep:
        cells = fitting.rows([fitting.column])[fitting.column]
        present = np.flatnonzero(cells.is_not_null().to_numpy())
        n = len(present)
        if n == 0:
            return moved(fitting, cells, np.arange(len(cells)))
        most = farthest(self.window, n)
        if most < 1 or n < 2:
            raise DataError(
                f"column '{fitting.column}': {self.window:g} % of {n} cells is less than one rank",
                hint=f"window: {math.ceil(100 / n)}" if n > 1 else "null",
            )
        values = cells.gather(present).rank("dense").cast(pl.Int64).to_numpy()
        ranked = present[np.lexsort((random_of(fitting.secret.child("equal values"), present), values))]
        stretches = _stretches(n, most + 1, fitting.secret.stream("first stretch"))
        words = random_of(fitting.secret.child("order"), np.arange(n))
        return moved(fitting, cells, rotated(ranked, stretches, words, len(cells)))

    def warnings(self, fitting: Fitting) -> list[str]:
        n = int(fitting.counts()["n"].sum())
        most = farthest(self.window, n)
        return [f"cells move by {most} ranks at most, among {n}: little is hidden"] if 0 < most < 3 else []


def farthest(window: float, n: int) -> int:
    """By how many ranks a value may move."""
    return min(math.floor(window * n / 100 + 1e-9), max(n - 1, 0))


def _stretches(n: int, length: int, stream: Stream) -> IntArray:
    """(n,) which stretch of ranks each one is in: none is longer than given, or a single rank if that can be."""
    first = int(stream.integers(1 if length == 2 else 2, length + 1, 1)[0])
    begins = np.arange(first, n, length)
    if length > 2 and len(begins) and begins[-1] == n - 1:
        begins[-1] -= 1
    return np.searchsorted(begins, np.arange(n), side="right").astype(np.int64)
