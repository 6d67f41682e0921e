"""Dealing records one by one to piles: the nearest is found in blocks of near ones, or down a tree of centroids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.clustering import COMPILED_FROM, Codes, Lines, _interval_cost, box_costs, interval_costs
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


class PileTree(NamedTuple):
    """Parents of `width` consecutive piles or parents each, level above level, those of the highest first.

    A parent has the union of the boxes and the mean of the mean places of what is below it.
    """

    width: int
    leaves: NDArray[np.int32]  # (n_leaves,) piles in the order in which parents take them
    starts: IntArray  # (n_levels + 1,) where the parents of each level begin
    lo: Codes  # (n_parents, n_dims)
    hi: Codes  # (n_parents, n_dims)
    mean: FloatArray  # (n_parents, n_dims)
    size: IntArray  # (n_parents,) nodes below


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
def _deal(lines, codes, piles, blocks, size_weight, limit, most_blocks):
    n_dims, n = codes.shape
    pile_of, distance = np.empty(n, np.int64), np.empty(n)
    bound = np.empty(blocks.n_members.size)
    point = np.empty(n_dims, np.int32)
    for i in range(n):
        point[:] = codes[:, i]
        _bounds(lines, point, blocks, bound)
        first = np.argmin(bound)
        pile, best = np.int64(1) << 62, np.inf
        is_exact = most_blocks >= bound.size
        for turn in range(bound.size + 1 if is_exact else most_blocks):  # the nearest block first, then all others
            b = first if turn == 0 else turn - 1 if is_exact else np.argmin(bound)
            if bound[b] <= best and (turn == 0 or b != first):
                members = blocks.members[b, : blocks.n_members[b]]
                pile, best = _scan(
                    lines, point, piles.lo, piles.hi, piles.mean, piles.size, size_weight, members, pile, best
                )
            if not is_exact:
                bound[b] = np.inf
        _join(lines, point, piles, pile)
        _widen(piles, blocks, pile)
        pile_of[i], distance[i] = pile, best
        if piles.size[pile] >= limit:
            return pile_of[: i + 1].copy(), distance[: i + 1].copy()
    return pile_of, distance


def _deal_plainly(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, blocks: PileBlocks | None, *,
    size_weight: float, limit: int, most_blocks: int,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    if blocks is not None and most_blocks < len(blocks.n_members):
        found: tuple[IntArray, FloatArray] = _deal(lines, codes, piles, blocks, size_weight, limit, most_blocks)
        return found
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


@kernel(plain=_deal_plainly, compiled_from=COMPILED_FROM)
def deal(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, blocks: PileBlocks | None, *,
    size_weight: float, limit: int, most_blocks: int,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """Give each record in turn to the nearest pile, until one has `limit` records: piles and distances of those dealt.

    Args:
        codes: (n_dims, n).
        blocks: where near piles are found without looking at all; the plain form looks at all.
        size_weight: how much farther a pile looks for every record it has.
        most_blocks: look into no more than so many, those whose bounds are nearest; as many as there are: the pile
            found is the nearest of all.
    """
    assert blocks is not None
    del n_piles
    result: tuple[IntArray, FloatArray] = _deal(
        lines, np.ascontiguousarray(codes), piles, blocks, size_weight, limit, most_blocks
    )
    return result


@jit
def _deal_by_tree(lines, codes, piles, tree, size_weight):
    n_dims, n = codes.shape
    pile_of, distance = np.empty(n, np.int64), np.empty(n)
    point = np.empty(n_dims, np.int32)
    every = np.arange(tree.size.size).astype(np.int32)
    n_leaves = np.int64(tree.leaves.size)
    far = np.int64(1) << 62
    for i in range(n):
        point[:] = codes[:, i]
        begin, end = np.int64(0), tree.starts[1] if tree.starts.size > 1 else n_leaves
        for level in range(tree.starts.size - 1):
            first = tree.starts[level]
            here = every[first + begin : first + end]
            node, _ = _scan(lines, point, tree.lo, tree.hi, tree.mean, tree.size, 0.0, here, far, np.inf)
            is_last = level + 2 == tree.starts.size
            n_below = n_leaves if is_last else tree.starts[level + 2] - tree.starts[level + 1]
            begin = (node - first) * tree.width
            end = min(begin + tree.width, n_below)
        below = tree.leaves[begin:end]
        pile, best = _scan(lines, point, piles.lo, piles.hi, piles.mean, piles.size, size_weight, below, far, np.inf)
        _join(lines, point, piles, pile)
        pile_of[i], distance[i] = pile, best
    return pile_of, distance


@kernel(compiled_from=COMPILED_FROM)
def deal_by_tree(
    lines: Lines, codes: Codes, piles: Piles, tree: PileTree, *, size_weight: float
) -> tuple[IntArray, FloatArray]:
    """Give each record in turn to the pile found by going down to the nearest node, again and again: piles, distances.

    The tree stays as it is meanwhile.
    """
    result: tuple[IntArray, FloatArray] = _deal_by_tree(lines, np.ascontiguousarray(codes), piles, tree, size_weight)
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


def _loss_in_numpy(lines: Lines, codes: Codes, rows: IntArray) -> int:
    codes = codes[:, rows]
    return len(rows) * int(box_costs(lines, codes.min(axis=1)[:, None], codes.max(axis=1)[:, None])[0])


@inner_jit(plain=_loss_in_numpy)
def _loss(lines, codes, rows):
    """What some records lose in one box."""
    total = np.int64(0)
    for d in range(codes.shape[0]):
        lo = hi = codes[d, rows[0]]
        for row in rows:
            code = codes[d, row]
            lo, hi = min(lo, code), max(hi, code)
        total += _interval_cost(lines, d, lo, hi)
    return rows.size * total


@jit
def _cut(lines, distances, codes, starts, size):
    n_dims, n = codes.shape
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
            if here.size < 2 * size:
                away = _from_centroid(distances, codes, here)
                for i in range(here.size):
                    part[here[i]], distance[here[i]] = number, away[i]
                continue
            half = here.size // 2
            ordered, least = here.copy(), np.int64(-1)
            for d in range(n_dims):
                other = here[np.argsort(codes[d][here], kind="mergesort")]
                loss = _loss(lines, codes, other[:half]) + _loss(lines, codes, other[half:])
                if least < 0 or loss < least:
                    ordered, least = other, loss
            low, high = np.sort(ordered[:half]), np.sort(ordered[half:])
            here[:half] = low
            here[half:] = high
            begins[n_open], ends[n_open], numbers[n_open] = begin, begin + half, number
            begins[n_open + 1], ends[n_open + 1], numbers[n_open + 1] = begin + half, end, n_parts
            n_open += 2
            n_parts += 1
    return part, distance, n_parts


@kernel(compiled_from=COMPILED_FROM)
def cut(lines: Lines, distances: Lines, codes: Codes, starts: IntArray, size: int) -> tuple[IntArray, FloatArray, int]:
    """Cut piles into halves where both lose least, along one dimension, until no part has 2 * size records.

    Args:
        lines: what parts lose; `distances`: how far records are from centroids.
        codes: (n_dims, n) records of one pile after the other.
        starts: (n_piles + 1,) where the records of each pile begin.

    Returns:
        The part of every record, its distance from the centroid of that part, and how many parts there are. Part p is
        what stays of pile p, for p below the number of piles.
    """
    result: tuple[IntArray, FloatArray, int] = _cut(lines, distances, np.ascontiguousarray(codes), starts, size)
    return result
