"""round: numbers to multiples of a base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import Step
from tablecloak.data.table import ColumnType
from tablecloak.transforms.base import NUMBERS, ByValue, Family, Fitting, Transform, transform


@transform("round", Family.COARSEN, types=NUMBERS)
class Round(Transform):
    """Numbers are published as the nearest multiple of a base, halves away from zero."""

    base: Annotated[float, Field(gt=0, description="what published numbers are multiples of")]

    def fit(self, fitting: Fitting) -> Step:
        return ByValue(_Multiples(self.base, fitting.type))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        ratio = cells.cast(pl.Float64, strict=False) / self.base
        return ((ratio - ratio.round()).abs() > 1e-9 * ratio.abs().clip(1)).fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Multiples:
    base: float
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        ratio = values.cast(pl.Float64) / self.base
        made = ratio.sign() * (ratio.abs() + 0.5).floor() * self.base
        return made.cast(pl.Int64) if self.type is ColumnType.INTEGER and float(self.base).is_integer() else made
