"""Clusters of at least k similar records: MDAV, V-MDAV and the optimal ones on a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.micro.records import Point, Records
from tablecloak.progress import Progress

__all__ = ["mdav", "univariate", "v_mdav"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class _Rest:
    """Records that belong to no cluster yet, in the order of the table, and the clusters made so far."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.rows = np.arange(len(records))
        self.cluster_of = np.full(len(records), -1)
        self.n_clusters = 0

    def distances(self, point: Point) -> FloatArray:
        return self.records.distances(point, self.rows)

    def farthest(self, point: Point) -> Point:
        """The record farthest from a point; the first of several."""
        return self.records.point(int(self.rows[np.argmax(self.distances(point))]))

    def take_nearest(self, point: Point, k: int) -> IntArray:
        """Make a cluster of the k records nearest to a point; the first of several at the same distance."""
        distances = self.distances(point)
        limit = np.partition(distances, k - 1)[k - 1]
        inside = np.flatnonzero(distances < limit)
        border = np.flatnonzero(distances == limit)[: k - len(inside)]
        return self.take(np.sort(np.concatenate([inside, border])))

    def take(self, places: IntArray) -> IntArray:
        """Make a cluster of the records at these places of the rest."""
        taken = self.rows[places]
        self.cluster_of[taken] = self.n_clusters
        self.n_clusters += 1
        self.rows = np.delete(self.rows, places)
        return taken


def mdav(records: Records, k: int, progress: Progress) -> IntArray:
    """The cluster of every record: k records around the one farthest from the center, k around the one opposite, again.

    Cost: O(n^2 / k). Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11, 2005.
    """
    rest = _Rest(records)
    while len(rest.rows) >= 3 * k:
        extreme = rest.farthest(records.center(rest.rows))
        rest.take_nearest(extreme, k)
        rest.take_nearest(rest.farthest(extreme), k)
        progress.advance(len(records) - len(rest.rows))
    if len(rest.rows) >= 2 * k:
        rest.take_nearest(rest.farthest(records.center(rest.rows)), k)
    rest.take(np.arange(len(rest.rows)))
    return rest.cluster_of


def v_mdav(records: Records, k: int, gain: float, progress: Progress) -> IntArray:
    """The cluster of every record: as MDAV, one extreme at a time, and a cluster grows while a neighbour is close.

    A neighbour joins if it is less than `gain` times as far from the cluster as from its own nearest other record.
    Cost: O(n^2). Reference: Solanas, Martinez-Balleste, V-MDAV, COMPSTAT 2006.
    """
    rest = _Rest(records)
    center = records.center(rest.rows)
    while len(rest.rows) >= k:
        members = rest.take_nearest(rest.farthest(center), k)
        _grow(rest, members, k, gain)
        progress.advance(len(records) - len(rest.rows))
    _hand_out(rest)
    return rest.cluster_of


def _grow(rest: _Rest, members: IntArray, k: int, gain: float) -> None:
    if len(rest.rows) == 0:
        return
    records, cluster = rest.records, rest.n_clusters - 1
    to_cluster = np.min([rest.distances(records.point(int(m))) for m in members], axis=0)
    for _ in range(k - 1):
        if len(rest.rows) < 2:
            return
        near = int(np.argmin(to_cluster))
        from_near = rest.distances(records.point(int(rest.rows[near])))
        others = np.delete(from_near, near)
        # distances are squared, so the gain is too
        if not to_cluster[near] < gain**2 * others.min():
            return
        rest.cluster_of[rest.rows[near]] = cluster
        rest.rows = np.delete(rest.rows, near)
        to_cluster = np.minimum(np.delete(to_cluster, near), others)


def _hand_out(rest: _Rest) -> None:
    """Each record that is left joins the cluster with the nearest center."""
    if len(rest.rows) == 0:
        return
    order = np.argsort(rest.cluster_of, kind="stable")[len(rest.rows) :]
    parts = np.split(order, np.flatnonzero(np.diff(rest.cluster_of[order])) + 1)
    centers = [rest.records.center(part) for part in parts]
    apart = np.stack([rest.distances(c) for c in centers])  # (n_clusters, n_left)
    rest.cluster_of[rest.rows] = np.argmin(apart, axis=0)


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
