"""Unite classes that do not satisfy a goal with their cheapest neighbour until all do."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.uniting import joins


def renumbered(classes: IntArray) -> tuple[IntArray, int]:
    """Classes numbered 0, 1, ... in the order of their old numbers, and how many there are."""
    old, new = np.unique(classes, return_inverse=True)
    return new.reshape(-1).astype(np.int64), len(old)


def released(classes: IntArray) -> tuple[IntArray, IntArray]:
    """The same of classes of which those below 0 are suppressed, and the first tuple of every one that is published."""
    old, firsts, new = np.unique(classes, return_index=True, return_inverse=True)
    n_out = int(np.count_nonzero(old < 0))
    return new.reshape(-1) - n_out, firsts[n_out:]


def boxes_of(table: CodedTable, classes: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """Smallest and largest code of every class (-1: in none) in each quasi dimension, (n_classes, n_dims) each."""
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(n_classes))
    codes = [table.quasi_codes(dim)[order] for dim in range(table.space.n_dims)]
    lo = np.stack([np.minimum.reduceat(c, starts) for c in codes], axis=1)
    hi = np.stack([np.maximum.reduceat(c, starts) for c in codes], axis=1)
    return lo, hi


def merge_failing(problem: Problem, classes: IntArray) -> IntArray:
    """Classes after every one that fails the goal was united with the one that adds least loss, again until none fails.

    Ends: the table as one class is known to satisfy the goal. Cost: O(failing classes * classes) each time.
    """
    table = problem.table
    classes, n_classes = renumbered(classes)
    while n_classes > 1:
        stats = table.class_stats(classes, n_classes)
        failing = np.flatnonzero(~problem.goal.admits(stats))
        if len(failing) == 0:
            break
        becomes = _unions(table, classes, stats.size, failing[np.argsort(stats.size[failing], kind="stable")])
        classes, n_classes = renumbered(becomes[classes])
    return classes


def _unions(table: CodedTable, classes: IntArray, size: IntArray, failing: IntArray) -> IntArray:
    """What each class becomes when the failing ones, in this order, join the neighbour that adds least loss."""
    lo, hi = boxes_of(table, classes, len(size))
    return joins.sized(table.n_tuples)(table.space, lo, hi, size, failing)
