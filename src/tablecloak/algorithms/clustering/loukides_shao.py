"""Clusters that grow until they lose too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import Infeasible
from tablecloak.progress import Progress, silent
from tablecloak.values.amounts import most_of


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
        diversity = diversity_of(problem.table, solution.class_of_tuple)
        note = (
            f"usefulness {diversity.usefulness:.3f} (mean diversity of quasi-identifiers in a class, smaller is better)"
        )
        if len(problem.table.attributes()):
            note += (
                f", protection {diversity.protection:.3f} (mean of 1 / that of sensitive columns, smaller is better)"
            )
        return replace(solution, notes=(note,))

    def _clustered(self, problem: Problem, progress: Progress) -> Solution:
        size = cluster_size(problem)
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        generator = rng.child(problem.seed, "loukides-shao")
        labels = loukides_shao(points, self.threshold, generator, progress=progress).labels()
        budget = min(most_of(points.n, self.suppression_limit), points.n - size)
        large = _without_small(labels, size, budget)
        try:
            solution = solution_of(problem, points, large)
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


class Diversity(NamedTuple):
    """Attribute diversities added up per class; fewer is more useful in one, better protected in the other."""

    quasi: FloatArray  # (n_classes,)
    sensitive: FloatArray  # (n_classes,)

    @property
    def usefulness(self) -> float:
        """Mean diversity of the quasi-identifiers of a class; smaller is more useful."""
        return float(self.quasi.mean())

    @property
    def protection(self) -> float:
        """Mean of 1 / diversity of the sensitive columns of a class; smaller protects more, infinite is not at all."""
        with np.errstate(divide="ignore"):
            return float((1 / self.sensitive).mean())


def diversity_of(table: CodedTable, classes: IntArray) -> Diversity:
    """Diversity of the classes of single records (-1: left out).

    Of an attribute with an order it is the range of the class over that of the table, of any other the number of
    different values over that of the table, so one value of four counts 1/4 and never 0.
    Reference: Loukides, Shao, Capturing data usefulness and privacy protection in k-anonymisation, SAC 2007.
    """
    quasi = [
        (
            table.quasi_codes(i),
            _numbers(d.values, int(d.has_missing)) if d.hierarchy is None and d.type.is_ordered else None,
        )
        for i, d in enumerate(table.domains)
    ]
    sensitive = [
        (codes, s.numbers if s.is_ordered and s.hierarchy is None else None) for s, codes in table.attributes()
    ]
    return Diversity(_total(quasi, classes), _total(sensitive, classes))


def _numbers(values: pl.Series, n_missing: int) -> FloatArray:
    numbers = values.to_physical().cast(pl.Float64).to_numpy()
    return np.concatenate([np.full(n_missing, np.nan), numbers])


def _total(columns: Sequence[tuple[IntArray, FloatArray | None]], classes: IntArray) -> FloatArray:
    n_classes = int(classes.max()) + 1
    total = np.zeros(n_classes)
    for codes, numbers in columns:
        total += (
            _distinct(codes, classes, n_classes) if numbers is None else _ranges(numbers[codes], classes, n_classes)
        )
    return total


def _distinct(codes: IntArray, classes: IntArray, n_classes: int) -> FloatArray:
    is_published = classes >= 0
    pairs = np.unique(np.stack([classes[is_published], codes[is_published]]), axis=1)
    return np.asarray(np.bincount(pairs[0], minlength=n_classes) / len(np.unique(codes)))


def _ranges(values: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    low, high = np.full(n_classes, np.inf), np.full(n_classes, -np.inf)
    is_number = (classes >= 0) & ~np.isnan(values)
    np.minimum.at(low, classes[is_number], values[is_number])
    np.maximum.at(high, classes[is_number], values[is_number])
    whole = float(np.nanmax(values, initial=-np.inf) - np.nanmin(values, initial=np.inf))
    return np.where(high > low, high - low, 0.0) / whole if whole > 0 else np.zeros(n_classes)
