"""Clusters of at least k similar records: MDAV, V-MDAV and the optimal ones on a line."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.micro.records import Point, Records
from tablecloak.progress import Progress

__all__ = ["mdav", "univariate", "v_mdav"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


# Comparing records pair by pair pays for compiled kernels from fewer records on than counting them.
COMPILED_FROM = 3_000


class _Rest:
    """Records that belong to no cluster yet, in the order of the table, and the clusters made so far.

    Records that were taken are swept out now and then. The center follows what is taken without looking at the rest
    again: its sums are whole numbers of a fine grid, so they are exact whatever the order.
    """

    def __init__(self, records: Records, compiled: bool | None = None) -> None:
        self.records = records
        self.kernels = _kernels(len(records), compiled)
        self.rows = np.arange(len(records))
        self.is_gone = np.zeros(len(records), np.bool_)
        self.size = len(records)
        self.cluster_of = np.full(len(records), -1)
        self.n_clusters = 0
        self.numbers = np.ascontiguousarray(records.numbers.T)
        self.codes = np.ascontiguousarray(records.codes().astype(np.int32))
        self.trees = records.trees()
        self.grid = records.grid()
        self.sums = self.grid.points.sum(axis=0)
        self.counts = [np.bincount(c.codes, minlength=len(c.levels)) for c in records.categories]

    def left(self) -> IntArray:
        """The records that are still here."""
        return self.rows[~self.is_gone]

    def center(self) -> Point:
        """Means of numbers, medians in the tree of categories."""
        centers = [c.center(counts) for c, counts in zip(self.records.categories, self.counts, strict=True)]
        return Point(self.sums / self.grid.per_unit / self.size, tuple(centers))

    def distances(self, point: Point) -> FloatArray:
        """Squared distance of a point from every record that was not swept out."""
        tables = self.records.tables(point)
        found: FloatArray = self.kernels.squared_distances(self.numbers, self.codes, point.numbers, tables)
        return found

    def nearest_outside(self, members: IntArray, from_extreme: FloatArray) -> tuple[int, float]:
        """The place of the free record nearest to any member, and its squared distance."""
        found: tuple[int, float] = self.kernels.nearest_outside(
            self.numbers, self.codes, self.is_gone, members, from_extreme, self.trees
        )
        return found

    def farthest(self, distances: FloatArray) -> Point:
        """The record at the largest distance; the first of several."""
        place = int(np.argmax(np.where(self.is_gone, -1.0, distances)))
        return self.records.point(int(self.rows[place]))

    def take_nearest(self, distances: FloatArray, k: int) -> IntArray:
        """Make a cluster of the k records at the least distances; the first of several at the same distance."""
        apart = np.where(self.is_gone, np.inf, distances)
        limit = np.partition(apart, k - 1)[k - 1]
        close = np.flatnonzero(apart <= limit)
        border = np.flatnonzero(apart[close] == limit)
        n_too_many = len(close) - k
        return self.take(np.delete(close, border[len(border) - n_too_many :]))

    def take(self, places: IntArray) -> IntArray:
        """Make a cluster of the records at these places."""
        self.n_clusters += 1
        return self.join(places)

    def join(self, places: IntArray) -> IntArray:
        """Put the records at these places into the newest cluster."""
        taken = self.rows[places]
        self.cluster_of[taken] = self.n_clusters - 1
        self.is_gone[places] = True
        self.size -= len(taken)
        self.sums -= self.grid.points[taken].sum(axis=0)
        for counts, category in zip(self.counts, self.records.categories, strict=True):
            np.subtract.at(counts, category.codes[taken], 1)
        return taken

    def sweep(self) -> None:
        """Forget the places of records that were taken, if there are many."""
        if self.size > 0.9 * len(self.rows):
            return
        kept = np.flatnonzero(~self.is_gone)
        self.rows = self.rows[kept]
        self.numbers = np.ascontiguousarray(self.numbers[:, kept])
        self.codes = np.ascontiguousarray(self.codes[:, kept])
        self.is_gone = np.zeros(len(kept), np.bool_)


def _kernels(n: int, compiled: bool | None) -> ModuleType:
    if compiled is None:
        compiled = n >= COMPILED_FROM and importlib.util.find_spec("numba") is not None
    return importlib.import_module("tablecloak.kernels." + ("compiled.squares" if compiled else "squares"))


def mdav(records: Records, k: int, progress: Progress, *, compiled: bool | None = None) -> IntArray:
    """The cluster of every record: k records around the one farthest from the center, k around the one opposite, again.

    Cost: O(n^2 / k). Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11, 2005.
    """
    rest = _Rest(records, compiled)
    while rest.size >= 3 * k:
        from_extreme = rest.distances(rest.farthest(rest.distances(rest.center())))
        rest.take_nearest(from_extreme, k)
        rest.take_nearest(rest.distances(rest.farthest(from_extreme)), k)
        rest.sweep()
        progress.advance(len(records) - rest.size)
    if rest.size >= 2 * k:
        rest.take_nearest(rest.distances(rest.farthest(rest.distances(rest.center()))), k)
    rest.take(np.flatnonzero(~rest.is_gone))
    return rest.cluster_of


def v_mdav(records: Records, k: int, gain: float, progress: Progress, *, compiled: bool | None = None) -> IntArray:
    """The cluster of every record: as MDAV, one extreme at a time, and a cluster grows while a neighbour is close.

    A neighbour joins if it is less than `gain` times as far from the cluster as from its own nearest other record.
    Cost: O(n^2 / k). Reference: Solanas, Martinez-Balleste, V-MDAV, COMPSTAT 2006.
    """
    rest = _Rest(records, compiled)
    from_center = rest.distances(rest.center())  # of the whole table, once
    while rest.size >= k:
        extreme = rest.farthest(from_center[rest.rows])
        from_extreme = rest.distances(extreme)
        members = rest.take_nearest(from_extreme, k)
        if gain > 0:
            _grow(rest, members, from_extreme, k, gain)
        rest.sweep()
        progress.advance(len(records) - rest.size)
    _hand_out(rest)
    return rest.cluster_of


def _grow(rest: _Rest, members: IntArray, from_extreme: FloatArray, k: int, gain: float) -> None:
    """Let the records nearest to the newest cluster join it while they are close."""
    places = np.searchsorted(rest.rows, members)
    for _ in range(k - 1):
        if rest.size < 2:
            return
        near, apart = rest.nearest_outside(places, from_extreme)
        from_near = np.where(rest.is_gone, np.inf, rest.distances(rest.records.point(int(rest.rows[near]))))
        from_near[near] = np.inf
        # distances are squared, so the gain is too
        if not apart < gain**2 * from_near.min():
            return
        rest.join(np.array([near]))
        places = np.append(places, near)


def _hand_out(rest: _Rest) -> None:
    """Each record that is left joins the cluster with the nearest center."""
    left = rest.left()
    if len(left) == 0:
        return
    order = np.argsort(rest.cluster_of, kind="stable")[len(left) :]
    parts = np.split(order, np.flatnonzero(np.diff(rest.cluster_of[order])) + 1)
    apart = np.stack([rest.records.distances(rest.records.center(part), left) for part in parts])
    rest.cluster_of[left] = np.argmin(apart, axis=0)  # apart: (n_clusters, n_left)


def univariate(values: FloatArray, k: int) -> IntArray:
    """The cluster of every value, least sum of squared distances from the means among all clusters of at least k.

    The shortest path over the sorted values: an optimal cluster is a run of k to 2 k - 1 of them.
    Cost: O(n (log n + k)).
    Reference: Hansen, Mukherjee, IEEE TKDE 15, 2003.
    """
    order = np.argsort(values, kind="stable")
    shifted = values[order] - values.mean()  # small numbers keep the digits of their squares
    sums = np.concatenate([[0.0], np.cumsum(shifted)])
    squares = np.concatenate([[0.0], np.cumsum(shifted**2)])
    n = len(values)
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    for end in range(k, n + 1):
        begins = np.arange(max(0, end - 2 * k + 1), end - k + 1)
        total = sums[end] - sums[begins]
        through = cost[begins] + squares[end] - squares[begins] - total**2 / (end - begins)
        best = int(np.argmin(through))
        cost[end], start[end] = through[best], begins[best]
    return _numbered(order, start)


def _numbered(order: IntArray, start: IntArray) -> IntArray:
    """Clusters numbered along the line, from where the run that ends at each place starts."""
    bounds = [len(order)]
    while bounds[-1] > 0:
        bounds.append(int(start[bounds[-1]]))
    cluster_of = np.empty(len(order), np.int64)
    cluster_of[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds[::-1]))
    return cluster_of
