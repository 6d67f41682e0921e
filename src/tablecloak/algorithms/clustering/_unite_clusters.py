"""From clusters to classes that satisfy any goal made of monotone models.

Clusters of at least the size that the goal needs are formed first. Where a goal asks for more than a size, a cluster
that does not satisfy it is then united with the cluster that this costs least, again and again; so the goal is reached,
at the latest by the table as one class.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution, if_not_monotone
from tablecloak.algorithms.clustering.base import Costs, Points
from tablecloak.algorithms.merge_classes import boxes_of
from tablecloak.arrays import IntArray
from tablecloak.errors import Infeasible
from tablecloak.kernels.clustering import FAR
from tablecloak.models.base import Goal
from tablecloak.stats.classes import ClassStats

Codes = NDArray[np.int32]


class Clustering:
    """What algorithms that make clusters of single records share."""

    needs_rows: ClassVar[bool] = True
    reaches_whole: ClassVar[bool] = True  # where all clusters are united
    lists_values: ClassVar[bool] = True

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, "uniting clusters can break {models}, so there is no way to repair a cluster")

    def comparisons(self, n_records: int, size: int) -> float | None:
        return n_records**2 / max(1, size)


def cluster_size(problem: Problem) -> int:
    """The size that every cluster needs; Infeasible if the table has fewer records."""
    size, n_rows = max(1, problem.goal.min_size), problem.table.n_rows
    if n_rows < size:
        message = f"no cluster of {size:,} records can be formed: there are only {n_rows:,}"
        raise Infeasible(message, best=[], relaxations=[])
    return size


def solution_of(problem: Problem, points: Points, labels: IntArray) -> Solution:
    """The classes of clusters (the cluster of every record, -1: suppressed), united where the goal asks for it."""
    labels = _without_gaps(labels)
    labels = _united(problem, points, labels)
    return Solution(labels, *boxes_of(problem.table, labels, int(labels.max(initial=-1)) + 1))


def _without_gaps(labels: IntArray) -> IntArray:
    used, dense = np.unique(labels, return_inverse=True)
    return dense - int(len(used) > 0 and used[0] < 0)


def _united(problem: Problem, points: Points, labels: IntArray) -> IntArray:
    """Unite every cluster that does not satisfy the goal with the cluster that costs least, until all satisfy it."""
    n = int(labels.max(initial=-1)) + 1
    stats = problem.table.class_stats(labels, n)
    if problem.goal.admits(stats).all():
        return labels
    group = united(problem.goal, points, *_boxes(points, labels, n), stats)
    return np.where(labels >= 0, group[labels], -1)


def united(goal: Goal, costs: Costs, lo: Codes, hi: Codes, stats: ClassStats) -> IntArray:
    """The new number of every cluster, given as boxes (n_dims, n), after weak ones joined others until none is left."""
    group = np.arange(stats.n_classes)
    while True:
        weak = np.flatnonzero(~goal.admits(stats))
        if len(weak) == 0:
            return group
        if stats.n_classes == 1:
            n_records = int(stats.size[0])
            message = f"no clustering satisfies the goal: even all {n_records:,} records together do not"
            raise Infeasible(message, best=[], relaxations=[])
        into = _one_pass(costs, lo, hi, stats.size, weak)
        n = int(into.max()) + 1
        group, stats = into[group], stats.rollup(into, n)
        lo, hi = merged(np.minimum, lo, into, n), merged(np.maximum, hi, into, n)


def merged(least: np.ufunc, sides: Codes, into: IntArray, n: int) -> Codes:
    """Sides of boxes after some were united."""
    order = np.argsort(into, kind="stable")
    starts = np.searchsorted(into[order], np.arange(n))
    return np.asarray(least.reduceat(sides[:, order], starts, axis=1))


def _one_pass(costs: Costs, lo: Codes, hi: Codes, sizes: IntArray, weak: IntArray) -> IntArray:
    """The new number of every cluster after each weak one, unless it took in another, joined its cheapest partner."""
    lo, hi = lo.copy(), hi.copy()
    sizes, losses = sizes.copy(), sizes * costs.box_costs(lo, hi)
    into = np.arange(len(sizes))
    has_grown = np.zeros(len(sizes), bool)
    for one in weak.tolist():
        if has_grown[one]:
            continue
        both = sizes[one] + sizes
        rise = both * costs.unions(lo, hi, lo[:, one], hi[:, one]) - losses - losses[one]
        rise[(into != np.arange(len(into))) | (np.arange(len(into)) == one)] = FAR
        other = int(np.argmin(rise))
        if rise[other] >= FAR:
            break
        into[one] = other
        has_grown[other] = True
        lo[:, other] = np.minimum(lo[:, other], lo[:, one])
        hi[:, other] = np.maximum(hi[:, other], hi[:, one])
        sizes[other], losses[other] = both[other], losses[other] + losses[one] + rise[other]
    # a partner never joins another in the same pass, so one look-up finds the cluster that remains
    return np.unique(into, return_inverse=True)[1]


def _boxes(points: Points, labels: IntArray, n: int) -> tuple[Codes, Codes]:
    lo = np.full((points.n_dims, n), np.iinfo(np.int32).max, np.int32)
    hi = np.full((points.n_dims, n), -1, np.int32)
    is_in_cluster = labels >= 0
    for d in range(points.n_dims):
        np.minimum.at(lo[d], labels[is_in_cluster], points.codes[d, is_in_cluster])
        np.maximum.at(hi[d], labels[is_in_cluster], points.codes[d, is_in_cluster])
    return lo, hi
