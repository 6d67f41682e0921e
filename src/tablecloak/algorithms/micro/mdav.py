"""MDAV: clusters of k records around the most extreme ones."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.micro._centers import check_ties
from tablecloak.algorithms.micro._points import PointRecords, Unclustered, records_of
from tablecloak.algorithms.micro.base import Microaggregation, Standardize, TieField, centered, ties_of
from tablecloak.arrays import IntArray
from tablecloak.progress import Progress


@algorithm("mdav", minimizes="the squared distances to the centers")
class Mdav(Microaggregation):
    """Put the k records around the most extreme one in a cluster, and the k around its opposite, again and again.

    Cells become the mean of their cluster, categories its most typical value: numbers stay numbers, but no cell is the
    original of anyone. All quasi-identifiers are clustered together, so k holds for all of them together.
    Cost: O(n^2 / k). Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11, 2005.
    """

    standardize: Standardize = True
    tie: TieField = ()

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        ties = ties_of(self.tie)
        remarks = check_ties(problem.table, ties)
        progress.start("solve", problem.table.n_tuples)
        records = records_of(problem.table, standardize=self.standardize, without={t.target for t in ties})
        return centered(problem, mdav(records, problem.goal.min_size, progress), ties, remarks)


def mdav(records: PointRecords, k: int, progress: Progress, *, compiled: bool | None = None) -> IntArray:
    """The cluster of every record: k around the one farthest from the center, k around the one opposite, again."""
    rest = Unclustered(records, compiled)
    while rest.size >= 3 * k:
        from_extreme = rest.distances(rest.farthest(rest.distances(rest.center())))
        rest.take_nearest(from_extreme, k)
        rest.take_nearest(rest.distances(rest.farthest(from_extreme)), k)
        rest.sweep()
        progress.advance(len(records) - rest.size)
    if rest.size >= 2 * k:
        rest.take_nearest(rest.distances(rest.farthest(rest.distances(rest.center()))), k)
    rest.take(np.flatnonzero(~rest.is_gone))
    return rest.cluster_of
