"""Univariate microaggregation: the best clusters of one column of numbers."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.micro._points import is_number, numbers_of
from tablecloak.algorithms.micro.base import Microaggregation, centered
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.progress import Progress


@algorithm("univariate", minimizes="the squared distances to the centers")
class Univariate(Microaggregation):
    """The clusters of one numeric quasi-identifier that lose least, found exactly.

    Several quasi-identifiers are refused: averaging them column by column does not make records alike.
    Cost: O(n (log n + k)). Reference: Hansen, Mukherjee, IEEE TKDE 15, 2003.
    """

    def comparisons(self, n_records: int, size: int) -> float | None:  # noqa: ARG002
        return None  # records stand in a line

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        domains = problem.table.domains
        if len(domains) != 1 or not is_number(domains[0]):
            raise IncompatibleChoice(
                f"univariate averages one numeric quasi-identifier and there are {len(domains)} to protect; "
                "averaged column by column, records are not k-anonymous",
                hint="use mdav or v-mdav, which cluster all of them together",
            )
        progress.start("solve", problem.table.n_tuples)
        values = numbers_of(domains[0])[problem.table.quasi_codes(0)]
        # records without a value lie together at one end of the line
        far = np.nanmax(values, initial=0.0) + 1.0 if not np.isnan(values).all() else 0.0
        clusters = univariate(np.where(np.isnan(values), far, values), problem.goal.min_size)
        return centered(problem, clusters, [])


def univariate(values: FloatArray, k: int) -> IntArray:
    """The cluster of every value, least sum of squared distances from the means among all clusters of at least k.

    The shortest path over the sorted values: an optimal cluster is a run of k to 2 k - 1 of them.
    """
    order = np.argsort(values, kind="stable")
    shifted = values[order] - values.mean()  # small numbers keep the digits of their squares
    sums = np.concatenate([[0.0], np.cumsum(shifted)])
    squares = np.concatenate([[0.0], np.cumsum(shifted**2)])
    n = len(values)
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    for end in range(k, n + 1):
        begins = np.arange(max(0, end - 2 * k + 1), end - k + 1)
        total = sums[end] - sums[begins]
        through = cost[begins] + squares[end] - squares[begins] - total**2 / (end - begins)
        best = int(np.argmin(through))
        cost[end], start[end] = through[best], begins[best]
    return _numbered(order, start)


def _numbered(order: IntArray, start: IntArray) -> IntArray:
    """Clusters numbered along the line, from where the run that ends at each place starts."""
    bounds = [len(order)]
    while bounds[-1] > 0:
        bounds.append(int(start[bounds[-1]]))
    cluster_of = np.empty(len(order), np.int64)
    cluster_of[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds[::-1]))
    return cluster_of
