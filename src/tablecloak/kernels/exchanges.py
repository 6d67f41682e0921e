"""Plain-numpy kernel of T-MSN: the same function and results as `compiled/exchanges.py`, for small tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_pairs"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def best_pairs(
    gap: FloatArray, codes: IntArray, other_gap: FloatArray, others: IntArray, *, limit: float, most: int
) -> IntArray:
    """Pairs of places of two buckets whose exchange leaves the larger of both distances least, best first, (n, 2).

    Args:
        gap: (n_values,) cumulative shares of the first bucket minus those of the table; its distance is their sum.
        codes: (n_rows,) value of every row of the first bucket.
        limit: pairs that leave this distance or more are left out.
        most: no more pairs than this.
    """
    larger = np.maximum(_after(gap, codes, others), _after(other_gap, others, codes).T)
    order = np.argsort(larger, axis=None, kind="stable")[:most]
    kept = order[larger.reshape(-1)[order] < limit]
    return np.stack(np.divmod(kept, len(others)), axis=1)


def _after(gap: FloatArray, codes: IntArray, others: IntArray) -> FloatArray:
    """Distance of a bucket after each of its rows was replaced by each of the others, (n_rows, n_others)."""
    step = 1 / len(codes)
    plain, less, more = (np.concatenate([[0.0], np.cumsum(np.abs(gap + s))]) for s in (0.0, -step, step))
    out, into = codes[:, None], others[None, :]
    low, high = np.minimum(out, into), np.maximum(out, into)
    changed = np.where(into > out, less[high] - less[low], more[high] - more[low])
    return np.asarray(plain[-1] - (plain[high] - plain[low]) + changed)
