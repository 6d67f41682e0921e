"""t-closeness first: clusters as large as t asks for, one record from each slice of the sensitive values."""

from __future__ import annotations

import math

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.closeness._bounded import bounded_columns
from tablecloak.algorithms.closeness._dealing import Dealing, deal
from tablecloak.algorithms.clustering._unite_clusters import cluster_size, solution_of
from tablecloak.algorithms.clustering.base import points_of
from tablecloak.arrays import IntArray
from tablecloak.progress import Progress


@algorithm("t-first", minimizes="NCP")
class TFirst(Dealing):
    """Cut the records, in the order of their sensitive values, in slices; a class takes one record of every slice.

    There are k' = max(k, n / (2 (n - 1) t + 1)) slices, rounded up: by ranks, classes of one record of each are then
    within t. A class grows by the record that widens it least; records beyond a multiple of k' come from the middle
    slices, at most a few for a class. The number of slices is proven for ranks of a column; with other distances, and
    where a class got more records, classes that fail are united with their nearest. Of several sensitive columns the
    first with t-closeness is sliced; without t-closeness there is one slice.
    Guarantee: distance by ranks at most (n - k') / (2 (n - 1) k') where k' divides n and no two values are equal.
    Reference: Soria-Comas, Domingo-Ferrer, Sanchez, Martinez, t-closeness through microaggregation, IEEE TKDE 27, 2015.
    Cost: about n^2 / 2 comparisons of records.
    """

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        size, points = cluster_size(problem), points_of(problem.table)
        progress.start("solve", points.n)
        column = next((c for c in bounded_columns(problem) if c.model.is_distance), None)
        n_slices = 1 if column is None else slices_for(points.n, size, column.bounds.allowed)
        of_class = size if column is None else 1
        slices = np.zeros(points.n, np.int64)
        n_classes = points.n // (n_slices * of_class)
        quotas = quotas_of(points.n, n_slices, n_classes)
        if column is not None:
            order = np.argsort(column.codes, kind="stable")
            slices[order] = np.repeat(np.arange(n_slices), quotas.sum(axis=0))
        return solution_of(problem, points, deal(points, slices, quotas, progress))


def slices_for(n: int, size: int, t: float) -> int:
    """How many slices, so records of a class, make classes of one record of each t-close by ranks; at most all."""
    return min(n, max(size, math.ceil(n / (2 * (n - 1) * t + 1) - 1e-9))) if n else 1


def quotas_of(n: int, n_slices: int, n_classes: int) -> IntArray:
    """How many records each class takes from each slice: as many as the others, and the rest from middle slices."""
    each = n // (n_classes * n_slices)
    quotas = np.full((n_classes, n_slices), each, np.int64)
    middle_first = np.argsort(np.abs(2 * np.arange(n_slices) - n_slices + 1), kind="stable")
    for extra in range(n - each * n_classes * n_slices):
        quotas[extra % n_classes, middle_first[extra // n_classes % n_slices]] += 1
    return quotas
