"""null: every cell is published empty."""

from __future__ import annotations

import polars as pl

from tablecloak.data.changed_columns import CellStep
from tablecloak.transforms.base import Family, Fitting, Same, Transform, transform


@transform("null", Family.COVER)
class Null(Transform):
    """Every cell is published empty."""

    def fit(self, fitting: Fitting) -> CellStep:
        return Same(None, fitting.type)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return cells.is_not_null()
