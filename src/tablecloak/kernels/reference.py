"""Plain-numpy kernels of top-down partitioning: the same functions and results as `compiled`, for small tables.

Written to be read; `compiled` is tested to be equal to this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.reference_coding import add_codes, count_leaves, covers, leaves_of
from tablecloak.kernels.reference_refine import refine
from tablecloak.kernels.space import ClassCost, FloatArray, IntArray, Keys, Space

__all__ = [
    "add_codes",
    "count_codes",
    "count_leaves",
    "covers",
    "descend",
    "group",
    "is_kept",
    "leaves_of",
    "propose",
    "refine",
    "sizes",
    "split",
    "warm_up",
]

ORDERED, TREE = 0, 1
Cut = tuple[int, int, int]  # dimension (-1: none), largest code of the left side, ties
NO_CUT: Cut = (-1, -1, -1)


def sizes(weights: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Records of every node."""
    if len(weights) == 0:
        return ends - starts
    return np.array([weights[a:b].sum() for a, b in zip(starts, ends, strict=True)], np.int64)


def _codes(keys: Keys, a: int, b: int, space: Space, d: int) -> IntArray:
    layout = space.layout
    codes: IntArray = ((keys[layout.word[d], a:b] >> layout.shift[d]) & layout.mask[d]).astype(np.int64)
    return codes


def _losses(space: Space, d: int, lo: IntArray, hi: IntArray) -> FloatArray:
    """Loss of code intervals of one dimension, times the dimension's weight."""
    weight = space.weight[d]
    if space.kind[d] == TREE:
        rows = space.tree_start[d] + lo
        holds = space.ends[rows] >= hi[:, None]  # (intervals, depth), root first
        deepest = holds.shape[1] - 1 - np.argmax(holds[:, ::-1], axis=1)
        losses = weight * np.where(holds.any(axis=1), space.end_losses[rows, deepest], 1.0)
    elif space.kind[d] == ORDERED:
        begin = space.start[d]
        losses = weight * (space.inner_upper[begin + hi] - space.inner_lower[begin + lo])
    else:
        losses = weight * (hi - lo + 1) / float(space.n_codes[d] - space.has_missing[d])
    if space.has_missing[d] and space.kind[d] != TREE:
        losses = np.where(lo == 0, weight, losses)
    return np.where(lo >= hi, 0.0, losses)


def _loss(space: Space, d: int, lo: int, hi: int) -> float:
    """The same for one interval, without the cost of making arrays."""
    if lo >= hi:
        return 0.0
    weight = float(space.weight[d])
    if space.kind[d] == TREE:
        row = space.tree_start[d] + lo
        holding = np.flatnonzero(space.ends[row] >= hi)
        return weight * float(space.end_losses[row, holding[-1]]) if len(holding) else weight
    if space.has_missing[d] and lo == 0:
        return weight
    if space.kind[d] == ORDERED:
        begin = space.start[d]
        return weight * float(space.inner_upper[begin + hi] - space.inner_lower[begin + lo])
    return weight * (hi - lo + 1) / float(space.n_codes[d] - space.has_missing[d])


def _gap_depths(space: Space, d: int, codes: IntArray) -> IntArray:
    """Depth of the lowest node holding each pair of neighbouring codes, (n_codes - 1,)."""
    if space.kind[d] != TREE:
        return (codes[:-1] > 0).astype(np.int64) if space.has_missing[d] else np.zeros(len(codes) - 1, np.int64)
    holds = space.ends[space.tree_start[d] + codes[:-1], 1:] >= codes[1:, None]  # below the root, (gaps, depth - 1)
    depth_of_last = holds.shape[1] - np.argmax(holds[:, ::-1], axis=1) if holds.shape[1] else 0
    return np.where(holds.any(axis=1), depth_of_last, 0)


class _Node:
    """The tuples [a, b) with what the cut rules ask about them."""

    def __init__(self, keys: Keys, weights: IntArray, a: int, b: int, space: Space) -> None:
        self.space = space
        self.codes = np.stack([_codes(keys, a, b, space, d) for d in range(space.n_dims)])  # (n_dims, n)
        self.weights = weights[a:b] if len(weights) else np.ones(b - a, np.int64)
        self.total = int(self.weights.sum())
        self.lo = self.codes.min(axis=1)
        self.hi = self.codes.max(axis=1)

    def present(self, d: int) -> tuple[IntArray, IntArray]:
        """Codes of a dimension that occur, ascending, and their weights."""
        codes, inverse = np.unique(self.codes[d], return_inverse=True)
        return codes, np.bincount(inverse, weights=self.weights).astype(np.int64)

    def width(self, d: int) -> float:
        return _loss(self.space, d, int(self.lo[d]), int(self.hi[d]))

    def box_loss(self, members: NDArray[np.bool_]) -> float:
        part = self.codes[:, members]
        lo, hi = part.min(axis=1), part.max(axis=1)
        return sum(_loss(self.space, d, int(lo[d]), int(hi[d])) for d in range(self.space.n_dims))


def _balanced_cut(space: Space, d: int, codes: IntArray, counts: IntArray, min_size: int) -> tuple[int, int]:
    depths = _gap_depths(space, d, codes)
    left = np.cumsum(counts)[:-1]
    even = np.where(depths == depths.min(), np.minimum(left, counts.sum() - left), -1)
    best = int(np.argmax(even))
    return (int(codes[best]) if even[best] >= min_size else -1), int(even[best])


def _saving_cut(space: Space, d: int, codes: IntArray, counts: IntArray, min_size: int) -> tuple[int, float]:
    total = int(counts.sum())
    left = np.cumsum(counts)[:-1]
    first, last = np.full(len(left), codes[0]), np.full(len(left), codes[-1])
    saved = (
        total * _loss(space, d, int(codes[0]), int(codes[-1]))
        - left * _losses(space, d, first, codes[:-1])
        - (total - left) * _losses(space, d, codes[1:], last)
    )
    saved = np.where((left >= min_size) & (total - left >= min_size), saved, -1.0)
    best = int(np.argmax(saved))
    return (int(codes[best]), float(saved[best])) if saved[best] > -1.0 else (-1, -1.0)


def _descent_cut(space: Space, d: int, codes: IntArray, counts: IntArray, min_size: int) -> tuple[int, float]:
    if space.kind[d] != TREE or len(codes) < 3:
        return -1, -1.0
    depths = _gap_depths(space, d, codes)
    closes_child = np.append(depths == depths.min(), True)
    total = int(counts.sum())
    whole = _loss(space, d, int(codes[0]), int(codes[-1]))
    saving, n_children, first, child, left, balance, best = 0.0, 0, 0, 0, 0, -1, -1
    for i in range(len(codes)):
        child += int(counts[i])
        left += int(counts[i])
        if not closes_child[i]:
            continue
        if child >= min_size:
            saving += child * (whole - _loss(space, d, int(codes[first]), int(codes[i])))
            n_children += 1
        even = min(left, total - left)
        if i < len(codes) - 1 and even >= min_size and even > balance:
            balance, best = even, int(codes[i])
        first, child = i + 1, 0
    if n_children < 2 or best < 0:
        return -1, -1.0
    return best, saving / max(1.0, float(np.log2(n_children)))


def _cut_by_width(node: _Node, tried: NDArray[np.bool_], min_size: int, *, relaxed: bool) -> Cut:
    space = node.space
    open_dims = [d for d in range(space.n_dims) if not tried[d] and node.lo[d] < node.hi[d]]
    for d in sorted(open_dims, key=lambda d: (-node.width(d), d)):
        codes, counts = node.present(d)
        if relaxed and space.kind[d] == ORDERED and not (space.has_missing[d] and node.lo[d] == 0):
            half = node.total // 2
            if half >= min_size:
                i = int(np.searchsorted(np.cumsum(counts), half))
                return d, int(codes[i]), half - int(counts[:i].sum())
            continue
        cut, _balance = _balanced_cut(space, d, codes, counts, min_size)
        if cut >= 0:
            return d, cut, -1
    return NO_CUT


def _cut_by_saving(node: _Node, tried: NDArray[np.bool_], min_size: int) -> Cut:
    space = node.space
    whole = node.total * sum(node.width(d) for d in range(space.n_dims))
    best, chosen = -1.0, NO_CUT
    for d in range(space.n_dims):
        if tried[d] or node.lo[d] >= node.hi[d]:
            continue
        codes, counts = node.present(d)
        even_cut, balance = _balanced_cut(space, d, codes, counts, min_size)
        saving_cut, saving = _saving_cut(space, d, codes, counts, min_size)
        if saving_cut < 0:
            continue
        candidates = [_descent_cut(space, d, codes, counts, min_size)]
        if node.codes.shape[1] > space.exact_up_to:
            cut = saving_cut if saving > 0 or even_cut < 0 else even_cut
            candidates.append((cut, max(saving, 0.0) + 1e-9 * max(balance, 0)))
        else:
            candidates += [(cut, _exact_score(node, d, cut, whole)) for cut in dict.fromkeys([saving_cut, even_cut])]
        for cut, score in candidates:
            if cut >= 0 and score > best:
                best, chosen = score, (d, cut, -1)
    return chosen


def _exact_score(node: _Node, d: int, cut: int, whole: float) -> float:
    if cut < 0:
        return -1.0
    is_left = node.codes[d] <= cut
    left = int(node.weights[is_left].sum())
    saved = whole - left * node.box_loss(is_left) - (node.total - left) * node.box_loss(~is_left)
    return saved + 1e-9 * min(left, node.total - left)


def _class_costs(sizes: IntArray, min_size: int, cost: int) -> IntArray:
    """What sides of a cut cost at best: as if they could be cut evenly into as many classes as fit into them."""
    n_classes = sizes // min_size
    if cost == ClassCost.AVERAGE_SIZE:
        return -n_classes
    even = sizes // n_classes
    n_larger = sizes - n_classes * even
    return np.asarray((n_classes - n_larger) * even * even + n_larger * (even + 1) * (even + 1))


def _cut_by_class(node: _Node, tried: NDArray[np.bool_], min_size: int, cost: int) -> Cut:
    space = node.space
    least, best, chosen = np.iinfo(np.int64).max, -np.inf, NO_CUT
    for d in range(space.n_dims):
        if tried[d] or node.lo[d] >= node.hi[d]:
            continue
        codes, counts = node.present(d)
        left = np.cumsum(counts)[:-1]
        goes = np.flatnonzero((left >= min_size) & (node.total - left >= min_size))
        if len(goes) == 0:
            continue
        left = left[goes]
        costs = _class_costs(left, min_size, cost) + _class_costs(node.total - left, min_size, cost)
        first, last = np.full(len(goes), codes[0]), np.full(len(goes), codes[-1])
        saved = (
            node.total * _loss(space, d, int(codes[0]), int(codes[-1]))
            - left * _losses(space, d, first, codes[goes])
            - (node.total - left) * _losses(space, d, codes[goes + 1], last)
        )
        at = int(np.argmax(np.where(costs == costs.min(), saved, -np.inf)))
        if costs[at] < least or (costs[at] == least and saved[at] > best):
            least, best, chosen = int(costs[at]), float(saved[at]), (d, int(codes[goes[at]]), -1)
    return chosen


def propose(
    keys: Keys,
    weights: IntArray,
    starts: IntArray,
    ends: IntArray,
    space: Space,
    tried: NDArray[np.bool_],
    *,
    min_size: int,
    by_saving: bool,
    relaxed: bool,
    cost: int = ClassCost.CELLS,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """The next cut of every node: dimensions (-1 for none), cuts (left: code <= cut), ties; and boxes lo, hi."""
    cuts = np.full((len(starts), 3), -1, np.int64)
    lo = np.zeros((len(starts), space.n_dims), np.int64)
    hi = np.zeros((len(starts), space.n_dims), np.int64)
    for i, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        node = _Node(keys, weights, a, b, space)
        lo[i], hi[i] = node.lo, node.hi
        if node.total < 2 * min_size or b - a < 2:
            continue
        if by_saving and cost != ClassCost.CELLS:
            cuts[i] = _cut_by_class(node, tried[i], min_size, cost)
        elif by_saving:
            cuts[i] = _cut_by_saving(node, tried[i], min_size)
        else:
            cuts[i] = _cut_by_width(node, tried[i], min_size, relaxed=relaxed)
    return cuts[:, 0].copy(), cuts[:, 1].copy(), cuts[:, 2].copy(), lo, hi


def split(
    keys: Keys,
    ids: NDArray[np.uint32],
    weights: IntArray,
    starts: IntArray,
    ends: IntArray,
    space: Space,
    dims: IntArray,
    cuts: IntArray,
    ties: IntArray,
) -> IntArray:
    """Move the tuples of every node so that its left side comes first; returns where the right sides begin."""
    middles = np.zeros(len(starts), np.int64)
    for i, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        codes = _codes(keys, a, b, space, int(dims[i]))
        goes_left = codes <= cuts[i]
        if ties[i] >= 0:
            is_tie = codes == cuts[i]
            share = np.where(is_tie, weights[a:b] if len(weights) else 1, 0)
            goes_left &= ~is_tie | (np.cumsum(share) - share < ties[i])
        order = a + np.concatenate([np.flatnonzero(goes_left), np.flatnonzero(~goes_left)])
        keys[:, a:b] = keys[:, order]
        ids[a:b] = ids[order]
        if len(weights):
            weights[a:b] = weights[order]
        middles[i] = a + int(goes_left.sum())
    return middles


def descend(
    keys: Keys,
    ids: NDArray[np.uint32],
    weights: IntArray,
    begin: int,
    end: int,
    space: Space,
    *,
    min_size: int,
    by_saving: bool,
    relaxed: bool,
    cost: int = ClassCost.CELLS,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Partition [begin, end) to the leaves when only the size of a class matters.

    Returns leaf starts (ascending), boxes lo and hi, and the cuts made: rows of (start, middle, end, dimension, cut).
    """
    untried = np.zeros((1, space.n_dims), bool)
    leaves, boxes, cuts = [], [], []
    stack = [(begin, end)]
    while stack:
        a, b = stack.pop()
        at, to = np.array([a]), np.array([b])
        dims, codes, ties, lo, hi = propose(
            keys, weights, at, to, space, untried,
            min_size=min_size, by_saving=by_saving, relaxed=relaxed, cost=cost,
        )  # fmt: skip
        if dims[0] < 0:
            leaves.append(a)
            boxes.append((lo[0], hi[0]))
            continue
        middle = int(split(keys, ids, weights, at, to, space, dims, codes, ties)[0])
        cuts.append((a, middle, b, int(dims[0]), int(codes[0])))
        stack += [(middle, b), (a, middle)]
    lo, hi = (np.stack(side) for side in zip(*boxes, strict=True))
    return np.array(leaves), lo, hi, np.array(cuts, np.int64).reshape(-1, 5)


def count_codes(
    keys: Keys, weights: IntArray, starts: IntArray, ends: IntArray, space: Space, dim: int, n_values: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Histogram of one packed dimension in every node, in compressed rows: indptr, codes, counts."""
    indptr = np.zeros(len(starts) + 1, np.int64)
    codes, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for i, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        dense = np.bincount(
            _codes(keys, a, b, space, dim), weights=weights[a:b] if len(weights) else None, minlength=n_values
        )
        found = np.flatnonzero(dense)
        codes.append(found)
        counts.append(dense[found].astype(np.int64))
        indptr[i + 1] = indptr[i] + len(found)
    return indptr, np.concatenate(codes), np.concatenate(counts)


def group(keys: Keys, n_rows: int | None = None) -> tuple[IntArray, NDArray[np.uint32]]:  # noqa: ARG001
    """Equal keys get equal numbers: (first tuple of every group, group of every tuple)."""
    if keys.shape[0] == 1:
        _, firsts, inverse = np.unique(keys[0], return_index=True, return_inverse=True)
    else:
        _, firsts, inverse = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return firsts.astype(np.int64), inverse.reshape(-1).astype(np.uint32)


def warm_up(*, refines: bool = False, as_sets: bool = False) -> None:
    """Nothing to load."""


def is_kept(*, as_sets: bool = False) -> bool:  # noqa: ARG001
    """Nothing to compile."""
    return True
