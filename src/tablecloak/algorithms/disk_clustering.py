"""The clustering of the disk-based anonymiser, here in memory: one pass over the records, clusters of k to 2k - 1."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.centroid_tree import CentroidTree
from tablecloak.algorithms.clusters import Clusters, Points, points_of
from tablecloak.algorithms.distances import Beta, Distance
from tablecloak.algorithms.uniting import Clustering, cluster_size, solution_of
from tablecloak.progress import Progress, silent

__all__ = ["DiskClustering", "Filler", "halves", "n_lent", "prefers_optimized", "ready_sets"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@algorithm("disk-clustering", minimizes="NCP, or another distance where `distance` says so")
class DiskClustering(Clustering):
    """Publish equal records that are k or more as they are; deal the others to random clusters in one pass.

    Every record joins the cluster with the nearest centroid (mean of numbers, common ancestor of categories); clusters
    that pass 2k - 1 are split by distance to the centroid, clusters below k are dissolved into their neighbours. The
    optimised mode finds centroids through a tree of blocks and splits at the end: faster, a little more loss. Where
    fewer than k records remain beside the sets published as they are, they borrow from the nearest such set. Clusters
    that do not satisfy the rest of the goal are united with their nearest. Cost: n^2 / k comparisons, optimised
    n^1.5 / k^0.5. Reference: the disk-based clustering algorithm of the Amnesia anonymisation tool.
    """

    mode: Annotated[
        Literal["auto", "classic", "optimized"],
        Field(
            description="auto: optimized where k / n < switch_ratio and there are more than switch_clusters clusters"
        ),
    ] = "auto"
    switch_ratio: Annotated[float, Field(gt=0, description="mode auto: see there")] = 1e-3
    switch_clusters: Annotated[int, Field(ge=0, description="mode auto: see there")] = 50_000
    size_weight: Annotated[
        float, Field(ge=0, description="full clusters look farther: distance x (1 + size_weight x size / k)")
    ] = 0.0
    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        ready, rest = ready_sets(points, size)
        if len(rest) == 0:
            return solution_of(problem, points, Clusters(points, ready).labels())
        if len(rest) < size:
            return solution_of(problem, points, _borrowed(points, ready, rest, size).labels())
        filler = Filler(points, size, self.size_weight)
        filler.begin(rest, rng.child(problem.seed, "disk-clustering"))
        if self._is_optimized(points.n, size, len(filler.clusters)):
            filler.fill_by_tree(progress)
        else:
            filler.fill(progress)
        return solution_of(problem, points, Clusters(points, [*ready, *filler.clusters.members]).labels())

    def _is_optimized(self, n: int, size: int, n_clusters: int) -> bool:
        if self.mode != "auto":
            return self.mode == "optimized"
        return prefers_optimized(n, size, n_clusters, ratio=self.switch_ratio, least=self.switch_clusters)


def prefers_optimized(n: int, size: int, n_clusters: int, *, ratio: float = 1e-3, least: int = 50_000) -> bool:
    """Whether the table is so much larger than k, and has so many clusters, that scanning all of them would not do."""
    return size / n < ratio and n_clusters > least


def ready_sets(points: Points, size: int) -> tuple[list[list[int]], IntArray]:
    """Sets of at least `size` equal records, which lose nothing, and all other records."""
    groups = _equal_records(points)
    counts = np.bincount(groups)
    is_ready = counts[groups] >= size
    rows = np.flatnonzero(is_ready)
    order = rows[np.argsort(groups[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    sets = [part.tolist() for part in np.split(order, cuts)] if len(order) else []
    return sets, np.flatnonzero(~is_ready)


def _equal_records(points: Points) -> IntArray:
    """The same number for records whose quasi-identifiers are the same."""
    return np.unique(points.codes, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _borrowed(points: Points, ready: list[list[int]], rest: IntArray, size: int) -> Clusters:
    """A cluster of the fewer than `size` records that remain and of what the nearest set can spare."""
    clusters = Clusters(points, ready)
    codes = points.codes[:, rest]
    costs = points.unions(clusters.lo, clusters.hi, codes.min(axis=1), codes.max(axis=1))
    lent = np.array([n_lent(len(rest), n, size) for n in clusters.sizes.tolist()])
    nearest = int(np.argmin((lent + len(rest)) * costs))
    members = clusters.members[nearest]
    sets = [m for i, m in enumerate(clusters.members) if i != nearest]
    stub, trunk = members[: lent[nearest]], members[lent[nearest] :]
    return Clusters(points, [*sets, *([trunk] if trunk else []), [*stub, *rest.tolist()]])


def n_lent(n_small: int, n_large: int, size: int) -> int:
    """How many records of a large cluster complete a small one: those missing if it can spare them, else all.

    Reference: stub and trunk in Li, Wong, Fu, Pei, DASFAA 2006.
    """
    return size - n_small if n_small + n_large >= 2 * size else n_large


def halves(members: list[int]) -> tuple[list[int], list[int]]:
    """The nearer half (the smaller one of an odd number) and the farther half of members ordered by distance."""
    return members[: len(members) // 2], members[len(members) // 2 :]


class Filler:
    """Clusters that records are dealt to, their sizes kept between k and 2k - 1."""

    def __init__(self, points: Points, size: int, size_weight: float = 0.0) -> None:
        self.points = points
        self.size = size
        self.size_weight = size_weight
        self.clusters = Clusters(points)
        self.waiting: list[int] = []

    def begin(self, rest: IntArray, generator: np.random.Generator) -> None:
        """One cluster for each of n / k random records, with all records equal to it."""
        groups = _equal_records(self.points)[rest]
        seeds = generator.choice(len(rest), size=max(1, len(rest) // self.size), replace=False)
        chosen = np.unique(groups[seeds])
        for group in chosen.tolist():
            self.clusters.add(rest[groups == group])
        self.waiting = rest[~np.isin(groups, chosen)].tolist()

    def fill(self, progress: Progress = silent) -> None:
        """Classic mode: scan all centroids for every record and split a cluster as soon as it is too large."""
        progress.start("solve", len(self.waiting))
        for done, row in enumerate(self.waiting):
            cluster = self.clusters.nearest(row, handicap=self._handicap())
            self.clusters.join(cluster, row)
            self._split(cluster)
            if done % 256 == 0:
                progress.advance(done)
        self._dissolve_small()

    def fill_by_tree(self, progress: Progress = silent) -> None:
        """Optimised mode: find centroids through a tree, split too large clusters at the end."""
        self._deal(self.waiting, progress)
        self.split_all()
        small = self.clusters.sizes < self.size
        if small.all():
            self._dissolve_small()
            return
        rows = [row for cluster in np.flatnonzero(small).tolist() for row in self.clusters.members[cluster]]
        self._keep(np.flatnonzero(~small))
        self._deal(rows, silent)
        self.split_all()

    def _deal(self, rows: list[int], progress: Progress) -> None:
        progress.start("solve", len(rows))
        step = CentroidTree.CHUNK
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            tree = CentroidTree(self.points, self.clusters)
            for row, cluster in zip(part, tree.nearest(part, self._handicap()).tolist(), strict=True):
                self.clusters.join(cluster, row)
            progress.advance(begin + len(part))

    def _handicap(self) -> FloatArray:
        return 1.0 + self.size_weight * self.clusters.sizes / self.size

    def _split(self, cluster: int) -> None:
        """Halve a cluster until no part has more than 2k - 1 records."""
        open_ = [cluster]
        while open_:
            one = open_.pop()
            if self.clusters.sizes[one] < 2 * self.size:
                continue
            near, far = halves(self.clusters.by_distance(one))
            self.clusters.refill(one, near)
            open_ += [one, self.clusters.add(far)]

    def split_all(self) -> None:
        """Halve every cluster of more than 2k - 1 records."""
        for cluster in np.flatnonzero(self.clusters.sizes >= 2 * self.size).tolist():
            self._split(cluster)

    def _keep(self, numbers: IntArray) -> None:
        self.clusters = Clusters(self.points, [self.clusters.members[i] for i in numbers.tolist()])

    def _dissolve_small(self) -> None:
        """Move the records of small clusters to their nearest, pass after pass, until no cluster is small.

        A small cluster that has received a record in a pass is left for the next, so every pass empties at least one.
        """
        while (self.clusters.sizes < self.size).any() and len(self.clusters) > 1:
            has_received = np.zeros(len(self.clusters), bool)
            for cluster in np.flatnonzero(self.clusters.sizes < self.size).tolist():
                if not has_received[cluster] and np.count_nonzero(self.clusters.sizes) > 1:
                    self._dissolve(cluster, has_received)
            self._keep(np.flatnonzero(self.clusters.sizes > 0))
            self.split_all()

    def _dissolve(self, cluster: int, has_received: NDArray[np.bool_]) -> None:
        rows = self.clusters.members[cluster]
        self.clusters.refill(cluster, [])
        others = np.flatnonzero(self.clusters.sizes > 0)
        for row in rows:
            nearest = self.clusters.nearest(row, others, handicap=self._handicap()[others])
            self.clusters.join(nearest, row)
            has_received[nearest] = True
