"""counter: 1, 2, 3 .. in an order that only chance decides."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.transforms._pseudonyms import Grouping, Listed
from tablecloak.transforms.base import Family, Fitting, transform


@transform("counter", Family.PSEUDONYM)
class Counter(Grouping):
    """A number from 1 on stands for a value; which one is drawn, so numbers tell nothing about values or rows.

    Another run, or another table, has other numbers for the same values unless it has the same secret and values.
    """

    is_drawn = True

    width: Annotated[
        int | None, Field(ge=1, le=64, description="digits that every number has, with zeros before it")
    ] = None
    prefix: Annotated[str, Field(max_length=64, description="what stands before every number")] = ""

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT if self.width or self.prefix else ColumnType.INTEGER

    def fit(self, fitting: Fitting) -> CellStep:
        texts = self.texts(fitting)
        self._refuse_narrow(len(texts), fitting.column)
        order = fitting.secret.stream("order").permutation(len(texts))
        return self.step(Listed(texts, self._written(pl.Series("number", order + 1))), fitting)

    def _written(self, numbers: pl.Series) -> pl.Series:
        if not (self.width or self.prefix):
            return numbers.cast(pl.Int64)
        texts = numbers.cast(pl.String).str.zfill(self.width or 1)
        return (pl.Series("prefix", [self.prefix]) + texts).alias("number")

    def _refuse_narrow(self, n: int, column: str) -> None:
        if self.width is not None and n >= 10**self.width:
            digits = len(str(n))
            raise DataError(
                f"column '{column}': {n:,} different values need {digits} digits, and width is {self.width}",
                hint=f"columns.{column}.transform.width: {digits}",
            )

    def faults(self, cells: pl.Series) -> pl.Series | None:
        texts = cells.cast(pl.String)
        is_own = texts.str.starts_with(self.prefix)
        numbers = texts.str.slice(len(self.prefix))
        digits = rf"^[0-9]{{{self.width}}}$" if self.width else "^[1-9][0-9]*$"
        return ~(is_own & numbers.str.contains(digits)).fill_null(value=True)
