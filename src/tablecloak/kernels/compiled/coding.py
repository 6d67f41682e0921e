"""Coding, checking and dealing out packed keys: one pass over rows each, nothing held for every row and column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.jit import jit
from tablecloak.kernels.space import UNKNOWN, IntArray, Keys, Layout

__all__ = ["add_codes", "count_leaves", "covers", "leaves_of"]

BLOCK = 1 << 12  # rows whose words stay in the cache while they are looked at again


@jit
def _add_codes(words, values, low, table, unknown):  # type: ignore[no-untyped-def]
    n = np.int64(table.size)
    for i in range(values.size):
        place = np.int64(values[i]) - low
        if place < 0 or place >= n:
            return False
        code = table[place]
        if code == unknown:
            return False
        words[i] |= code
    return True


def add_codes(words: NDArray[np.uint64], values: NDArray[np.integer[Any]], low: int, table: NDArray[np.uint64]) -> bool:
    """Put `table[value - low]` of every row into its word; whether all values are known."""
    small = values.dtype in (np.uint8, np.uint16, np.uint32)  # others are made one kind: each kind is compiled
    return bool(_add_codes(words, values if small else values.astype(np.int64), np.int64(low), table, UNKNOWN))


@jit
def _covers(shown, shift, mask, lo, hi, originals, original_shift, original_mask):  # type: ignore[no-untyped-def]
    ok = True
    for i in range(shown.size):
        label = np.int64((shown[i] >> shift) & mask)
        code = np.int64((originals[i] >> original_shift) & original_mask)
        ok &= (code >= lo[label]) & (code <= hi[label])
    return ok


def covers(
    shown: Keys, layout: Layout, dim: int, lo: IntArray, hi: IntArray, originals: Keys, of: Layout, original_dim: int
) -> bool:
    """Whether the label of every row, an interval of codes, holds the code of its original."""
    ours, theirs = shown[layout.word[dim]], np.ascontiguousarray(originals[of.word[original_dim]])
    return bool(
        _covers(
            ours, layout.shift[dim], layout.mask[dim], lo.astype(np.int64), hi.astype(np.int64),
            theirs, of.shift[original_dim], of.mask[original_dim],
        )
    )  # fmt: skip


@jit
def _leaves_of(keys, words, shifts, masks, dim, cut, left, right):  # type: ignore[no-untyped-def]
    n = keys.shape[1]
    leaves = np.zeros(n, np.uint16)
    if dim.size == 0:
        return leaves
    for i in range(n):
        node = np.int64(0)
        while node >= 0:
            d = dim[node]
            code = np.int64((keys[words[d], i] >> shifts[d]) & masks[d])
            node = left[node] if code <= cut[node] else right[node]
        leaves[i] = np.uint16(~node)
    return leaves


def leaves_of(
    keys: Keys, layout: Layout, dim: IntArray, cut: IntArray, left: IntArray, right: IntArray
) -> NDArray[np.uint16]:
    """The leaf of a tree of cuts that every row is led to, (n,)."""
    found: NDArray[np.uint16] = _leaves_of(np.ascontiguousarray(keys), *layout, dim, cut, left, right)
    return found


@jit
def _count_leaves(keys, words, shifts, masks, leaves, begins, counts, block):  # type: ignore[no-untyped-def]
    n = keys.shape[1]
    for start in range(0, n, block):
        end = min(n, start + block)
        for d in range(begins.size):
            word = keys[words[d]]
            shift = shifts[d]
            mask = masks[d]
            begin = begins[d]
            for i in range(start, end):
                counts[leaves[i], begin + np.int64((word[i] >> shift) & mask)] += 1


def count_leaves(keys: Keys, layout: Layout, leaves: NDArray[np.uint16], begins: IntArray, counts: IntArray) -> None:
    """Add the rows of every leaf to `counts`, (n_leaves, sum of widths), by code; dimension d begins at `begins[d]`."""
    _count_leaves(np.ascontiguousarray(keys), *layout, leaves, begins, counts, BLOCK)
