"""auto: a hierarchy that needs no parameters."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Literal

import numpy as np
from pydantic import Field

from tablecloak.errors import IncompatibleChoice
from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kinds._levels import coarsen, finish
from tablecloak.hierarchy.kinds.base import Factor, HierarchySpec, SortedColumn, check_type, hierarchy_kind
from tablecloak.hierarchy.kinds.dates import DatesSpec
from tablecloak.hierarchy.kinds.intervals import IntervalsSpec
from tablecloak.hierarchy.kinds.mask import MaskSpec
from tablecloak.hierarchy.kinds.order import OrderSpec

_WHOLE = re.compile(r"-?[0-9]{1,18}")


@hierarchy_kind("auto")
class AutoSpec(HierarchySpec):
    """A hierarchy from the values alone: blocks of values, number ranges, text groups or masks."""

    method: Literal["distinct", "range", "group", "mask"] = "distinct"
    fanout: Factor = 10
    labels: Literal["values", "numbers"] = Field(
        default="values",
        description="what names a block: the values it holds, or fresh numbers that mean nothing (text columns only)",
    )

    def over(self, column: SortedColumn) -> Hierarchy:
        if self.labels == "numbers":
            return self._numbered(column)
        if self.method == "mask":
            return MaskSpec().over(column)
        if self.method == "range":
            return self._range(column)
        return OrderSpec(fanout=self.fanout).over(column)

    def _numbered(self, column: SortedColumn) -> Hierarchy:
        """Blocks of sorted texts, named by fresh integers that continue after the largest whole number in them."""
        if column.type != "text" or self.method not in ("distinct", "group"):
            raise IncompatibleChoice(
                "numbers as labels are for blocks of texts; among numbers or dates they would be taken for values",
                hint="remove labels: numbers",
            )
        if all(_WHOLE.fullmatch(text) for text in column.texts):  # in the order of the numbers, not of their digits
            texts = sorted(column.texts, key=int)
            column = SortedColumn(texts, list(texts), column.type)
        fresh = 1 + max((int(text) for text in column.texts if _WHOLE.fullmatch(text)), default=0)
        levels = []
        for groups in coarsen(np.arange(len(column)) // self.fanout, None, self.fanout):
            n_groups = int(groups[-1]) + 1
            levels.append(Level(groups, [str(fresh + i) for i in range(n_groups)]))
            fresh += n_groups
        return finish(column, levels, "order", root=str(fresh))

    def _range(self, column: SortedColumn) -> Hierarchy:
        """Intervals of a round width with about `fanout` values each; `fanout` of them make one of the next level."""
        if column.type in ("date", "datetime"):
            return DatesSpec().over(column)
        check_type(IntervalsSpec, column.type)
        span = float(column.places[-1]) if len(column) else 0.0
        width = _round_up(span * self.fanout / max(1, len(column)), whole=column.type == "integer")
        n_levels = math.ceil(math.log(max(2.0, span / width), self.fanout)) + 1
        return IntervalsSpec(width=width, factors=[self.fanout] * n_levels).over(column)


def _round_up(number: float, *, whole: bool) -> int | float:
    """The next of 1, 2, 5, 10, 20, .. (or 0.5, 0.2, ..)."""
    if number <= 0:
        return 1
    power = Decimal(10) ** math.floor(math.log10(number))
    rounded = next(step * power for step in (1, 2, 5, 10, 20) if float(step * power) >= number * (1 - 1e-9))
    return max(1, math.ceil(rounded)) if whole else float(rounded)
