"""The clusters table: which cluster each record is in, as rows in a buffer and, beyond it, in a store such as disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray

Codes = NDArray[np.int32]
Members = tuple[IntArray, Codes]  # numbers of records, ascending, and their codes (n_dims, n)


class Backing(Protocol):
    """Where rows go that the buffer has no room for."""

    def store(self, ids: IntArray, clusters: IntArray, distances: FloatArray) -> None:
        """Keep some rows."""

    def drop(self, clusters: IntArray) -> None:
        """Remove the rows of some clusters."""

    def fetch(self, clusters: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Records, clusters and distances of the rows of some clusters, by cluster and then by record."""

    def codes(self, ids: IntArray) -> Codes:
        """The records with the given numbers, (n_dims, n)."""


class ClusterTable:
    """Rows (record, cluster, distance), each record in one cluster; the rows of a cluster are linked in the buffer.

    Rows are inserted and removed in the buffer alone; what does not fit goes to the backing in bulk, and rows that were
    taken back from there are removed in bulk before the next rows go there.
    """

    def __init__(self, n_dims: int, capacity: int, backing: Backing | None = None) -> None:
        self.capacity = max(capacity, 16)
        self.backing = backing
        self._ids = np.empty(self.capacity, np.int64)
        self._codes = np.empty((n_dims, self.capacity), np.int32)
        self._cluster = np.empty(self.capacity, np.int32)
        self._distance = np.empty(self.capacity)
        self._next = np.empty(self.capacity, np.int32)
        self._head = np.full(16, -1, np.int32)
        self._stored = np.zeros(16, np.int64)  # rows of each cluster in the backing
        self._dead: list[int] = []  # clusters whose rows in the backing were taken back
        self._n = 0

    def put(self, ids: IntArray, codes: Codes, clusters: IntArray, distances: FloatArray) -> None:
        """Insert rows."""
        begin = 0
        while begin < len(ids):
            room = self._room(len(ids) - begin)
            part = slice(begin, begin + room)
            here = slice(self._n, self._n + len(ids[part]))
            self._ids[here], self._codes[:, here] = ids[part], codes[:, part]
            self._cluster[here], self._distance[here] = clusters[part], distances[part]
            self._n = here.stop
            self._link(here.start, here.stop)
            begin += room

    def _room(self, n_rows: int) -> int:
        """Make room for as many rows as are wanted, or for as many as can be."""
        if self._n + n_rows > self.capacity:
            self._compact()
            if self.backing is not None and self._n > self.capacity // 2:
                self.flush()
        return min(n_rows, self.capacity - self._n)

    def _compact(self) -> None:
        rows = np.flatnonzero(self._cluster[: self._n] >= 0)
        for array in (self._ids, self._cluster, self._distance):
            array[: len(rows)] = array[rows]
        self._codes[:, : len(rows)] = self._codes[:, rows]
        self._n = len(rows)
        self._head[:] = -1
        self._link(0, self._n)

    def _link(self, begin: int, end: int) -> None:
        """Put rows at the head of the lists of their clusters."""
        if begin == end:
            return
        clusters = self._cluster[begin:end]
        self._grow(int(clusters.max()) + 1)
        order = np.argsort(clusters, kind="stable")
        ordered, places = clusters[order], (order + begin).astype(np.int32)
        is_first = np.diff(ordered, prepend=-1) != 0
        self._next[places] = np.where(is_first, self._head[ordered], np.roll(places, 1))
        is_last = np.roll(is_first, -1)
        is_last[-1] = True
        self._head[ordered[is_last]] = places[is_last]

    def _grow(self, n_clusters: int) -> None:
        more = n_clusters - len(self._head)
        if more > 0:
            more = max(more, len(self._head))
            self._head = np.concatenate([self._head, np.full(more, -1, np.int32)])
            self._stored = np.concatenate([self._stored, np.zeros(more, np.int64)])

    def take(self, cluster: int) -> tuple[IntArray, Codes, FloatArray]:
        """Remove the rows of a cluster: its records, their codes and their distances, by record."""
        places, at = [], int(self._head[cluster])
        while at >= 0:
            places.append(at)
            at = int(self._next[at])
        self._head[cluster] = -1
        self._cluster[places] = -1
        ids, codes, distances = self._ids[places], self._codes[:, places], self._distance[places]
        if self._stored[cluster] and self.backing is not None:
            more, _, apart = self.backing.fetch(np.array([cluster]))
            ids, distances = np.concatenate([ids, more]), np.concatenate([distances, apart])
            codes = np.concatenate([codes, self.backing.codes(more)], axis=1)
            self._stored[cluster] = 0
            self._dead.append(cluster)
        order = np.argsort(ids)
        return ids[order], np.ascontiguousarray(codes[:, order]), distances[order]

    def take_all(self, clusters: IntArray) -> Iterator[tuple[IntArray, IntArray, Codes, FloatArray]]:
        """Remove the rows of clusters (ascending): clusters, records, codes and distances, by cluster, then by record.

        A cluster comes in one piece; rows may be put back meanwhile, into clusters that already came or were not asked.
        """
        if self.backing is None:
            yield self._taken(clusters)
            return
        self.flush()
        ends = np.cumsum(self._stored[clusters])
        begin = 0
        while begin < len(clusters):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + self.capacity // 2, side="right")))
            part = clusters[begin:end]
            ids, of_ids, distances = self.backing.fetch(part)
            self.backing.drop(part)
            self._stored[part] = 0
            yield of_ids, ids, self.backing.codes(ids), distances
            begin = end

    def _taken(self, clusters: IntArray) -> tuple[IntArray, IntArray, Codes, FloatArray]:
        is_wanted = np.zeros(len(self._head) + 1, bool)  # the last place is that of rows taken before
        is_wanted[clusters] = True
        places = np.flatnonzero(is_wanted[self._cluster[: self._n]])
        places = places[np.lexsort((self._ids[places], self._cluster[places]))]
        of_places = self._cluster[places].astype(np.int64)
        self._cluster[places] = -1
        self._head[clusters] = -1
        return of_places, self._ids[places], self._codes[:, places], self._distance[places]

    def flush(self) -> None:
        """Send all rows of the buffer to the backing."""
        assert self.backing is not None
        if self._dead:
            self.backing.drop(np.unique(self._dead))
            self._dead = []
        is_used = self._cluster[: self._n] >= 0
        clusters = self._cluster[: self._n][is_used].astype(np.int64)
        if len(clusters):
            self.backing.store(self._ids[: self._n][is_used], clusters, self._distance[: self._n][is_used])
            counts = np.bincount(clusters)
            self._stored[: len(counts)] += counts
        self._head[:] = -1
        self._n = 0

    def rows(self) -> tuple[IntArray, IntArray]:
        """Records and clusters of all rows, where all are in the buffer."""
        assert self.backing is None
        is_used = self._cluster[: self._n] >= 0
        return self._ids[: self._n][is_used], self._cluster[: self._n][is_used].astype(np.int64)
