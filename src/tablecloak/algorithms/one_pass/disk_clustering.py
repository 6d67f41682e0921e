"""The clustering of the disk-based anonymiser: one pass over the records, clusters of k to 2k - 1.

Here records are in memory; `engines/disk/cluster_tables.py` has the same for records on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Costs, Points, points_of
from tablecloak.algorithms.one_pass.cluster_table import ClusterTable, Members
from tablecloak.algorithms.one_pass.pile_dealing import Dealing, DealtRecords, RecordStore, deal_records, prices_of
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.domain import Domain
from tablecloak.progress import Progress
from tablecloak.rng import Secret

Codes = NDArray[np.int32]
# Mode auto compares a record with all clusters that may be nearest while records times clusters are no more than this.
EXACT_UP_TO = 2e10


@algorithm("disk-clustering", minimizes="NCP, or another distance where `distance` says so")
class DiskClustering(Clustering):
    """Publish equal records that are k or more as they are; deal the others to random clusters in one pass.

    Every record joins the cluster with the nearest centroid (mean of numbers, common ancestor of categories); clusters
    that pass 2k - 1 are cut in two along the column where that loses least, clusters below k are dissolved into their
    neighbours. The optimised mode looks at the clusters of the nearest blocks only: faster, a little more loss. Mode
    source is the algorithm as it was described: numbers and dates below ranges are compared with a mean, clusters are
    halved by the distances that records had when they came, and in large tables they are found down a tree of
    centroids, and split when all records were dealt. Where fewer than k records remain beside the sets published as
    they are, they borrow from the nearest such set. Clusters that do not satisfy the rest of the goal are united with
    their nearest. Cost: at most n^2 / k comparisons, optimised n^1.5 / k^0.5.
    Reference: the disk-based clustering algorithm of the Amnesia anonymisation tool.
    """

    mode: Annotated[
        Literal["auto", "classic", "optimized", "source"],
        Field(description="auto: classic, optimized where the table is very large for k; source: as it was described"),
    ] = "auto"
    switch_ratio: Annotated[float, Field(gt=0, description="mode source: a tree only where k / n is below this")] = 1e-3
    switch_clusters: Annotated[
        int, Field(ge=0, description="mode source: a tree only where there are more clusters")
    ] = 50_000
    fan_out: Annotated[
        float, Field(gt=0, le=1, description="mode source: share of all clusters that have one parent in the tree")
    ] = 0.001
    size_weight: Annotated[
        float, Field(ge=0, description="full clusters look farther: distance x (1 + size_weight x size / k)")
    ] = 0.0
    distance: Annotated[
        Literal["loss", "height", "weighted"] | None,
        Field(description="loss: what the release loses; height: of the common ancestor; weighted: by the levels "
              "climbed; default: height in mode source, else loss"),
    ] = None  # fmt: skip
    beta: Beta = 1.0

    @property
    def dealing(self) -> Dealing:
        return self

    def comparisons(self, n_records: int, size: int) -> float | None:
        if self._is_optimized(n_records, size, n_records // size):
            return float(n_records**1.5 / size**0.5)
        return n_records**2 / size

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self._distance, beta=self.beta)
        _, distances = self.prices(problem.table.domains, points.present, is_compiled=points.is_compiled)
        records = MemoryRecords(points, distances)
        dealt = self.deal(records, cluster_size(problem), problem.secret, progress)
        return solution_of(problem, points, records.labels(dealt))

    def prices(
        self, domains: Sequence[Domain], present: Sequence[IntArray], *, is_compiled: bool
    ) -> tuple[Costs, Costs]:
        """What clusters lose, and how far records are from centroids."""
        return prices_of(
            domains, present, distance=self._distance, beta=self.beta, has_lines=self.mode == "source",
            is_compiled=is_compiled,
        )  # fmt: skip

    @property
    def _distance(self) -> str:
        return self.distance or ("height" if self.mode == "source" else "loss")

    def deal(self, records: RecordStore, size: int, secret: Secret, progress: Progress) -> DealtRecords:
        """Sets and piles of records, wherever these are kept."""
        return deal_records(
            records, size, secret.generator("disk-clustering"), share=self.fan_out if self.mode == "source" else None,
            is_optimized=lambda n_piles: self._is_optimized(records.n, size, n_piles), size_weight=self.size_weight,
            progress=progress,
        )  # fmt: skip

    def _is_optimized(self, n: int, size: int, n_clusters: int) -> bool:
        if self.mode == "source":
            return prefers_optimized(n, size, n_clusters, ratio=self.switch_ratio, least=self.switch_clusters)
        if self.mode == "auto":
            return n * n_clusters > EXACT_UP_TO
        return self.mode == "optimized"


def prefers_optimized(n: int, size: int, n_clusters: int, *, ratio: float = 1e-3, least: int = 50_000) -> bool:
    """Whether the table is so much larger than k, and has so many clusters, that scanning all of them would not do."""
    return size / n < ratio and n_clusters > least


class MemoryRecords:
    """Records in memory."""

    def __init__(self, points: Points, distances: Costs | None = None) -> None:
        self.costs, self.distances, self.n = points, distances or points, points.n
        self.codes = points.codes
        self.table = ClusterTable(points.n_dims, points.n + points.n // 2)
        self.group = np.unique(self.codes, axis=1, return_inverse=True)[1].reshape(-1)
        self.state = np.full(self.n, -1)  # the set of every record, -1: none, -2: it has a seed

    def sets(self, size: int) -> tuple[Codes, IntArray]:
        counts = np.bincount(self.group)
        is_set = counts >= size
        self.state = np.where(is_set, np.cumsum(is_set) - 1, -1)[self.group]
        rows = np.flatnonzero(self.state >= 0)
        firsts = rows[np.unique(self.state[rows], return_index=True)[1]]
        return self.codes[:, firsts], counts[is_set]

    def rest(self) -> Iterator[Members]:
        yield self._members(self.state == -1)

    def _members(self, which: BoolArray) -> Members:
        ids = np.flatnonzero(which)
        return ids, np.ascontiguousarray(self.codes[:, ids])

    def equal_to(self, seeds: Codes) -> Iterator[tuple[IntArray, Members]]:
        ids, codes = self._members(self.state == -1)
        both = np.concatenate([seeds, codes], axis=1)
        same = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        number = np.full(int(same.max()) + 1, -1)
        number[same[: seeds.shape[1]]] = np.arange(seeds.shape[1])
        seed_of = number[same[seeds.shape[1] :]]
        is_equal = seed_of >= 0
        self.state[ids[is_equal]] = -2
        yield seed_of[is_equal], (ids[is_equal], codes[:, is_equal])

    def waiting(self) -> Iterator[Members]:
        yield self._members(self.state == -1)

    def lend(self, set_: int, n: int) -> Members:
        ids = np.flatnonzero(self.state == set_)[:n]
        self.state[ids] = -1
        return ids, self.codes[:, ids]

    def labels(self, dealt: DealtRecords) -> IntArray:
        """The cluster of every record: sets first, then piles."""
        of_set, of_pile = dealt.numbers()
        labels: IntArray = np.append(of_set, -1)[np.maximum(self.state, -1)]
        ids, piles = self.table.rows()
        labels[ids] = of_pile[piles]
        return labels
