"""Seeds far from each other, looked for among one record per group of similar records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.clustering.base import Points
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.clustering import Centroids

ITERATIONS = 10


def similar_groups(points: Points, n_groups: int, generator: np.random.Generator) -> IntArray:
    """A group number for every record: k-means on the lines crossed with k-modes on the trees and sets.

    Each of the two makes about the square root of `n_groups` groups, so that crossing them gives about `n_groups`.
    """
    is_line = ~points.lines.is_tree & (points.lines.step == 0)
    n_each = max(1, round(np.sqrt(n_groups))) if is_line.any() and not is_line.all() else n_groups
    labels = np.zeros(points.n, np.int64)
    for dims in (np.flatnonzero(is_line), np.flatnonzero(~is_line)):
        if len(dims):
            labels = labels * n_each + _k_centers(points, dims, n_each, generator)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _k_centers(points: Points, dims: IntArray, n: int, generator: np.random.Generator) -> IntArray:
    """k-means (lines) or k-modes (other dimensions): centres move to means or modes until assignments stay."""
    weight = np.zeros(points.n_dims)
    weight[dims] = 1.0
    first = generator.choice(points.n, size=min(n, points.n), replace=False)
    modes = points.codes[:, first].copy()
    means = places_of(points)[:, first]
    labels = np.full(points.n, -1, np.int64)
    for _ in range(ITERATIONS):
        nearest, _ = points.nearest(points.codes, Centroids(modes, modes, means, modes.shape[1]), weight=weight)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        means, modes = centers_of(points, labels, modes.shape[1], means, modes)
    return labels


def places_of(points: Points) -> FloatArray:
    """Place of every record on every line, (n_dims, n)."""
    places: FloatArray = points.lines.line[points.lines.start[:, None] + points.codes].astype(np.float64)
    return places


def centers_of(
    points: Points, labels: IntArray, n: int, means: FloatArray, modes: NDArray[np.int32]
) -> tuple[FloatArray, NDArray[np.int32]]:
    """Mean place and most frequent code (the lowest of several) of every group; empty groups stay where they were."""
    sizes = np.bincount(labels, minlength=n)
    places = places_of(points)
    means, modes = means.copy(), modes.copy()
    for d in range(points.n_dims):
        sums = np.bincount(labels, weights=places[d], minlength=n)
        means[d] = np.where(sizes > 0, sums / np.maximum(sizes, 1), means[d])
        modes[d] = np.where(sizes > 0, _modes(labels, points.codes[d], n), modes[d])
    return means, modes


def _modes(labels: IntArray, codes: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    n_codes = int(codes.max(initial=0)) + 1
    cells, counts = np.unique(labels * n_codes + codes, return_counts=True)
    group, code = np.divmod(cells, n_codes)
    order = np.lexsort((code, -counts, group))
    firsts = np.searchsorted(group[order], np.arange(n))
    modes: NDArray[np.int32] = code[order][np.minimum(firsts, len(order) - 1)].astype(np.int32)
    return modes


def far_seeds(points: Points, n: int, start: int, *, groups: IntArray | None = None, rule: str = "sum") -> list[int]:
    """`n` records, the first given, each next one the furthest from those before among one candidate per group.

    Args:
        groups: the group of every record; None: every record is a group of its own. The candidate of a group is the
            record left in it that is nearest to its centre.
        rule: furthest by the `sum` of distances to all seeds, or by the distance to the nearest of them (`maxmin`).
    """
    queues = _queues(points, groups)
    apart = np.zeros(points.n, np.int64) if rule == "sum" else np.full(points.n, np.iinfo(np.int64).max)
    seeds = [start]
    while True:
        queues.drop(seeds[-1])
        if len(seeds) == n:
            return seeds
        distance = points.distances(seeds[-1])
        apart = apart + distance if rule == "sum" else np.minimum(apart, distance)
        candidates = queues.firsts()
        furthest = apart[candidates]
        seeds.append(int(candidates[np.argmax(furthest)]))


class _Queue:
    """The records of every group in the order in which they stand for it."""

    def __init__(self, order: IntArray, starts: IntArray, group_of: IntArray) -> None:
        self.order = order
        self.ends = np.append(starts[1:], len(order))
        self.at = starts.copy()
        self.group_of = group_of
        self.is_gone = np.zeros(len(order), bool)

    def drop(self, row: int) -> None:
        self.is_gone[row] = True
        group = self.group_of[row]
        while self.at[group] < self.ends[group] and self.is_gone[self.order[self.at[group]]]:
            self.at[group] += 1

    def firsts(self) -> IntArray:
        """The record that stands for each group that has one left, ascending."""
        return np.sort(self.order[self.at[self.at < self.ends]])


def _queues(points: Points, groups: IntArray | None) -> _Queue:
    if groups is None:
        every = np.arange(points.n)
        return _Queue(every, every, every)
    n = int(groups.max()) + 1
    modes = np.zeros((points.n_dims, n), np.int32)
    means, modes = centers_of(points, groups, n, np.zeros((points.n_dims, n)), modes)
    distance = np.zeros(points.n)
    for group in range(n):
        rows = np.flatnonzero(groups == group)
        center = Centroids(modes[:, [group]], modes[:, [group]], means[:, [group]], 1)
        _, distance[rows] = points.nearest(points.codes[:, rows], center)
    order = np.lexsort((np.arange(points.n), distance, groups))
    return _Queue(order, np.searchsorted(groups[order], np.arange(n)), groups)
