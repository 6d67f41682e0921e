"""recompute: a number that follows from other columns, computed from them as they are published."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field

from tablecloak.arrays import BoolArray, FloatArray
from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms.base import NUMBERS, Family, Fitting, Transform, transform

_QUOTED = re.compile(r"`([^`]+)`")
_OPERATIONS: dict[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS: dict[type[ast.unaryop], Callable[[FloatArray], FloatArray]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_EXACT = 2.0**53  # whole numbers up to here are exact


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed expression, and the columns that its names stand for."""

    node: ast.expr
    columns: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Formula:
        """Raises: ValueError, in words."""
        quoted: dict[str, str] = {}

        def stands_for(match: re.Match[str]) -> str:
            name = f"quoted_{len(quoted)}"
            while name in text or name in quoted:
                name += "_"
            quoted[name] = match[1]
            return f" {name} "

        plain = _QUOTED.sub(stands_for, text)
        try:
            node = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError("it is not written as in hours * rate + 5; odd names stand in `backquotes`") from None
        names = [each.id for each in _checked(node) if isinstance(each, ast.Name)]
        if not names:
            raise ValueError("it names no column")
        return cls(node, {name: quoted.get(name, name) for name in names})

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns, in the order in which they are named."""
        return tuple(dict.fromkeys(self.columns.values()))

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        """(n,) values; not a number, or infinite, where something is divided by 0."""
        with np.errstate(all="ignore"):
            return self._value(self.node, numbers)

    def _value(self, node: ast.expr, numbers: Mapping[str, FloatArray]) -> FloatArray:
        if isinstance(node, ast.Name):
            return numbers[self.columns[node.id]]
        if isinstance(node, ast.Constant):
            return np.asarray(node.value, np.float64)
        if isinstance(node, ast.UnaryOp):
            return _SIGNS[type(node.op)](self._value(node.operand, numbers))
        assert isinstance(node, ast.BinOp)
        return _OPERATIONS[type(node.op)](self._value(node.left, numbers), self._value(node.right, numbers))


def _checked(node: ast.expr) -> Iterator[ast.expr]:
    """Every part of an expression that is one of those we know; ValueError for another."""
    yield node
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        yield from _checked(node.left)
        yield from _checked(node.right)
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        yield from _checked(node.operand)
    elif isinstance(node, ast.Constant):
        if type(node.value) not in (int, float) or not abs(node.value) < 1e300:  # type: ignore[arg-type]
            raise ValueError("it may only hold numbers, no texts")
    elif not isinstance(node, ast.Name):
        raise ValueError("it may only hold columns, numbers, + - * / and parentheses")


def _parses(text: str) -> str:
    Formula.of(text)
    return text


@transform("recompute", Family.PERTURB, types=NUMBERS)
class Recompute(Transform):
    """A number that follows from other columns is computed from them as they are published.

    So that sums and products still hold where the columns they are made of were changed. Missing cells stay, and are
    made where one that is needed is missing or something would be divided by 0.
    """

    reads_published = True

    expression: Annotated[
        str,
        AfterValidator(_parses),
        Field(max_length=400, description="columns, numbers, + - * / and parentheses, as in hours * `hourly rate`"),
    ]

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return Formula.of(self.expression).needs

    def fit(self, fitting: Fitting) -> CellStep:
        if fitting.column in self.needs(None):
            raise IncompatibleChoice(
                f"column '{fitting.column}' cannot be computed from itself", hint="leave it out of expression"
            )
        return _Recomputed(fitting.column, fitting.type, self.expression)

    def warnings(self, fitting: Fitting) -> list[str]:
        formula = Formula.of(self.expression)
        frame = fitting.rows(list(dict.fromkeys([fitting.column, *formula.needs])))
        before = frame[fitting.column].cast(pl.Float64).to_numpy()
        made = formula({name: _numbers(frame[name], name) for name in formula.needs})
        both = np.isfinite(before) & np.isfinite(made)
        limit = np.maximum(0.51 if fitting.type is ColumnType.INTEGER else 0.0, 1e-6 * np.abs(before))
        n_other = int(np.count_nonzero(both & (np.abs(before - made) > limit)))
        if not n_other:
            return []
        return [f"{n_other} of {int(both.sum())} cells are not what the expression gives"]


@dataclass(frozen=True, slots=True)
class _Recomputed:
    column: str
    type: ColumnType
    expression: str

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        formula = Formula.of(self.expression)
        numbers = {name: _numbers(rows.beside[name], name) for name in formula.needs}
        made = np.broadcast_to(formula(numbers), (len(cells),))
        is_missing = cells.is_null().to_numpy() | ~np.isfinite(made)
        if self.type is ColumnType.FLOAT:
            return pl.Series(np.where(is_missing, np.nan, made + 0.0)).fill_nan(None)
        self._refuse_large([*numbers.values(), made], is_missing)
        whole = pl.Series(np.rint(np.where(is_missing, 0.0, made)).astype(np.int64))
        return pl.select(pl.when(pl.Series(~is_missing)).then(whole)).to_series()

    def _refuse_large(self, columns: list[FloatArray], is_missing: BoolArray) -> None:
        is_large = np.logical_or.reduce([np.abs(column) > _EXACT for column in columns]) & ~is_missing
        if is_large.any():
            raise DataError(
                f"column '{self.column}': {int(is_large.sum())} of these cells follow from numbers that are too large "
                "to be computed exactly",
                hint=f"columns.{self.column}.type: float",
            )


def _numbers(cells: pl.Series, name: str) -> FloatArray:
    """(n,) numbers, NaN where one is missing."""
    if not cells.dtype.is_numeric():
        raise IncompatibleChoice(f"recompute needs numbers, and '{name}' holds none", hint="another expression")
    return cells.cast(pl.Float64).fill_null(math.nan).to_numpy()
