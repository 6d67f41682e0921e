"""What all clustering algorithms share: points with the costs of boxes, the pool of points left, and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.clustering._record_distances import lines_of
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.kernels import clustering as kernels
from tablecloak.kernels.dispatch import pays

Codes = NDArray[np.int32]


class Costs:
    """What boxes of codes that occur cost."""

    def __init__(self, lines: kernels.Lines, unit: int, *, is_compiled: bool) -> None:
        self.lines, self.unit, self.is_compiled = lines, unit, is_compiled

    @property
    def n_dims(self) -> int:
        return len(self.lines.start)

    def joined(self, codes: Codes, lo: Codes, hi: Codes) -> IntArray:
        """Cost of one box after each point joins it, (n_points,)."""
        return kernels.joined.form(compiled=self.is_compiled)(self.lines, codes, lo, hi)

    def unions(self, lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes) -> IntArray:
        """Cost of the union of every box with one box, (n_boxes,)."""
        return kernels.unions.form(compiled=self.is_compiled)(self.lines, lo, hi, box_lo, box_hi)

    def box_costs(self, lo: Codes, hi: Codes) -> IntArray:
        """Cost of every box, (n_boxes,)."""
        return kernels.box_costs(self.lines, lo, hi)

    def interval_costs(self, dim: int, lo: Codes, hi: Codes) -> IntArray:
        """Cost of intervals of one dimension, (n_intervals,)."""
        return kernels.interval_costs(self.lines, dim, lo, hi)

    def nearest(
        self,
        codes: Codes,
        centroids: kernels.Centroids,
        *,
        weight: FloatArray | None = None,
        handicap: FloatArray | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """The centroid nearest to each point and its distance in units.

        Args:
            weight: (n_dims,) how much each dimension counts.
            handicap: (n_centroids,) factor of the distance to each centroid.
        """
        weight = np.ones(self.n_dims) if weight is None else weight
        handicap = np.ones(centroids.n) if handicap is None else handicap
        return kernels.nearest.form(compiled=self.is_compiled)(self.lines, codes, centroids, weight, handicap)


class Points(Costs):
    """The records of a table as codes that occur, and what boxes of them cost."""

    def __init__(
        self,
        domains: Sequence[Domain],
        columns: Sequence[IntArray],
        *,
        distance: str = "loss",
        beta: float = 1.0,
        compiled: bool | None = None,
    ) -> None:
        self.present, codes = zip(*(np.unique(c, return_inverse=True) for c in columns), strict=True)
        self.codes: Codes = np.ascontiguousarray(np.stack(codes).astype(np.int32))  # (n_dims, n)
        is_compiled = pays(self.n, kernels.COMPILED_FROM) if compiled is None else compiled
        super().__init__(*lines_of(domains, self.present, distance, beta), is_compiled=is_compiled)

    @property
    def n(self) -> int:
        return int(self.codes.shape[1])

    def distances(self, row: int) -> IntArray:
        """Distance of every record from one, in units, (n,)."""
        return self.joined(self.codes, self.codes[:, row], self.codes[:, row])


def points_of(table: CodedTable, *, distance: str = "loss", beta: float = 1.0, compiled: bool | None = None) -> Points:
    """The tuples of a table as points."""
    columns = [table.quasi_codes(d) for d in range(table.space.n_dims)]
    return Points(table.domains, columns, distance=distance, beta=beta, compiled=compiled)


class Pool:
    """The records that are in no cluster yet, in ascending order; taken records are swept out now and then."""

    def __init__(self, points: Points, rows: IntArray | None = None) -> None:
        self.points = points
        self.rows = np.arange(points.n) if rows is None else np.sort(rows)
        self.codes: Codes = np.ascontiguousarray(points.codes[:, self.rows])
        self.is_gone = np.zeros(len(self.rows), np.bool_)
        self.size = len(self.rows)

    def left(self) -> IntArray:
        """The records that are still here."""
        return self.rows[~self.is_gone]

    def place(self, row: int) -> int:
        return int(np.searchsorted(self.rows, row))

    def has(self, row: int) -> bool:
        place = self.place(row)
        return place < len(self.rows) and bool(self.rows[place] == row) and not self.is_gone[place]

    def take(self, rows: Iterable[int] | IntArray) -> None:
        """Remove some records."""
        places = np.searchsorted(self.rows, np.asarray(rows, np.int64))
        self.is_gone[places] = True
        self.size -= len(places)
        self._sweep()

    def furthest(self, row: int) -> int:
        """The record that is furthest from a given one (which may be gone), the first of several."""
        here = self.points.codes[:, row]
        costs = self.points.joined(self.codes, here, here)
        return int(self.rows[np.argmax(np.where(self.is_gone, -1, costs))])

    def nearest_others(self, row: int, n: int) -> IntArray:
        """The `n` other records nearest to one that is here, nearest first."""
        here = np.ascontiguousarray(self.points.codes[:, [row]])
        places, _ = kernels.candidates.form(compiled=self.points.is_compiled)(
            self.points.lines, self.codes, self.is_gone, here, here, n + 1
        )
        rows = self.rows[places[0][places[0] >= 0]]
        others: IntArray = rows[rows != row][:n]
        return others

    def grow(
        self, seed: int, size: int, *, limit: int = kernels.FAR // 2, target: Codes | None = None, penalty: int = 0
    ) -> IntArray:
        """Take a cluster grown from a seed, each new member the one that costs least."""
        chosen = np.zeros(0, np.int32) if target is None else target[self.rows]
        members = kernels.grow.form(compiled=self.points.is_compiled)(
            self.points.lines, self.codes, self.is_gone, self.place(seed),
            size=size, limit=limit, target=chosen, penalty=penalty,
        )  # fmt: skip
        rows: IntArray = self.rows[members]
        self.size -= len(rows)
        self._sweep()
        return rows

    def drop(self, n: int) -> None:
        """Take note that so many records were marked as gone."""
        self.size -= n
        self._sweep()

    def _sweep(self) -> None:
        if self.size > 0.8 * len(self.rows) or len(self.rows) < 32:
            return
        left = np.flatnonzero(~self.is_gone)
        self.rows = self.rows[left]
        self.codes = np.ascontiguousarray(self.codes[:, left])
        self.is_gone = np.zeros(len(left), np.bool_)


class Clusters:
    """Clusters as lists of records with the box and the mean place of each; room for more is kept ready."""

    def __init__(self, points: Points, members: Iterable[Iterable[int]] = ()) -> None:
        self.points = points
        self.members: list[list[int]] = [[int(r) for r in rows] for rows in members]
        room = max(16, len(self.members))
        self._lo = np.zeros((points.n_dims, room), np.int32)
        self._hi = np.zeros((points.n_dims, room), np.int32)
        self._mean = np.zeros((points.n_dims, room))
        self._size = np.zeros(room, np.int64)
        self._size[: len(self.members)] = [len(rows) for rows in self.members]
        self._measure(np.flatnonzero(self._size))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def lo(self) -> Codes:
        return self._lo[:, : len(self)]

    @property
    def hi(self) -> Codes:
        return self._hi[:, : len(self)]

    @property
    def sizes(self) -> IntArray:
        return self._size[: len(self)]

    @property
    def centroids(self) -> kernels.Centroids:
        """Box and mean places of every cluster."""
        return kernels.Centroids(self._lo, self._hi, self._mean, len(self))

    def centroid(self, cluster: int) -> kernels.Centroids:
        """Box and mean places of one cluster."""
        one = [cluster]
        return kernels.Centroids(self._lo[:, one], self._hi[:, one], self._mean[:, one], 1)

    def nearest(self, row: int, among: IntArray | None = None, *, handicap: FloatArray | None = None) -> int:
        """The cluster (among some) whose centroid is nearest to a record."""
        centroids = self.centroids
        if among is not None:
            centroids = kernels.Centroids(self._lo[:, among], self._hi[:, among], self._mean[:, among], len(among))
        nearest, _ = self.points.nearest(self.points.codes[:, [row]], centroids, handicap=handicap)
        return int(nearest[0]) if among is None else int(among[nearest[0]])

    def by_distance(self, cluster: int) -> list[int]:
        """The members of a cluster, those near to its centroid first."""
        members = np.array(self.members[cluster], np.int64)
        _, distance = self.points.nearest(self.points.codes[:, members], self.centroid(cluster))
        return [int(r) for r in members[np.lexsort((members, distance))]]

    def add(self, rows: Iterable[int]) -> int:
        """A new cluster; returns its number."""
        if len(self) == len(self._size):
            self._enlarge()
        self.members.append([])
        self.refill(len(self) - 1, rows)
        return len(self) - 1

    def _measure(self, clusters: IntArray) -> None:
        """Boxes and mean places of clusters that have members, all at once."""
        if len(clusters) == 0:
            return
        codes = self.points.codes[:, list(chain.from_iterable(self.members[c] for c in clusters.tolist()))]
        starts = np.cumsum(self._size[clusters]) - self._size[clusters]
        self._lo[:, clusters] = np.minimum.reduceat(codes, starts, axis=1)
        self._hi[:, clusters] = np.maximum.reduceat(codes, starts, axis=1)
        self._mean[:, clusters] = np.add.reduceat(self._places(codes), starts, axis=1) / self._size[clusters]

    def refill(self, cluster: int, rows: Iterable[int]) -> None:
        """Give a cluster other members."""
        members = [int(r) for r in rows]
        self.members[cluster] = members
        self._size[cluster] = len(members)
        if members:
            codes = self.points.codes[:, members]
            self._lo[:, cluster], self._hi[:, cluster] = codes.min(axis=1), codes.max(axis=1)
            self._mean[:, cluster] = self._places(codes).mean(axis=1)

    def join(self, cluster: int, row: int) -> None:
        """Put one more record into a cluster."""
        codes = self.points.codes[:, row]
        self.members[cluster].append(int(row))
        self._size[cluster] += 1
        np.minimum(self._lo[:, cluster], codes, out=self._lo[:, cluster])
        np.maximum(self._hi[:, cluster], codes, out=self._hi[:, cluster])
        self._mean[:, cluster] += (self._places(codes[:, None])[:, 0] - self._mean[:, cluster]) / self._size[cluster]

    def _places(self, codes: Codes) -> FloatArray:
        lines = self.points.lines
        places: FloatArray = lines.line[lines.start[:, None] + codes].astype(np.float64)
        return places

    def _enlarge(self) -> None:
        self._lo = np.concatenate([self._lo, np.zeros_like(self._lo)], axis=1)
        self._hi = np.concatenate([self._hi, np.zeros_like(self._hi)], axis=1)
        self._mean = np.concatenate([self._mean, np.zeros_like(self._mean)], axis=1)
        self._size = np.concatenate([self._size, np.zeros_like(self._size)])

    def costs_with(self, row: int, *, increase: bool = True) -> IntArray:
        """Loss of every cluster after a record joins it, or how much it rises, (n_clusters,)."""
        codes = self.points.codes[:, row]
        after = (self.sizes + 1) * self.points.unions(self.lo, self.hi, codes, codes)
        return after - self.losses() if increase else after

    def losses(self) -> IntArray:
        """Size times cost of the box, in units, (n_clusters,)."""
        return self.sizes * self.points.box_costs(self.lo, self.hi)

    def labels(self) -> IntArray:
        """The cluster of every record, -1 for records in none."""
        labels = np.full(self.points.n, -1, np.int64)
        for number, rows in enumerate(self.members):
            labels[rows] = number
        return labels
