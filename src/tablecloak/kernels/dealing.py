"""Plain-numpy kernels that deal records to piles: the same functions and results as `compiled/dealing.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.clusters import interval_costs
from tablecloak.kernels.lines import IntArray, Lines
from tablecloak.kernels.piles import Blocks, Piles, Tops

__all__ = ["USES_BLOCKS", "deal", "deal_by_tops", "halve"]

Codes = NDArray[np.int32]
FloatArray = NDArray[np.float64]
USES_BLOCKS = False


def apart(lines: Lines, point: Codes, lo: Codes, hi: Codes, mean: FloatArray) -> FloatArray:
    """Distance of a record from centroids, (n,): |place - mean| on a line, cost of the union in a tree or a set."""
    total = np.zeros(len(lo))
    for d in range(len(point)):
        low, high = np.minimum(lo[:, d], point[d]), np.maximum(hi[:, d], point[d])
        if lines.is_tree[d] or lines.step[d] > 0:
            total += interval_costs(lines, d, low, high)
            continue
        part = np.abs(lines.line[lines.start[d] + point[d]] - mean[:, d])
        if lines.has_missing[d]:
            part = np.where((low == 0) & (high > 0), lines.full[d], np.where(high == 0, 0.0, part))
        total += part
    return total


def _nearest(lines: Lines, point: Codes, piles: Piles, begin: int, end: int, size_weight: float) -> tuple[int, float]:
    """The nearest of consecutive piles, the first of equally near ones, and its distance."""
    part = slice(begin, end)
    found = apart(lines, point, piles.lo[part], piles.hi[part], piles.mean[part])
    found = np.where(piles.size[part] > 0, found * (1.0 + size_weight * piles.size[part]), np.inf)
    best = int(np.argmin(found))
    return begin + best, float(found[best])


def _join(lines: Lines, point: Codes, piles: Piles, pile: int) -> None:
    piles.lo[pile] = np.minimum(piles.lo[pile], point)
    piles.hi[pile] = np.maximum(piles.hi[pile], point)
    piles.total[pile] += lines.line[lines.start + point]
    piles.size[pile] += 1
    piles.mean[pile] = piles.total[pile] / piles.size[pile]


def deal(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, blocks: Blocks | None, *, size_weight: float, limit: int
) -> tuple[IntArray, FloatArray]:
    """Give each record in turn to the nearest pile, until one has `limit` records: piles and distances of those dealt.

    Args:
        codes: (n_dims, n).
        blocks: where near piles are found without looking at all; not needed here.
        size_weight: how much farther a pile looks for every record it has.
    """
    del blocks
    found, distance = np.empty(codes.shape[1], np.int64), np.empty(codes.shape[1])
    for i in range(codes.shape[1]):
        found[i], distance[i] = _nearest(lines, codes[:, i], piles, 0, n_piles, size_weight)
        _join(lines, codes[:, i], piles, int(found[i]))
        if piles.size[found[i]] >= limit:
            return found[: i + 1], distance[: i + 1]
    return found, distance


def deal_by_tops(
    lines: Lines, codes: Codes, piles: Piles, n_piles: int, tops: Tops, *, size_weight: float
) -> tuple[IntArray, FloatArray]:
    """Give each record in turn to the nearest pile below the nearest parent: piles and distances."""
    found, distance = np.empty(codes.shape[1], np.int64), np.empty(codes.shape[1])
    for i in range(codes.shape[1]):
        point = codes[:, i]
        top = int(np.argmin(apart(lines, point, tops.lo, tops.hi, tops.mean)))
        begin = top * tops.width
        pile, distance[i] = _nearest(lines, point, piles, begin, min(begin + tops.width, n_piles), size_weight)
        before = piles.mean[pile].copy()
        _join(lines, point, piles, pile)
        tops.total[top] += piles.mean[pile] - before
        tops.mean[top] = tops.total[top] / tops.n_piles[top]
        tops.lo[top] = np.minimum(tops.lo[top], point)
        tops.hi[top] = np.maximum(tops.hi[top], point)
        found[i] = pile
    return found, distance


def halve(lines: Lines, codes: Codes, starts: IntArray, size: int) -> tuple[IntArray, FloatArray, int]:
    """Halve piles by distance from their centroid until no part has 2 * size records: the nearer half stays.

    Args:
        codes: (n_dims, n) records of one pile after the other.
        starts: (n_piles + 1,) where the records of each pile begin.

    Returns:
        The part of every record, its distance from the centroid of that part, and how many parts there are. Part p is
        what stays of pile p, for p below the number of piles.
    """
    part, distance = np.empty(codes.shape[1], np.int64), np.empty(codes.shape[1])
    n_parts = len(starts) - 1
    for pile in range(len(starts) - 1):
        open_ = [(pile, np.arange(starts[pile], starts[pile + 1]))]
        while open_:
            number, rows = open_.pop()
            away = _from_centroid(lines, codes[:, rows])
            if len(rows) < 2 * size:
                part[rows], distance[rows] = number, away
                continue
            order = np.argsort(away, kind="stable")
            half = len(rows) // 2
            open_ += [(number, np.sort(rows[order[:half]])), (n_parts, np.sort(rows[order[half:]]))]
            n_parts += 1
    return part, distance, n_parts


def _from_centroid(lines: Lines, codes: Codes) -> FloatArray:
    """Distance of each record from the centroid of all of them."""
    lo, hi = codes.min(axis=1)[None], codes.max(axis=1)[None]
    mean = lines.line[lines.start[:, None] + codes].sum(axis=1)[None] / codes.shape[1]
    return np.array([apart(lines, codes[:, i], lo, hi, mean)[0] for i in range(codes.shape[1])])
