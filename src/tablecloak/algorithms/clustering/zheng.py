"""Clusters of a far record and its nearest neighbours."""

from __future__ import annotations

import numpy as np

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.progress import Progress, silent


@algorithm("zheng", minimizes="NCP, or another distance where `distance` says so")
class Zheng(Clustering):
    """Take a centre with its k - 1 nearest records, next the record furthest from all centres with its own, and so on.

    Furthest means the largest distance to the nearest centre. The last fewer than k records join their nearest centre.
    Clusters that do not satisfy the rest of the goal are united with their nearest. Cost: n^2 / k comparisons.
    Reference: Zheng, Wang, Lv, Ma, k-anonymity algorithm based on improved clustering, ICA3PP 2018.
    """

    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        start = int(rng.child(problem.seed, "zheng").integers(points.n))
        clusters = zheng(points, cluster_size(problem), start, progress=progress)
        return solution_of(problem, points, clusters.labels())


def zheng(points: Points, size: int, start: int, *, progress: Progress = silent) -> Clusters:
    """Clusters of `size` records, first members the centres; the last few records where they are nearest."""
    progress.start("solve", points.n)
    pool, clusters = Pool(points), Clusters(points)
    to_center = np.full(points.n, np.iinfo(np.int64).max)  # distance to the nearest centre
    center_of = np.zeros(points.n, np.int64)
    center = start
    while pool.size >= size:
        members = np.append(center, pool.nearest_others(center, size - 1))
        pool.take(members)
        distance = points.distances(center)
        center_of[distance < to_center] = len(clusters)
        to_center = np.minimum(to_center, distance)
        clusters.add(members)
        left = pool.left()
        center = int(left[np.argmax(to_center[left])]) if len(left) else -1
        progress.advance(points.n - pool.size)
    if len(clusters) == 0:
        clusters.add(pool.left())
        return clusters
    for row in pool.left().tolist():
        clusters.join(int(center_of[row]), row)
    return clusters
