"""Grouping equal keys by hashing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.jit import jit, leaf_jit
from tablecloak.kernels.space import IntArray, Keys

__all__ = ["group"]


@leaf_jit
def _hash(keys, i):  # type: ignore[no-untyped-def]
    h = np.uint64(0)
    for w in range(keys.shape[0]):
        h = (h ^ keys[w, i]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return h


@jit
def _scatter(keys, shift):  # type: ignore[no-untyped-def]
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
def _group_part(keys, rows, inverse, firsts):  # type: ignore[no-untyped-def]
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
def _group_parts(keys, begins, rows, parts, inverse, firsts, sizes_of):  # type: ignore[no-untyped-def]
    for part in parts:
        a = begins[part]
        b = begins[part + 1]
        sizes_of[part] = _group_part(keys, rows[a:b], inverse, firsts[a:b])


@jit
def _renumber(begins, rows, parts, inverse, base):  # type: ignore[no-untyped-def]
    for part in parts:
        for r in range(begins[part], begins[part + 1]):
            inverse[rows[r]] += np.uint32(base[part])


def group(keys: Keys, n_rows: int | None = None) -> tuple[IntArray, NDArray[np.uint32]]:
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
    kept = np.repeat(begins[:-1] - base, counts) + np.arange(int(counts.sum()))
    return firsts[kept].astype(np.int64), inverse
