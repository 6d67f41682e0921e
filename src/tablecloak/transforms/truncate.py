"""truncate: dates and times without their last parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice
from tablecloak.transforms.base import DATES, ByValue, Family, Fitting, Transform, transform

Part: TypeAlias = Literal["year", "quarter", "month", "week", "day", "hour"]
_RESULTS: dict[str, ColumnType] = {"year": ColumnType.INTEGER, "day": ColumnType.DATE}
_WRITTEN = {
    "year": r"^-?\d{1,6}$",
    "quarter": r"^\d{4}-Q[1-4]$",
    "month": r"^\d{4}-(0[1-9]|1[0-2])$",
    "week": r"^\d{4}-W(0[1-9]|[1-4]\d|5[0-3])$",
    "day": r"^\d{4}-\d{2}-\d{2}$",
    "hour": r"^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3])$",
}


@transform("truncate", Family.COARSEN, types=DATES)
class Truncate(Transform):
    """Dates and times are published without their last parts: the year 2021 as a number, 2021-Q1, 2021-03, 2021-W07.

    Weeks are those of ISO 8601, with its year; an hour is written 2021-03-04T05.
    """

    to: Annotated[Part, Field(description="the last part that is published")]

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return _RESULTS.get(self.to, ColumnType.TEXT)

    def fit(self, fitting: Fitting) -> CellStep:
        if self.to == "hour" and fitting.type is ColumnType.DATE:
            raise IncompatibleChoice(
                f"column '{fitting.column}' holds days, which have no hour",
                hint=f"columns.{fitting.column}.transform.to: day, month or year",
            )
        return ByValue(_Truncated(self.to))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        if self.to == "year" and cells.dtype.is_numeric():
            return (cells.cast(pl.Float64) % 1 != 0).fill_null(value=False)
        return ~cells.cast(pl.String).str.contains(_WRITTEN[self.to]).fill_null(value=True)


@dataclass(frozen=True, slots=True)
class _Truncated:
    to: Part

    def __call__(self, values: pl.Series) -> pl.Series:
        if self.to == "year":
            return values.dt.year().cast(pl.Int64)
        if self.to == "day":
            return values.cast(pl.Date)
        if self.to == "quarter":
            return _padded(values.dt.year()) + "-Q" + values.dt.quarter().cast(pl.String)
        if self.to == "week":
            return _padded(values.dt.iso_year()) + "-W" + values.dt.week().cast(pl.String).str.zfill(2)
        return values.dt.strftime({"month": "%Y-%m", "hour": "%Y-%m-%dT%H"}[self.to])


def _padded(years: pl.Series) -> pl.Series:
    return years.cast(pl.String).str.zfill(4)
