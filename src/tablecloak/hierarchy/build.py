"""Hierarchies built from the values of a column: what a policy can ask for, and how it is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from itertools import repeat
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tablecloak.errors import CloakError, DataError, IncompatibleChoice
from tablecloak.hierarchy.hierarchy import ROOT_LABEL, FloatArray, Hierarchy, IntArray, Level
from tablecloak.values import ORDERED_TYPES, Value, format_interval, format_set, format_value, position

__all__ = [
    "AutoSpec",
    "DatesSpec",
    "HierarchySpec",
    "IntervalsSpec",
    "MaskSpec",
    "OrderSpec",
    "QuantilesSpec",
    "TreeSpec",
    "build",
]

MAX_LEVELS = 64
MAX_MASK_CHARACTERS = 50_000_000  # distinct values x longest value
MAX_SET_MEMBERS = 10  # a longer set of text values is written by its first and last member

_DIGITS = Context(prec=60)

Factor: TypeAlias = Annotated[int, Field(ge=2)]
Finite: TypeAlias = int | Annotated[float, Field(allow_inf_nan=False)]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class IntervalsSpec(_Spec):
    """Intervals of equal width, united level by level."""

    kind: Literal["intervals"] = "intervals"
    width: Annotated[Finite, Field(gt=0, description="width of the narrowest intervals")]
    factors: list[Factor] | None = Field(
        default=None, description="how many intervals each next level unites; default: pairs, until one is left"
    )
    start: Finite | None = Field(default=None, description="a boundary of every level; default 0")
    closed: bool = Field(default=False, description="write [20, 29] instead of [20, 30); whole numbers only")


class QuantilesSpec(_Spec):
    """Intervals with equally many distinct values, united level by level."""

    kind: Literal["quantiles"] = "quantiles"
    groups: Annotated[int, Field(ge=2, description="intervals on the lowest level")]
    factors: list[Factor] | None = Field(default=None, description="how many each next level unites; default: pairs")


class MaskSpec(_Spec):
    """Characters hidden one by one: 13053, 1305*, 130**, .."""

    kind: Literal["mask"] = "mask"
    from_: Literal["right", "left"] = Field(default="right", alias="from", description="the side hidden first")
    char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    hide: Annotated[int, Field(ge=0, description="characters that are hidden in every published value")] = 0
    never: list[str] = Field(default=[], description="values that begin so (or end, from the left) are hidden wholly")


class DatesSpec(_Spec):
    """Calendar periods: 2020-03-14, 2020-03, 2020-Q1, 2020, [2020, 2029]."""

    kind: Literal["dates"] = "dates"
    levels: Annotated[
        list[str],
        Field(min_length=1, description="fine to coarse: day, month, quarter, year, '5 years', decade, century"),
    ] = ["month", "year", "decade"]
    exact: bool = Field(default=True, description="false: nothing finer than the first level is ever published")

    @field_validator("levels")
    @classmethod
    def _nested(cls, levels: list[str]) -> list[str]:
        months = [_months(level) for level in levels]
        for finer, coarser, name in zip(months, months[1:], levels[1:], strict=False):
            if coarser <= finer or (finer and coarser % finer):
                raise ValueError(
                    f"'{name}' is not made of whole periods of the level before it; go from fine to coarse"
                )
        return levels


class OrderSpec(_Spec):
    """Consecutive groups of the sorted values."""

    kind: Literal["order"] = "order"
    fanout: Factor = Field(default=10, description="members of every group")


class TreeSpec(_Spec):
    """A tree written out: {Europe: [Italy, Spain], America: [Brazil]}."""

    kind: Literal["tree"] = "tree"
    tree: dict[Any, Any] | list[Any]

    @field_validator("tree")
    @classmethod
    def _readable(cls, tree: dict[Any, Any] | list[Any]) -> dict[Any, Any] | list[Any]:
        try:
            Hierarchy.from_tree(tree)
        except CloakError as exc:
            raise ValueError(f"{exc.message}; {exc.hint}") from exc
        return tree


class AutoSpec(_Spec):
    """A hierarchy from the values alone: blocks of values, number ranges, text groups or masks."""

    kind: Literal["auto"] = "auto"
    method: Literal["distinct", "range", "group", "mask"] = "distinct"
    fanout: Factor = 10


AnySpec: TypeAlias = IntervalsSpec | QuantilesSpec | MaskSpec | DatesSpec | OrderSpec | TreeSpec | AutoSpec
HierarchySpec: TypeAlias = Annotated[AnySpec, Field(discriminator="kind")]


def build(spec: AnySpec, values: Sequence[Value], column_type: str) -> Hierarchy:
    """The hierarchy a policy asks for; its leaves are the texts of the given values.

    Args:
        values: the distinct values of the column, missing ones left out, in any order.
        column_type: integer, float, boolean, date, datetime or text.

    Raises:
        IncompatibleChoice: the kind of hierarchy does not fit the type of column.
        DataError: the values do not fit the hierarchy.
    """
    _check_type(spec.kind, column_type)
    column = _Column.of(values, column_type)
    return _BUILDERS[spec.kind](spec, column)


class _Column:
    """Sorted distinct values with their texts."""

    def __init__(self, texts: list[str], values: list[Value], type_: str) -> None:
        self.texts = texts
        self.values = values
        self.type = type_

    @classmethod
    def of(cls, values: Sequence[Value], type_: str) -> _Column:
        by_text = {str(format_value(value)): value for value in values}
        if type_ == "float":
            _check_finite(values)
        order = sorted(by_text, key=lambda text: _sort_key(by_text[text]))
        return cls(order, [by_text[text] for text in order], type_)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def is_ordered(self) -> bool:
        return self.type in ORDERED_TYPES

    @property
    def places(self) -> FloatArray:
        """Distance of every value from the smallest on the line of the type, (n_values,)."""
        at = [position(value) or 0 for value in self.values]
        return np.array(
            [float(place - at[0]) for place in at]
        )  # exact beyond 2**53, because subtracted before rounding


def _sort_key(value: Value) -> Any:
    at = position(value)
    return value if at is None else at


def _check_finite(values: Sequence[Value]) -> None:
    n_odd = sum(isinstance(value, float) and not math.isfinite(value) for value in values)
    if n_odd:
        raise DataError(
            f"{n_odd} values are infinite or not a number and have no place in a hierarchy of numbers",
            hint="make them missing before anonymising, or give the column type text",
        )


_NUMBERS = ("integer", "float")
_TYPES = {"intervals": _NUMBERS, "quantiles": tuple(sorted(ORDERED_TYPES)), "dates": ("date", "datetime")}
_INSTEAD = {"date": "dates", "datetime": "dates", "text": "mask, order or tree", "boolean": "tree"}


def _check_type(kind: str, column_type: str) -> None:
    if column_type in _TYPES.get(kind, (column_type,)):
        return
    raise IncompatibleChoice(
        f"a hierarchy of kind {kind} needs a column of type {' or '.join(_TYPES[kind])}, not {column_type}",
        hint=f"use kind {_INSTEAD.get(column_type, 'intervals, quantiles or order')}",
    )


# Groups of sorted values: every level is an ascending array of group numbers, (n_values,).


def _ranks(index: Any) -> IntArray:
    """Ascending keys as group numbers 0, 1, .."""
    changes = np.asarray(index[1:] != index[:-1], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(changes)]) if len(index) else np.zeros(0, dtype=np.int64)


def _coarsen(groups: IntArray, factors: Sequence[int] | None, default: int = 2) -> list[IntArray]:
    """The grouping and the coarser ones above it, as far as they have more than one group."""
    levels = []
    for factor in repeat(default) if factors is None else [*factors, 1]:
        if not len(groups) or groups[-1] == 0:
            break
        levels.append(groups)
        groups = groups // factor
    return levels


def _edges(groups: IntArray) -> tuple[IntArray, IntArray]:
    """Index of the first and the last value of every group."""
    begin = np.flatnonzero(np.diff(groups, prepend=-1))
    return begin, np.append(begin[1:], len(groups)) - 1


def _finish(column: _Column, levels: list[Level], kind: str, root: str = ROOT_LABEL) -> Hierarchy:
    top = Level(np.zeros(len(column), dtype=np.int64), [root], np.array([float(len(column) > 1)]))
    return Hierarchy.from_levels(column.texts, [*levels, top], kind=kind)


def _closed_level(column: _Column, groups: IntArray) -> Level:
    """A level labelled by the first and last value of every group; text groups that are small list their members."""
    begin, end = _edges(groups)
    if not column.is_ordered:
        return Level(groups, [_text_group(column.texts[b : e + 1]) for b, e in zip(begin, end, strict=True)])
    places = column.places
    span = places[-1]
    labels = [_closed(column.values[b], column.values[e]) for b, e in zip(begin, end, strict=True)]
    return Level(groups, labels, (places[end] - places[begin]) / span)


def _closed(lo: Value, hi: Value) -> str:
    return str(format_value(lo)) if lo == hi else format_interval(lo, hi)


def _text_group(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return format_set(texts) if len(texts) <= MAX_SET_MEMBERS else format_interval(texts[0], texts[-1])


def _quantiles(spec: QuantilesSpec, column: _Column) -> Hierarchy:
    n_groups = min(spec.groups, max(1, len(column)))
    base = np.arange(len(column)) * n_groups // max(1, len(column))
    return _finish(column, [_closed_level(column, g) for g in _coarsen(base, spec.factors)], "quantiles")


def _order(spec: OrderSpec, column: _Column) -> Hierarchy:
    base = np.arange(len(column)) // spec.fanout
    levels = [_closed_level(column, groups) for groups in _coarsen(base, None, spec.fanout)]
    try:
        return _finish(column, levels, "order")
    except DataError:  # its message names labels, which are values of the data here
        raise DataError("a value reads like the text of a group of values", hint="write the groups as a tree") from None


def _intervals(spec: IntervalsSpec, column: _Column) -> Hierarchy:
    if spec.closed and not _is_whole(spec, column):
        raise IncompatibleChoice(
            "closed intervals need an integer column with a whole width and start", hint="remove closed: true"
        )
    if not len(column):
        return _finish(column, [], "intervals")
    with localcontext(_DIGITS):
        return _finish(column, _grid_levels(spec, column), "intervals")


def _grid_levels(spec: IntervalsSpec, column: _Column) -> list[Level]:
    span = _exact(column.values[-1]) - _exact(column.values[0])
    grid = _Grid(_exact(spec.start or 0), _exact(spec.width), spec.closed, column.type)
    index = np.array([grid.index(value) for value in column.values], dtype=object)
    levels: list[Level] = []
    for factor in repeat(2, MAX_LEVELS) if spec.factors is None else [*spec.factors, 1]:
        groups = _ranks(index)
        # pairs on both sides of the start never meet: stop when they cannot get wider than the data
        if groups[-1] == 0 or (spec.factors is None and levels and grid.width >= 2 * span):
            break
        labels = [grid.label(i) for i in index[_edges(groups)[0]]]
        shown = grid.width - int(spec.closed)  # [20, 29] is 9 wide, [20, 30) is 10
        levels.append(Level(groups, labels, np.full(len(labels), min(1.0, float(shown / span)))))
        index, grid = index // factor, replace(grid, width=grid.width * factor)
    return levels


def _is_whole(spec: IntervalsSpec, column: _Column) -> bool:
    return column.type == "integer" and float(spec.width).is_integer() and float(spec.start or 0).is_integer()


def _exact(value: Any) -> Decimal | int:
    """The number as it is written in decimals."""
    return value if isinstance(value, int) else Decimal(repr(value))


@dataclass(frozen=True, slots=True)
class _Grid:
    """Intervals of equal width; number `i` begins at `start + i * width`, in decimals.

    Decimals, because 0.3 must fall into [0.3, 0.4) although 0.3 / 0.1 < 3 in binary.
    """

    start: Decimal | int
    width: Decimal | int
    closed: bool
    type: str

    def bound(self, index: int) -> int | float:
        exact = self.start + index * self.width
        return int(exact) if self.type == "integer" and exact == int(exact) else float(exact)

    def index(self, value: Any) -> int:
        """The interval that contains a value, by the bounds that its text shows."""
        offset = _exact(value) - self.start
        if isinstance(offset, int) and isinstance(self.width, int):
            return offset // self.width
        near = int((Decimal(offset) / Decimal(self.width)).to_integral_value(ROUND_FLOOR))
        if value < self.bound(near):
            return near - 1
        return near + 1 if value >= self.bound(near + 1) else near

    def label(self, index: int) -> str:
        lo, hi = self.bound(index), self.bound(index + 1)
        return format_interval(lo, int(hi) - 1) if self.closed else format_interval(lo, hi, open_right=True)


def _mask(spec: MaskSpec, column: _Column) -> Hierarchy:
    from_right = spec.from_ == "right"
    longest = max((len(text) for text in column.texts), default=1)
    if longest * len(column) > MAX_MASK_CHARACTERS:
        raise DataError(
            f"a mask of {len(column):,} values of up to {longest:,} characters needs too many levels",
            hint="use kind order for long texts",
        )
    texts = sorted(column.texts) if from_right else sorted(column.texts, key=lambda text: text[::-1])
    root = len(texts)
    labels, parent = [*texts, spec.char * longest], [*repeat(root, len(texts)), -1]
    node = list(range(len(texts)))  # where every text is on the level reached
    active = node.copy()  # texts of which something is still visible
    for hidden in range(1, longest):
        stars = spec.char * hidden
        active = [i for i in active if len(texts[i]) > hidden]
        number: dict[str, int] = {}
        for i in active:
            label = texts[i][:-hidden] + stars if from_right else stars + texts[i][hidden:]
            parent[node[i]] = node[i] = number.setdefault(label, len(labels) + len(number))
        labels.extend(number)
        parent.extend(repeat(root, len(number)))
    tree = Hierarchy.from_nodes(labels, parent, kind="mask")
    if not spec.hide and not spec.never:
        return tree
    return tree.cut_off([_shown(tree, leaf, spec) for leaf in range(tree.n_leaves)])


def _shown(tree: Hierarchy, leaf: int, spec: MaskSpec) -> int:
    """The lowest node above a text that hides enough of it."""
    text = str(tree.labels[leaf])
    if any(text.startswith(part) if spec.from_ == "right" else text.endswith(part) for part in spec.never):
        return tree.root
    return next((node for node in tree.ancestors(leaf) if tree.heights[node] >= spec.hide), tree.root)


_PERIODS = {"day": 0, "month": 1, "quarter": 3, "half-year": 6, "year": 12, "decade": 120, "century": 1200}


def _months(level: str) -> int:
    """Length of a calendar period in months, 0 for a day."""
    if level in _PERIODS:
        return _PERIODS[level]
    if (found := re.fullmatch(r"(\d+) years?", level)) and 1 <= int(found[1]) <= 5000:
        return 12 * int(found[1])
    raise ValueError(f"unknown period '{level}'; use {', '.join(_PERIODS)} or '5 years'")


def _dates(spec: DatesSpec, column: _Column) -> Hierarchy:
    days = np.array([_day(value) for value in column.values], dtype="datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64) + 12 * 1970  # since year 0
    span = max(1, int((days[-1] - days[0]).astype(np.int64))) if len(days) else 1
    levels = []
    for length in (_months(level) for level in spec.levels):
        groups = _ranks(days if length == 0 else months // length)
        if not len(days) or groups[-1] == 0:
            break
        begin = _edges(groups)[0]
        labels = [_period(days[i].item(), int(months[i]), length) for i in begin]
        loss = min(1.0, max(1.0, length * 30.436875) / span)  # mean length of a month in days
        levels.append(Level(groups, labels, np.full(len(labels), loss)))
    tree = _finish(column, levels, "dates")
    return tree if spec.exact else tree.cut_off(tree.parent[: tree.n_leaves])


def _day(value: Any) -> date:
    if isinstance(value, datetime) and value.tzinfo:
        value = value.astimezone(UTC)
    return date(value.year, value.month, value.day)


def _period(day: date, month: int, length: int) -> str:
    """The text of the period of `length` months that contains a day; `month` counts from year 0."""
    year, begin = divmod(month - month % max(1, length), 12)
    if length == 0:
        return day.isoformat()
    if length == 1:
        return f"{year:04d}-{begin + 1:02d}"
    if length == 3:
        return f"{year:04d}-Q{begin // 3 + 1}"
    if length == 6:
        return f"[{year:04d}-{begin + 1:02d}, {year:04d}-{begin + 6:02d}]"
    return f"{year:04d}" if length == 12 else f"[{max(1, year):04d}, {year + length // 12 - 1:04d}]"


def _tree(spec: TreeSpec, column: _Column) -> Hierarchy:
    tree = Hierarchy.from_tree(spec.tree)
    n_unknown = int((tree.codes(column.texts) < 0).sum())
    if n_unknown:
        raise DataError(
            f"{n_unknown} of {len(column)} distinct values are not leaves of the tree",
            hint="add them to the tree, or correct them in the data",
        )
    return tree


def _auto(spec: AutoSpec, column: _Column) -> Hierarchy:
    if spec.method == "mask":
        return _mask(MaskSpec(), column)
    if spec.method == "range":
        return _auto_range(spec, column)
    if spec.method == "distinct" and column.type == "integer":
        return _fresh_numbers(spec, column)
    return _order(OrderSpec(fanout=spec.fanout), column)


def _fresh_numbers(spec: AutoSpec, column: _Column) -> Hierarchy:
    """Blocks of `fanout` sorted integers, named by fresh integers that continue after the largest value."""
    fresh = int(column.texts[-1]) + 1 if len(column) else 0
    levels = []
    for groups in _coarsen(np.arange(len(column)) // spec.fanout, None, spec.fanout):
        n_groups = int(groups[-1]) + 1
        levels.append(Level(groups, [str(fresh + i) for i in range(n_groups)]))
        fresh += n_groups
    return _finish(column, levels, "order", root=str(fresh))


def _auto_range(spec: AutoSpec, column: _Column) -> Hierarchy:
    """Intervals of a round width that hold about `fanout` values each; `fanout` of them make one of the next level."""
    if column.type in ("date", "datetime"):
        return _dates(DatesSpec(), column)
    _check_type("intervals", column.type)
    span = float(column.places[-1]) if len(column) else 0.0
    width = _round_up(span * spec.fanout / max(1, len(column)), whole=column.type == "integer")
    n_levels = math.ceil(math.log(max(2.0, span / width), spec.fanout)) + 1
    return _intervals(IntervalsSpec(width=width, factors=[spec.fanout] * n_levels), column)


def _round_up(number: float, *, whole: bool) -> int | float:
    """The next of 1, 2, 5, 10, 20, .. (or 0.5, 0.2, ..)."""
    if number <= 0:
        return 1
    power = Decimal(10) ** math.floor(math.log10(number))
    rounded = next(step * power for step in (1, 2, 5, 10, 20) if float(step * power) >= number * (1 - 1e-9))
    return max(1, math.ceil(rounded)) if whole else float(rounded)


_BUILDERS: dict[str, Callable[[Any, _Column], Hierarchy]] = {
    "intervals": _intervals,
    "quantiles": _quantiles,
    "mask": _mask,
    "dates": _dates,
    "order": _order,
    "tree": _tree,
    "auto": _auto,
}
