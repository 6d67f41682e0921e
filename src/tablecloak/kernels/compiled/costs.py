"""What a box of codes costs, and the boxes of ranges of tuples."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.jit import leaf_jit

__all__ = ["box_loss", "box_of", "boxes_of_cut", "gap_depth", "loss", "weight_of"]

ORDERED, TREE = 0, 1
FAR = np.int64(1) << 40


@leaf_jit
def loss(space, d, lo, hi):  # type: ignore[no-untyped-def]
    """Loss of the code interval [lo, hi] of one dimension, times the dimension's weight."""
    if lo >= hi:
        return 0.0
    if space.kind[d] == TREE:
        row = space.tree_start[d] + lo
        for depth in range(space.ends.shape[1] - 1, -1, -1):
            if space.ends[row, depth] >= hi:
                return space.weight[d] * space.end_losses[row, depth]
        return space.weight[d]
    if space.has_missing[d] and lo == 0:
        return space.weight[d]
    if space.kind[d] == ORDERED:
        return space.weight[d] * (space.inner_upper[space.start[d] + hi] - space.inner_lower[space.start[d] + lo])
    return space.weight[d] * (hi - lo + 1) / (space.n_codes[d] - space.has_missing[d])


@leaf_jit
def gap_depth(space, d, code, following):  # type: ignore[no-untyped-def]
    """Depth of the lowest node holding two codes: cuts are allowed at the gaps of least depth."""
    if space.kind[d] != TREE:
        return 1 if space.has_missing[d] and code > 0 else 0
    row = space.tree_start[d] + code
    for depth in range(space.ends.shape[1] - 1, 0, -1):
        if space.ends[row, depth] >= following:
            return depth
    return 0


@leaf_jit
def weight_of(weights, a, b):  # type: ignore[no-untyped-def]
    if weights.size == 0:
        return b - a
    total = np.int64(0)
    for i in range(a, b):
        total += weights[i]
    return total


@leaf_jit
def box_of(keys, a, b, space, lo, hi):  # type: ignore[no-untyped-def]
    """Smallest and largest code of every dimension among tuples [a, b)."""
    n_dims = space.n_dims
    for d in range(n_dims):
        lo[d] = FAR
        hi[d] = -1
    begin = a
    while begin < b:
        stop = min(b, begin + 1024)
        for d in range(n_dims):
            block = keys[space.layout.word[d], begin:stop]
            shift = space.layout.shift[d]
            field = space.layout.mask[d] << shift
            low = field
            high = np.uint64(0)
            for j in range(block.size):
                value = block[j] & field
                low = min(low, value)
                high = max(high, value)
            lo[d] = min(lo[d], np.int64(low >> shift))
            hi[d] = max(hi[d], np.int64(high >> shift))
        begin = stop


@leaf_jit
def boxes_of_cut(keys, a, b, space, dim, cut, lo1, hi1, lo2, hi2):  # type: ignore[no-untyped-def]
    """Boxes of both sides of a cut, without moving tuples."""
    n_dims = space.n_dims
    for d in range(n_dims):
        lo1[d] = FAR
        lo2[d] = FAR
        hi1[d] = -1
        hi2[d] = -1
    cut_shift = space.layout.shift[dim]
    cut_field = space.layout.mask[dim] << cut_shift
    limit = np.uint64(cut) << cut_shift
    begin = a
    while begin < b:
        stop = min(b, begin + 512)
        side = keys[space.layout.word[dim], begin:stop]
        for d in range(n_dims):
            block = keys[space.layout.word[d], begin:stop]
            shift = space.layout.shift[d]
            field = space.layout.mask[d] << shift
            low1 = field
            low2 = field
            high1 = np.uint64(0)
            high2 = np.uint64(0)
            for j in range(block.size):
                value = block[j] & field
                is_left = (side[j] & cut_field) <= limit
                low1 = min(low1, value if is_left else field)
                high1 = max(high1, value if is_left else np.uint64(0))
                low2 = min(low2, field if is_left else value)
                high2 = max(high2, np.uint64(0) if is_left else value)
            lo1[d] = min(lo1[d], np.int64(low1 >> shift))
            hi1[d] = max(hi1[d], np.int64(high1 >> shift))
            lo2[d] = min(lo2[d], np.int64(low2 >> shift))
            hi2[d] = max(hi2[d], np.int64(high2 >> shift))
        begin = stop


@leaf_jit
def box_loss(space, lo, hi):  # type: ignore[no-untyped-def]
    total = 0.0
    for d in range(space.n_dims):
        total += loss(space, d, lo[d], hi[d])
    return total
