"""Uniting classes: what their boxes lose, and which class each of some joins."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.kernels.dispatch import jit, kernel, leaf_jit
from tablecloak.kernels.packed_codes import ORDERED, TREE, Space


def box_losses(space: Space, lo: IntArray, hi: IntArray) -> FloatArray:
    """Weighted loss of boxes, (n_boxes,)."""
    total = np.zeros(len(lo))
    for dim in range(space.n_dims):
        total += space.weight[dim] * _losses(space, dim, lo[:, dim], hi[:, dim])
    return total


def _losses(space: Space, dim: int, lo: IntArray, hi: IntArray) -> FloatArray:
    if space.kind[dim] == TREE:
        rows = space.tree_start[dim] + lo
        deepest = (space.ends[rows] >= hi[:, None]).sum(axis=1) - 1  # ancestors that hold the box come first
        return np.asarray(np.where(lo == hi, 0.0, space.end_losses[rows, deepest]))
    missing = int(space.has_missing[dim])
    if space.kind[dim] == ORDERED:
        begin = space.start[dim]
        width = np.minimum(1.0, space.upper[begin + hi] - space.lower[begin + lo])
    else:
        width = (hi - lo + 1) / max(1, int(space.n_codes[dim]) - missing)
    is_mixed = (lo < missing) & (hi >= missing)
    return np.where(lo == hi, 0.0, np.where(is_mixed, 1.0, width))


@leaf_jit
def _loss(space, d, lo, hi):
    """The same of one interval."""
    if lo == hi:
        return 0.0
    if space.kind[d] == TREE:
        row = space.tree_start[d] + lo
        depth = space.ends.shape[1] - 1
        while depth > 0 and space.ends[row, depth] < hi:
            depth -= 1
        return space.end_losses[row, depth]
    if space.has_missing[d] and lo == 0:
        return 1.0
    if space.kind[d] == ORDERED:
        return min(1.0, space.upper[space.start[d] + hi] - space.lower[space.start[d] + lo])
    return (hi - lo + 1) / max(1, space.n_codes[d] - space.has_missing[d])


@jit
def _joins(space, lo, hi, size, own, failing):
    becomes = np.arange(size.size)
    is_done = np.zeros(size.size, np.bool_)
    for one in failing:
        if is_done[one]:
            continue
        other, least, of_other = 0, np.inf, 0.0
        for j in range(size.size):
            if j == one or becomes[j] != j:
                continue
            united = 0.0
            both, alone = size[j] + size[one], size[j] * own[j]
            taken = size[one] * own[one]
            for d in range(lo.shape[1]):
                united += space.weight[d] * _loss(space, d, min(lo[j, d], lo[one, d]), max(hi[j, d], hi[one, d]))
                if both * united - alone - taken >= least:  # it only grows with more dimensions
                    break
            added = both * united - alone - taken
            if added < least:
                other, least, of_other = j, added, united
        if least == np.inf:
            continue
        for d in range(lo.shape[1]):
            lo[other, d] = min(lo[other, d], lo[one, d])
            hi[other, d] = max(hi[other, d], hi[one, d])
        own[other] = of_other
        size[other] += size[one]
        becomes[one] = other
        is_done[one] = is_done[other] = True
    return becomes


def _joins_in_numpy(space: Space, lo: IntArray, hi: IntArray, size: IntArray, failing: IntArray) -> IntArray:
    lo, hi, size, own = lo.copy(), hi.copy(), size.copy(), box_losses(space, lo, hi)
    becomes, every = np.arange(len(size)), np.arange(len(size))
    is_done: BoolArray = np.zeros(len(size), bool)  # united before, so judged again before it is united once more
    for one in failing.tolist():
        if is_done[one]:
            continue
        united = box_losses(space, np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
        added = (size + size[one]) * united - size * own - size[one] * own[one]
        added[one] = np.inf
        added[becomes != every] = np.inf
        other = int(np.argmin(added))
        if added[other] == np.inf:
            continue
        lo[other], hi[other] = np.minimum(lo[other], lo[one]), np.maximum(hi[other], hi[one])
        own[other] = united[other]
        size[other] += size[one]
        becomes[one] = other
        is_done[[one, other]] = True
    return becomes


@kernel(plain=_joins_in_numpy, compiled_from=1_500)
def joins(space: Space, lo: IntArray, hi: IntArray, size: IntArray, failing: IntArray) -> IntArray:
    """What each class becomes when the failing ones, in this order, join the class that adds least loss, (n_classes,).

    One that took another in waits, and so does one that was taken: both are to be judged again.

    Args:
        lo: (n_classes, n_dims) codes of boxes, as `hi`.
    """
    own = box_losses(space, lo, hi)
    result: IntArray = _joins(space, lo.copy(), hi.copy(), size.copy(), own, failing)
    return result


def _nearest_boxes_in_numpy(space: Space, lo: IntArray, hi: IntArray, one: int, others: IntArray, n: int) -> IntArray:
    loss = box_losses(space, np.minimum(lo[others], lo[one]), np.maximum(hi[others], hi[one]))
    return others[np.argsort(loss, kind="stable")[:n]]


@jit
def _nearest_boxes(space, lo, hi, one, others, n):
    nearest, losses = np.empty(n, np.int64), np.empty(n)
    n_found = np.int64(0)
    for j in others:
        total = 0.0
        for d in range(lo.shape[1]):
            total += space.weight[d] * _loss(space, d, min(lo[j, d], lo[one, d]), max(hi[j, d], hi[one, d]))
            if n_found == n and total >= losses[n - 1]:
                break
        if n_found == n and total >= losses[n - 1]:
            continue
        place = min(n_found, n - 1)
        n_found = min(n, n_found + 1)
        while place > 0 and losses[place - 1] > total:  # behind equal losses: earlier boxes come first
            losses[place] = losses[place - 1]
            nearest[place] = nearest[place - 1]
            place -= 1
        losses[place] = total
        nearest[place] = j
    return nearest[:n_found].copy()


@kernel(plain=_nearest_boxes_in_numpy, compiled_from=1_500)
def nearest_boxes(space: Space, lo: IntArray, hi: IntArray, one: int, others: IntArray, n: int) -> IntArray:
    """Of some boxes the `n` whose union with one loses least, that which loses least first, then in their order."""
    result: IntArray = _nearest_boxes(space, lo, hi, one, others, min(n, len(others)))
    return result
