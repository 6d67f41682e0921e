"""What metrics measure of a solution, for reports and for searches that choose between solutions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.target import TARGET_LOSSES
from tablecloak.data.coded import CodedTable
from tablecloak.metrics import Details, Measurement, ReleaseCounts
from tablecloak.metrics.details import Target, Tuples, column_of_boxes
from tablecloak.registry import find
from tablecloak.stats.classes import Counted

__all__ = ["best_by", "counts_of"]


def counts_of(table: CodedTable, solution: Solution, k: int) -> ReleaseCounts:
    """The counts of a solution; `k` is the class size asked for."""
    losses = solution.losses(table.domains)
    sizes = solution.stats(table).size
    is_released = sizes > 0
    has_no_boxes = solution.bucketing is not None or solution.sets is not None
    return ReleaseCounts(
        sizes=sizes[is_released],
        losses=losses[is_released],
        columns=tuple(d.name for d in table.domains),
        n_suppressed=table.n_rows - int(sizes.sum()),
        k=k,
        weights=tuple(d.weight for d in table.domains),
        # where groups keep their own values, or publish sets, the boxes looked at here are not what is published
        look_closer=None if has_no_boxes else lambda: _details(table, solution, is_released),
    )


def _details(table: CodedTable, solution: Solution, is_released: NDArray[np.bool_]) -> Details:
    """What only some metrics ask for."""
    lo, hi = solution.lo[is_released], solution.hi[is_released]
    nodes = None if solution.nodes is None else solution.nodes[is_released]
    columns = tuple(
        column_of_boxes(d, lo[:, i], hi[:, i], table.originals(i), None if nodes is None else nodes[:, i])
        for i, d in enumerate(table.domains)
    )
    number = np.cumsum(is_released) - 1
    classes = np.where(solution.class_of_tuple < 0, -1, number[solution.class_of_tuple])
    published = table.class_stats(classes, len(lo), own_totals=True).hist_of(Counted.SENSITIVE)
    targets = {name: Target(name, hist, table.totals[name]) for name, hist in published.items()}
    return Details(columns, targets, lambda: _tuples(table))


def _tuples(table: CodedTable) -> Tuples:
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    return Tuples(tuple(table.quasi_codes(i) for i in range(table.space.n_dims)), weights)


def best_by(metric: str, problem: Problem, solutions: Iterable[Solution], target: str | None) -> Solution:
    """The solution with the best value of a metric, the first of several."""

    def lost(solution: Solution) -> float:
        counts = counts_of(problem.table, solution, problem.goal.min_size)
        found: Measurement = find("metrics", metric)(counts, **({"target": target} if metric in TARGET_LOSSES else {}))
        return -found.value if found.higher_is_better else found.value

    return min(solutions, key=lost)
