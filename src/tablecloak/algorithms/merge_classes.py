"""Unite classes that do not satisfy a goal with their cheapest neighbour until all do."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import DomainKind
from tablecloak.kernels.packed_codes import Space


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
    size = size.copy()
    lo, hi = boxes_of(table, classes, len(size))
    own = box_losses(table.space, lo, hi)
    becomes = np.arange(len(size))
    is_done = np.zeros(len(size), bool)  # united before, so judged again before it is united once more
    for one in failing.tolist():
        if is_done[one]:
            continue
        united = box_losses(table.space, np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
        added = (size + size[one]) * united - size * own - size[one] * own[one]
        added[one] = np.inf
        other = int(np.argmin(np.where(becomes == np.arange(len(size)), added, np.inf)))
        lo[other], hi[other] = np.minimum(lo[other], lo[one]), np.maximum(hi[other], hi[one])
        own[other], size[other] = united[other], size[other] + size[one]
        becomes[one] = other
        is_done[[one, other]] = True
    return becomes


def box_losses(space: Space, lo: IntArray, hi: IntArray) -> FloatArray:
    """Weighted loss of boxes, (n_boxes,)."""
    total = np.zeros(len(lo))
    for dim in range(space.n_dims):
        total += space.weight[dim] * _loss(space, dim, lo[:, dim], hi[:, dim])
    return total


def _loss(space: Space, dim: int, lo: IntArray, hi: IntArray) -> FloatArray:
    if space.kind[dim] == DomainKind.TREE:
        rows = space.tree_start[dim] + lo
        deepest = (space.ends[rows] >= hi[:, None]).sum(axis=1) - 1  # ancestors that hold the box come first
        return np.asarray(np.where(lo == hi, 0.0, space.end_losses[rows, deepest]))
    missing = int(space.has_missing[dim])
    if space.kind[dim] == DomainKind.ORDERED:
        begin = space.start[dim]
        width = np.minimum(1.0, space.upper[begin + hi] - space.lower[begin + lo])
    else:
        width = (hi - lo + 1) / max(1, int(space.n_codes[dim]) - missing)
    is_mixed = (lo < missing) & (hi >= missing)
    return np.where(lo == hi, 0.0, np.where(is_mixed, 1.0, width))
