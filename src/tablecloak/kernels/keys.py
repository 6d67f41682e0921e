"""Packed keys: coding, checking, dealing out and grouping them, one pass over rows each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.kernels.dispatch import jit, kernel, leaf_jit
from tablecloak.kernels.packed_codes import UNKNOWN, KeyLayout, Keys, unpack

BLOCK = 1 << 12  # rows whose words stay in the cache while they are looked at again


@jit
def _add_codes(words, values, low, table, unknown):
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


def _add_codes_in_numpy(
    words: NDArray[np.uint64], values: NDArray[np.integer[Any]], low: int, table: NDArray[np.uint64]
) -> bool:
    if len(values) == 0:
        return True
    if int(values.min()) < low or int(values.max()) - low >= len(table):
        return False
    codes = table[values if low == 0 else values.astype(np.int64) - low]
    words |= codes
    return UNKNOWN not in table or UNKNOWN not in codes


@kernel(plain=_add_codes_in_numpy)
def add_codes(words: NDArray[np.uint64], values: NDArray[np.integer[Any]], low: int, table: NDArray[np.uint64]) -> bool:
    """Put `table[value - low]` of every row into its word; whether all values are known."""
    small = values.dtype in (np.uint8, np.uint16, np.uint32)  # others are made one kind: each kind is compiled
    return bool(_add_codes(words, values if small else values.astype(np.int64), np.int64(low), table, UNKNOWN))


@jit
def _covers(shown, shift, mask, lo, hi, originals, original_shift, original_mask):
    ok = True
    for i in range(shown.size):
        label = np.int64((shown[i] >> shift) & mask)
        code = np.int64((originals[i] >> original_shift) & original_mask)
        ok &= (code >= lo[label]) & (code <= hi[label])
    return ok


def _covers_in_numpy(
    shown: Keys,
    layout: KeyLayout,
    dim: int,
    lo: IntArray,
    hi: IntArray,
    originals: Keys,
    of: KeyLayout,
    original_dim: int,
) -> bool:
    labels, codes = unpack(shown, layout, dim), unpack(originals, of, original_dim)
    return bool(((codes >= lo[labels]) & (codes <= hi[labels])).all())


@kernel(plain=_covers_in_numpy)
def covers(
    shown: Keys,
    layout: KeyLayout,
    dim: int,
    lo: IntArray,
    hi: IntArray,
    originals: Keys,
    of: KeyLayout,
    original_dim: int,
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
def _leaves_of(keys, words, shifts, masks, dim, cut, left, right):
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


def _leaves_of_in_numpy(
    keys: Keys, layout: KeyLayout, dim: IntArray, cut: IntArray, left: IntArray, right: IntArray
) -> NDArray[np.uint16]:
    n = keys.shape[1]
    at = np.zeros(n, np.int64) if len(dim) else np.full(n, ~0)
    codes = {d: unpack(keys, layout, d) for d in set(dim.tolist())}
    for node in range(len(dim)):  # children come after their parents
        here = np.flatnonzero(at == node) if node else np.arange(n)
        goes_left = codes[int(dim[node])][here] <= cut[node]
        at[here] = np.where(goes_left, left[node], right[node])
    return (~at).astype(np.uint16)


@kernel(plain=_leaves_of_in_numpy)
def leaves_of(
    keys: Keys, layout: KeyLayout, dim: IntArray, cut: IntArray, left: IntArray, right: IntArray
) -> NDArray[np.uint16]:
    """The leaf of a tree of cuts that every row is led to, (n,)."""
    leaves: NDArray[np.uint16] = _leaves_of(np.ascontiguousarray(keys), *layout, dim, cut, left, right)
    return leaves


@jit
def _count_leaves(keys, words, shifts, masks, leaves, begins, counts, block):
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


def _count_leaves_in_numpy(
    keys: Keys, layout: KeyLayout, leaves: NDArray[np.uint16], begins: IntArray, counts: IntArray
) -> None:
    n_leaves, width = counts.shape
    for d, begin in enumerate(begins.tolist()):
        place = leaves.astype(np.int64) * width + begin + unpack(keys, layout, d)
        counts += np.bincount(place, minlength=n_leaves * width).reshape(counts.shape)


@kernel(plain=_count_leaves_in_numpy)
def count_leaves(keys: Keys, layout: KeyLayout, leaves: NDArray[np.uint16], begins: IntArray, counts: IntArray) -> None:
    """Add the rows of every leaf to `counts`, (n_leaves, sum of widths), by code; dimension d begins at `begins[d]`."""
    _count_leaves(np.ascontiguousarray(keys), *layout, leaves, begins, counts, BLOCK)


@leaf_jit
def _hash(keys, i):
    h = np.uint64(0)
    for w in range(keys.shape[0]):
        h = (h ^ keys[w, i]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return h


@jit
def _scatter(keys, shift):
    """Tuples sorted by the top bits of their hash: (where each part begins, tuples part by part)."""
    n = keys.shape[1]
    n_parts = np.int64(1) << (64 - shift)
    begins = np.zeros(n_parts + 1, np.int64)
    for i in range(n):
        begins[np.int64(_hash(keys, i) >> np.uint64(shift)) + 1] += 1
    for earlier in range(n_parts):
        begins[earlier + 1] += begins[earlier]
    place = begins[:-1].copy()
    rows = np.empty(n, np.uint32)
    for i in range(n):
        part = np.int64(_hash(keys, i) >> np.uint64(shift))
        rows[place[part]] = np.uint32(i)
        place[part] += 1
    return begins, rows


@jit
def _group_part(keys, rows, inverse, firsts):
    """Number the different keys among some tuples from 0; returns how many there are."""
    capacity = np.int64(1) << 4
    while capacity < 2 * rows.size:
        capacity *= 2
    table = np.full(capacity, np.int32(-1), np.int32)
    n_groups = 0
    for r in range(rows.size):
        i = np.int64(rows[r])
        slot = np.int64(_hash(keys, i)) & (capacity - 1)
        g = table[slot]
        while g >= 0:
            first = np.int64(firsts[g])
            is_same = True
            for w in range(keys.shape[0]):
                is_same = is_same and keys[w, i] == keys[w, first]
            if is_same:
                break
            slot = (slot + 1) & (capacity - 1)
            g = table[slot]
        if g < 0:
            g = np.int32(n_groups)
            firsts[g] = np.uint32(i)
            table[slot] = g
            n_groups += 1
        inverse[i] = np.uint32(g)
    return n_groups


@jit
def _group_parts(keys, begins, rows, parts, inverse, firsts, sizes_of):
    for part in parts:
        a = begins[part]
        b = begins[part + 1]
        sizes_of[part] = _group_part(keys, rows[a:b], inverse, firsts[a:b])


@jit
def _renumber(begins, rows, parts, inverse, base):
    for part in parts:
        for r in range(begins[part], begins[part + 1]):
            inverse[rows[r]] += np.uint32(base[part])


def _group_keys_in_numpy(keys: Keys, n_rows: int | None = None) -> tuple[IntArray, NDArray[np.uint32]]:  # noqa: ARG001
    if keys.shape[0] == 1:
        _, firsts, inverse = np.unique(keys[0], return_index=True, return_inverse=True)
    else:
        _, firsts, inverse = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return firsts.astype(np.int64), inverse.reshape(-1).astype(np.uint32)


@kernel(plain=_group_keys_in_numpy)
def group_keys(keys: Keys, n_rows: int | None = None) -> tuple[IntArray, NDArray[np.uint32]]:
    """Equal keys get equal numbers: (first tuple of every group, group of every tuple).

    Tuples are first dealt out by hash into parts whose tables fit the cache; two threads take turns at the parts. The
    numbering depends only on the keys.

    Args:
        n_rows: number like a table of so many rows, of which these are the different ones in their order.
    """
    n = keys.shape[1]
    bits = max(1, min(10, int((n_rows or n) // 20_000).bit_length()))
    begins, rows = _scatter(keys, 64 - bits)
    n_parts = 1 << bits
    inverse, firsts, counts = np.empty(n, np.uint32), np.empty(n, np.uint32), np.zeros(n_parts, np.int64)
    halves = [np.arange(start, n_parts, 2) for start in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda half: _group_parts(keys, begins, rows, half, inverse, firsts, counts), halves))
        base = np.cumsum(counts) - counts
        list(pool.map(lambda half: _renumber(begins, rows, half, inverse, base), halves))
    places = np.repeat(begins[:-1] - base, counts) + np.arange(int(counts.sum()))
    return firsts[places].astype(np.int64), inverse
