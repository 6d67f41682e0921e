"""One-pass k-means with k-member clustering of what does not fit."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, points_of
from tablecloak.algorithms.clustering.k_member import k_member
from tablecloak.algorithms.clustering.oka import one_pass, random_seeds, shrink
from tablecloak.progress import Progress, silent


@algorithm("hybrid", minimizes="NCP, or another distance where `distance` says so")
class Hybrid(Clustering):
    """Deal records to random centroids in one pass; what large clusters release and small ones held is clustered anew.

    Clusters of more than k records release those furthest from the centroid, smaller ones are dissolved, and greedy
    k-member clusters the released records; the last ones join the cluster whose loss rises least. The first step
    lowers the total loss, the second its spread over clusters. Cost: n^2 / k comparisons plus those of k-member.
    Reference: Lin, Wei, Li, Hsieh, A hybrid method for k-anonymization, APSCC 2008.
    """

    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        clusters = one_pass(points, random_seeds(points, size, problem.seed, "hybrid"), progress=progress)
        return solution_of(problem, points, hybrid(points, clusters, size, progress=progress).labels())


def hybrid(points: Points, first: Clusters, size: int, *, progress: Progress = silent) -> Clusters:
    """Clusters of exactly `size` from one pass, and k-member clusters of all other records."""
    released = shrink(first, size)
    released += [row for rows in first.members if len(rows) < size for row in rows]
    clusters = Clusters(points, [rows for rows in first.members if len(rows) >= size])
    if not released:
        return clusters
    if len(released) >= size:
        rest = k_member(points, size, min(released), rows=np.array(released, np.int64), progress=progress)
        return Clusters(points, [*clusters.members, *rest.members])
    for row in sorted(released):
        clusters.join(int(np.argmin(clusters.costs_with(row))), row)
    return clusters
