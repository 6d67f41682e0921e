"""Clusters that grow until they lose too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clusters import Clusters, Points, Pool, points_of
from tablecloak.algorithms.distances import Beta, Distance
from tablecloak.algorithms.diversity import diversity_of
from tablecloak.algorithms.uniting import Clustering, cluster_size, solution_of
from tablecloak.amounts import most_of
from tablecloak.errors import Infeasible
from tablecloak.progress import Progress, silent

__all__ = ["LoukidesShao", "loukides_shao"]

IntArray = NDArray[np.int64]


@algorithm("loukides-shao", minimizes="NCP, or another distance where `distance` says so")
class LoukidesShao(Clustering):
    """Grow one cluster at a time from a random record, by the cheapest record, until its loss would pass a threshold.

    Clusters that are too small are left out, the smallest first, as far as `suppression_limit` allows; the others, and
    clusters that do not satisfy the rest of the goal, are united with their nearest. Cost: n^2 / 2 comparisons.
    Reference: Loukides, Shao, Capturing data usefulness and privacy protection in k-anonymisation, SAC 2007.
    """

    threshold: Annotated[
        float, Field(ge=0, le=1, description="most that a record of a cluster may lose: mean over quasi-identifiers")
    ] = 0.1
    suppression_limit: Annotated[
        float, Field(ge=0, lt=1, description="share of records that may be left out because their cluster is too small")
    ] = 0.0
    distance: Distance = "loss"
    beta: Beta = 1.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        solution = self._clustered(problem, progress)
        found = diversity_of(problem.table, solution.class_of_tuple)
        note = f"usefulness {found.usefulness:.3f} (mean diversity of quasi-identifiers in a class, smaller is better)"
        if len(problem.table.attributes()):
            note += f", protection {found.protection:.3f} (mean of 1 / that of sensitive columns, smaller is better)"
        return replace(solution, notes=(note,))

    def _clustered(self, problem: Problem, progress: Progress) -> Solution:
        size = cluster_size(problem)
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        generator = rng.child(problem.seed, "loukides-shao")
        labels = loukides_shao(points, self.threshold, generator, progress=progress).labels()
        budget = min(most_of(points.n, self.suppression_limit), points.n - size)
        kept = _without_small(labels, size, budget)
        try:
            solution = solution_of(problem, points, kept)
        except Infeasible:  # what would be left is not enough for the goal
            return solution_of(problem, points, labels)
        # leaving records out changes the table's own distribution, which some models compare with
        if not problem.goal.admits(solution.stats(problem.table)).all():
            return solution_of(problem, points, labels)
        return solution


def loukides_shao(
    points: Points, threshold: float, generator: np.random.Generator, *, progress: Progress = silent
) -> Clusters:
    """Clusters of any size whose boxes cost at most the threshold per column."""
    progress.start("solve", points.n)
    pool, clusters = Pool(points), Clusters(points)
    limit = int(threshold * points.n_dims * points.unit)
    for seed in generator.permutation(points.n).tolist():
        if pool.has(seed):
            clusters.add(pool.grow(seed, pool.size, limit=limit))
            progress.advance(points.n - pool.size)
    return clusters


def _without_small(labels: IntArray, size: int, budget: int) -> IntArray:
    """Leave out clusters of fewer than `size` records, the smallest first, while no more than `budget` records go."""
    sizes = np.bincount(labels)
    order = np.argsort(sizes, kind="stable")
    goes = np.zeros(len(sizes), bool)
    goes[order] = (np.cumsum(sizes[order]) <= budget) & (sizes[order] < size)
    if goes.all():
        return labels
    return np.where(goes[labels], -1, labels)
