"""quantiles: intervals with equally many distinct values."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds._levels import closed_level, coarsen, finish
from tablecloak.hierarchy.kinds.base import Factor, HierarchySpec, SortedColumn, hierarchy_kind
from tablecloak.values.cell_grammar import ORDERED_TYPES


@hierarchy_kind("quantiles", types=tuple(sorted(ORDERED_TYPES)))
class QuantilesSpec(HierarchySpec):
    """Intervals with equally many distinct values, united level by level."""

    groups: Annotated[int, Field(ge=2, description="intervals on the lowest level")]
    factors: list[Factor] | None = Field(default=None, description="how many each next level unites; default: pairs")

    def over(self, column: SortedColumn) -> Hierarchy:
        n_groups = min(self.groups, max(1, len(column)))
        base = np.arange(len(column)) * n_groups // max(1, len(column))
        return finish(column, [closed_level(column, g) for g in coarsen(base, self.factors)], "quantiles")
