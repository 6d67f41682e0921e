"""Clusters around records of high (or low) density."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.arrays import IntArray
from tablecloak.kernels.clustering import candidates
from tablecloak.progress import Progress, silent

CHUNK = 128


@algorithm("density", minimizes="NCP, or another distance where `distance` says so")
class Density(Clustering):
    """Take the densest record that is left together with its k - 1 nearest, again and again.

    The density of a record is 1 over the sum of the distances to its k - 1 nearest neighbours in the table. Fewer than
    k records remain; each joins the cluster whose loss rises least. Clusters that do not satisfy the rest of the goal
    are united with their nearest. Cost: n^2 comparisons.
    Reference: Zhu, Ye, Achieving k-anonymity via a density-based clustering method, APWeb/WAIM 2007.
    """

    first: Annotated[
        Literal["densest", "sparsest"],
        Field(description="densest: as the method is meant; sparsest: as some descriptions of it say"),
    ] = "densest"
    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        sums = sparsity(points, size, threads=problem.threads, progress=progress)
        clusters = by_density(points, size, sums if self.first == "densest" else -sums)
        return solution_of(problem, points, clusters.labels())


def sparsity(points: Points, size: int, *, threads: int = 1, progress: Progress = silent) -> IntArray:
    """Sum of the distances of every record to its `size` - 1 nearest neighbours: 1 over its density, (n,)."""
    progress.start("solve", points.n)
    nobody = np.zeros(points.n, np.bool_)
    n = min(size, points.n)  # a record is its own nearest, at no distance

    def sums(begin: int) -> IntArray:
        here = np.ascontiguousarray(points.codes[:, begin : begin + CHUNK])
        _, costs = candidates.form(compiled=points.is_compiled)(points.lines, points.codes, nobody, here, here, n)
        total: IntArray = costs.sum(axis=1)
        return total

    parts = []
    with ThreadPoolExecutor(max(1, threads)) as workers:
        for done, part in enumerate(workers.map(sums, range(0, points.n, CHUNK))):
            parts.append(part)
            progress.advance(min(points.n, (done + 1) * CHUNK))
    return np.concatenate(parts)


def by_density(points: Points, size: int, rank: IntArray) -> Clusters:
    """Clusters of the record of lowest rank that is left and its nearest; the first of several."""
    pool, clusters = Pool(points), Clusters(points)
    for row in np.argsort(rank, kind="stable").tolist():
        if pool.size < size:
            break
        if pool.has(row):
            members = np.append(row, pool.nearest_others(row, size - 1))
            pool.take(members)
            clusters.add(members)
    if len(clusters) == 0:
        clusters.add(pool.left())
        return clusters
    for row in pool.left().tolist():
        clusters.join(int(np.argmin(clusters.costs_with(row))), row)
    return clusters
