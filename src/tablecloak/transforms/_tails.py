"""Ends of a column: values beyond a bound are published as one."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import DTYPES
from tablecloak.transforms._groups import K, group_size, require_records
from tablecloak.transforms._places import day_or_moment, means_of, positions, values_at
from tablecloak.transforms.base import ByValue, Fitting, Transform
from tablecloak.values.bounds import SPANS, round_bounds
from tablecloak.values.cell_grammar import format_value

Bound: TypeAlias = int | float | dt.date | dt.datetime
MOST_WHOLE = 2.0**53  # up to here floats tell whole numbers apart
WHOLE = (ColumnType.INTEGER, ColumnType.DATE)  # types whose values have a next one


class Tail(Transform):
    """What top-code and bottom-code share."""

    side: ClassVar[Literal["above", "below"]]

    at: Annotated[Bound | None, Field(description="the last number or date that is published as it is")] = None
    k: K = None
    label: Annotated[
        bool, Field(description="the tail is a text such as 90+ or <18, and so the column; else a number")
    ] = True
    value: Annotated[
        Literal["bound", "mean"], Field(description="without label: what stands for the tail, its bound or its mean")
    ] = "bound"

    @field_validator("at", mode="before")
    @classmethod
    def _read_date(cls, at: Any) -> Any:
        return day_or_moment(at)

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if (self.at is None) == (self.k is None):
            raise ValueError("either at or k must be given")
        if self.label and self.value != "bound":
            raise ValueError("value goes with label: false; a label says where the tail begins")
        return self

    def result(self, type_: ColumnType) -> ColumnType:
        return ColumnType.TEXT if self.label else type_

    def fit(self, fitting: Fitting) -> CellStep:
        at = self._chosen(fitting) if self.at is None else _fitting_bound(self.at, fitting, self.side)
        if not self.label:
            return ByValue(_Coded(self.side, at, self._number(at, fitting), fitting.type, is_text=False))
        type_ = fitting.type
        if type_ is ColumnType.FLOAT and _all_whole(fitting.counts()["value"]):
            type_, at = ColumnType.INTEGER, _own_bound(at, ColumnType.INTEGER, self.side)
        return ByValue(_Coded(self.side, at, self._label(at, type_), type_, is_text=True))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        if self.at is None:
            return None
        beyond, strange = self._dates_beyond(cells) if isinstance(self.at, dt.date) else self._numbers_beyond(cells)
        if self.label:
            return (beyond | strange).fill_null(value=False)
        is_mean = self.value == "mean" and cells.filter(beyond).n_unique() <= 1
        return pl.repeat(value=False, n=len(cells), eager=True) if is_mean else beyond

    def _numbers_beyond(self, cells: pl.Series) -> tuple[pl.Series, pl.Series]:
        """Cells beyond the bound, and cells that are neither numbers nor the label."""
        assert isinstance(self.at, int | float)
        numbers = cells.cast(pl.Float64, strict=False)
        types = (ColumnType.INTEGER, ColumnType.FLOAT)
        labels = [self._label(_own_bound(self.at, type_, self.side), type_) for type_ in types]
        strange = numbers.is_null() & ~cells.cast(pl.String).is_in(labels)
        return _is_beyond(numbers, float(self.at), self.side).fill_null(value=False), strange

    def _dates_beyond(self, cells: pl.Series) -> tuple[pl.Series, pl.Series]:
        """The same for dates and times, whose ISO texts are in the order of time."""
        assert isinstance(self.at, dt.date)
        at = _own_bound(self.at, ColumnType.DATETIME, self.side)
        assert isinstance(at, dt.datetime)
        types = (ColumnType.DATE, ColumnType.DATETIME)
        labels = [self._label(_own_bound(self.at, type_, self.side), type_) for type_ in types]
        texts_ = cells.cast(pl.String)
        is_date = texts_.str.contains(r"^\d{4}-\d{2}-\d{2}([T ][\d:.]+)?$")
        moments = (texts_.str.slice(0, 10) + " 00:00:00").rename("day").to_frame().with_columns(long=texts_)
        longer = pl.col("long").str.replace("T", " ").str.slice(0, 19)
        moment = moments.select(pl.when(pl.col("long").str.len_chars() > 10).then(longer).otherwise("day")).to_series()
        beyond = _is_beyond(moment, at.isoformat(" ", "seconds"), self.side) & is_date
        return beyond.fill_null(value=False), ~is_date & ~texts_.is_in(labels)

    def _label(self, at: Bound, type_: ColumnType) -> str:
        if self.side == "below":
            return f"<{_text(at, type_)}"
        if type_ not in WHOLE or at == dt.date.max:
            return f">{_text(at, type_)}"
        following = at + dt.timedelta(1) if isinstance(at, dt.date) else at + 1
        return f"{_text(following, type_)}+"

    def _number(self, at: Bound, fitting: Fitting) -> Bound:
        """The number that stands for the tail."""
        if self.value == "bound":
            return at
        counts = fitting.counts()
        tail = counts.filter(_is_beyond(counts["value"], at, self.side))
        n_tail, fewest = int(tail["n"].sum()), max(2, fitting.smallest)
        if not n_tail:
            return at
        if n_tail < fewest:
            raise DataError(
                f"column '{fitting.column}': {n_tail} records are beyond the bound, and the mean of fewer than "
                f"{fewest} tells what they are",
                hint=f"columns.{fitting.column}.transform.k: {fewest}, or value: bound",
            )
        mean = means_of(tail["value"], fitting.type, tail["n"].to_numpy(), np.zeros(1, np.int64))
        return mean.to_list()[0]  # type: ignore[no-any-return]

    def _chosen(self, fitting: Fitting) -> Bound:
        """The bound beyond which at least k records are: a round one between values, where there is room for it."""
        k, counts = group_size(fitting, self.k), fitting.counts()
        n = counts["n"].to_numpy()
        require_records(fitting, int(n.sum()), k)
        if not len(n):
            return _anything(fitting.type)
        line = positions(counts["value"], fitting.type)
        _refuse_infinite(line, fitting)
        if self.side == "above":
            first = int(np.flatnonzero(np.cumsum(n[::-1])[::-1] >= k)[-1])  # of the tail
            bound, beside = round_bounds(line, np.array([first]), np.array([len(line) - 1]), fitting.type)[0][0], first
            is_own, inside = bound == line[first], first - 1
        else:
            beside = int(np.flatnonzero(np.cumsum(n) >= k)[0])  # the last of the tail
            bound = round_bounds(line, np.array([0]), np.array([beside]), fitting.type)[1][0]
            is_own, inside = bound == line[beside], beside + 1
        step = -1 if self.side == "above" else 1
        if fitting.type in WHOLE:
            at = int(bound) + step
            low, high = SPANS[fitting.type]
            if not low <= at <= high:
                raise DataError(
                    f"column '{fitting.column}': all its values are the tail, and no value is before them",
                    hint=f"columns.{fitting.column}.transform.k: less than its records",
                )
        elif not is_own:
            at = bound
        elif 0 <= inside < len(line):
            at = line[inside]
        else:
            at = np.nextafter(bound, step * np.inf) if line.dtype.kind == "f" else int(bound) + step
        return values_at(np.array([at], line.dtype), fitting.type).to_list()[0]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Coded:
    side: Literal["above", "below"]
    at: Bound
    shown: str | Bound
    type: ColumnType
    is_text: bool

    def __call__(self, values: pl.Series) -> pl.Series:
        dtype = pl.String() if self.is_text else DTYPES[self.type]
        shown = texts(values, self.type) if self.is_text else values.cast(dtype)
        frame = pl.DataFrame({"shown": shown, "is": _is_beyond(values, self.at, self.side)})
        coded = pl.when("is").then(pl.lit(self.shown, dtype)).otherwise("shown")
        return frame.select(coded).to_series().alias(values.name)


def texts(values: pl.Series, type_: ColumnType) -> pl.Series:
    """Values as the texts under which they are published."""
    if type_ is ColumnType.DATETIME:
        return values.dt.strftime("%Y-%m-%dT%H:%M:%S%.f")
    if type_ is ColumnType.INTEGER and values.dtype.is_float():
        return values.cast(pl.Int64).cast(pl.String)
    return values.cast(pl.String)


def _all_whole(values: pl.Series) -> bool:
    """Whether decimals are whole numbers, as those of a column with missing cells often are."""
    return bool((values.is_finite() & (values % 1 == 0) & (values.abs() < MOST_WHOLE)).all())


def _text(value: Bound, type_: ColumnType) -> str:
    return str(format_value(float(value) if type_ is ColumnType.FLOAT else value))  # type: ignore[arg-type]


def _is_beyond(values: pl.Series, at: Bound | str, side: str) -> pl.Series:
    bound = pl.lit(at)
    expression = pl.col("value") > bound if side == "above" else pl.col("value") < bound
    return pl.DataFrame({"value": values}).select(expression).to_series()


def _fitting_bound(at: Bound, fitting: Fitting, side: str) -> Bound:
    """The bound as a value of the column's own type.

    Raises: IncompatibleChoice for a date as the bound of numbers and the like.
    """
    if isinstance(at, dt.date) != (fitting.type in (ColumnType.DATE, ColumnType.DATETIME)):
        raise IncompatibleChoice(
            f"column '{fitting.column}': the bound is a {'date' if isinstance(at, dt.date) else 'number'}, "
            f"and the column is of type {fitting.type}",
            hint=f"columns.{fitting.column}.transform.at",
        )
    return _own_bound(at, fitting.type, side)


def _own_bound(at: Bound, type_: ColumnType, side: str) -> Bound:
    """The bound as a value of a type, so that the same whole numbers and days are beyond it."""
    if type_ is ColumnType.INTEGER and not isinstance(at, dt.date):
        return at if isinstance(at, int) else math.floor(at) if side == "above" else math.ceil(at)
    if type_ is ColumnType.DATE and isinstance(at, dt.datetime):
        is_later = side == "below" and at.time() != dt.time()
        return at.date() + dt.timedelta(is_later)
    if type_ is ColumnType.DATETIME and isinstance(at, dt.date) and not isinstance(at, dt.datetime):
        return dt.datetime.combine(at, dt.time())
    return at


def _anything(type_: ColumnType) -> Bound:
    """A bound for a column without values."""
    return values_at(np.zeros(1, np.int64), type_).to_list()[0]  # type: ignore[no-any-return]


def _refuse_infinite(line: Any, fitting: Fitting) -> None:
    if line.dtype.kind == "f" and not np.isfinite(line).all():
        raise DataError(
            f"column '{fitting.column}' has infinite numbers, between which there is no bound",
            hint=f"columns.{fitting.column}.transform.at, beyond which they are",
        )
