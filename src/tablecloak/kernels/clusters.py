"""Plain-numpy kernels of clustering: the same functions and results as `compiled/clusters.py`, for small tables.

Boxes and points are (n_dims, n) arrays of codes. A box costs the sum of the costs of its intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.lines import FAR, Centroids, IntArray, Lines, Wishes

__all__ = ["box_costs", "candidates", "choose", "grow", "interval_costs", "joined", "nearest", "unions"]

Codes = NDArray[np.int32]
FloatArray = NDArray[np.float64]


def interval_costs(lines: Lines, d: int, lo: Codes, hi: Codes) -> IntArray:
    """Cost of intervals of one dimension."""
    low, high = lines.start[d] + lo.astype(np.int64), lines.start[d] + hi.astype(np.int64)
    if lines.is_tree[d]:
        depth = (lines.ends[low] >= hi[:, None]).sum(axis=1) - 1  # ancestors shrink with depth
        cost = lines.costs[low, depth]
    else:
        cost = np.minimum(lines.full[d], lines.upper[high] - lines.lower[low])
        if lines.has_missing[d]:
            cost = np.where(lo == 0, lines.full[d], cost)
    return np.where(lo >= hi, 0, cost)


def unions(lines: Lines, lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes) -> IntArray:
    """Cost of the union of every box with one box, (n_boxes,)."""
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(len(lo)):
        total += interval_costs(lines, d, np.minimum(lo[d], box_lo[d]), np.maximum(hi[d], box_hi[d]))
    return total


def box_costs(lines: Lines, lo: Codes, hi: Codes) -> IntArray:
    """Cost of every box, (n_boxes,)."""
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(len(lo)):
        total += interval_costs(lines, d, lo[d], hi[d])
    return total


def grow(
    lines: Lines,
    codes: Codes,
    is_gone: NDArray[np.bool_],
    seed: int,
    *,
    size: int,
    limit: int,
    target: Codes,
    penalty: int,
) -> IntArray:
    """The members of a cluster grown from a seed, each the one that costs least when it joins; gone afterwards.

    Args:
        size: stop at this many members.
        limit: stop before the box costs more.
        target: (n_points,) class that the majority of a cluster should share; empty: no such wish.
        penalty: added to the cost of the whole cluster where a point has another class than its majority.
    """
    lo, hi = codes[:, seed].copy(), codes[:, seed].copy()
    parts = np.stack([_interval_joined(lines, d, codes[d], lo[d], hi[d]) for d in range(len(codes))])
    members = [seed]
    is_gone[seed] = True
    counts = np.zeros(int(target.max(initial=0)) + 1, np.int64)
    while len(members) < size:
        costs = np.where(is_gone, FAR, parts.sum(axis=0))
        scores = costs
        if penalty:
            counts[target[members[-1]]] += 1
            scores = np.where(is_gone, FAR, costs * (len(members) + 1) + penalty * (target != np.argmax(counts)))
        best = int(np.argmin(scores))
        if is_gone[best] or costs[best] > limit:
            break
        members.append(best)
        is_gone[best] = True
        point = codes[:, best]
        for d in np.flatnonzero((point < lo) | (point > hi)).tolist():
            lo[d], hi[d] = min(lo[d], point[d]), max(hi[d], point[d])
            parts[d] = _interval_joined(lines, d, codes[d], lo[d], hi[d])
    return np.array(members, np.int64)


def _interval_joined(lines: Lines, d: int, codes: Codes, lo: int, hi: int) -> IntArray:
    """Cost of an interval after each code joins it."""
    every = np.arange(lines.n_codes[d], dtype=np.int32)
    return interval_costs(lines, d, np.minimum(every, lo), np.maximum(every, hi))[codes]


def joined(lines: Lines, codes: Codes, lo: Codes, hi: Codes) -> IntArray:
    """Cost of one box after each point joins it, (n_points,)."""
    parts = [_interval_joined(lines, d, codes[d], lo[d], hi[d]) for d in range(len(codes))]
    return np.asarray(np.sum(parts, axis=0))


def candidates(
    lines: Lines, codes: Codes, is_gone: NDArray[np.bool_], lo: Codes, hi: Codes, n: int
) -> tuple[IntArray, IntArray]:
    """The `n` points that cost least when they join each box, cheapest first, then by number; -1 where none is left.

    Returns points and the costs of the boxes with them, both (n_boxes, n).
    """
    points = np.full((lo.shape[1], n), -1, np.int64)
    costs = np.full((lo.shape[1], n), FAR, np.int64)
    open_ = np.flatnonzero(~is_gone)
    left = codes[:, open_]
    for i in range(lo.shape[1]):
        cost = joined(lines, left, lo[:, i], hi[:, i])
        order = np.argsort(cost, kind="stable")[:n]
        points[i, : len(order)] = open_[order]
        costs[i, : len(order)] = cost[order]
    return points, costs


def choose(lines: Lines, codes: Codes, is_free: NDArray[np.bool_], lo: Codes, hi: Codes, wishes: Wishes) -> IntArray:
    """The free point that costs each box least, as far as its wishes can tell; -1: all points must be looked at.

    A box that has grown costs no less with any point than before, so a point cheaper than all that were not listed is
    the cheapest of all.

    Args:
        lo: (n_dims, n_boxes), as `hi` and `wishes`.
    """
    chosen = np.full(lo.shape[1], -1, np.int64)
    for b, rows in enumerate(wishes.rows):
        free = rows[(rows >= 0) & is_free[rows]]
        if wishes.is_fresh[b]:
            chosen[b] = free[0] if len(free) else -1
            continue
        if len(free) == 0:
            continue
        cost = joined(lines, codes[:, free], lo[:, b], hi[:, b])
        best = np.lexsort((free, cost))[0]
        if cost[best] < wishes.bound[b]:
            chosen[b] = free[best]
    return chosen


def nearest(
    lines: Lines, codes: Codes, centroids: Centroids, weight: FloatArray, handicap: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The centroid nearest to each point, the first of equally near ones, and its distance.

    The distance is the sum over dimensions, each with its weight, of |place - mean| on a line and of the cost of the
    union in a tree or set; all of it times the handicap of the centroid.
    """
    found = np.zeros(codes.shape[1], np.int64)
    distance = np.zeros(codes.shape[1])
    for i in range(codes.shape[1]):
        apart = _to_centroids(lines, codes[:, i], centroids, weight) * handicap[: centroids.n]
        found[i] = np.argmin(apart)
        distance[i] = apart[found[i]]
    return found, distance


def _to_centroids(lines: Lines, point: Codes, centroids: Centroids, weight: FloatArray) -> FloatArray:
    total = np.zeros(centroids.n)
    for d in range(len(point)):
        low = np.minimum(centroids.lo[d, : centroids.n], point[d])
        high = np.maximum(centroids.hi[d, : centroids.n], point[d])
        if lines.is_tree[d] or lines.step[d] > 0:
            total += weight[d] * interval_costs(lines, d, low, high)
            continue
        apart = np.abs(lines.line[lines.start[d] + point[d]] - centroids.mean[d, : centroids.n])
        if lines.has_missing[d]:
            apart = np.where((low == 0) & (high > 0), lines.full[d], np.where(high == 0, 0.0, apart))
        total += weight[d] * apart
    return total
