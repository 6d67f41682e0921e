"""Dealing records one by one to piles: the nearest pile is found in blocks of near ones, or below its parent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.clustering import COMPILED_FROM, Codes, Lines, interval_costs
from tablecloak.kernels.dispatch import inner_jit, jit, kernel, leaf_jit


class Piles(NamedTuple):
    """Box, mean place and size of piles; rows beyond the last pile are room for more, and empty piles are passed over.

    Places are whole numbers, so that `total` and with it `mean` do not depend on the order in which records came.
    """

    lo: Codes  # (room, n_dims)
    hi: Codes  # (room, n_dims)
    total: IntArray  # (room, n_dims) sum of the places of the members on every line
    mean: FloatArray  # (room, n_dims) total / size
    size: IntArray  # (room,)


class PileBlocks(NamedTuple):
    """Near piles together, with bounds of all that a block holds: blocks too far away need not be looked at."""

    members: NDArray[np.int32]  # (n_blocks, width)
    n_members: IntArray  # (n_blocks,)
    block_of: NDArray[np.int32]  # (room,) -1: in no block
    mean_lo: FloatArray  # (n_blocks, n_dims)
    mean_hi: FloatArray  # (n_blocks, n_dims)
    lo: Codes  # (n_blocks, n_dims)
    hi: Codes  # (n_blocks, n_dims)
    least: IntArray  # (n_blocks, n_dims) the least that a box of the block costs by itself


class PileParents(NamedTuple):
    """Parents of `width` consecutive piles each: the union of their boxes and the mean of their mean places."""

    width: int
    lo: Codes  # (n_tops, n_dims)
    hi: Codes  # (n_tops, n_dims)
    total: FloatArray  # (n_tops, n_dims) sum of mean places
    mean: FloatArray  # (n_tops, n_dims) total / n_piles
    n_piles: IntArray  # (n_tops,)


def _apart(lines: Lines, point: Codes, lo: Codes, hi: Codes, mean: FloatArray) -> FloatArray:
    """Distance of a record from n centroids, or of records (n_dims, n) from one, (n,).

    It is |place - mean| on a line, and the cost of the union in a tree or a set.
    """
    total = np.zeros(1)
    for d in range(len(point)):
        low, high = np.minimum(lo[:, d], point[d]), np.maximum(hi[:, d], point[d])
        if lines.is_tree[d] or lines.step[d] > 0:
            total = total + interval_costs(lines, d, low, high)
            continue
        part = np.abs(lines.line[lines.start[d] + point[d]] - mean[:, d])
        if lines.has_missing[d]:
            part = np.where((low == 0) & (high > 0), lines.full[d], np.where(high == 0, 0.0, part))
        total = total + part
    return total


def _scan_in_numpy(
    lines: Lines, point: Codes, lo: Codes, hi: Codes, mean: FloatArray, size: IntArray, size_weight: float,
    members: NDArray[np.int32], nearest: int, best: float,
) -> tuple[int, float]:  # fmt: skip
    away = _apart(lines, point, lo[members], hi[members], mean[members]) * (1.0 + size_weight * size[members])
    place = int(np.argmin(away))
    is_nearer = (away[place], members[place]) < (best, nearest)
    return (int(members[place]), float(away[place])) if is_nearer else (nearest, best)


# Calls pass every array of their arguments along, so the two innermost loops make none.


@leaf_jit(plain=_scan_in_numpy)
def _scan(lines, point, lo, hi, mean, size, size_weight, members, nearest, best):
    """The nearest centroid and its distance, after some more were looked at; the first of equally near ones."""
    is_tree, has_missing, start, step = lines.is_tree, lines.has_missing, lines.start, lines.step
    full, line, begins, ends, costs = lines.full, lines.line, lines.begins, lines.ends, lines.costs
    for j in range(members.size):
        p = members[j]
        total = 0.0
        for d in range(point.size):
            code = point[d]
            low, high = min(lo[p, d], code), max(hi[p, d], code)
            if is_tree[d]:
                if low < high:
                    row = start[d] + code
                    depth = ends.shape[1] - 1
                    while depth > 0 and (begins[row, depth] > low or ends[row, depth] < high):
                        depth -= 1
                    total += costs[row, depth]
            elif has_missing[d] and low == 0:
                total += full[d] if high > 0 else 0
            elif step[d] > 0:
                total += line[start[d] + high] - line[start[d] + low] + step[d] if low < high else 0
            else:
                total += abs(line[start[d] + code] - mean[p, d])
            if total > best:
                break
        away = total * (1.0 + size_weight * size[p])
        if away < best or (away == best and p < nearest):
            nearest, best = np.int64(p), away
    return nearest, best


@leaf_jit
def _bounds(lines, point, blocks, bound):
    """No centroid of a block is nearer than its bound."""
    is_tree, has_missing, start, step = lines.is_tree, lines.has_missing, lines.start, lines.step
    full, line, begins, ends, costs = lines.full, lines.line, lines.begins, lines.ends, lines.costs
    lo, hi, mean_lo, mean_hi, least = blocks.lo, blocks.hi, blocks.mean_lo, blocks.mean_hi, blocks.least
    for b in range(bound.size):
        total = 0.0
        for d in range(point.size):
            code = point[d]
            row = start[d] + code
            if is_tree[d]:
                depth = ends.shape[1] - 1
                while depth > 0 and (begins[row, depth] > hi[b, d] or ends[row, depth] < lo[b, d]):
                    depth -= 1
                gap = np.int64(0) if lo[b, d] <= code <= hi[b, d] else costs[row, depth]
                total += max(gap, least[b, d])
            elif step[d] > 0:
                gap = np.int64(0)
                if code < lo[b, d]:
                    is_mixed = has_missing[d] and code == 0
                    gap = full[d] if is_mixed else line[start[d] + lo[b, d]] - line[row] + step[d]
                elif code > hi[b, d]:
                    is_mixed = has_missing[d] and hi[b, d] == 0
                    gap = full[d] if is_mixed else line[row] - line[start[d] + hi[b, d]] + step[d]
                total += max(gap, least[b, d])
            elif code > 0 or not has_missing[d]:
                total += max(0.0, mean_lo[b, d] - line[row], line[row] - mean_hi[b, d])
        bound[b] = total


@leaf_jit
def _join(lines, point, piles, pile):
    piles.size[pile] += 1
    for d in range(point.size):
        code = point[d]
        piles.lo[pile, d] = min(piles.lo[pile, d], code)
        piles.hi[pile, d] = max(piles.hi[pile, d], code)
        piles.total[pile, d] += lines.line[lines.start[d] + code]
        piles.mean[pile, d] = piles.total[pile, d] / piles.size[pile]


@leaf_jit
def _widen(piles, blocks, pile):
    """Let the bounds of its block hold a pile that has changed."""
    b = blocks.block_of[pile]
    for d in range(piles.lo.shape[1]):
        blocks.lo[b, d] = min(blocks.lo[b, d], piles.lo[pile, d])
        blocks.hi[b, d] = max(blocks.hi[b, d], piles.hi[pile, d])
        blocks.mean_lo[b, d] = min(blocks.mean_lo[b, d], piles.mean[pile, d])
        blocks.mean_hi[b, d] = max(blocks.mean_hi[b, d], piles.mean[pile, d])


@jit
def _deal(lines, codes, piles, blocks, size_weight, limit):
    n_dims, n = codes.shape
    pile_of, distance = np.empty(n, np.int64), np.empty(n)
    bound = np.empty(blocks.n_members.size)
    point = np.empty(n_dims, np.int32)
    for i in range(n):
        point[:] = codes[:, i]
        _bounds(lines, point, blocks, bound)
        first = np.argmin(bound)
        pile, best = np.int64(1) << 62, np.inf
        for turn in range(bound.size + 1):  # the nearest block first, then all others
            b = first if turn == 0 else turn - 1
            if bound[b] <= best and (turn == 0 or b != first):
                members = blocks.members[b, : blocks.n_members[b]]
                pile, best = _scan(
                    lines, point, piles.lo, piles.hi, piles.mean, piles.size, size_weight, members, pile, best
                )
        _join(lines, point, piles, pile)
        _widen(piles, blocks, pile)
        pile_of[i], distance[i] = pile, best
        if piles.size[pile] >= limit:
            return pile_of[: i + 1].copy(), distance[: i + 1].copy()
    return pile_of, distance


def _deal_in_numpy(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, blocks: PileBlocks | None, *, size_weight: float, limit: int
) -> tuple[IntArray, FloatArray]:
    del blocks
    pile_of, distance = np.empty(codes.shape[1], np.int64), np.empty(codes.shape[1])
    full = np.flatnonzero(piles.size[:n_piles] > 0).astype(np.int32)
    for i, point in enumerate(codes.T):
        pile_of[i], distance[i] = _scan_in_numpy(
            lines, point, piles.lo, piles.hi, piles.mean, piles.size, size_weight, full, n_piles, np.inf
        )
        _join(lines, point, piles, int(pile_of[i]))
        if piles.size[pile_of[i]] >= limit:
            return pile_of[: i + 1], distance[: i + 1]
    return pile_of, distance


@kernel(plain=_deal_in_numpy, compiled_from=COMPILED_FROM)
def deal(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, blocks: PileBlocks | None, *, size_weight: float, limit: int
) -> tuple[IntArray, FloatArray]:
    """Give each record in turn to the nearest pile, until one has `limit` records: piles and distances of those dealt.

    Args:
        codes: (n_dims, n).
        blocks: where near piles are found without looking at all; the plain form looks at all.
        size_weight: how much farther a pile looks for every record it has.
    """
    assert blocks is not None
    del n_piles
    result: tuple[IntArray, FloatArray] = _deal(lines, np.ascontiguousarray(codes), piles, blocks, size_weight, limit)
    return result


@jit
def _deal_by_tops(lines, codes, piles, n_piles, tops, size_weight):
    n_dims, n = codes.shape
    pile_of, distance = np.empty(n, np.int64), np.empty(n)
    point, before = np.empty(n_dims, np.int32), np.empty(n_dims)
    every = np.arange(n_piles).astype(np.int32)
    for i in range(n):
        point[:] = codes[:, i]
        top, _ = _scan(
            lines, point, tops.lo, tops.hi, tops.mean, tops.n_piles, 0.0, every[: tops.n_piles.size],
            np.int64(1) << 62, np.inf,
        )  # fmt: skip
        below = every[top * tops.width : min((top + 1) * tops.width, n_piles)]
        pile, best = _scan(
            lines, point, piles.lo, piles.hi, piles.mean, piles.size, size_weight, below, np.int64(1) << 62, np.inf
        )
        before[:] = piles.mean[pile]
        _join(lines, point, piles, pile)
        for d in range(n_dims):
            tops.total[top, d] += piles.mean[pile, d] - before[d]
            tops.mean[top, d] = tops.total[top, d] / tops.n_piles[top]
            tops.lo[top, d] = min(tops.lo[top, d], point[d])
            tops.hi[top, d] = max(tops.hi[top, d], point[d])
        pile_of[i], distance[i] = pile, best
    return pile_of, distance


@kernel(compiled_from=COMPILED_FROM)
def deal_by_tops(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, tops: PileParents, *, size_weight: float
) -> tuple[IntArray, FloatArray]:
    """Give each record in turn to the nearest pile below the nearest parent: piles and distances."""
    result: tuple[IntArray, FloatArray] = _deal_by_tops(
        lines, np.ascontiguousarray(codes), piles, n_piles, tops, size_weight
    )
    return result


def _from_centroid_in_numpy(lines: Lines, codes: Codes, rows: IntArray) -> FloatArray:
    codes = codes[:, rows]
    lo, hi = codes.min(axis=1)[None], codes.max(axis=1)[None]
    mean = lines.line[lines.start[:, None] + codes].sum(axis=1)[None] / codes.shape[1]
    return _apart(lines, codes, lo, hi, mean)


@inner_jit(plain=_from_centroid_in_numpy)
def _from_centroid(lines, codes, rows):
    """Distance of some records from the centroid of all of them."""
    n_dims = codes.shape[0]
    lo, hi, mean = np.empty((1, n_dims), np.int32), np.empty((1, n_dims), np.int32), np.empty((1, n_dims))
    for d in range(n_dims):
        total = np.int64(0)
        lo[0, d] = hi[0, d] = codes[d, rows[0]]
        for row in rows:
            code = codes[d, row]
            lo[0, d], hi[0, d] = min(lo[0, d], code), max(hi[0, d], code)
            total += lines.line[lines.start[d] + code]
        mean[0, d] = total / rows.size
    away, point = np.empty(rows.size), np.empty(n_dims, np.int32)
    only, size = np.zeros(1, np.int32), np.ones(1, np.int64)
    for i in range(rows.size):
        point[:] = codes[:, rows[i]]
        away[i] = _scan(lines, point, lo, hi, mean, size, 0.0, only, np.int64(1), np.inf)[1]
    return away


@jit
def _halve(lines, codes, starts, size):
    n = codes.shape[1]
    part, distance = np.empty(n, np.int64), np.empty(n)
    n_parts = starts.size - 1
    # ranges of `rows` that are still open, with the number of the part each makes
    rows = np.arange(n)
    begins, ends, numbers = np.empty(128, np.int64), np.empty(128, np.int64), np.empty(128, np.int64)
    for pile in range(starts.size - 1):
        begins[0], ends[0], numbers[0] = starts[pile], starts[pile + 1], pile
        n_open = 1
        while n_open:
            n_open -= 1
            begin, end, number = begins[n_open], ends[n_open], numbers[n_open]
            here = rows[begin:end]
            away = _from_centroid(lines, codes, here)
            if here.size < 2 * size:
                for i in range(here.size):
                    part[here[i]], distance[here[i]] = number, away[i]
                continue
            order = np.argsort(away, kind="mergesort")
            half = here.size // 2
            near, far = np.sort(here[order[:half]]), np.sort(here[order[half:]])
            here[:half] = near
            here[half:] = far
            begins[n_open], ends[n_open], numbers[n_open] = begin, begin + half, number
            begins[n_open + 1], ends[n_open + 1], numbers[n_open + 1] = begin + half, end, n_parts
            n_open += 2
            n_parts += 1
    return part, distance, n_parts


@kernel(compiled_from=COMPILED_FROM)
def halve(lines: Lines, codes: Codes, starts: IntArray, size: int) -> tuple[IntArray, FloatArray, int]:
    """Halve piles by distance from their centroid until no part has 2 * size records: the nearer half stays.

    Args:
        codes: (n_dims, n) records of one pile after the other.
        starts: (n_piles + 1,) where the records of each pile begin.

    Returns:
        The part of every record, its distance from the centroid of that part, and how many parts there are. Part p is
        what stays of pile p, for p below the number of piles.
    """
    result: tuple[IntArray, FloatArray, int] = _halve(lines, np.ascontiguousarray(codes), starts, size)
    return result
