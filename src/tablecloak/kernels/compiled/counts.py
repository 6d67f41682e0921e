"""Counts of ranges of tuples."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.costs import weight_of
from tablecloak.kernels.compiled.jit import jit
from tablecloak.kernels.space import IntArray, Keys, Space

__all__ = ["count_codes", "sizes"]


@jit
def _sizes(weights, starts, ends):  # type: ignore[no-untyped-def]
    result = np.empty(starts.size, np.int64)
    for i in range(starts.size):
        result[i] = weight_of(weights, starts[i], ends[i])
    return result


def sizes(weights: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Records of every node."""
    result: IntArray = _sizes(weights, starts, ends)
    return result


@jit
def _count_codes(keys, weights, starts, ends, word, shift, mask, n_values):  # type: ignore[no-untyped-def]
    n = starts.size
    indptr = np.zeros(n + 1, np.int64)
    room = np.int64(0)
    for i in range(n):
        room += min(n_values, ends[i] - starts[i])
    codes = np.empty(room, np.int64)
    counts = np.empty(room, np.int64)
    dense = np.zeros(n_values, np.int64)
    used = 0
    for i in range(n):
        block = keys[word, starts[i] : ends[i]]
        first = used
        if weights.size == 0:
            for j in range(block.size):
                code = np.int64((block[j] >> shift) & mask)
                if dense[code] == 0:
                    codes[used] = code
                    used += 1
                dense[code] += 1
        else:
            part = weights[starts[i] : ends[i]]
            for j in range(block.size):
                code = np.int64((block[j] >> shift) & mask)
                if dense[code] == 0:
                    codes[used] = code
                    used += 1
                dense[code] += part[j]
        codes[first:used].sort()
        for j in range(first, used):
            counts[j] = dense[codes[j]]
            dense[codes[j]] = 0
        indptr[i + 1] = used
    return indptr, codes[:used].copy(), counts[:used].copy()


def count_codes(
    keys: Keys, weights: IntArray, starts: IntArray, ends: IntArray, space: Space, dim: int, n_values: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Histogram of one packed dimension in every node, in compressed rows: indptr, codes, counts."""
    layout = space.layout
    result: tuple[IntArray, IntArray, IntArray] = _count_codes(
        keys, weights, starts, ends, layout.word[dim], layout.shift[dim], layout.mask[dim], n_values
    )
    return result
