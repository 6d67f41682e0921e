"""Hierarchies built from the values of a column, as a policy asks for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.hierarchy.dates import by_dates
from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kind_specs import AnySpec, AutoSpec, DatesSpec, IntervalsSpec, MaskSpec, OrderSpec, TreeSpec
from tablecloak.hierarchy.masks import by_mask
from tablecloak.hierarchy.ranges import by_intervals, by_order, by_quantiles
from tablecloak.hierarchy.value_groups import SortedColumn, coarsen, finish
from tablecloak.values.cell_grammar import ORDERED_TYPES, Value


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
    column = SortedColumn.of(values, column_type)
    return _BUILDERS[spec.kind](spec, column)


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


def _tree(spec: TreeSpec, column: SortedColumn) -> Hierarchy:
    tree = Hierarchy.from_tree(spec.tree)
    n_unknown = int((tree.codes(column.texts) < 0).sum())
    if n_unknown:
        raise DataError(
            f"{n_unknown} of {len(column)} distinct values are not leaves of the tree",
            hint="add them to the tree, or correct them in the data",
        )
    return tree


def _auto(spec: AutoSpec, column: SortedColumn) -> Hierarchy:
    if spec.labels == "numbers":
        return _numbered(spec, column)
    if spec.method == "mask":
        return by_mask(MaskSpec(), column)
    if spec.method == "range":
        return _auto_range(spec, column)
    return by_order(OrderSpec(fanout=spec.fanout), column)


def _numbered(spec: AutoSpec, column: SortedColumn) -> Hierarchy:
    """Blocks of `fanout` sorted texts, named by fresh integers that continue after the largest whole number in them."""
    if column.type != "text" or spec.method not in ("distinct", "group"):
        raise IncompatibleChoice(
            "numbers as labels are for blocks of texts; among numbers or dates they would be taken for values",
            hint="remove labels: numbers",
        )
    if all(_WHOLE.fullmatch(text) for text in column.texts):  # in the order of the numbers, not of their digits
        texts = sorted(column.texts, key=int)
        column = SortedColumn(texts, list(texts), column.type)
    fresh = 1 + max((int(text) for text in column.texts if _WHOLE.fullmatch(text)), default=0)
    levels = []
    for groups in coarsen(np.arange(len(column)) // spec.fanout, None, spec.fanout):
        n_groups = int(groups[-1]) + 1
        levels.append(Level(groups, [str(fresh + i) for i in range(n_groups)]))
        fresh += n_groups
    return finish(column, levels, "order", root=str(fresh))


_WHOLE = re.compile(r"-?[0-9]{1,18}")


def _auto_range(spec: AutoSpec, column: SortedColumn) -> Hierarchy:
    """Intervals of a round width that hold about `fanout` values each; `fanout` of them make one of the next level."""
    if column.type in ("date", "datetime"):
        return by_dates(DatesSpec(), column)
    _check_type("intervals", column.type)
    span = float(column.places[-1]) if len(column) else 0.0
    width = _round_up(span * spec.fanout / max(1, len(column)), whole=column.type == "integer")
    n_levels = math.ceil(math.log(max(2.0, span / width), spec.fanout)) + 1
    return by_intervals(IntervalsSpec(width=width, factors=[spec.fanout] * n_levels), column)


def _round_up(number: float, *, whole: bool) -> int | float:
    """The next of 1, 2, 5, 10, 20, .. (or 0.5, 0.2, ..)."""
    if number <= 0:
        return 1
    power = Decimal(10) ** math.floor(math.log10(number))
    rounded = next(step * power for step in (1, 2, 5, 10, 20) if float(step * power) >= number * (1 - 1e-9))
    return max(1, math.ceil(rounded)) if whole else float(rounded)


_BUILDERS: dict[str, Callable[[Any, SortedColumn], Hierarchy]] = {
    "intervals": by_intervals,
    "quantiles": by_quantiles,
    "mask": by_mask,
    "dates": by_dates,
    "order": by_order,
    "tree": _tree,
    "auto": _auto,
}
