"""Hierarchies of calendar periods."""

from __future__ import annotations

import numpy as np

from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kind_specs import DatesSpec
from tablecloak.hierarchy.periods import day_of, months_of, period_text
from tablecloak.hierarchy.value_groups import SortedColumn, edges, finish, ranks


def by_dates(spec: DatesSpec, column: SortedColumn) -> Hierarchy:
    """Calendar periods, from the first level on or from the days."""
    days = np.array([day_of(value) for value in column.values], dtype="datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64) + 12 * 1970  # since year 0
    span = max(1, int((days[-1] - days[0]).astype(np.int64))) if len(days) else 1
    levels = []
    for length in (months_of(level) for level in spec.levels):
        groups = ranks(days if length == 0 else months // length)
        if not len(days) or groups[-1] == 0:
            break
        begin = edges(groups)[0]
        labels = [period_text(days[i].item(), int(months[i]), length) for i in begin]
        loss = min(1.0, max(1.0, length * 30.436875) / span)  # mean length of a month in days
        levels.append(Level(groups, labels, np.full(len(labels), loss)))
    tree = finish(column, levels, "dates")
    return tree if spec.exact else tree.cut_off(tree.parent[: tree.n_leaves])
