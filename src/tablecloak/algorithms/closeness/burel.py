"""BUREL: sensitive values of like frequency in buckets, and classes that take from every bucket in proportion."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.closeness._bounded import BoundedColumn, bounded_columns
from tablecloak.algorithms.closeness._dealing import Dealing, deal, proportional_quotas
from tablecloak.algorithms.clustering._unite_clusters import cluster_size, solution_of
from tablecloak.algorithms.clustering.base import points_of
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.base import TOLERANCE
from tablecloak.progress import Progress


@algorithm("burel", minimizes="NCP")
class Burel(Dealing):
    """Put sensitive values of like frequency in buckets and deal every class its share of each, from near records.

    For beta-likeness: a bucket holds values as long as its share of the table is at most what the least of them may
    have in a class, so a class is beta-like whichever records of a bucket it gets. Classes are as small as whole
    records allow; each grows by the record that widens it least. Of several sensitive columns the first with
    beta-likeness is dealt; classes that fail the rest of the goal are united with their nearest, and without
    beta-likeness all values are one bucket. The source halves classes and orders records along a curve.
    Reference: Cao, Karras, Publishing microdata with a robust privacy guarantee, PVLDB 2012.
    Cost: about n^2 / 2 comparisons of records.
    """

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        size, points = cluster_size(problem), points_of(problem.table)
        progress.start("solve", points.n)
        column = next((c for c in bounded_columns(problem) if not c.model.is_distance), None)
        if column is None:
            buckets, least = np.zeros(points.n, np.int64), np.ones(1)
        else:
            bucket_of = buckets_of(column)
            buckets = bucket_of[column.codes]
            least = np.full(int(bucket_of.max()) + 1, np.inf)
            occurs = column.shares > 0
            np.minimum.at(least, bucket_of[occurs], column.bounds.caps[occurs])

        def passes(own: IntArray) -> bool:
            n = int(own.sum())
            return n >= size and bool((own <= n * least + TOLERANCE).all())

        quotas = proportional_quotas(np.bincount(buckets, minlength=len(least)), passes)
        return solution_of(problem, points, deal(points, buckets, quotas, progress))


def buckets_of(column: BoundedColumn) -> IntArray:
    """The bucket of every value, from rare to frequent: as few as there can be.

    Fewer there cannot be: a bucket that begins with a rarer value can end no later than one that begins after it.
    """
    shares: FloatArray = column.shares
    bucket_of = np.zeros(column.domain.n_values, np.int64)
    number, together, most = 0, 0.0, np.inf
    for value in np.argsort(shares, kind="stable").tolist():
        cap = min(most, float(column.bounds.caps[value])) if shares[value] > 0 else most
        if together > 0 and together + shares[value] > cap:
            number, together, cap = number + 1, 0.0, float(column.bounds.caps[value])
        bucket_of[value] = number
        together, most = together + float(shares[value]), cap
    return bucket_of
