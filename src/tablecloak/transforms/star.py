"""star: every cell is published as an asterisk."""

from __future__ import annotations

import polars as pl

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType
from tablecloak.transforms.base import Family, Fitting, Same, Transform, transform


@transform("star", Family.COVER)
class Star(Transform):
    """Every cell is published as an asterisk."""

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:  # noqa: ARG002
        return Same(ANYTHING, ColumnType.TEXT)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return cells.cast(pl.String).ne_missing(ANYTHING)
