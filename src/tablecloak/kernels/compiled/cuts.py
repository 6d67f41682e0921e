"""Where to cut a range of tuples: by the widest dimension, or by the loss a cut saves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.costs import ORDERED, TREE, box_loss, box_of, boxes_of_cut, gap_depth, loss, weight_of
from tablecloak.kernels.compiled.jit import inner_jit, jit, leaf_jit
from tablecloak.kernels.compiled.sorting import sort_up
from tablecloak.kernels.space import ClassCost, IntArray, Keys, Space

__all__ = ["longest", "propose", "propose_one", "scratch"]

CELLS, AVERAGE_SIZE = int(ClassCost.CELLS), int(ClassCost.AVERAGE_SIZE)


@inner_jit
def _present(keys, weights, a, b, space, d, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Codes of a dimension that occur in [a, b), ascending, with their weights; returns how many."""
    block = keys[space.layout.word[d], a:b]
    shift = space.layout.shift[d]
    mask = space.layout.mask[d]
    span = hi - lo + 1
    n_present = np.int64(0)
    if span <= dense.size:
        if weights.size == 0:
            for i in range(block.size):
                dense[np.int64((block[i] >> shift) & mask) - lo] += 1
        else:
            part = weights[a:b]
            for i in range(block.size):
                dense[np.int64((block[i] >> shift) & mask) - lo] += part[i]
        for c in range(span):
            if dense[c] > 0:
                codes[n_present] = c + lo
                counts[n_present] = dense[c]
                n_present += 1
                dense[c] = 0
        return n_present
    ranked = np.empty(block.size, np.int64)
    for i in range(block.size):
        ranked[i] = np.int64((block[i] >> shift) & mask) * block.size + i
    sort_up(ranked)
    for r in range(block.size):
        code, i = ranked[r] // block.size, ranked[r] % block.size
        w = np.int64(1) if weights.size == 0 else weights[a + i]
        if n_present > 0 and codes[n_present - 1] == code:
            counts[n_present - 1] += w
        else:
            codes[n_present] = code
            counts[n_present] = w
            n_present += 1
    return n_present


@leaf_jit
def _balanced_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """The allowed cut with the most even sides: (code, weight of the smaller side), or -1 if a side is too small."""
    best = np.int64(-1)
    balance = np.int64(-1)
    least_depth = np.int64(1 << 20)
    left = np.int64(0)
    for i in range(n_present - 1):
        left += counts[i]
        depth = gap_depth(space, d, codes[i], codes[i + 1])
        if depth > least_depth:
            continue
        if depth < least_depth:
            least_depth = depth
            balance = np.int64(-1)
        even = min(left, total - left)
        if even > balance:
            balance = even
            best = codes[i]
    if balance < min_size:
        return np.int64(-1), balance
    return best, balance


@leaf_jit
def _saving_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """The cut that saves most loss on its own dimension: (code, saving), or -1 if every cut leaves a side too small."""
    whole = total * loss(space, d, codes[0], codes[n_present - 1])
    best = np.int64(-1)
    saving = -1.0
    left = np.int64(0)
    for i in range(n_present - 1):
        left += counts[i]
        if left < min_size:
            continue
        if total - left < min_size:
            break
        saved = (
            whole
            - left * loss(space, d, codes[0], codes[i])
            - (total - left) * loss(space, d, codes[i + 1], codes[n_present - 1])
        )
        if saved > saving:
            saving = saved
            best = codes[i]
    return best, saving


@leaf_jit
def _descent_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """First step of splitting a tree node into all its children: (code, saving per binary step), or -1.

    One binary cut of a node with many children saves nothing yet; this looks ahead to the children.
    """
    if space.kind[d] != TREE or n_present < 3:
        return np.int64(-1), -1.0
    least_depth = np.int64(1 << 20)
    for i in range(n_present - 1):
        least_depth = min(least_depth, gap_depth(space, d, codes[i], codes[i + 1]))
    whole = loss(space, d, codes[0], codes[n_present - 1])
    saving = 0.0
    n_children = 0
    first = np.int64(0)
    child = np.int64(0)
    left = np.int64(0)
    balance = np.int64(-1)
    best = np.int64(-1)
    for i in range(n_present):
        child += counts[i]
        left += counts[i]
        is_last = i == n_present - 1
        if not is_last and gap_depth(space, d, codes[i], codes[i + 1]) > least_depth:
            continue
        if child >= min_size:
            saving += child * (whole - loss(space, d, codes[first], codes[i]))
            n_children += 1
        even = min(left, total - left)
        if not is_last and even >= min_size and even > balance:
            balance = even
            best = codes[i]
        first = np.int64(i + 1)
        child = np.int64(0)
    if n_children < 2 or best < 0:
        return np.int64(-1), -1.0
    return best, saving / max(1.0, np.log2(n_children))


@leaf_jit
def _left_weight(codes, counts, n_present, cut):  # type: ignore[no-untyped-def]
    left = np.int64(0)
    for i in range(n_present):
        if codes[i] <= cut:
            left += counts[i]
    return left


@inner_jit
def _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Widest dimension that has an allowed cut: (dimension, cut, weight of ties that go left)."""
    closed = np.empty(space.n_dims, np.bool_)
    for d in range(space.n_dims):
        closed[d] = tried[d]
    for _ in range(space.n_dims):
        dim = np.int64(-1)
        width = -1.0
        for d in range(space.n_dims):
            if not closed[d] and lo[d] < hi[d]:
                wide = loss(space, d, lo[d], hi[d])
                if wide > width:
                    width = wide
                    dim = np.int64(d)
        if dim < 0:
            break
        closed[dim] = True
        n_present = _present(keys, weights, a, b, space, dim, lo[dim], hi[dim], dense, codes, counts)
        if relaxed and space.kind[dim] == ORDERED and not (space.has_missing[dim] and lo[dim] == 0):
            half = total // 2
            if half >= min_size:
                left = np.int64(0)
                for i in range(n_present):
                    if left + counts[i] >= half:
                        return dim, codes[i], half - left
                    left += counts[i]
            continue
        cut, _balance = _balanced_cut(space, dim, codes, counts, n_present, total, min_size)
        if cut >= 0:
            return dim, cut, np.int64(-1)
    return np.int64(-1), np.int64(-1), np.int64(-1)


@inner_jit
def _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """The cut that saves most loss, looking at all dimensions: (dimension, cut, -1)."""
    n_dims = space.n_dims
    lo1 = np.empty(n_dims, np.int64)
    hi1 = np.empty(n_dims, np.int64)
    lo2 = np.empty(n_dims, np.int64)
    hi2 = np.empty(n_dims, np.int64)
    whole = total * box_loss(space, lo, hi)
    best_dim = np.int64(-1)
    best_cut = np.int64(-1)
    best = -1.0
    for d in range(n_dims):
        if tried[d] or lo[d] >= hi[d]:
            continue
        n_present = _present(keys, weights, a, b, space, d, lo[d], hi[d], dense, codes, counts)
        even_cut, balance = _balanced_cut(space, d, codes, counts, n_present, total, min_size)
        saving_cut, saving = _saving_cut(space, d, codes, counts, n_present, total, min_size)
        if saving_cut < 0:
            continue
        step_cut, step_saving = _descent_cut(space, d, codes, counts, n_present, total, min_size)
        if step_cut >= 0 and step_saving > best:
            best, best_dim, best_cut = step_saving, np.int64(d), step_cut
        if b - a > space.exact_up_to:
            # far from the leaves the own dimension decides; a cut that saves nothing yet ranks by balance
            cut = saving_cut if saving > 0 or even_cut < 0 else even_cut
            score = max(saving, 0.0) + 1e-9 * max(balance, 0)
            if score > best:
                best, best_dim, best_cut = score, np.int64(d), cut
            continue
        for candidate in range(2):
            cut = saving_cut if candidate == 0 else even_cut
            if cut < 0 or (candidate == 1 and even_cut == saving_cut):
                continue
            left = _left_weight(codes, counts, n_present, cut)
            boxes_of_cut(keys, a, b, space, d, cut, lo1, hi1, lo2, hi2)
            saved = whole - left * box_loss(space, lo1, hi1) - (total - left) * box_loss(space, lo2, hi2)
            score = saved + 1e-9 * min(left, total - left)
            if score > best:
                best, best_dim, best_cut = score, np.int64(d), cut
    return best_dim, best_cut, np.int64(-1)


@leaf_jit
def _class_cost(size, min_size, cost):  # type: ignore[no-untyped-def]
    """What a side of a cut costs at best: as if it could be cut evenly into as many classes as fit into it."""
    n_classes = size // min_size
    if cost == AVERAGE_SIZE:
        return -n_classes
    even = size // n_classes
    n_larger = size - n_classes * even
    return (n_classes - n_larger) * even * even + n_larger * (even + 1) * (even + 1)


@inner_jit
def _cut_by_class(keys, weights, a, b, space, tried, min_size, cost, total, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """The cut whose sides cost least as classes; of several the one that saves most loss on its own dimension."""
    best_dim = np.int64(-1)
    best_cut = np.int64(-1)
    least = np.int64(0)
    best = 0.0
    for d in range(space.n_dims):
        if tried[d] or lo[d] >= hi[d]:
            continue
        n_present = _present(keys, weights, a, b, space, d, lo[d], hi[d], dense, codes, counts)
        whole = total * loss(space, d, codes[0], codes[n_present - 1])
        left = np.int64(0)
        for i in range(n_present - 1):
            left += counts[i]
            if left < min_size:
                continue
            if total - left < min_size:
                break
            paid = _class_cost(left, min_size, cost) + _class_cost(total - left, min_size, cost)
            if best_dim >= 0 and paid > least:
                continue
            saved = (
                whole
                - left * loss(space, d, codes[0], codes[i])
                - (total - left) * loss(space, d, codes[i + 1], codes[n_present - 1])
            )
            if best_dim < 0 or paid < least or saved > best:
                least, best, best_dim, best_cut = paid, saved, np.int64(d), codes[i]
    return best_dim, best_cut, np.int64(-1)


@inner_jit
def propose_one(keys, weights, a, b, space, tried, min_size, by_saving, relaxed, cost, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Box of a node into lo, hi; returns (dimension, cut, ties), dimension -1 if no cut is allowed."""
    box_of(keys, a, b, space, lo, hi)
    total = weight_of(weights, a, b)
    if total < 2 * min_size or b - a < 2:
        return np.int64(-1), np.int64(-1), np.int64(-1)
    if by_saving and cost != CELLS:
        return _cut_by_class(keys, weights, a, b, space, tried, min_size, cost, total, lo, hi, dense, codes, counts)
    if by_saving:
        return _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts)
    return _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts)


@inner_jit
def scratch(space, largest):  # type: ignore[no-untyped-def]
    """Work arrays for nodes of at most `largest` tuples: dense counts, present codes, their weights."""
    n_codes = np.int64(1)
    for d in range(space.n_dims):
        n_codes = max(n_codes, space.n_codes[d])
    n_dense = min(n_codes, 8 * largest + 64)
    n_present = min(n_codes, largest) + 1
    return np.zeros(n_dense, np.int64), np.empty(n_present, np.int64), np.empty(n_present, np.int64)


@leaf_jit
def longest(starts, ends):  # type: ignore[no-untyped-def]
    """Tuples of the largest range."""
    most = np.int64(0)
    for i in range(starts.size):
        most = max(most, ends[i] - starts[i])
    return most


@jit
def _propose(keys, weights, starts, ends, space, tried, min_size, by_saving, relaxed, cost):  # type: ignore[no-untyped-def]
    n = starts.size
    dims = np.empty(n, np.int64)
    cuts = np.empty(n, np.int64)
    ties = np.empty(n, np.int64)
    lo = np.empty((n, space.n_dims), np.int64)
    hi = np.empty((n, space.n_dims), np.int64)
    dense, codes, counts = scratch(space, longest(starts, ends))
    for i in range(n):
        dims[i], cuts[i], ties[i] = propose_one(
            keys, weights, starts[i], ends[i], space, tried[i], min_size, by_saving, relaxed, cost,
            lo[i], hi[i], dense, codes, counts,
        )  # fmt: skip
    return dims, cuts, ties, lo, hi


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
    """The next cut of every node: dimensions (-1 for none), cuts (left: code <= cut), ties; and boxes lo, hi.

    Args:
        weights: (n_tuples,) or empty when every tuple counts one.
        tried: (n_nodes, n_dims) dimensions that must not be cut.
        relaxed: tuples with the cut code itself may be shared out; ties is the weight of them that goes left (-1: all).
        cost: a class cost that cuts by saving minimise instead of the loss of cells.
    """
    if len(starts) == 0:
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros((0, space.n_dims), np.int64), np.zeros((0, space.n_dims), np.int64)
    result: tuple[IntArray, IntArray, IntArray, IntArray, IntArray] = _propose(
        keys, weights, starts, ends, space, tried, min_size, by_saving, relaxed, int(cost)
    )
    return result
