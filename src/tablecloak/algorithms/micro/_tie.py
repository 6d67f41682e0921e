"""Columns tied by a formula, such as `Sum = Hours * Rate`: parsed, never evaluated as code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import FloatArray

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Tie:
    """A column that is a sum, difference, product or quotient of others."""

    target: str
    columns: frozenset[str]  # columns of the formula
    _formula: ast.expr
    _names: Mapping[str, str]  # column by name in the formula

    def __call__(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """The tied column, from the columns of the formula; NaN where it has no value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            results = np.asarray(self._value(self._formula, values), dtype=np.float64)
        return np.where(np.isfinite(results), results, np.nan)

    def _value(self, node: ast.expr, values: Mapping[str, FloatArray]) -> Any:
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](self._value(node.left, values), self._value(node.right, values))
        if isinstance(node, ast.UnaryOp):
            return -self._value(node.operand, values)
        if isinstance(node, ast.Name):
            return values[self._names[node.id]]
        assert isinstance(node, ast.Constant)
        return node.value


def parse_tie(text: str) -> Tie:
    """The tie a text describes: `column = formula` with + - * / ( ), numbers, columns; `` `a b` `` quotes a name.

    Raises: ValueError saying what is wrong.
    """
    quoted: dict[str, str] = {}

    def alias(match: re.Match[str]) -> str:
        name = f"quoted_{len(quoted)}_"
        quoted[name] = match[1]
        return name

    target, equals, formula = _QUOTED.sub(alias, text).partition("=")
    target = target.strip()
    if not equals or not target.isidentifier():
        raise ValueError("must read `column = formula`, as in Sum = Hours * Rate")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("the formula cannot be read; use + - * / ( ), numbers and columns") from None
    names = {node.id: quoted.get(node.id, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    _check(tree)
    column = quoted.get(target, target)
    if not names or column in names.values():
        raise ValueError("the formula must speak of other columns than the one it gives")
    return Tie(column, frozenset(names.values()), tree, names)


def _check(node: ast.AST) -> None:
    """Refuse everything but arithmetic."""
    for part in ast.walk(node):
        is_number = isinstance(part, ast.Constant) and type(part.value) in (int, float)
        is_sum = isinstance(part, ast.BinOp) and type(part.op) in _OPERATORS
        is_minus = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
        is_leaf = isinstance(part, (ast.Name, ast.Load, ast.USub, *_OPERATORS))
        if not (is_number or is_sum or is_minus or is_leaf):
            raise ValueError("the formula may hold + - * / ( ), numbers and columns only")
