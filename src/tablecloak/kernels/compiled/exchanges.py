"""Compiled kernel of T-MSN; `kernels/exchanges.py` has the same function in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.jit import inner_jit, jit

__all__ = ["best_pairs"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@inner_jit
def _running(gap, shift):  # type: ignore[no-untyped-def]
    total = np.zeros(gap.size + 1)
    for i in range(gap.size):
        total[i + 1] = total[i] + abs(gap[i] + shift)
    return total


@inner_jit
def _after(plain, less, more, out, into):  # type: ignore[no-untyped-def]
    low = min(out, into)
    high = max(out, into)
    changed = less[high] - less[low] if into > out else more[high] - more[low]
    return plain[plain.size - 1] - (plain[high] - plain[low]) + changed


@jit
def _best_pairs(gap, codes, other_gap, others, limit, most):  # type: ignore[no-untyped-def]
    plain, less, more = _running(gap, 0.0), _running(gap, -1 / codes.size), _running(gap, 1 / codes.size)
    plain_2, less_2 = _running(other_gap, 0.0), _running(other_gap, -1 / others.size)
    more_2 = _running(other_gap, 1 / others.size)
    pairs = np.empty((most, 2), np.int64)
    scores = np.empty(most)
    n = 0
    for a in range(codes.size):
        for b in range(others.size):
            score = max(
                _after(plain, less, more, codes[a], others[b]), _after(plain_2, less_2, more_2, others[b], codes[a])
            )
            if score >= limit or (n == most and score >= scores[n - 1]):
                continue
            place = n if n < most else most - 1
            n = min(most, n + 1)
            while place > 0 and scores[place - 1] > score:  # behind equal scores: earlier pairs come first
                scores[place] = scores[place - 1]
                pairs[place] = pairs[place - 1]
                place -= 1
            scores[place] = score
            pairs[place, 0] = a
            pairs[place, 1] = b
    return pairs[:n].copy()


def best_pairs(
    gap: FloatArray, codes: IntArray, other_gap: FloatArray, others: IntArray, *, limit: float, most: int
) -> IntArray:
    """Pairs of places of two buckets whose exchange leaves the larger of both distances least, best first, (n, 2)."""
    result: IntArray = _best_pairs(gap, codes, other_gap, others, limit, most)
    return result
