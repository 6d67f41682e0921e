"""The seam of hierarchy kinds: parameters that a policy can write, and how they become a tree over a column."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from tablecloak.arrays import FloatArray
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.registry import register
from tablecloak.values.cell_grammar import ORDERED_TYPES, Value, format_value, position

Factor: TypeAlias = Annotated[int, Field(ge=2)]
Finite: TypeAlias = int | Annotated[float, Field(allow_inf_nan=False)]

EVERY_TYPE = ("integer", "float", "date", "datetime", "text", "boolean")
_INSTEAD = {"date": "dates", "datetime": "dates", "text": "mask, order or tree", "boolean": "tree"}


class SortedColumn:
    """Sorted distinct values with their texts."""

    def __init__(self, texts: list[str], values: list[Value], type_: str) -> None:
        self.texts = texts
        self.values = values
        self.type = type_

    @classmethod
    def of(cls, values: Sequence[Value], type_: str) -> SortedColumn:
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
    def line(self) -> NDArray[Any]:
        """Where every value lies on the line of the type, (n_values,)."""
        kind = np.float64 if self.type == "float" else np.int64
        return np.array([position(value) or 0 for value in self.values], dtype=kind)

    @property
    def places(self) -> FloatArray:
        """Distance of every value from the smallest on the line of the type, (n_values,)."""
        at = [position(value) or 0 for value in self.values]
        return np.array([float(place - at[0]) for place in at])  # exact beyond 2**53: subtracted before rounding


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


class HierarchySpec(BaseModel):
    """A hierarchy as a policy asks for it: fields are parameters, line 1 of the docstring says what it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: ClassVar[str]
    types: ClassVar[tuple[str, ...]]  # of the columns it can be built over
    offered: ClassVar[tuple[str, ...]]  # to whom forms offer it

    @abstractmethod
    def over(self, column: SortedColumn) -> Hierarchy:
        """The tree over the values of a column of a fitting type; its leaves are their texts."""


S = TypeVar("S", bound=type[HierarchySpec])


def hierarchy_kind(
    name: str, *, types: tuple[str, ...] = EVERY_TYPE, offered: tuple[str, ...] | None = None
) -> Callable[[S], S]:
    """Register a class of specs as a kind of hierarchy.

    Args:
        types: of the columns it can be built over; others are refused.
        offered: types of the columns to which forms offer it; all of `types` unless given.
    """

    def decorate(spec: S) -> S:
        spec.name, spec.types, spec.offered = name, types, types if offered is None else offered
        return register("hierarchies", name)(spec)

    return decorate


def build(spec: HierarchySpec, values: Sequence[Value], column_type: str) -> Hierarchy:
    """The hierarchy a policy asks for; its leaves are the texts of the given values.

    Args:
        values: the distinct values of the column, missing ones left out, in any order.
        column_type: integer, float, boolean, date, datetime or text.

    Raises:
        IncompatibleChoice: the kind of hierarchy does not fit the type of column.
        DataError: the values do not fit the hierarchy.
    """
    check_type(spec, column_type)
    return spec.over(SortedColumn.of(values, column_type))


def check_type(spec: HierarchySpec | type[HierarchySpec], column_type: str) -> None:
    """IncompatibleChoice unless a kind can be built over columns of a type."""
    if column_type in spec.types:
        return
    raise IncompatibleChoice(
        f"a hierarchy of kind {spec.name} needs a column of type {' or '.join(spec.types)}, not {column_type}",
        hint=f"use kind {_INSTEAD.get(column_type, 'intervals, quantiles or order')}",
    )
