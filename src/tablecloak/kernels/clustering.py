"""Clustering: what a box of codes costs in whole units, and which point should join which box.

Boxes and points are (n_dims, n) arrays of codes. A box costs the sum of the costs of its intervals. Costs are whole
numbers, so sums do not depend on the order of additions and equal costs are equal exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.kernels.dispatch import inner_jit, jit, kernel
from tablecloak.kernels.small_loops import copy_into

FAR = 1 << 60  # dearer than any box
# These methods compare pairs of records, so compiled kernels pay from fewer records on than elsewhere.
COMPILED_FROM = 1_500
Codes = NDArray[np.int32]


class Lines(NamedTuple):
    """Dimensions one after the other; entry `start[d] + c` belongs to code `c` of dimension `d`.

    The interval lo < hi of a line costs `upper[hi] - lower[lo]`, but at most `full`, and `full` if it mixes missing and
    other values; of a tree it costs what the lowest ancestor that reaches `hi` costs.
    """

    is_tree: BoolArray  # (n_dims,)
    has_missing: BoolArray  # (n_dims,) code 0 of a line is the missing value
    n_codes: IntArray  # (n_dims,)
    start: IntArray  # (n_dims,)
    step: IntArray  # (n_dims,) what two neighboring values of a set cost beyond their distance; 0 of numbers and trees
    full: IntArray  # (n_dims,)
    line: IntArray  # (sum of codes,) the place of each code
    lower: IntArray  # (sum of codes,) where an interval begins, as published, that begins with each code
    upper: IntArray  # (sum of codes,) where one ends that ends with each code
    begins: NDArray[np.int32]  # (sum of codes, depth) first code of the ancestor at each depth, root first
    ends: NDArray[np.int32]  # (sum of codes, depth) last code of that ancestor
    costs: IntArray  # (sum of codes, depth) cost of that ancestor


class Centroids(NamedTuple):
    """The first `n` columns are the boxes of clusters with the mean place of their members on every line."""

    lo: NDArray[np.int32]  # (n_dims, room)
    hi: NDArray[np.int32]  # (n_dims, room)
    mean: FloatArray  # (n_dims, room) meaningless in trees
    n: int


class Wishes(NamedTuple):
    """The points that boxes would take next, cheapest first, as they were when all points were last looked at."""

    rows: IntArray  # (n_boxes, n_wishes) -1 where there are no more
    bound: IntArray  # (n_boxes,) no point that is not listed cost less
    is_fresh: BoolArray  # (n_boxes,) the box has not grown since


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


def box_costs(lines: Lines, lo: Codes, hi: Codes) -> IntArray:
    """Cost of every box, (n_boxes,)."""
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(len(lo)):
        total += interval_costs(lines, d, lo[d], hi[d])
    return total


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


@inner_jit
def _interval_cost(lines, d, lo, hi):
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
def _unions(lines, lo, hi, box_lo, box_hi):
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(lo.shape[0]):
        for i in range(total.size):
            total[i] += _interval_cost(lines, d, min(lo[d, i], box_lo[d]), max(hi[d, i], box_hi[d]))
    return total


def _unions_in_numpy(lines: Lines, lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes) -> IntArray:
    total = np.zeros(lo.shape[1], np.int64)
    for d in range(len(lo)):
        total += interval_costs(lines, d, np.minimum(lo[d], box_lo[d]), np.maximum(hi[d], box_hi[d]))
    return total


@kernel(plain=_unions_in_numpy, compiled_from=COMPILED_FROM)
def unions(lines: Lines, lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes) -> IntArray:
    """Cost of the union of every box with one box, (n_boxes,)."""
    same = np.ascontiguousarray  # one layout, one compiled version
    result: IntArray = _unions(lines, same(lo), same(hi), same(box_lo), same(box_hi))
    return result


def _fill_in_numpy(lines: Lines, d: int, lo: int, hi: int, table: IntArray) -> None:
    every = np.arange(lines.n_codes[d], dtype=np.int32)
    table[: len(every)] = interval_costs(lines, d, np.minimum(every, lo), np.maximum(every, hi))


@inner_jit(plain=_fill_in_numpy)
def _fill(lines, d, lo, hi, table):
    """Cost of an interval after each code joins it."""
    for c in range(lines.n_codes[d]):
        table[c] = _interval_cost(lines, d, min(lo, c), max(hi, c))


def _add_in_numpy(cost: IntArray, codes: Codes, table: IntArray) -> None:
    cost += table[codes]


@inner_jit(plain=_add_in_numpy)
def _add(cost, codes, table):
    for i in range(codes.size):
        cost[i] += table[codes[i]]


def _begin_in_numpy(cost: IntArray, is_gone: BoolArray) -> None:
    cost[:] = np.where(is_gone, FAR, 0)


@inner_jit(plain=_begin_in_numpy)
def _begin(cost, is_gone):
    for i in range(cost.size):
        cost[i] = FAR if is_gone[i] else 0


@inner_jit
def _widest(lines, n_dims):
    """Most codes of a dimension."""
    widest = np.int64(1)
    for d in range(n_dims):
        widest = max(widest, lines.n_codes[d])
    return widest


@jit
def _joined(lines, codes, lo, hi):
    table = np.empty(_widest(lines, codes.shape[0]), np.int64)
    cost = np.zeros(codes.shape[1], np.int64)
    for d in range(codes.shape[0]):
        _fill(lines, d, lo[d], hi[d], table)
        _add(cost, codes[d], table)
    return cost


@kernel(compiled_from=COMPILED_FROM)
def joined(lines: Lines, codes: Codes, lo: Codes, hi: Codes) -> IntArray:
    """Cost of one box after each point joins it, (n_points,)."""
    result: IntArray = _joined(lines, codes, np.ascontiguousarray(lo), np.ascontiguousarray(hi))
    return result


def _cheapest_in_numpy(cost: IntArray) -> int:
    return int(np.argmin(cost))


@inner_jit(plain=_cheapest_in_numpy)
def _cheapest(cost):
    """The first point of least cost; two passes, because a minimum without its place is found by SIMD."""
    least = cost[0]
    for i in range(cost.size):
        least = min(least, cost[i])
    for i in range(cost.size):
        if cost[i] == least:
            return i
    return -1


def _cheapest_with_penalty_in_numpy(cost: IntArray, target: Codes, wanted: int, n_members: int, penalty: int) -> int:
    scores = np.where(cost < FAR, cost * (n_members + 1) + penalty * (target != wanted), FAR)
    best = int(np.argmin(scores))
    return best if cost[best] < FAR else -1


@inner_jit(plain=_cheapest_with_penalty_in_numpy)
def _cheapest_with_penalty(cost, target, wanted, n_members, penalty):
    best = -1
    least = np.int64(1) << 62
    for i in range(cost.size):
        if cost[i] < FAR:
            score = cost[i] * (n_members + 1) + (penalty if target[i] != wanted else 0)
            if score < least:
                least = score
                best = i
    return best


def _subtract_from_in_numpy(before: IntArray, after: IntArray) -> None:
    np.subtract(after, before, out=before)


@inner_jit(plain=_subtract_from_in_numpy)
def _subtract_from(before, after):
    """Make numbers what others are above them."""
    for c in range(before.size):
        before[c] = after[c] - before[c]


@jit
def _grow(lines, codes, is_gone, seed, size, limit, target, penalty, cost):
    n_dims = codes.shape[0]
    members = np.empty(size, np.int64)
    lo = codes[:, seed].copy()
    hi = codes[:, seed].copy()
    tables = np.zeros((n_dims, _widest(lines, n_dims)), np.int64)
    change = np.empty(tables.shape[1], np.int64)
    _begin(cost, is_gone)
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
                copy_into(change, table)
                _fill(lines, d, lo[d], hi[d], table)
                _subtract_from(change, table)
                _add(cost, codes[d], change)
    return members[:n_members].copy()


@kernel(compiled_from=COMPILED_FROM)
def grow(
    lines: Lines,
    codes: Codes,
    is_gone: BoolArray,
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
    cost = np.empty(codes.shape[1], np.int64)
    result: IntArray = _grow(lines, codes, is_gone, seed, size, limit, target, penalty, cost)
    return result


def _list_cheapest_in_numpy(cost: IntArray, points: IntArray, costs: IntArray) -> None:
    order = np.argsort(cost, kind="stable")[: len(points)]
    order = order[cost[order] < FAR]
    points[: len(order)], costs[: len(order)] = order, cost[order]


@inner_jit(plain=_list_cheapest_in_numpy)
def _list_cheapest(cost, points, costs):
    """Fill in points and their costs, cheapest first, then by number."""
    n = points.size
    n_best = 0
    worst = np.int64(FAR)
    for i in range(cost.size):
        if cost[i] < worst:  # insert behind equal costs: earlier points come first
            j = min(n_best, n - 1)
            while j > 0 and costs[j - 1] > cost[i]:
                costs[j] = costs[j - 1]
                points[j] = points[j - 1]
                j -= 1
            costs[j] = cost[i]
            points[j] = i
            n_best = min(n, n_best + 1)
            if n_best == n:
                worst = costs[n - 1]


@kernel(compiled_from=COMPILED_FROM, is_loop=True)
def candidates(
    lines: Lines, codes: Codes, is_gone: BoolArray, lo: Codes, hi: Codes, n: int
) -> tuple[IntArray, IntArray]:
    """The `n` points that cost least when they join each box, cheapest first, then by number; -1 where none is left.

    Returns points and the costs of the boxes with them, both (n_boxes, n).
    """
    n_dims, n_points = codes.shape
    points = np.full((lo.shape[1], n), np.int64(-1), np.int64)
    costs = np.full((lo.shape[1], n), np.int64(FAR), np.int64)
    table = np.empty(_widest(lines, n_dims), np.int64)
    cost = np.empty(n_points, np.int64)
    for b in range(lo.shape[1]):
        _begin(cost, is_gone)
        for d in range(n_dims):
            _fill(lines, d, lo[d, b], hi[d, b], table)
            _add(cost, codes[d], table)
        _list_cheapest(cost, points[b], costs[b])
    return points, costs


@jit
def _look_around(lines, codes, is_gone, seeds, nearest, costs, furthest):
    n_dims = codes.shape[0]
    table = np.empty(_widest(lines, n_dims), np.int64)
    cost = np.empty(codes.shape[1], np.int64)
    far_costs = np.empty(furthest.shape[1], np.int64)
    for s in range(seeds.size):
        seed = seeds[s]
        _begin(cost, is_gone)
        for d in range(n_dims):
            _fill(lines, d, codes[d, seed], codes[d, seed], table)
            _add(cost, codes[d], table)
        cost[seed] = FAR
        _list_cheapest(cost, nearest[s], costs[s])
        for i in range(cost.size):
            cost[i] = -cost[i] if cost[i] < FAR else FAR
        far_costs[:] = FAR
        _list_cheapest(cost, furthest[s], far_costs)


@kernel(compiled_from=COMPILED_FROM)
def look_around(
    lines: Lines, codes: Codes, is_gone: BoolArray, seeds: IntArray, n_near: int, n_far: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Of each seed the points that are left and nearest to it, nearest first, then by number, and the furthest ones.

    Returns the nearest points, their distances and the furthest points, (n_seeds, n) each; -1 where none is left.
    """
    nearest, furthest = (np.full((len(seeds), n), -1, np.int64) for n in (n_near, n_far))
    costs = np.full(nearest.shape, FAR, np.int64)
    _look_around(lines, codes, is_gone, seeds, nearest, costs, furthest)
    return nearest, costs, furthest


@jit
def _grow_listed(lines, codes, is_gone, seeds, nearest, costs, size, target, penalty):
    n_dims, n = codes.shape
    members = np.full((seeds.size, size), np.int64(-1), np.int64)
    n_left = np.int64(0)
    for i in range(n):
        n_left += not is_gone[i]
    spare, near_cost = np.empty(n, np.int64), np.empty(nearest.shape[1] + 1, np.int64)
    listed, near_target = np.empty((n_dims, nearest.shape[1] + 1), np.int32), np.zeros(near_cost.size, np.int32)
    for s in range(seeds.size):
        seed = seeds[s]
        if is_gone[seed] or n_left < size:
            continue
        n_near = np.int64(1)
        rows = np.empty(near_cost.size, np.int64)
        rows[0] = seed
        for row in nearest[s]:
            if row >= 0 and not is_gone[row]:
                rows[n_near] = row
                n_near += 1
        for i in range(n_near):
            for d in range(n_dims):
                listed[d, i] = codes[d, rows[i]]
            if penalty > 0:
                near_target[i] = target[rows[i]]
        here = np.zeros(n_near, np.bool_)
        # no record that is not listed costs less than the last of the list, neither now nor when the box has grown
        places = _grow(
            lines, np.ascontiguousarray(listed[:, :n_near]), here, np.int64(0), size, costs[s, costs.shape[1] - 1],
            near_target[:n_near], penalty, near_cost[:n_near],
        )  # fmt: skip
        if places.size == size:
            for i in range(size):
                members[s, i] = rows[places[i]]
                is_gone[rows[places[i]]] = True
        else:
            grown = _grow(lines, codes, is_gone, seed, size, np.int64(FAR // 2), target, penalty, spare)
            for i in range(size):
                members[s, i] = grown[i]
        n_left -= size
    return members


@kernel(compiled_from=COMPILED_FROM)
def grow_listed(
    lines: Lines,
    codes: Codes,
    is_gone: BoolArray,
    seeds: IntArray,
    nearest: IntArray,
    costs: IntArray,
    *,
    size: int,
    target: Codes,
    penalty: int,
) -> IntArray:
    """Clusters grown from seeds one after the other, as `grow` does, from lists of near points: (n_seeds, size).

    Where a list cannot tell which point costs least, all points are looked at. -1: the seed was gone, or too few were
    left. With a penalty, the points that a cluster may take are those of its list, as long as these are enough.

    Args:
        nearest: (n_seeds, n_near) from `look_around`, as are `costs`; points that are gone meanwhile are passed over.
    """
    result: IntArray = _grow_listed(lines, codes, is_gone, seeds, nearest, costs, size, target, penalty)
    return result


@jit
def _choose_wishes(lines, codes, is_free, lo, hi, wishes):
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


@kernel(compiled_from=COMPILED_FROM)
def choose_wishes(lines: Lines, codes: Codes, is_free: BoolArray, lo: Codes, hi: Codes, wishes: Wishes) -> IntArray:
    """The free point that costs each box least, as far as its wishes can tell; -1: all points must be looked at.

    A box that has grown costs no less with any point than before, so a point cheaper than all that were not listed is
    the cheapest of all.

    Args:
        lo: (n_dims, n_boxes), as `hi` and `wishes`.
    """
    result: IntArray = _choose_wishes(lines, codes, is_free, np.ascontiguousarray(lo), np.ascontiguousarray(hi), wishes)
    return result


@inner_jit
def _tree_part(lines, d, code, lo, hi, part):
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
def _line_part(lines, d, code, lo, hi, mean, part):
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
def _nearest(lines, codes, lo, hi, mean, n_boxes, weight, handicap):
    n_dims, n_points = codes.shape
    centroid = np.zeros(n_points, np.int64)
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
        centroid[i] = best
        distance[i] = apart[best]
    return centroid, distance


def _nearest_in_numpy(
    lines: Lines, codes: Codes, centroids: Centroids, weight: FloatArray, handicap: FloatArray
) -> tuple[IntArray, FloatArray]:
    centroid = np.zeros(codes.shape[1], np.int64)
    distance = np.zeros(codes.shape[1])
    for i in range(codes.shape[1]):
        apart = _to_centroids(lines, codes[:, i], centroids, weight) * handicap[: centroids.n]
        centroid[i] = np.argmin(apart)
        distance[i] = apart[centroid[i]]
    return centroid, distance


@kernel(plain=_nearest_in_numpy, compiled_from=COMPILED_FROM)
def nearest(
    lines: Lines, codes: Codes, centroids: Centroids, weight: FloatArray, handicap: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The centroid nearest to each point, the first of equally near ones, and its distance.

    The distance is the sum over dimensions, each with its weight, of |place - mean| on a line and of the cost of the
    union in a tree or set; all of it times the handicap of the centroid.
    """
    same = np.ascontiguousarray  # one layout, one compiled version; no copy where it is that already
    lo, hi, mean, n = centroids
    result: tuple[IntArray, FloatArray] = _nearest(
        lines, same(codes), same(lo), same(hi), same(mean), n, weight, handicap
    )
    return result
