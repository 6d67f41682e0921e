"""Moving tuples: both sides of a cut, and all cuts down to the leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.costs import weight_of
from tablecloak.kernels.compiled.cuts import longest, propose_one, scratch
from tablecloak.kernels.compiled.jit import inner_jit, jit, leaf_jit
from tablecloak.kernels.compiled.sorting import copy_into
from tablecloak.kernels.space import ClassCost, IntArray, Keys, Space

__all__ = ["descend", "split"]


@leaf_jit
def _split_one(keys, ids, weights, a, b, space, dim, cut, ties, spare_keys, spare_ids, spare_weights):  # type: ignore[no-untyped-def]
    """Stable, branch-free: tuples with code <= cut first; returns the first position of the right side."""
    shift = space.layout.shift[dim]
    field = space.layout.mask[dim] << shift
    limit = np.uint64(cut) << shift
    n_words = keys.shape[0]
    side = keys[space.layout.word[dim], a:b]
    is_weighted = weights.size > 0
    left = np.int64(0)
    right = np.int64(0)
    if n_words == 1 and not is_weighted and ties < 0:  # the common case, kept tight
        key = keys[0, a:b]
        part = ids[a:b]
        for i in range(key.size):
            k = key[i]
            r = part[i]
            goes_left = np.int64((k & field) <= limit)
            key[left] = k
            part[left] = r
            spare_keys[0, right] = k
            spare_ids[right] = r
            left += goes_left
            right += 1 - goes_left
        copy_into(key[left:], spare_keys[0, :right])
        copy_into(part[left:], spare_ids[:right])
        return a + left
    remaining = ties
    for i in range(b - a):
        value = side[i] & field
        w = weights[a + i] if is_weighted else np.int64(1)
        goes_left = value <= limit
        if ties >= 0 and value == limit:
            goes_left = remaining > 0
            remaining -= w
        if goes_left:
            for j in range(n_words):
                keys[j, a + left] = keys[j, a + i]
            ids[a + left] = ids[a + i]
            if is_weighted:
                weights[a + left] = w
            left += 1
        else:
            for j in range(n_words):
                spare_keys[j, right] = keys[j, a + i]
            spare_ids[right] = ids[a + i]
            if is_weighted:
                spare_weights[right] = w
            right += 1
    for j in range(n_words):
        copy_into(keys[j, a + left : b], spare_keys[j, :right])
    copy_into(ids[a + left : b], spare_ids[:right])
    if is_weighted:
        copy_into(weights[a + left : b], spare_weights[:right])
    return a + left


@inner_jit
def _spare(keys, ids, weights, largest):  # type: ignore[no-untyped-def]
    return (
        np.empty((keys.shape[0], largest), np.uint64),
        np.empty(largest, ids.dtype),
        np.empty(largest if weights.size > 0 else 0, np.int64),
    )


@jit
def _split(keys, ids, weights, starts, ends, space, dims, cuts, ties):  # type: ignore[no-untyped-def]
    middles = np.empty(starts.size, np.int64)
    spare_keys, spare_ids, spare_weights = _spare(keys, ids, weights, longest(starts, ends))
    for i in range(starts.size):
        middles[i] = _split_one(
            keys, ids, weights, starts[i], ends[i], space, dims[i], cuts[i], ties[i],
            spare_keys, spare_ids, spare_weights,
        )  # fmt: skip
    return middles


def split(
    keys: Keys,
    ids: NDArray[np.uint32],
    weights: IntArray,
    starts: IntArray,
    ends: IntArray,
    space: Space,
    dims: IntArray,
    cuts: IntArray,
    ties: IntArray,
) -> IntArray:
    """Move the tuples of every node so that its left side comes first; returns where the right sides begin."""
    if len(starts) == 0:
        return np.zeros(0, np.int64)
    middles: IntArray = _split(keys, ids, weights, starts, ends, space, dims, cuts, ties)
    return middles


@jit
def _descend(keys, ids, weights, begin, end, space, min_size, by_saving, relaxed, cost):  # type: ignore[no-untyped-def]
    n_leaves_most = max(1, min(end - begin, weight_of(weights, begin, end) // max(1, min_size)))
    leaves = np.empty(n_leaves_most, np.int64)
    lo = np.empty((n_leaves_most, space.n_dims), np.int64)
    hi = np.empty((n_leaves_most, space.n_dims), np.int64)
    cuts = np.empty((max(1, n_leaves_most - 1), 5), np.int64)
    stack = np.empty((128, 2), np.int64)
    tried = np.zeros(space.n_dims, np.bool_)
    dense, codes, counts = scratch(space, end - begin)
    spare_keys, spare_ids, spare_weights = _spare(keys, ids, weights, end - begin)
    box_lo = np.empty(space.n_dims, np.int64)
    box_hi = np.empty(space.n_dims, np.int64)
    n_leaves = np.int64(0)
    n_cuts = np.int64(0)
    depth = np.int64(1)
    stack[0, 0] = begin
    stack[0, 1] = end
    while depth > 0:
        depth -= 1
        a = stack[depth, 0]
        b = stack[depth, 1]
        dim, cut, tie = propose_one(
            keys, weights, a, b, space, tried, min_size, by_saving, relaxed, cost, box_lo, box_hi, dense, codes, counts
        )
        if dim < 0:
            leaves[n_leaves] = a
            copy_into(lo[n_leaves], box_lo)
            copy_into(hi[n_leaves], box_hi)
            n_leaves += 1
            continue
        middle = _split_one(keys, ids, weights, a, b, space, dim, cut, tie, spare_keys, spare_ids, spare_weights)
        cuts[n_cuts, 0] = a
        cuts[n_cuts, 1] = middle
        cuts[n_cuts, 2] = b
        cuts[n_cuts, 3] = dim
        cuts[n_cuts, 4] = cut
        n_cuts += 1
        if depth + 2 > stack.shape[0]:
            larger = np.empty((2 * stack.shape[0], 2), np.int64)
            for i in range(stack.shape[0]):
                copy_into(larger[i], stack[i])
            stack = larger
        stack[depth, 0] = middle
        stack[depth, 1] = b
        stack[depth + 1, 0] = a
        stack[depth + 1, 1] = middle
        depth += 2
    return leaves[:n_leaves], lo[:n_leaves], hi[:n_leaves], cuts[:n_cuts]


def descend(
    keys: Keys,
    ids: NDArray[np.uint32],
    weights: IntArray,
    begin: int,
    end: int,
    space: Space,
    *,
    min_size: int,
    by_saving: bool,
    relaxed: bool,
    cost: int = ClassCost.CELLS,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Partition [begin, end) to the leaves when only the size of a class matters.

    Returns leaf starts (ascending), boxes lo and hi, and the cuts made: rows of (start, middle, end, dimension, cut).
    """
    leaves, lo, hi, cuts = _descend(keys, ids, weights, begin, end, space, min_size, by_saving, relaxed, int(cost))
    return leaves.copy(), lo.copy(), hi.copy(), cuts.copy()  # what was found, without the room for more
