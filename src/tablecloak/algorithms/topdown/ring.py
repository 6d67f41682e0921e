"""Ring generalisation: rows of one class publish different cells, yet every person hides among k of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.arrays import IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import DomainKind
from tablecloak.kernels.loading import Step
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress
from tablecloak.stats.classes import Evidence, SensitiveDomain


@algorithm("ring", minimizes="NCP")
class Ring:
    """Order the rows of a class in a ring and publish, for every row, the box of k neighbours in it.

    Categories without a hierarchy are published as the set of the values that the k neighbours have.

    Every row is covered by k published rows and covers k itself, through k disjoint perfect matchings: k-concealment
    and (k,k)-anonymity. Which of the k matchings ties rows to sensitive values is drawn for every class, from the
    secret. It is not k-anonymity, and never loses more than the same classes published as one box each, which are those
    of `auto`.
    Cost: that of `auto`.
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

    def kernels(self, n_tuples: int, goal: Goal) -> tuple[Step, ...]:
        """What the search for classes uses in its compiled form."""
        return Auto().kernels(n_tuples, _of_classes(goal))

    def bytes_per_tuple(self, goal: Goal, sensitive: Sequence[SensitiveDomain]) -> float:
        """What the search for classes holds for every tuple, besides three copies of its key."""
        return Auto().bytes_per_tuple(_of_classes(goal), sensitive)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        k = problem.goal.min_size
        classes = Auto().solve(replace(problem, goal=_of_classes(problem.goal)), progress)
        order = _ring_order(problem.table, classes)
        starts = np.searchsorted(classes.class_of_tuple[order], np.arange(classes.n_classes))
        codes = np.stack([problem.table.quasi_codes(d)[order] for d in range(problem.table.space.n_dims)], axis=1)
        shifts = problem.secret.stream("ring").integers(0, k, len(starts))
        rows = ring(starts, len(codes), k, shifts)
        lo, hi = boxes_of_rows(codes, rows)
        # categories publish the values of the k rows: these are covered as by their box, which is all that counts
        listed = {
            dim: CodeSets.of(np.arange(rows.size) // k, codes[rows, dim].reshape(-1), len(rows)).distinct()
            for dim, domain in enumerate(problem.table.domains)
            if domain.kind is DomainKind.SET
        }
        numbers = [number[:, None] for _, number in listed.values()]
        _, firsts, of_place = np.unique(
            np.concatenate([lo, hi, *numbers], axis=1), axis=0, return_index=True, return_inverse=True
        )
        class_of_tuple = np.empty(len(order), np.int64)
        class_of_tuple[order] = of_place.reshape(-1)
        sets = {dim: distinct.of_classes(number[firsts]) for dim, (distinct, number) in listed.items()}
        return Solution(class_of_tuple, lo[firsts], hi[firsts], sets=sets)


def _of_classes(goal: Goal) -> Goal:
    """What the classes must satisfy inside which rows are put in a ring."""
    return Goal((KAnonymity(k=goal.min_size),))


def _ring_order(table: CodedTable, classes: Solution) -> IntArray:
    """Rows class by class, inside a class sorted by the column that loses most in it, then by the next."""
    widest = np.argsort(
        -classes.losses(table.domains) * table.space.weight, axis=1, kind="stable"
    )  # (n_classes, n_dims)
    codes = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)])
    of_row = widest[classes.class_of_tuple]  # (n_rows, n_dims)
    keys = [codes[of_row[:, rank], np.arange(codes.shape[1])] for rank in range(len(codes))]
    return np.lexsort([*reversed(keys), classes.class_of_tuple])


def ring(starts: IntArray, n_rows: int, k: int, shifts: IntArray) -> IntArray:
    """The k rows that what each row publishes must cover, (n_rows, k), rows given class by class in ring order.

    Cell j of a class holds its rows j to j + k - 1; row i of the class publishes cell i - shift, which holds it.

    Args:
        starts: where each class begins; a class has at least `k` rows.
        shifts: (n_classes,) from 0 to k - 1, one of the k matchings of rows and boxes.
    """
    sizes = np.diff(np.append(starts, n_rows))
    begin, size = np.repeat(starts, sizes)[:, None], np.repeat(sizes, sizes)[:, None]
    first = np.arange(n_rows)[:, None] - begin - np.repeat(shifts, sizes)[:, None]
    rows: IntArray = begin + (first + np.arange(k)) % size
    return rows


def boxes_of_rows(codes: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The boxes of the given rows, (n_rows, n_dims) each."""
    lo = hi = codes[rows[:, 0]]
    for neighbour in rows.T[1:]:
        lo, hi = np.minimum(lo, codes[neighbour]), np.maximum(hi, codes[neighbour])
    return lo, hi
