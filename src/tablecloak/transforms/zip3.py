"""zip3: US ZIP codes without their last digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.profile.safe_harbor import HIDDEN_ZIP, SPARSE_ZIPS
from tablecloak.transforms.base import ByValue, Family, Fitting, Transform, transform

_ZIP = r"^\s*(\d{3})\d{2}(?:-?\d{4})?\s*$"


@transform("zip3", Family.COARSEN, types=(ColumnType.TEXT, ColumnType.INTEGER))
class Zip3(Transform):
    """US ZIP codes are published as their first three digits, and as 000 where 20,000 people or fewer live.

    Numbers get back the zeros they lost in front. What is no ZIP code of five or nine digits is published as 000.
    Reference: 45 CFR 164.514(b)(2)(i)(B); the three digits with few people are those of the census of 2000, as in the
    guidance of HHS of 2012.
    """

    sparse: Annotated[
        tuple[Annotated[str, Field(pattern=r"^\d{3}$")], ...], Field(description="three digits where few people live")
    ] = SPARSE_ZIPS

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        return ByValue(_Shortened(self.sparse, fitting.type))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        texts = cells.cast(pl.String).str.zfill(3)  # a reader may have taken them for numbers
        return (~texts.str.contains(r"^\d{3}$") | texts.is_in(list(self.sparse))).fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Shortened:
    sparse: tuple[str, ...]
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        texts = values.cast(pl.String)
        if self.type is ColumnType.INTEGER:  # five digits, or nine
            padded = pl.when(pl.col("text").str.len_chars() > 5).then(pl.col("text").str.zfill(9))
            texts = pl.DataFrame({"text": texts}).select(padded.otherwise(pl.col("text").str.zfill(5))).to_series()
        digits = texts.str.extract(_ZIP).to_frame("zip")
        is_sparse = pl.col("zip").is_null() | pl.col("zip").is_in(list(self.sparse))
        return digits.select(pl.when(is_sparse).then(pl.lit(HIDDEN_ZIP)).otherwise("zip")).to_series()
