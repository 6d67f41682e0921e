"""Rows in an order that nobody outside can know, for searches that look at rows one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.algorithms.base import Algorithm, ColumnBlock, Problem, Solution, TupleOrder
from tablecloak.arrays import IntArray
from tablecloak.progress import Progress
from tablecloak.rng import Secret

ROWS = "rows"  # the name of the draw that puts rows in order, in memory or on disk


def solve(algorithm: Algorithm, problem: Problem, progress: Progress) -> Solution:
    """What an algorithm finds, whatever the order of the table.

    A search that starts at a row, takes the first of several equal ones or fills groups row by row would let the order
    of the input, or a public seed, decide who is with whom, and whoever knows both could do it again. So rows come in
    the order of their values, which forgets their old one, and are then shuffled by the secret.
    """
    solution, table = _solve(algorithm, problem, progress), problem.table
    return solution.listing_values(table) if algorithm.lists_values else solution


def _solve(algorithm: Algorithm, problem: Problem, progress: Progress) -> Solution:
    if algorithm.order is TupleOrder.GIVEN:
        return algorithm.solve(problem, progress)
    table = problem.table
    order = np.lexsort(table.keys[::-1])
    if algorithm.order is TupleOrder.SECRET:
        order = order[problem.secret.order(ROWS, len(order))]
    groups = None if problem.given is None else problem.given[order]
    solution = algorithm.solve(replace(problem, table=table.reordered(order), given=groups), progress)
    return _in_old_order(solution, order)


def _in_old_order(solution: Solution, order: IntArray) -> Solution:
    classes = np.empty_like(solution.class_of_tuple)
    classes[order] = solution.class_of_tuple
    bucketing = solution.bucketing
    if bucketing is not None:
        blocks = tuple(ColumnBlock(b.columns, _moved_back(b.source, order)) for b in bucketing.blocks)
        bucketing = replace(bucketing, blocks=blocks)
    return replace(solution, class_of_tuple=classes, bucketing=bucketing)


def _moved_back(source: IntArray, order: IntArray) -> IntArray:
    moved = np.empty_like(source)
    moved[order] = order[source]
    return moved


def renamed(groups: IntArray, n_groups: int, secret: Secret) -> IntArray:
    """Groups under new numbers drawn from the secret: numbers that count up with something would tell it."""
    return secret.stream("group numbers").permutation(n_groups)[groups]
