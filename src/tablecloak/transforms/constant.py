"""constant: every cell is published as one value."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.transforms.base import Family, Fitting, Same, Transform, transform


@transform("constant", Family.COVER)
class Constant(Transform):
    """Every cell is published as one value, missing ones too."""

    value: Annotated[str, Field(description="what is published instead of every cell")]

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:  # noqa: ARG002
        return Same(self.value, ColumnType.TEXT)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return cells.cast(pl.String).ne_missing(self.value)
