"""Ring generalisation: rows of one class publish different cells, yet every person hides among k of them."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress
from tablecloak.stats.classes import Evidence


@algorithm("ring", minimizes="NCP")
class Ring:
    """Order the rows of a class in a ring and publish, for every row, the box of k neighbours in it.

    Every row is covered by k published rows and covers k itself, through k disjoint perfect matchings: k-concealment
    and (k,k)-anonymity. Which of the k matchings ties rows to sensitive values is drawn for every class, from the
    secret. It is not k-anonymity, and never loses more than the same classes published as one box each.
    Cost: near-linear.
    Reference: Wong, Mamoulis, Cheung, Non-homogeneous generalization in privacy preserving data publishing, SIGMOD
    2010.
    """

    needs_rows: ClassVar[bool] = True

    def refuses(self, goal: Goal) -> str | None:
        others = [m.name for m in goal.models if Evidence.PAIRS not in m.evidence]
        if not others:
            return None
        return (
            "rows of one class publish different cells, which gives k-concealment and (k,k)-anonymity, "
            f"not {', '.join(others)}"
        )

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        k = problem.goal.min_size
        blocks = replace(problem, goal=Goal((KAnonymity(k=k),)))
        classes = partition(blocks, CutRule(by_saving=True, relaxed=False), progress)
        order = _ring_order(problem.table, classes)
        starts = np.searchsorted(classes.class_of_tuple[order], np.arange(classes.n_classes))
        codes = np.stack([problem.table.quasi_codes(d)[order] for d in range(problem.table.space.n_dims)], axis=1)
        shifts = problem.secret.stream("ring").integers(0, k, len(starts))
        lo, hi = ring(codes, starts, k, shifts)
        boxes, of_place = np.unique(np.concatenate([lo, hi], axis=1), axis=0, return_inverse=True)
        class_of_tuple = np.empty(len(order), np.int64)
        class_of_tuple[order] = of_place.reshape(-1)
        return Solution(class_of_tuple, boxes[:, : lo.shape[1]], boxes[:, lo.shape[1] :])


def _ring_order(table: CodedTable, classes: Solution) -> IntArray:
    """Rows class by class, inside a class sorted by the column that loses most in it, then by the next."""
    widest = np.argsort(
        -classes.losses(table.domains) * table.space.weight, axis=1, kind="stable"
    )  # (n_classes, n_dims)
    codes = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)])
    of_row = widest[classes.class_of_tuple]  # (n_rows, n_dims)
    keys = [codes[of_row[:, rank], np.arange(codes.shape[1])] for rank in range(len(codes))]
    return np.lexsort([*reversed(keys), classes.class_of_tuple])


def ring(codes: IntArray, starts: IntArray, k: int, shifts: IntArray) -> tuple[IntArray, IntArray]:
    """The box that each row publishes, rows given class by class in ring order, (n_rows, n_dims) each.

    Box j of a class holds its rows j to j + k - 1; row i of the class publishes box i - shift, which holds it.

    Args:
        starts: where each class begins; a class has at least `k` rows.
        shifts: (n_classes,) from 0 to k - 1, one of the k matchings of rows and boxes.
    """
    sizes = np.diff(np.append(starts, len(codes)))
    begin, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    first = np.arange(len(codes)) - begin - np.repeat(shifts, sizes)
    lo = hi = codes[begin + first % size]
    for step in range(1, k):
        neighbour = codes[begin + (first + step) % size]
        lo, hi = np.minimum(lo, neighbour), np.maximum(hi, neighbour)
    return lo, hi
