"""One-pass k-means clustering (OKA)."""

from __future__ import annotations

import numpy as np

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, points_of
from tablecloak.arrays import IntArray
from tablecloak.progress import Progress, silent


@algorithm("oka", minimizes="NCP, or another distance where `distance` says so")
class Oka(Clustering):
    """Deal all records to the nearest of n / k random centroids in one pass, then move far members of large clusters.

    A centroid follows its members: mean of numbers, common ancestor of categories. Clusters of more than k records give
    away those furthest from the centroid, first to the nearest clusters of fewer than k. Clusters that do not satisfy
    the rest of the goal are united with their nearest. Cost: n^2 / k comparisons.
    Reference: Lin, Wei, An efficient clustering method for k-anonymization, PAIS 2008.
    """

    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        clusters = one_pass(points, random_seeds(points, size, problem.seed, "oka"), progress=progress)
        adjust(clusters, size)
        return solution_of(problem, points, clusters.labels())


def random_seeds(points: Points, size: int, seed: int, name: str) -> IntArray:
    """As many records as there will be clusters, at random, ascending."""
    return np.sort(rng.child(seed, name).choice(points.n, size=max(1, points.n // size), replace=False))


def one_pass(points: Points, seeds: IntArray, *, progress: Progress = silent) -> Clusters:
    """Every record, in the order of its quasi-identifiers, joins the nearest centroid, which moves at once."""
    progress.start("solve", points.n)
    clusters = Clusters(points, [[s] for s in seeds.tolist()])
    order = np.lexsort(points.codes[::-1])
    for done, row in enumerate(order[~np.isin(order, seeds)].tolist()):
        clusters.join(clusters.nearest(row), row)
        if done % 256 == 0:
            progress.advance(done)
    return clusters


def adjust(clusters: Clusters, size: int) -> None:
    """Shrink clusters of more than `size` records and give what they release to clusters that need it, then to any."""
    for row in shrink(clusters, size):
        needy = np.flatnonzero(clusters.sizes < size)
        clusters.join(clusters.nearest(row, needy if len(needy) else None), row)


def shrink(clusters: Clusters, size: int) -> list[int]:
    """Release the members furthest from the centroid of every cluster that has more than `size`."""
    released = []
    for cluster in np.flatnonzero(clusters.sizes > size).tolist():
        members = clusters.by_distance(cluster)
        clusters.refill(cluster, members[:size])
        released += members[size:]
    return released
