"""A tree over centroids: blocks of neighbours in their existing order, each with a centroid of its own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.clusters import Clusters, Points
from tablecloak.kernels.lines import Centroids

__all__ = ["CentroidTree"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class CentroidTree:
    """Finds a near centroid by looking at about two times the square root of their number; not always the nearest.

    A block's centroid is the mean of its centroids and the union of their boxes.
    """

    CHUNK: ClassVar[int] = 256  # records dealt between two rebuilds

    def __init__(self, points: Points, clusters: Clusters) -> None:
        self.points = points
        self.leaves = clusters.centroids
        self.block = max(2, int(np.ceil(np.sqrt(len(clusters)))))
        self.starts = np.arange(0, len(clusters), self.block)
        self.tops = Centroids(
            np.minimum.reduceat(clusters.lo, self.starts, axis=1),
            np.maximum.reduceat(clusters.hi, self.starts, axis=1),
            self._means(len(clusters)),
            len(self.starts),
        )

    def _means(self, n: int) -> FloatArray:
        sums = np.add.reduceat(self.leaves.mean[:, :n], self.starts, axis=1)
        return np.asarray(sums / np.diff(np.append(self.starts, n)))

    def nearest(self, rows: list[int], handicap: FloatArray) -> IntArray:
        """A near cluster for every record, (n_rows,)."""
        codes = self.points.codes[:, rows]
        blocks, _ = self.points.nearest(codes, self.tops)
        found = np.empty(len(rows), np.int64)
        for block in np.unique(blocks).tolist():
            inside = np.flatnonzero(blocks == block)
            begin = int(self.starts[block])
            end = min(begin + self.block, self.leaves.n)
            lo, hi, mean, _ = self.leaves
            part = Centroids(
                np.ascontiguousarray(lo[:, begin:end]),
                np.ascontiguousarray(hi[:, begin:end]),
                np.ascontiguousarray(mean[:, begin:end]),
                end - begin,
            )
            nearest, _ = self.points.nearest(codes[:, inside], part, handicap=handicap[begin:end])
            found[inside] = begin + nearest
        return found
