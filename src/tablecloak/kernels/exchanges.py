"""Exchanges of rows between buckets, for T-MSN."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.dispatch import inner_jit, jit, kernel


@inner_jit
def _running(gap, shift):
    total = np.zeros(gap.size + 1)
    for i in range(gap.size):
        total[i + 1] = total[i] + abs(gap[i] + shift)
    return total


@inner_jit
def _after(plain, less, more, out, into):
    low = min(out, into)
    high = max(out, into)
    changed = less[high] - less[low] if into > out else more[high] - more[low]
    return plain[plain.size - 1] - (plain[high] - plain[low]) + changed


@jit
def _best_pairs(gap, codes, other_gap, others, limit, most):
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


def _distances_after(gap: FloatArray, codes: IntArray, others: IntArray) -> FloatArray:
    """Distance of a bucket after each of its rows was replaced by each of the others, (n_rows, n_others)."""
    step = 1 / len(codes)
    plain, less, more = (np.concatenate([[0.0], np.cumsum(np.abs(gap + s))]) for s in (0.0, -step, step))
    out, into = codes[:, None], others[None, :]
    low, high = np.minimum(out, into), np.maximum(out, into)
    changed = np.where(into > out, less[high] - less[low], more[high] - more[low])
    return np.asarray(plain[-1] - (plain[high] - plain[low]) + changed)


def _best_pairs_in_numpy(
    gap: FloatArray, codes: IntArray, other_gap: FloatArray, others: IntArray, *, limit: float, most: int
) -> IntArray:
    larger = np.maximum(_distances_after(gap, codes, others), _distances_after(other_gap, others, codes).T)
    order = np.argsort(larger, axis=None, kind="stable")[:most]
    chosen = order[larger.reshape(-1)[order] < limit]
    return np.stack(np.divmod(chosen, len(others)), axis=1)


@kernel(plain=_best_pairs_in_numpy, compiled_from=1_000)
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
    result: IntArray = _best_pairs(gap, codes, other_gap, others, limit, most)
    return result
