"""Weighted-feature C-means clustering."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._seeding import centers_of, places_of
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Points, points_of
from tablecloak.algorithms.clustering.oka import random_seeds
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.clustering import Centroids
from tablecloak.progress import Progress, silent

CHUNK = 256


@algorithm("c-means", minimizes="NCP, or another distance where `distance` says so")
class CMeans(Clustering):
    """Assign records to the nearest of n / k centres, move centres and reweigh columns, until nothing changes.

    A centre is the mean of numbers and the most frequent category. A column weighs the less the more its values differ
    inside clusters, weights having a mean of 1. Clusters of fewer than k records, or that do not satisfy the rest of
    the goal, are then united with their nearest. Cost: n^2 / k comparisons in every iteration.
    Reference: Chiu, Tsai, A k-anonymity clustering method for effective data privacy preservation, ADMA 2007.
    """

    iterations: Annotated[int, Field(ge=1, description="most rounds of assigning records and moving centres")] = 10
    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        seeds = random_seeds(points, cluster_size(problem), problem.seed, "c-means")
        labels, _ = c_means(points, seeds, self.iterations, threads=problem.threads, progress=progress)
        return solution_of(problem, points, labels)


def c_means(
    points: Points, seeds: IntArray, iterations: int, *, threads: int = 1, progress: Progress = silent
) -> tuple[IntArray, FloatArray]:
    """The cluster of every record, and the weight of every column at the end."""
    progress.start("solve", iterations)
    modes = np.ascontiguousarray(points.codes[:, seeds])
    means = np.ascontiguousarray(places_of(points)[:, seeds])
    weight = np.ones(points.n_dims)
    labels = np.full(points.n, -1, np.int64)
    for done in range(iterations):
        nearest = _assigned(points, Centroids(modes, modes, means, len(seeds)), weight, threads)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        means, modes = centers_of(points, labels, len(seeds), means, modes)
        weight = _weights(_scatter(points, labels, means, modes))
        progress.advance(done + 1)
    return labels, weight


def _assigned(points: Points, centroids: Centroids, weight: FloatArray, threads: int) -> IntArray:
    def part(begin: int) -> IntArray:
        nearest, _ = points.nearest(points.codes[:, begin : begin + CHUNK], centroids, weight=weight)
        return nearest

    with ThreadPoolExecutor(max(1, threads)) as workers:
        return np.concatenate(list(workers.map(part, range(0, points.n, CHUNK))))


def _scatter(points: Points, labels: IntArray, means: FloatArray, modes: NDArray[np.int32]) -> FloatArray:
    """Sum over records of the distance to their centre, column by column, (n_dims,)."""
    total = np.zeros(points.n_dims)
    places = places_of(points)
    for d in range(points.n_dims):
        if points.lines.is_tree[d] or points.lines.step[d] > 0:
            own = modes[d, labels]
            total[d] = points.interval_costs(
                d, np.minimum(own, points.codes[d]), np.maximum(own, points.codes[d])
            ).sum()
        else:
            total[d] = np.abs(places[d] - means[d, labels]).sum()
    return total / points.unit


def _weights(scatter: FloatArray) -> FloatArray:
    """Weights that minimise the weighted scatter with squared weights: inverse to it, mean 1.

    The mean scatter is added to each, as is usual, so that a column without any does not take all the weight.
    """
    inverse = 1.0 / (scatter + scatter.mean()) if scatter.any() else np.ones(len(scatter))
    return np.asarray(inverse * len(inverse) / inverse.sum())
