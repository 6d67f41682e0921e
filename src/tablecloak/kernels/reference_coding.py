"""Coding, checking and dealing out packed keys in plain numpy; see `compiled/coding.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.space import UNKNOWN, IntArray, Keys, Layout, unpack

__all__ = ["add_codes", "count_leaves", "covers", "leaves_of"]


def add_codes(words: NDArray[np.uint64], values: NDArray[np.integer[Any]], low: int, table: NDArray[np.uint64]) -> bool:
    """Put `table[value - low]` of every row into its word; whether all values are known."""
    if len(values) == 0:
        return True
    if int(values.min()) < low or int(values.max()) - low >= len(table):
        return False
    found = table[values if low == 0 else values.astype(np.int64) - low]
    words |= found
    return UNKNOWN not in table or UNKNOWN not in found


def covers(
    shown: Keys, layout: Layout, dim: int, lo: IntArray, hi: IntArray, originals: Keys, of: Layout, original_dim: int
) -> bool:
    """Whether the label of every row, an interval of codes, holds the code of its original."""
    labels, codes = unpack(shown, layout, dim), unpack(originals, of, original_dim)
    return bool(((codes >= lo[labels]) & (codes <= hi[labels])).all())


def leaves_of(
    keys: Keys, layout: Layout, dim: IntArray, cut: IntArray, left: IntArray, right: IntArray
) -> NDArray[np.uint16]:
    """The leaf of a tree of cuts that every row is led to, (n,)."""
    n = keys.shape[1]
    at = np.zeros(n, np.int64) if len(dim) else np.full(n, ~0)
    codes = {d: unpack(keys, layout, d) for d in set(dim.tolist())}
    for node in range(len(dim)):  # children come after their parents
        here = np.flatnonzero(at == node) if node else np.arange(n)
        goes_left = codes[int(dim[node])][here] <= cut[node]
        at[here] = np.where(goes_left, left[node], right[node])
    return (~at).astype(np.uint16)


def count_leaves(keys: Keys, layout: Layout, leaves: NDArray[np.uint16], begins: IntArray, counts: IntArray) -> None:
    """Add the rows of every leaf to `counts`, (n_leaves, sum of widths), by code; dimension d begins at `begins[d]`."""
    n_leaves, width = counts.shape
    for d, begin in enumerate(begins.tolist()):
        place = leaves.astype(np.int64) * width + begin + unpack(keys, layout, d)
        counts += np.bincount(place, minlength=n_leaves * width).reshape(counts.shape)
