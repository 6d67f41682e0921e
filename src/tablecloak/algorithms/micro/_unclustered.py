"""Records that belong to no cluster yet, and the clusters that are made of them one by one."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.micro._points import PointRecords, RecordPoint
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.squares import COMPILED_FROM, nearest_outside, squared_distances


class Unclustered:
    """Records that belong to no cluster yet, in the order of the table, and the clusters made so far.

    Records that were taken are swept out now and then. The center follows what is taken without looking at the rest
    again: its sums are whole numbers of a fine grid, so they are exact whatever the order.
    """

    def __init__(self, records: PointRecords, compiled: bool | None = None) -> None:
        self.records = records
        self.is_compiled = pays(len(records), COMPILED_FROM) if compiled is None else compiled
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

    def center(self) -> RecordPoint:
        """Means of numbers, medians in the tree of categories."""
        centers = [c.center(counts) for c, counts in zip(self.records.categories, self.counts, strict=True)]
        return RecordPoint(self.sums / self.grid.per_unit / self.size, tuple(centers))

    def distances(self, point: RecordPoint) -> FloatArray:
        """Squared distance of a point from every record that was not swept out."""
        tables = self.records.tables(point)
        measure = squared_distances.form(compiled=self.is_compiled)
        return measure(self.numbers, self.codes, point.numbers, tables)

    def nearest_outside(self, members: IntArray, from_extreme: FloatArray) -> tuple[int, float]:
        """The place of the free record nearest to any member, and its squared distance."""
        return nearest_outside.form(compiled=self.is_compiled)(
            self.numbers, self.codes, self.is_gone, members, from_extreme, self.trees
        )

    def farthest(self, distances: FloatArray) -> RecordPoint:
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
        left = np.flatnonzero(~self.is_gone)
        self.rows = self.rows[left]
        self.numbers = np.ascontiguousarray(self.numbers[:, left])
        self.codes = np.ascontiguousarray(self.codes[:, left])
        self.is_gone = np.zeros(len(left), np.bool_)
