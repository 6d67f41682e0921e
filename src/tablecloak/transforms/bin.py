"""bin: numbers, dates and times to intervals."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms._groups import K, group_size, require_records
from tablecloak.transforms._places import day_or_moment, positions, values_at
from tablecloak.transforms.base import LINE, ByValue, Family, Fitting, Transform, transform
from tablecloak.values.bounds import DAY, SPANS, Line, is_continuous, round_bounds
from tablecloak.values.cell_grammar import format_interval, format_value

Edge: TypeAlias = int | float | dt.date | dt.datetime
MOST_COUNT = 2.0**50  # intervals from the origin on whose bounds floats can tell apart
MONDAY = dt.date(2001, 1, 1)  # weeks that begin here begin on Mondays
_CLOSED = re.compile(r"\[(.+), (.+)([\])])").fullmatch


@transform("bin", Family.COARSEN, types=LINE)
class Bin(Transform):
    """Numbers, dates and times are published as intervals: 23 as [20, 29], 2.5 as [2.0, 3.0).

    Intervals are of one `width` (of dates in days), or lie between `edges`, with `<18` and `>=65` beyond the first and
    the last; or there are up to `n` of about as many records, each of at least k, with bounds at round places between
    values. Whole numbers and days have closed intervals, all others are open on the right, except where they are `n`.
    Infinite numbers are refused, unless edges say where they belong.
    """

    width: Annotated[int | float | None, Field(gt=0, description="of every interval; of dates and times in days")] = (
        None
    )
    origin: Annotated[
        Edge | None, Field(description="where an interval of a width begins; 0 unless given, of dates 2001-01-01")
    ] = None
    edges: Annotated[tuple[Edge, ...], Field(description="where intervals begin, ascending")] = ()
    n: Annotated[int | None, Field(ge=2, description="intervals of about as many records each")] = None
    k: K = None

    @field_validator("origin", mode="before")
    @classmethod
    def _read_date(cls, origin: Any) -> Any:
        return day_or_moment(origin)

    @field_validator("edges", mode="before")
    @classmethod
    def _read_dates(cls, edges: Any) -> Any:
        return [day_or_moment(edge) for edge in edges] if isinstance(edges, list | tuple) else edges

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if sum((self.width is not None, bool(self.edges), self.n is not None)) != 1:
            raise ValueError("one of width, edges and n must be given")
        if self.origin is not None and self.width is None:
            raise ValueError("origin goes with width")
        if self.k is not None and self.n is None:
            raise ValueError("k goes with n")
        if self.edges and any(_is_date(edge) != _is_date(self.edges[0]) for edge in self.edges):
            raise ValueError("edges must all be numbers or all be dates")
        places = [_moment(edge) for edge in self.edges]
        if any(a >= b for a, b in pairwise(places)):
            raise ValueError("edges must ascend")
        return self

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        if self.width is not None:
            return ByValue(self._of_width(fitting.type, fitting.column))
        if self.edges:
            return ByValue(self._between_edges(fitting.type, fitting.column))
        return ByValue(_quantiles(fitting, self.n or 2, group_size(fitting, self.k)))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        texts = cells.cast(pl.String)
        made = texts.unique().drop_nulls()
        own = made.filter(pl.Series([self._is_own(text) for text in made.to_list()], dtype=pl.Boolean))
        return ~texts.is_in(own.to_list()).fill_null(value=True)

    def _is_own(self, text: str) -> bool:
        """Whether a text is an interval of these parameters, whichever type the column was of."""
        if self.edges:
            types = DATES if _is_date(self.edges[0]) else NUMBERS
            known = (self._between_edges(type_, "") for type_ in types if _suits(self.edges, type_))
            return any(text in intervals.labels for intervals in known)
        match = _CLOSED(text)
        if match is None:
            return False
        if self.width is None:
            return match[3] == "]"
        begin, type_ = _read_bound(match[1], is_closed=match[3] == "]")
        if begin is None or _is_date(begin) != (type_ in DATES):
            return False
        try:
            intervals = self._of_width(type_, "")
        except IncompatibleChoice:
            return False
        return intervals(values_of([begin], type_)).to_list() == [text]

    def _of_width(self, type_: ColumnType, column: str) -> _Widths:
        assert self.width is not None
        origin = self.origin
        if origin is None:
            origin = MONDAY if type_ in DATES else 0
        if _is_date(origin) != (type_ in DATES):
            raise _unsuited(column, "origin", type_)
        width = Decimal(repr(self.width))
        if type_ is ColumnType.DATETIME:
            width *= DAY
        start = Decimal(repr(origin)) if not _is_date(origin) else Decimal(_position(origin, type_))
        if type_ is not ColumnType.FLOAT and (width % 1 or start % 1):
            raise IncompatibleChoice(
                f"column '{column}' is of type {type_}: its intervals begin and end at whole numbers or days",
                hint=f"columns.{column}.transform: a whole width and origin",
            )
        return _Widths(type_, width, start, column)

    def _between_edges(self, type_: ColumnType, column: str) -> _Intervals:
        if not _suits(self.edges, type_):
            raise _unsuited(column, "edges", type_)
        begins = [_position(edge, type_) for edge in self.edges]
        edges = values_at(np.array(begins, np.float64 if type_ is ColumnType.FLOAT else np.int64), type_).to_list()
        inner = [_label(low, high, type_) for low, high in pairwise(begins)]
        labels = (f"<{format_value(edges[0])}", *inner, f">={format_value(edges[-1])}")
        return _Intervals(type_, tuple(begins), labels)


@dataclass(frozen=True, slots=True)
class _Widths:
    """Intervals of one width; places are those of the type's line."""

    type: ColumnType
    width: Decimal
    origin: Decimal
    column: str

    def __call__(self, values: pl.Series) -> pl.Series:
        line = positions(values, self.type)
        if line.dtype.kind == "f" and not np.isfinite(line).all():
            raise DataError(
                f"column '{self.column}' has infinite numbers, which are in no interval of a width",
                hint=f"columns.{self.column}.transform: edges instead of width",
            )
        counts = self._counts(line)
        distinct, index = np.unique(counts, return_inverse=True)
        labels = [self._label(int(count)) for count in distinct.tolist()]
        return pl.Series(values.name, np.array(labels, object)[index] if labels else [], pl.String)

    def _counts(self, line: Line) -> Any:
        """How many widths after the origin the interval of every value begins."""
        if self.type is not ColumnType.FLOAT:
            exact = line.astype(object) if len(line) and _largest(line) + abs(self.origin) >= 2**62 else line
            return (exact - int(self.origin)) // int(self.width)
        counts = np.floor((line - float(self.origin)) / float(self.width))
        if (np.abs(counts) >= MOST_COUNT).any():
            raise DataError(
                f"column '{self.column}' has numbers so large that floats have no intervals of this width there",
                hint=f"columns.{self.column}.transform: a larger width, or edges",
            )
        # the quotient of floats may be off by one: a value lies where the bounds that are written say
        counts -= line < self._bounds(counts)
        counts += line >= self._bounds(counts + 1)
        return counts

    def _bounds(self, counts: Any) -> Any:
        scale = Decimal(10) ** max(0, -int(self.width.as_tuple().exponent), -int(self.origin.as_tuple().exponent))
        return (float(self.origin * scale) + counts * float(self.width * scale)) / float(scale)

    def _label(self, count: int) -> str:
        if self.type is ColumnType.FLOAT:
            low, high = self._bounds(np.array([count, count + 1], np.float64)).tolist()
            return format_interval(low, high, open_right=True)
        low = int(self.origin) + count * int(self.width)
        return _label(low, low + int(self.width), self.type)


@dataclass(frozen=True, slots=True)
class _Intervals:
    """Intervals that begin at some places of the line; the first label is for what lies before all."""

    type: ColumnType
    begins: tuple[int | float, ...]
    labels: tuple[str, ...]  # one more than begins

    def __call__(self, values: pl.Series) -> pl.Series:
        line = positions(values, self.type)
        index = np.searchsorted(np.array(self.begins, line.dtype), line, side="right")
        return pl.Series(values.name, np.array(self.labels, object)[index], pl.String)


def _quantiles(fitting: Fitting, n: int, k: int) -> _Intervals:
    """Up to n intervals of about as many records, each of at least k."""
    counts = fitting.counts()
    line, until = positions(counts["value"], fitting.type), np.cumsum(counts["n"].to_numpy())
    require_records(fitting, int(until[-1]) if len(until) else 0, k)
    if not len(line):
        return _Intervals(fitting.type, (), ("*",))
    if line.dtype.kind == "f" and not np.isfinite(line).all():
        raise DataError(
            f"column '{fitting.column}' has infinite numbers, which are in no interval",
            hint=f"columns.{fitting.column}.transform: edges instead of n",
        )
    first = _first_of_runs(until, n, k)
    last = np.append(first[1:], len(line)) - 1
    low, high = line[first], line[last]
    if is_continuous(line, fitting.type):
        low, high = round_bounds(line, first, last, fitting.type)
    lows, highs = values_at(low, fitting.type).to_list(), values_at(high, fitting.type).to_list()
    labels = [format_interval(a, b) for a, b in zip(lows, highs, strict=True)]
    return _Intervals(fitting.type, tuple(low.tolist()), (f"<{format_value(lows[0])}", *labels))


def _first_of_runs(until: IntArray, n: int, k: int) -> IntArray:
    """Where runs of values begin, at most n of them and each with k records; `until` counts records up to a value."""
    total, first, done = int(until[-1]), [0], 0
    for run in range(1, n):
        enough = max(done + k, math.ceil(run * total / n))
        end = int(np.searchsorted(until, enough))  # the run ends with this value
        if end + 1 >= len(until) or total - int(until[end]) < k:
            break
        first.append(end + 1)
        done = int(until[end])
    return np.array(first)


def values_of(values: Sequence[Edge], type_: ColumnType) -> pl.Series:
    """Bounds as values of a column."""
    places = [_position(value, type_) for value in values]
    return values_at(np.array(places, np.float64 if type_ is ColumnType.FLOAT else np.int64), type_)


NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT)
DATES = (ColumnType.DATE, ColumnType.DATETIME)


def _label(low: int | float, after: int | float, type_: ColumnType) -> str:
    """The text of an interval from one place to before another."""
    if type_ is ColumnType.INTEGER:  # plain numbers: the last ones need more than 64 bits
        return format_interval(low, after - 1)
    is_day = type_ is ColumnType.DATE
    if type_ is not ColumnType.FLOAT:  # no interval ends after the year 9999
        first, last = SPANS[type_]
        low, after = max(low, first), min(after, last + is_day)
    begin, end = values_at(np.array([low, after - is_day]), type_).to_list()
    return format_interval(begin, end, open_right=not is_day)


def _is_date(value: Edge) -> bool:
    return isinstance(value, dt.date)


def _moment(edge: Edge) -> Any:
    is_day = isinstance(edge, dt.date) and not isinstance(edge, dt.datetime)
    return dt.datetime.combine(edge, dt.time()) if is_day else edge  # type: ignore[arg-type]


def _position(value: Edge, type_: ColumnType) -> int | float:
    if not isinstance(value, dt.date):
        return float(value) if type_ is ColumnType.FLOAT else int(value)
    if type_ is ColumnType.DATE:
        return value.toordinal() - dt.date(1970, 1, 1).toordinal()
    return (_moment(value) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # type: ignore[no-any-return]


def _suits(edges: Sequence[Edge], type_: ColumnType) -> bool:
    if type_ is ColumnType.INTEGER:
        return not any(isinstance(edge, dt.date) or edge % 1 for edge in edges)
    if type_ is ColumnType.DATE:
        return all(_is_date(edge) and not isinstance(edge, dt.datetime) for edge in edges)
    return all(_is_date(edge) == (type_ is ColumnType.DATETIME) for edge in edges)


def _unsuited(column: str, key: str, type_: ColumnType) -> IncompatibleChoice:
    meant = {ColumnType.DATE: "days", ColumnType.INTEGER: "whole numbers", ColumnType.FLOAT: "numbers"}
    return IncompatibleChoice(
        f"column '{column}' is of type {type_}, and {key} must be {meant.get(type_, 'dates or times')}",
        hint=f"columns.{column}.transform.{key}",
    )


def _read_bound(text: str, *, is_closed: bool) -> tuple[Edge | None, ColumnType]:
    """The bound that a published interval begins with, and the type of a column that has such intervals."""
    date = day_or_moment(text)
    if isinstance(date, dt.datetime):
        return date, ColumnType.DATETIME
    if isinstance(date, dt.date):
        return date, ColumnType.DATE
    try:
        return (int(text), ColumnType.INTEGER) if is_closed else (float(text), ColumnType.FLOAT)
    except ValueError:
        return None, ColumnType.FLOAT


def _largest(line: Line) -> int:
    return max(abs(int(line.min())), abs(int(line.max())))
