"""order: groups of neighbors in sorted order."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds._levels import closed_level, coarsen, finish
from tablecloak.hierarchy.kinds.base import Factor, HierarchySpec, SortedColumn, hierarchy_kind


@hierarchy_kind("order")
class OrderSpec(HierarchySpec):
    """Consecutive groups of the sorted values."""

    fanout: Factor = Field(default=10, description="members of every group")

    def over(self, column: SortedColumn) -> Hierarchy:
        base = np.arange(len(column)) // self.fanout
        levels = [closed_level(column, groups) for groups in coarsen(base, None, self.fanout)]
        return finish(column, levels, "order")
