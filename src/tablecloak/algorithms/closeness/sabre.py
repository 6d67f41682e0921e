"""SABRE: sensitive values in buckets, and classes that take from every bucket in proportion."""

from __future__ import annotations

import itertools
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.closeness._bounded import BoundedColumn, bounded_columns
from tablecloak.algorithms.closeness._dealing import Dealing, deal, proportional_quotas
from tablecloak.algorithms.clustering._unite_clusters import cluster_size, solution_of
from tablecloak.algorithms.clustering.base import points_of
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.models.base import TOLERANCE
from tablecloak.progress import Progress


@algorithm("sabre", minimizes="NCP")
class Sabre(Dealing):
    """Put sensitive values in buckets and deal every class its share of each, records that are near each other.

    Values are united in buckets as long as a class that takes only the worst values of its buckets stays within a part
    of t; the rest of t is for shares that are no whole numbers of records. Classes are as small as that allows, so each
    is t-close whichever records of a bucket it gets. A class grows by the record that widens it least. The bound is the
    triangle inequality of the earth mover's distance, for all ground distances. Of several sensitive columns the first
    with t-closeness is dealt; classes that fail the rest of the goal are united with their nearest, and without
    t-closeness all values are one bucket. The source orders records along a curve and halves classes.
    Reference: Cao, Karras, Kalnis, Tan, SABRE, VLDB Journal 20, 2011. Cost: about n^2 / 2 comparisons of records.
    """

    bucket_share: Annotated[
        float, Field(ge=0, lt=1, description="part of t that may be spent on uniting values in buckets")
    ] = 0.5

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        size, points = cluster_size(problem), points_of(problem.table)
        progress.start("solve", points.n)
        column = next((c for c in bounded_columns(problem) if c.model.is_distance), None)
        if column is None:
            buckets = np.zeros(points.n, np.int64)
            quotas = proportional_quotas(np.array([points.n]), lambda own: int(own.sum()) >= size)
        else:
            bucket_of = buckets_of(column, self.bucket_share * column.bounds.allowed)
            buckets = bucket_of[column.codes]
            n_buckets = int(bucket_of.max()) + 1
            reach = np.array([reach_of(column, bucket_of == b) for b in range(n_buckets)])
            sizes = np.bincount(buckets, minlength=n_buckets)
            inside = spread_of(column, bucket_of, n_buckets)

            def passes(own: IntArray) -> bool:
                n = int(own.sum())
                return n >= size and farthest(column, own, inside, reach) <= column.bounds.allowed + TOLERANCE

            quotas = proportional_quotas(sizes, passes)
        return solution_of(problem, points, deal(points, buckets, quotas, progress))


def buckets_of(column: BoundedColumn, most: float) -> IntArray:
    """The bucket of every value, neighbours united while the farthest a class can stray inside them is at most so far.

    Neighbours are next in rank or in the hierarchy, and without either next in frequency.
    """
    has_order = column.domain.is_ordered or column.domain.hierarchy is not None
    n_values = column.domain.n_values
    order = np.arange(n_values) if has_order else np.argsort(column.shares, kind="stable")
    buckets = [[value] for value in order.tolist()]
    strayed = [0.0] * n_values

    def stray(values: list[int]) -> float:
        members = np.isin(np.arange(n_values), values)
        return float(column.shares[values].sum()) * reach_of(column, members)

    pairs = [stray(a + b) for a, b in itertools.pairwise(buckets)]
    while pairs:
        added = [both - strayed[i] - strayed[i + 1] for i, both in enumerate(pairs)]
        i = int(np.argmin(added))
        if sum(strayed) + added[i] > most:
            break
        strayed[i : i + 2] = [pairs[i]]
        buckets[i : i + 2] = [buckets[i] + buckets[i + 1]]
        pairs = [stray(a + b) for a, b in itertools.pairwise(buckets)]
    bucket_of = np.empty(n_values, np.int64)
    for number, values in enumerate(buckets):
        bucket_of[values] = number
    return bucket_of


def reach_of(column: BoundedColumn, members: BoolArray) -> float:
    """How far a distribution inside a bucket can be from that of the table inside it: a single value is farthest."""
    own = column.shares[members]
    total = own.sum()
    if total == 0:
        return 0.0
    features = column.bounds.features[members]
    away = np.maximum(features - own @ features / total, 0.0).sum(axis=1)
    return float(away[own > 0].max())


def spread_of(column: BoundedColumn, bucket_of: IntArray, n_buckets: int) -> FloatArray:
    """Features of one record of each bucket, its values as frequent as in the table, (n_buckets, n_features)."""
    totals = np.bincount(bucket_of, weights=column.shares, minlength=n_buckets)
    inside = np.zeros((n_buckets, len(bucket_of)))
    inside[bucket_of, np.arange(len(bucket_of))] = column.shares
    return np.asarray(inside / np.maximum(totals, TOLERANCE)[:, None] @ column.bounds.features)


def farthest(column: BoundedColumn, own: IntArray, inside: FloatArray, reach: FloatArray) -> float:
    """The distance from the table that a class with so many records of each bucket has at most."""
    shares = own / own.sum()
    between = float(np.maximum(shares @ inside - column.bounds.caps, 0.0).sum())
    return between + float(shares @ reach)
