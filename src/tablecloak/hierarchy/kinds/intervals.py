"""intervals: intervals of equal width."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from itertools import repeat
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from tablecloak.errors import IncompatibleChoice
from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kinds._levels import edges, finish, ranks
from tablecloak.hierarchy.kinds.base import Factor, Finite, HierarchySpec, SortedColumn, hierarchy_kind
from tablecloak.values.cell_grammar import format_interval

MAX_LEVELS = 64

_DIGITS = Context(prec=60)


@hierarchy_kind("intervals", types=("integer", "float"))
class IntervalsSpec(HierarchySpec):
    """Intervals of equal width, united level by level."""

    width: Annotated[Finite, Field(gt=0, description="width of the narrowest intervals")]
    factors: list[Factor] | None = Field(
        default=None, description="how many intervals each next level unites; default: pairs, until one is left"
    )
    start: Finite | None = Field(default=None, description="a boundary of every level; default 0")
    closed: bool = Field(default=False, description="write [20, 29] instead of [20, 30); whole numbers only")

    def over(self, column: SortedColumn) -> Hierarchy:
        if self.closed and not self._is_whole(column):
            raise IncompatibleChoice(
                "closed intervals need an integer column with a whole width and start", hint="remove closed: true"
            )
        if not len(column):
            return finish(column, [], "intervals")
        with localcontext(_DIGITS):
            return finish(column, self._levels(column), "intervals")

    def _is_whole(self, column: SortedColumn) -> bool:
        return column.type == "integer" and float(self.width).is_integer() and float(self.start or 0).is_integer()

    def _levels(self, column: SortedColumn) -> list[Level]:
        span = _exact(column.values[-1]) - _exact(column.values[0])
        grid = _Grid(_exact(self.start or 0), _exact(self.width), self.closed, column.type)
        index = np.array([grid.index(value) for value in column.values], dtype=object)
        levels: list[Level] = []
        for factor in repeat(2, MAX_LEVELS) if self.factors is None else [*self.factors, 1]:
            groups = ranks(index)
            # pairs on both sides of the start never meet: stop when they cannot get wider than the data
            if groups[-1] == 0 or (self.factors is None and levels and grid.width >= 2 * span):
                break
            labels = [grid.label(i) for i in index[edges(groups)[0]]]
            shown = grid.width - int(self.closed)  # [20, 29] is 9 wide, [20, 30) is 10
            levels.append(Level(groups, labels, np.full(len(labels), min(1.0, float(shown / span)))))
            index, grid = index // factor, replace(grid, width=grid.width * factor)
        return levels


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
