"""From clusters to classes that satisfy any goal made of monotone models.

Clusters of at least the size that the goal needs are formed first. Where a goal asks for more than a size, a cluster
that does not satisfy it is then united with the cluster that this costs least, again and again; so the goal is reached,
at the latest by the table as one class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.clusters import Points
from tablecloak.errors import Infeasible
from tablecloak.kernels.lines import FAR
from tablecloak.models.base import Goal

__all__ = ["Clustering", "cluster_size", "refusal", "solution_of"]

IntArray = NDArray[np.int64]
Codes = NDArray[np.int32]


def refusal(goal: Goal) -> str | None:
    """Why clusters cannot be united into classes that satisfy a goal, or None."""
    unsafe = [m.name for m in goal.models if not Goal((m,)).is_monotone]
    if unsafe:
        return f"uniting clusters can break {', '.join(unsafe)}, so there is no way to repair a cluster"
    return None


class Clustering:
    """What algorithms that make clusters of single records share."""

    @property
    def needs_rows(self) -> bool:
        return True

    def refuses(self, goal: Goal) -> str | None:
        return refusal(goal)


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
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    n_classes = int(labels.max(initial=-1)) + 1
    starts = np.searchsorted(labels[order], np.arange(n_classes))
    columns = [problem.table.quasi_codes(d)[order] for d in range(points.n_dims)]
    lo = np.stack([np.minimum.reduceat(c, starts) for c in columns], axis=1)
    hi = np.stack([np.maximum.reduceat(c, starts) for c in columns], axis=1)
    return Solution(labels, lo, hi)


def _without_gaps(labels: IntArray) -> IntArray:
    used, dense = np.unique(labels, return_inverse=True)
    return dense - int(len(used) > 0 and used[0] < 0)


def _united(problem: Problem, points: Points, labels: IntArray) -> IntArray:
    """Unite every cluster that does not satisfy the goal with the cluster that costs least, until all satisfy it."""
    n = int(labels.max(initial=-1)) + 1
    stats = problem.table.class_stats(labels, n)
    while True:
        weak = np.flatnonzero(~problem.goal.admits(stats))
        if len(weak) == 0:
            return labels
        if n == 1:
            message = f"no clustering satisfies the goal: even all {problem.table.n_rows:,} records together do not"
            raise Infeasible(message, best=[], relaxations=[])
        group = _one_pass(points, labels, stats.size, weak)
        n = int(group.max()) + 1
        labels = np.where(labels >= 0, group[labels], -1)
        stats = stats.rollup(group, n)


def _one_pass(points: Points, labels: IntArray, sizes: IntArray, weak: IntArray) -> IntArray:
    """The new number of every cluster after each weak one, unless it took in another, joined its cheapest partner."""
    lo, hi = _boxes(points, labels, len(sizes))
    sizes, losses = sizes.copy(), sizes * points.box_costs(lo, hi)
    into = np.arange(len(sizes))
    has_grown = np.zeros(len(sizes), bool)
    for one in weak.tolist():
        if has_grown[one]:
            continue
        both = sizes[one] + sizes
        rise = both * points.unions(lo, hi, lo[:, one], hi[:, one]) - losses - losses[one]
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
    kept = labels >= 0
    for d in range(points.n_dims):
        np.minimum.at(lo[d], labels[kept], points.codes[d, kept])
        np.maximum.at(hi[d], labels[kept], points.codes[d, kept])
    return lo, hi
