"""Compiled kernels of clustering; `kernels/clusters.py` has the same functions in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.jit import inner_jit, jit
from tablecloak.kernels.lines import FAR, Centroids, IntArray, Lines, Wishes

__all__ = ["candidates", "choose", "grow", "joined", "nearest", "unions"]

Codes = NDArray[np.int32]
FloatArray = NDArray[np.float64]


@inner_jit
def _interval_cost(lines, d, lo, hi):  # type: ignore[no-untyped-def]
    if lo >= hi:
        return np.int64(0)
    low = lines.start[d] + lo
    if lines.is_tree[d]:
        for depth in range(lines.ends.shape[1] - 1, -1, -1):
            if lines.ends[low, depth] >= hi:
                return lines.costs[low, depth]
        return lines.full[d]
    if lines.has_missing[d] and lo == 0:
        return lines.full[d]
    return min(lines.full[d], lines.upper[lines.start[d] + hi] - lines.lower[low])


@jit
def _unions(lines, lo, hi, box_lo, box_hi):  # type: ignore[no-untyped-def]
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(lo.shape[0]):
        for i in range(total.size):
            total[i] += _interval_cost(lines, d, min(lo[d, i], box_lo[d]), max(hi[d, i], box_hi[d]))
    return total


def unions(lines: Lines, lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes) -> IntArray:
    """Cost of the union of every box with one box, (n_boxes,)."""
    same = np.ascontiguousarray  # one layout, one compiled version
    result: IntArray = _unions(lines, same(lo), same(hi), same(box_lo), same(box_hi))
    return result


@inner_jit
def _fill(lines, d, lo, hi, table):  # type: ignore[no-untyped-def]
    """Cost of an interval after each code joins it."""
    for c in range(lines.n_codes[d]):
        table[c] = _interval_cost(lines, d, min(lo, c), max(hi, c))


@inner_jit
def _add(cost, codes, table):  # type: ignore[no-untyped-def]
    for i in range(codes.size):
        cost[i] += table[codes[i]]


@jit
def _joined(lines, codes, lo, hi):  # type: ignore[no-untyped-def]
    widest = np.int64(1)
    for d in range(codes.shape[0]):
        widest = max(widest, lines.n_codes[d])
    table = np.empty(widest, np.int64)
    cost = np.zeros(codes.shape[1], np.int64)
    for d in range(codes.shape[0]):
        _fill(lines, d, lo[d], hi[d], table)
        _add(cost, codes[d], table)
    return cost


def joined(lines: Lines, codes: Codes, lo: Codes, hi: Codes) -> IntArray:
    """Cost of one box after each point joins it, (n_points,)."""
    result: IntArray = _joined(lines, codes, np.ascontiguousarray(lo), np.ascontiguousarray(hi))
    return result


@inner_jit
def _cheapest(cost):  # type: ignore[no-untyped-def]
    """The first point of least cost; two passes, because a minimum without its place is found by SIMD."""
    least = cost[0]
    for i in range(cost.size):
        least = min(least, cost[i])
    for i in range(cost.size):
        if cost[i] == least:
            return i
    return -1


@inner_jit
def _cheapest_with_penalty(cost, target, wanted, n_members, penalty):  # type: ignore[no-untyped-def]
    best = -1
    least = np.int64(1) << 62
    for i in range(cost.size):
        if cost[i] < FAR:
            score = cost[i] * (n_members + 1) + (penalty if target[i] != wanted else 0)
            if score < least:
                least = score
                best = i
    return best


@jit
def _grow(lines, codes, is_gone, seed, size, limit, target, penalty, cost):  # type: ignore[no-untyped-def]
    n_dims, n = codes.shape
    members = np.empty(size, np.int64)
    lo = codes[:, seed].copy()
    hi = codes[:, seed].copy()
    widest = np.int64(1)
    for d in range(n_dims):
        widest = max(widest, lines.n_codes[d])
    tables = np.zeros((n_dims, widest), np.int64)
    change = np.empty(widest, np.int64)
    for i in range(n):
        cost[i] = FAR if is_gone[i] else 0
    for d in range(n_dims):
        _fill(lines, d, lo[d], hi[d], tables[d])
        _add(cost, codes[d], tables[d])
    members[0] = seed
    cost[seed] = FAR
    is_gone[seed] = True
    n_members = 1
    counts = np.zeros(1, np.int64)
    if penalty > 0:
        counts = np.zeros(target.max() + 1, np.int64)
    while n_members < size:
        if penalty > 0:
            counts[target[members[n_members - 1]]] += 1
            best = _cheapest_with_penalty(cost, target, np.argmax(counts), n_members, penalty)
        else:
            best = _cheapest(cost)
        if best < 0 or cost[best] > limit:
            break
        members[n_members] = best
        n_members += 1
        cost[best] = FAR
        is_gone[best] = True
        for d in range(n_dims):
            code = codes[d, best]
            if code < lo[d] or code > hi[d]:
                lo[d] = min(lo[d], code)
                hi[d] = max(hi[d], code)
                table = tables[d]
                change[:] = -table
                _fill(lines, d, lo[d], hi[d], table)
                for c in range(lines.n_codes[d]):
                    change[c] += table[c]
                _add(cost, codes[d], change)
    return members[:n_members].copy()


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
    """The members of a cluster grown from a seed, each the one that costs least when it joins; gone afterwards."""
    cost = np.empty(codes.shape[1], np.int64)
    result: IntArray = _grow(lines, codes, is_gone, seed, size, limit, target, penalty, cost)
    return result


@jit
def _candidates(lines, codes, is_gone, lo, hi, n):  # type: ignore[no-untyped-def]
    n_dims, n_points = codes.shape
    points = np.full((lo.shape[1], n), np.int64(-1), np.int64)
    costs = np.full((lo.shape[1], n), np.int64(FAR), np.int64)
    widest = np.int64(1)
    for d in range(n_dims):
        widest = max(widest, lines.n_codes[d])
    table = np.empty(widest, np.int64)
    cost = np.empty(n_points, np.int64)
    for b in range(lo.shape[1]):
        for i in range(n_points):
            cost[i] = FAR if is_gone[i] else 0
        for d in range(n_dims):
            _fill(lines, d, lo[d, b], hi[d, b], table)
            _add(cost, codes[d], table)
        kept = 0
        worst = np.int64(FAR)
        for i in range(n_points):
            if cost[i] < worst:  # insert behind equal costs: earlier points come first
                j = min(kept, n - 1)
                while j > 0 and costs[b, j - 1] > cost[i]:
                    costs[b, j] = costs[b, j - 1]
                    points[b, j] = points[b, j - 1]
                    j -= 1
                costs[b, j] = cost[i]
                points[b, j] = i
                kept = min(n, kept + 1)
                if kept == n:
                    worst = costs[b, n - 1]
    return points, costs


def candidates(
    lines: Lines, codes: Codes, is_gone: NDArray[np.bool_], lo: Codes, hi: Codes, n: int
) -> tuple[IntArray, IntArray]:
    """The `n` points that cost least when they join each box, cheapest first, then by number; -1 where none is left."""
    result: tuple[IntArray, IntArray] = _candidates(lines, codes, is_gone, lo, hi, n)
    return result


@jit
def _choose(lines, codes, is_free, lo, hi, wishes):  # type: ignore[no-untyped-def]
    chosen = np.full(lo.shape[1], np.int64(-1), np.int64)
    for b in range(lo.shape[1]):
        best = np.int64(-1)
        least = np.int64(FAR)
        for row in wishes.rows[b]:
            if row < 0 or not is_free[row]:
                continue
            if wishes.is_fresh[b]:
                best = row
                break
            cost = np.int64(0)
            for d in range(codes.shape[0]):
                code = codes[d, row]
                cost += _interval_cost(lines, d, min(lo[d, b], code), max(hi[d, b], code))
            if cost < least or (cost == least and row < best):
                least = cost
                best = row
        if wishes.is_fresh[b] or least < wishes.bound[b]:
            chosen[b] = best
    return chosen


def choose(lines: Lines, codes: Codes, is_free: NDArray[np.bool_], lo: Codes, hi: Codes, wishes: Wishes) -> IntArray:
    """The free point that costs each box least, as far as its wishes can tell; -1: all points must be looked at."""
    result: IntArray = _choose(lines, codes, is_free, np.ascontiguousarray(lo), np.ascontiguousarray(hi), wishes)
    return result


@inner_jit
def _tree_part(lines, d, code, lo, hi, part):  # type: ignore[no-untyped-def]
    """Cost of the union of a code with every box: that of the deepest ancestor of the code that holds the box."""
    row = lines.start[d] + code
    part[:] = lines.costs[row, 0]
    for depth in range(1, lines.costs.shape[1]):
        begin = lines.begins[row, depth]
        end = lines.ends[row, depth]
        cost = lines.costs[row, depth]
        for b in range(part.size):
            part[b] = cost if (lo[b] >= begin) & (hi[b] <= end) else part[b]
        if begin == end:
            break
    for b in range(part.size):
        part[b] = 0 if (lo[b] == code) & (hi[b] == code) else part[b]


@inner_jit
def _line_part(lines, d, code, lo, hi, mean, part):  # type: ignore[no-untyped-def]
    """Distance of a code from the mean place of every box."""
    place = np.float64(lines.line[lines.start[d] + code])
    for b in range(part.size):
        part[b] = abs(place - mean[b])
    if lines.has_missing[d]:
        for b in range(part.size):
            if max(hi[b], code) == 0:
                part[b] = 0.0
            elif min(lo[b], code) == 0:
                part[b] = np.float64(lines.full[d])


@jit
def _nearest(lines, codes, lo, hi, mean, n_boxes, weight, handicap):  # type: ignore[no-untyped-def]
    n_dims, n_points = codes.shape
    found = np.zeros(n_points, np.int64)
    distance = np.empty(n_points)
    apart = np.empty(n_boxes)
    part = np.empty(n_boxes)
    for i in range(n_points):
        apart[:] = 0.0
        for d in range(n_dims):
            code = codes[d, i]
            low = lo[d, :n_boxes]
            high = hi[d, :n_boxes]
            if lines.is_tree[d]:
                _tree_part(lines, d, code, low, high, part)
            elif lines.step[d] > 0:
                for b in range(n_boxes):
                    part[b] = _interval_cost(lines, d, min(low[b], code), max(high[b], code))
            else:
                _line_part(lines, d, code, low, high, mean[d, :n_boxes], part)
            for b in range(n_boxes):
                apart[b] += weight[d] * part[b]
        best = 0
        for b in range(n_boxes):
            apart[b] *= handicap[b]
            if apart[b] < apart[best]:
                best = b
        found[i] = best
        distance[i] = apart[best]
    return found, distance


def nearest(
    lines: Lines, codes: Codes, centroids: Centroids, weight: FloatArray, handicap: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The centroid nearest to each point, the first of equally near ones, and its distance."""
    same = np.ascontiguousarray  # one layout, one compiled version; no copy where it is that already
    lo, hi, mean, n = centroids
    result: tuple[IntArray, FloatArray] = _nearest(
        lines, same(codes), same(lo), same(hi), same(mean), n, weight, handicap
    )
    return result
