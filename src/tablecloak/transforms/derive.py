"""derive: a column that is counted from dates."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeAlias

import polars as pl
from pydantic import Field, field_validator, model_validator

from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms._places import day_or_moment
from tablecloak.transforms.base import DATES, Family, Fitting, Transform, transform

What: TypeAlias = Literal["age", "days-between", "days-since-first", "year", "month", "weekday"]
MEASURED = ("age", "days-between")  # towards another date
_RANGES = {"month": (1, 12), "weekday": (1, 7), "days-since-first": (0, None), "age": (0, None)}


@transform("derive", Family.COARSEN, types=DATES)
class Derive(Transform):
    """A number counted from dates: an age in whole years, days between dates or since a person's first, or a part.

    The column need not be in the table: `from` names the one with the dates. Somebody born on 29 February has their
    birthday on 1 March in other years. Days are those of the calendar, whatever the hour; `days-between` is negative
    where `at` comes first. Weekdays are 1 for Monday to 7. A date after `at` has no age: it is refused, or the cell is
    published empty with `future: missing`.
    """

    what: Annotated[What, Field(description="what is counted")]
    from_: Annotated[str | None, Field(alias="from", description="the column with the dates; else its own")] = None
    at: Annotated[
        dt.date | str | None, Field(description="the day up to which is counted, or the column that has it")
    ] = None
    per: Annotated[str | None, Field(description="the column that says whose a row is; else that of the person")] = None
    future: Annotated[Literal["refuse", "missing"], Field(description="what happens to ages that have not begun")] = (
        "refuse"
    )

    @field_validator("at", mode="before")
    @classmethod
    def _read_date(cls, at: Any) -> Any:
        read = day_or_moment(at)
        return read.date() if isinstance(read, dt.datetime) else read

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if (self.at is None) == (self.what in MEASURED):
            raise ValueError(f"at is needed for {' and '.join(MEASURED)}, and for nothing else")
        if self.per is not None and self.what != "days-since-first":
            raise ValueError("per goes with days-since-first")
        return self

    @property
    def makes_column(self) -> bool:
        return self.from_ is not None

    def needs(self, person: str | None) -> tuple[str, ...]:
        per = (self.per or person) if self.what == "days-since-first" else None
        at = self.at if isinstance(self.at, str) else None
        return tuple(dict.fromkeys(name for name in (self.from_, at, per) if name is not None))

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.INTEGER

    def fit(self, fitting: Fitting) -> CellStep:
        if self.what in MEASURED:
            return _Measured(self.what, self.from_, self.at, fitting.column, self.future)
        if self.what != "days-since-first":
            return _Part(self.what, self.from_, fitting.column)
        per = self.per or fitting.person
        if per is None:
            raise IncompatibleChoice(
                f"column '{fitting.column}': days since the first are counted for each person, and no column says who",
                hint=f"columns.{fitting.column}.transform.per, or a column with the role person",
            )
        return _SinceFirst(self.from_, per, _first_days(fitting, self.from_ or fitting.column, per), fitting.column)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        numbers = cells.cast(pl.Float64, strict=False)
        is_odd = cells.is_not_null() & (numbers.is_null() | (numbers % 1 != 0))
        low, high = _RANGES.get(self.what, (None, None))
        if low is not None:
            is_odd |= numbers < low
        if high is not None:
            is_odd |= numbers > high
        return is_odd.fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Measured:
    what: What
    source: str | None
    at: dt.date | str | None
    column: str
    future: str

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        begin = _days(cells, rows, self.source, self.column)
        end = _days(cells, rows, self.at, self.column) if isinstance(self.at, str) else self.at
        frame = pl.DataFrame({"begin": begin}).with_columns(end=end if isinstance(end, pl.Series) else pl.lit(end))
        if self.what == "days-between":
            return frame.select((pl.col("end") - pl.col("begin")).dt.total_days()).to_series().alias(cells.name)
        ages = frame.select(_age(pl.col("begin"), pl.col("end"))).to_series()
        n_future = int((ages < 0).sum())
        if n_future and self.future == "refuse":
            raise DataError(
                f"column '{self.column}': {n_future} dates lie after the day up to which ages are counted",
                hint=f"columns.{self.column}.transform: a later day in at, or future: missing",
            )
        return ages.to_frame("age").select(pl.when(pl.col("age") >= 0).then("age")).to_series().alias(cells.name)


@dataclass(frozen=True, slots=True)
class _Part:
    what: What
    source: str | None
    column: str

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        days = _days(cells, rows, self.source, self.column)
        parts = {"year": days.dt.year, "month": days.dt.month, "weekday": days.dt.weekday}
        return parts[self.what]().cast(pl.Int64).alias(cells.name)


@dataclass(frozen=True, slots=True, eq=False)
class _SinceFirst:
    source: str | None
    per: str
    first: pl.DataFrame  # `who` and `day`
    column: str

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        days = _days(cells, rows, self.source, self.column)
        frame = pl.DataFrame({"who": rows.beside[self.per], "now": days})
        frame = frame.join(self.first, on="who", how="left", maintain_order="left", nulls_equal=True)
        return frame.select((pl.col("now") - pl.col("day")).dt.total_days()).to_series().alias(cells.name)


def _first_days(fitting: Fitting, source: str, per: str) -> pl.DataFrame:
    """The first day of everyone; records without a person are each other's."""
    frame = fitting.rows([source, per])
    # where a column is made, what it is made of comes under its name
    dates, who = frame.to_series(0), frame.to_series(1)
    return pl.DataFrame({"who": who, "day": dates.cast(pl.Date)}).group_by("who").agg(pl.col("day").min()).sort("who")


def _days(cells: pl.Series, rows: CellRows, source: str | None, column: str) -> pl.Series:
    dates = cells if source is None else rows.beside[source]
    if not dates.dtype.is_temporal():
        raise DataError(
            f"column '{column}' is counted from '{source}', which does not hold dates",
            hint=f"columns.{source}.type: date, with the format in which they are written",
        )
    return dates.cast(pl.Date)


def _age(born: pl.Expr, at: pl.Expr) -> pl.Expr:
    """Birthdays from one day to another: years, less one where this year's birthday is still to come."""
    years = at.dt.year().cast(pl.Int64) - born.dt.year().cast(pl.Int64)
    is_to_come = at.dt.month().cast(pl.Int64) * 100 + at.dt.day() < born.dt.month().cast(pl.Int64) * 100 + born.dt.day()
    return years - is_to_come.cast(pl.Int64)
