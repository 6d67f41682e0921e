"""Compiled kernels of top-down partitioning. `reference.py` has the same functions in plain numpy.

Nodes are ranges `[start, end)` of tuples; tuples are physically moved so that every node stays contiguous and memory is
read in order. Loops index slices that begin at 0, which lets the compiler drop wrap-around checks and use SIMD.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tablecloak.kernels.space import IntArray, Keys, Space

__all__ = ["count_codes", "descend", "group", "propose", "sizes", "split"]

ORDERED, TREE = 0, 1
FAR = np.int64(1) << 40
# Up to this many tuples a candidate cut is priced exactly, by the boxes of both its sides.
EXACT_UP_TO = 4096
jit: Any = njit(cache=True, nogil=True)
leaf_jit: Any = njit(cache=True, nogil=True, inline="never")


@leaf_jit
def _loss(space, d, lo, hi):  # type: ignore[no-untyped-def]
    """Loss of the code interval [lo, hi] of one dimension, times the dimension's weight."""
    if lo >= hi:
        return 0.0
    if space.kind[d] == TREE:
        row = space.tree_start[d] + lo
        for depth in range(space.ends.shape[1] - 1, -1, -1):
            if space.ends[row, depth] >= hi:
                return space.weight[d] * space.end_losses[row, depth]
        return space.weight[d]
    if space.has_missing[d] and lo == 0:
        return space.weight[d]
    if space.kind[d] == ORDERED:
        return space.weight[d] * (space.position[space.start[d] + hi] - space.position[space.start[d] + lo])
    return space.weight[d] * (hi - lo + 1) / (space.n_codes[d] - space.has_missing[d])


@leaf_jit
def _gap_depth(space, d, code, following):  # type: ignore[no-untyped-def]
    """Depth of the lowest node holding two codes: cuts are allowed at the gaps of least depth."""
    if space.kind[d] != TREE:
        return 1 if space.has_missing[d] and code > 0 else 0
    row = space.tree_start[d] + code
    for depth in range(space.ends.shape[1] - 1, 0, -1):
        if space.ends[row, depth] >= following:
            return depth
    return 0


@leaf_jit
def _weight(weights, a, b):  # type: ignore[no-untyped-def]
    if weights.size == 0:
        return b - a
    total = np.int64(0)
    for i in range(a, b):
        total += weights[i]
    return total


@jit
def _sizes(weights, starts, ends):  # type: ignore[no-untyped-def]
    result = np.empty(starts.size, np.int64)
    for i in range(starts.size):
        result[i] = _weight(weights, starts[i], ends[i])
    return result


def sizes(weights: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Records of every node."""
    result: IntArray = _sizes(weights, starts, ends)
    return result


@jit
def _box(keys, a, b, space, lo, hi):  # type: ignore[no-untyped-def]
    """Smallest and largest code of every dimension among tuples [a, b)."""
    n_dims = space.n_dims
    for d in range(n_dims):
        lo[d] = FAR
        hi[d] = -1
    begin = a
    while begin < b:
        stop = min(b, begin + 1024)
        for d in range(n_dims):
            block = keys[space.layout.word[d], begin:stop]
            shift = space.layout.shift[d]
            field = space.layout.mask[d] << shift
            low = field
            high = np.uint64(0)
            for j in range(block.size):
                value = block[j] & field
                low = min(low, value)
                high = max(high, value)
            lo[d] = min(lo[d], np.int64(low >> shift))
            hi[d] = max(hi[d], np.int64(high >> shift))
        begin = stop


@jit
def _boxes_of_cut(keys, a, b, space, dim, cut, lo1, hi1, lo2, hi2):  # type: ignore[no-untyped-def]
    """Boxes of both sides of a cut, without moving tuples."""
    n_dims = space.n_dims
    for d in range(n_dims):
        lo1[d] = FAR
        lo2[d] = FAR
        hi1[d] = -1
        hi2[d] = -1
    cut_shift = space.layout.shift[dim]
    cut_field = space.layout.mask[dim] << cut_shift
    limit = np.uint64(cut) << cut_shift
    begin = a
    while begin < b:
        stop = min(b, begin + 512)
        side = keys[space.layout.word[dim], begin:stop]
        for d in range(n_dims):
            block = keys[space.layout.word[d], begin:stop]
            shift = space.layout.shift[d]
            field = space.layout.mask[d] << shift
            low1 = field
            low2 = field
            high1 = np.uint64(0)
            high2 = np.uint64(0)
            for j in range(block.size):
                value = block[j] & field
                is_left = (side[j] & cut_field) <= limit
                low1 = min(low1, value if is_left else field)
                high1 = max(high1, value if is_left else np.uint64(0))
                low2 = min(low2, field if is_left else value)
                high2 = max(high2, np.uint64(0) if is_left else value)
            lo1[d] = min(lo1[d], np.int64(low1 >> shift))
            hi1[d] = max(hi1[d], np.int64(high1 >> shift))
            lo2[d] = min(lo2[d], np.int64(low2 >> shift))
            hi2[d] = max(hi2[d], np.int64(high2 >> shift))
        begin = stop


@jit
def _present(keys, weights, a, b, space, d, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Codes of a dimension that occur in [a, b), ascending, with their weights; returns how many."""
    block = keys[space.layout.word[d], a:b]
    shift = space.layout.shift[d]
    mask = space.layout.mask[d]
    span = hi - lo + 1
    n_present = 0
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
    sorted_codes = ((block >> shift) & mask).astype(np.int64)
    order = np.argsort(sorted_codes, kind="mergesort")
    for i in range(block.size):
        code = sorted_codes[order[i]]
        w = np.int64(1) if weights.size == 0 else weights[a + order[i]]
        if n_present > 0 and codes[n_present - 1] == code:
            counts[n_present - 1] += w
        else:
            codes[n_present] = code
            counts[n_present] = w
            n_present += 1
    return n_present


@jit
def _balanced_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """The allowed cut with the most even sides: (code, weight of the smaller side), or -1 if a side is too small."""
    best = np.int64(-1)
    balance = np.int64(-1)
    least_depth = 1 << 20
    left = np.int64(0)
    for i in range(n_present - 1):
        left += counts[i]
        depth = _gap_depth(space, d, codes[i], codes[i + 1])
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


@jit
def _saving_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """The cut that saves most loss on its own dimension: (code, saving), or -1 if every cut leaves a side too small."""
    whole = total * _loss(space, d, codes[0], codes[n_present - 1])
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
            - left * _loss(space, d, codes[0], codes[i])
            - (total - left) * _loss(space, d, codes[i + 1], codes[n_present - 1])
        )
        if saved > saving:
            saving = saved
            best = codes[i]
    return best, saving


@jit
def _descent_cut(space, d, codes, counts, n_present, total, min_size):  # type: ignore[no-untyped-def]
    """First step of splitting a tree node into all its children: (code, saving per binary step), or -1.

    One binary cut of a node with many children saves nothing yet; this looks ahead to the children.
    """
    if space.kind[d] != TREE or n_present < 3:
        return np.int64(-1), -1.0
    least_depth = 1 << 20
    for i in range(n_present - 1):
        least_depth = min(least_depth, _gap_depth(space, d, codes[i], codes[i + 1]))
    whole = _loss(space, d, codes[0], codes[n_present - 1])
    saving = 0.0
    n_children = 0
    first = 0
    child = np.int64(0)
    left = np.int64(0)
    balance = np.int64(-1)
    best = np.int64(-1)
    for i in range(n_present):
        child += counts[i]
        left += counts[i]
        is_last = i == n_present - 1
        if not is_last and _gap_depth(space, d, codes[i], codes[i + 1]) > least_depth:
            continue
        if child >= min_size:
            saving += child * (whole - _loss(space, d, codes[first], codes[i]))
            n_children += 1
        even = min(left, total - left)
        if not is_last and even >= min_size and even > balance:
            balance = even
            best = codes[i]
        first = i + 1
        child = np.int64(0)
    if n_children < 2 or best < 0:
        return np.int64(-1), -1.0
    return best, saving / max(1.0, np.log2(n_children))


@jit
def _box_loss(space, lo, hi):  # type: ignore[no-untyped-def]
    total = 0.0
    for d in range(space.n_dims):
        total += _loss(space, d, lo[d], hi[d])
    return total


@jit
def _left_weight(codes, counts, n_present, cut):  # type: ignore[no-untyped-def]
    left = np.int64(0)
    for i in range(n_present):
        if codes[i] <= cut:
            left += counts[i]
    return left


@jit
def _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Widest dimension that has an allowed cut: (dimension, cut, weight of ties that go left)."""
    closed = tried.copy()
    for _ in range(space.n_dims):
        dim = -1
        width = -1.0
        for d in range(space.n_dims):
            if not closed[d] and lo[d] < hi[d]:
                loss = _loss(space, d, lo[d], hi[d])
                if loss > width:
                    width = loss
                    dim = d
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
    return -1, np.int64(-1), np.int64(-1)


@jit
def _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """The cut that saves most loss, looking at all dimensions: (dimension, cut, -1)."""
    n_dims = space.n_dims
    lo1 = np.empty(n_dims, np.int64)
    hi1 = np.empty(n_dims, np.int64)
    lo2 = np.empty(n_dims, np.int64)
    hi2 = np.empty(n_dims, np.int64)
    whole = total * _box_loss(space, lo, hi)
    best_dim = -1
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
            best, best_dim, best_cut = step_saving, d, step_cut
        if b - a > EXACT_UP_TO:
            # far from the leaves the own dimension decides; a cut that saves nothing yet ranks by balance
            cut = saving_cut if saving > 0 or even_cut < 0 else even_cut
            score = max(saving, 0.0) + 1e-9 * max(balance, 0)
            if score > best:
                best, best_dim, best_cut = score, d, cut
            continue
        for candidate in range(2):
            cut = saving_cut if candidate == 0 else even_cut
            if cut < 0 or (candidate == 1 and even_cut == saving_cut):
                continue
            left = _left_weight(codes, counts, n_present, cut)
            _boxes_of_cut(keys, a, b, space, d, cut, lo1, hi1, lo2, hi2)
            saved = whole - left * _box_loss(space, lo1, hi1) - (total - left) * _box_loss(space, lo2, hi2)
            score = saved + 1e-9 * min(left, total - left)
            if score > best:
                best, best_dim, best_cut = score, d, cut
    return best_dim, best_cut, np.int64(-1)


@jit
def _propose_one(keys, weights, a, b, space, tried, min_size, by_saving, relaxed, lo, hi, dense, codes, counts):  # type: ignore[no-untyped-def]
    """Box of a node into lo, hi; returns (dimension, cut, ties), dimension -1 if no cut is allowed."""
    _box(keys, a, b, space, lo, hi)
    total = _weight(weights, a, b)
    if total < 2 * min_size or b - a < 2:
        return -1, np.int64(-1), np.int64(-1)
    if by_saving:
        return _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts)
    return _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts)


@jit
def _scratch(space, largest):  # type: ignore[no-untyped-def]
    """Work arrays for nodes of at most `largest` tuples: dense counts, present codes, their weights."""
    n_codes = np.int64(1)
    for d in range(space.n_dims):
        n_codes = max(n_codes, space.n_codes[d])
    n_dense = min(n_codes, 8 * largest + 64)
    n_present = min(n_codes, largest) + 1
    return np.zeros(n_dense, np.int64), np.empty(n_present, np.int64), np.empty(n_present, np.int64)


@jit
def _propose(keys, weights, starts, ends, space, tried, min_size, by_saving, relaxed):  # type: ignore[no-untyped-def]
    n = starts.size
    dims = np.empty(n, np.int64)
    cuts = np.empty(n, np.int64)
    ties = np.empty(n, np.int64)
    lo = np.empty((n, space.n_dims), np.int64)
    hi = np.empty((n, space.n_dims), np.int64)
    dense, codes, counts = _scratch(space, np.int64((ends - starts).max()))
    for i in range(n):
        dims[i], cuts[i], ties[i] = _propose_one(
            keys, weights, starts[i], ends[i], space, tried[i], min_size, by_saving, relaxed,
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
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """The next cut of every node: dimensions (-1 for none), cuts (left: code <= cut), ties; and boxes lo, hi.

    Args:
        weights: (n_tuples,) or empty when every tuple counts one.
        tried: (n_nodes, n_dims) dimensions that must not be cut.
        relaxed: tuples with the cut code itself may be shared out; ties is the weight of them that goes left (-1: all).
    """
    if len(starts) == 0:
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros((0, space.n_dims), np.int64), np.zeros((0, space.n_dims), np.int64)
    result: tuple[IntArray, IntArray, IntArray, IntArray, IntArray] = _propose(
        keys, weights, starts, ends, space, tried, min_size, by_saving, relaxed
    )
    return result


@jit
def _split_one(keys, ids, weights, a, b, space, dim, cut, ties, spare_keys, spare_ids, spare_weights):  # type: ignore[no-untyped-def]
    """Stable, branch-free: tuples with code <= cut first; returns the first position of the right side."""
    shift = space.layout.shift[dim]
    field = space.layout.mask[dim] << shift
    limit = np.uint64(cut) << shift
    n_words = keys.shape[0]
    side = keys[space.layout.word[dim], a:b]
    is_weighted = weights.size > 0
    left = np.int64(0)
    right = np.int64(0)
    if n_words == 1 and not is_weighted and ties < 0:  # the common case, kept tight
        key = keys[0, a:b]
        part = ids[a:b]
        for i in range(key.size):
            k = key[i]
            r = part[i]
            goes_left = np.int64((k & field) <= limit)
            key[left] = k
            part[left] = r
            spare_keys[0, right] = k
            spare_ids[right] = r
            left += goes_left
            right += 1 - goes_left
        key[left:] = spare_keys[0, :right]
        part[left:] = spare_ids[:right]
        return a + left
    remaining = ties
    for i in range(b - a):
        value = side[i] & field
        w = weights[a + i] if is_weighted else np.int64(1)
        goes_left = value <= limit
        if ties >= 0 and value == limit:
            goes_left = remaining > 0
            remaining -= w
        if goes_left:
            for j in range(n_words):
                keys[j, a + left] = keys[j, a + i]
            ids[a + left] = ids[a + i]
            if is_weighted:
                weights[a + left] = w
            left += 1
        else:
            for j in range(n_words):
                spare_keys[j, right] = keys[j, a + i]
            spare_ids[right] = ids[a + i]
            if is_weighted:
                spare_weights[right] = w
            right += 1
    for j in range(n_words):
        keys[j, a + left : b] = spare_keys[j, :right]
    ids[a + left : b] = spare_ids[:right]
    if is_weighted:
        weights[a + left : b] = spare_weights[:right]
    return a + left


@jit
def _spare(keys, ids, weights, largest):  # type: ignore[no-untyped-def]
    return (
        np.empty((keys.shape[0], largest), np.uint64),
        np.empty(largest, ids.dtype),
        np.empty(largest if weights.size > 0 else 0, np.int64),
    )


@jit
def _split(keys, ids, weights, starts, ends, space, dims, cuts, ties):  # type: ignore[no-untyped-def]
    middles = np.empty(starts.size, np.int64)
    spare_keys, spare_ids, spare_weights = _spare(keys, ids, weights, np.int64((ends - starts).max()))
    for i in range(starts.size):
        middles[i] = _split_one(
            keys, ids, weights, starts[i], ends[i], space, dims[i], cuts[i], ties[i],
            spare_keys, spare_ids, spare_weights,
        )  # fmt: skip
    return middles


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
    if len(starts) == 0:
        return np.zeros(0, np.int64)
    middles: IntArray = _split(keys, ids, weights, starts, ends, space, dims, cuts, ties)
    return middles


@jit
def _descend(keys, ids, weights, begin, end, space, min_size, by_saving, relaxed):  # type: ignore[no-untyped-def]
    n_leaves_most = max(1, min(end - begin, _weight(weights, begin, end) // max(1, min_size)))
    leaves = np.empty(n_leaves_most, np.int64)
    lo = np.empty((n_leaves_most, space.n_dims), np.int64)
    hi = np.empty((n_leaves_most, space.n_dims), np.int64)
    cuts = np.empty((max(1, n_leaves_most - 1), 5), np.int64)
    stack = np.empty((128, 2), np.int64)
    tried = np.zeros(space.n_dims, np.bool_)
    dense, codes, counts = _scratch(space, end - begin)
    spare_keys, spare_ids, spare_weights = _spare(keys, ids, weights, end - begin)
    box_lo = np.empty(space.n_dims, np.int64)
    box_hi = np.empty(space.n_dims, np.int64)
    n_leaves = 0
    n_cuts = 0
    depth = 1
    stack[0, 0] = begin
    stack[0, 1] = end
    while depth > 0:
        depth -= 1
        a = stack[depth, 0]
        b = stack[depth, 1]
        dim, cut, tie = _propose_one(
            keys, weights, a, b, space, tried, min_size, by_saving, relaxed, box_lo, box_hi, dense, codes, counts
        )
        if dim < 0:
            leaves[n_leaves] = a
            lo[n_leaves] = box_lo
            hi[n_leaves] = box_hi
            n_leaves += 1
            continue
        middle = _split_one(keys, ids, weights, a, b, space, dim, cut, tie, spare_keys, spare_ids, spare_weights)
        cuts[n_cuts, 0] = a
        cuts[n_cuts, 1] = middle
        cuts[n_cuts, 2] = b
        cuts[n_cuts, 3] = dim
        cuts[n_cuts, 4] = cut
        n_cuts += 1
        if depth + 2 > stack.shape[0]:
            larger = np.empty((2 * stack.shape[0], 2), np.int64)
            larger[: stack.shape[0]] = stack
            stack = larger
        stack[depth, 0] = middle
        stack[depth, 1] = b
        stack[depth + 1, 0] = a
        stack[depth + 1, 1] = middle
        depth += 2
    return leaves[:n_leaves].copy(), lo[:n_leaves].copy(), hi[:n_leaves].copy(), cuts[:n_cuts].copy()


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
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Partition [begin, end) to the leaves when only the size of a class matters.

    Returns leaf starts (ascending), boxes lo and hi, and the cuts made: rows of (start, middle, end, dimension, cut).
    """
    result: tuple[IntArray, IntArray, IntArray, IntArray] = _descend(
        keys, ids, weights, begin, end, space, min_size, by_saving, relaxed
    )
    return result


@jit
def _count_codes(keys, weights, starts, ends, word, shift, mask, n_values):  # type: ignore[no-untyped-def]
    n = starts.size
    indptr = np.zeros(n + 1, np.int64)
    room = np.int64(0)
    for i in range(n):
        room += min(n_values, ends[i] - starts[i])
    codes = np.empty(room, np.int64)
    counts = np.empty(room, np.int64)
    dense = np.zeros(n_values, np.int64)
    used = 0
    for i in range(n):
        block = keys[word, starts[i] : ends[i]]
        first = used
        if weights.size == 0:
            for j in range(block.size):
                code = np.int64((block[j] >> shift) & mask)
                if dense[code] == 0:
                    codes[used] = code
                    used += 1
                dense[code] += 1
        else:
            part = weights[starts[i] : ends[i]]
            for j in range(block.size):
                code = np.int64((block[j] >> shift) & mask)
                if dense[code] == 0:
                    codes[used] = code
                    used += 1
                dense[code] += part[j]
        codes[first:used].sort()
        for j in range(first, used):
            counts[j] = dense[codes[j]]
            dense[codes[j]] = 0
        indptr[i + 1] = used
    return indptr, codes[:used].copy(), counts[:used].copy()


def count_codes(
    keys: Keys, weights: IntArray, starts: IntArray, ends: IntArray, space: Space, dim: int, n_values: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Histogram of one packed dimension in every node, in compressed rows: indptr, codes, counts."""
    layout = space.layout
    result: tuple[IntArray, IntArray, IntArray] = _count_codes(
        keys, weights, starts, ends, layout.word[dim], layout.shift[dim], layout.mask[dim], n_values
    )
    return result


@leaf_jit
def _hash(keys, i):  # type: ignore[no-untyped-def]
    h = np.uint64(0)
    for w in range(keys.shape[0]):
        h = (h ^ keys[w, i]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return h


@jit
def _group_part(keys, part, n_parts, inverse, firsts):  # type: ignore[no-untyped-def]
    """Group the tuples whose hash falls in one part; group numbers count from 0 inside the part."""
    n = keys.shape[1]
    capacity = np.int64(1) << 12
    table = np.full(capacity, np.int32(-1), np.int32)
    n_groups = 0
    for i in range(n):
        h = _hash(keys, i)
        if (h >> np.uint64(60)) % np.uint64(n_parts) != part:
            continue
        slot = np.int64(h & np.uint64(capacity - 1))
        while True:
            g = table[slot]
            if g < 0:
                break
            j = firsts[g]
            same = True
            for w in range(keys.shape[0]):
                same = same and keys[w, i] == keys[w, j]
            if same:
                break
            slot = (slot + 1) & (capacity - 1)
        if g < 0:
            g = np.int32(n_groups)
            firsts[g] = i
            table[slot] = g
            n_groups += 1
        inverse[i] = np.uint32(g)
        if 2 * n_groups > capacity:
            capacity *= 4
            table = np.full(capacity, np.int32(-1), np.int32)
            for q in range(n_groups):
                slot = np.int64(_hash(keys, firsts[q]) & np.uint64(capacity - 1))
                while table[slot] >= 0:
                    slot = (slot + 1) & (capacity - 1)
                table[slot] = np.int32(q)
    return n_groups


@jit
def _shift_part(keys, part, n_parts, inverse, offset):  # type: ignore[no-untyped-def]
    for i in range(keys.shape[1]):
        if (_hash(keys, i) >> np.uint64(60)) % np.uint64(n_parts) == part:
            inverse[i] += np.uint32(offset)


def group(keys: Keys) -> tuple[IntArray, NDArray[np.uint32]]:
    """Equal keys get equal numbers: (first tuple of every group, group of every tuple).

    Two halves of the hash space are grouped by two threads; the numbering does not depend on how many threads ran.
    """
    from concurrent.futures import ThreadPoolExecutor

    n = keys.shape[1]
    inverse = np.empty(n, np.uint32)
    firsts = [np.empty(n, np.uint32) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        sizes = list(pool.map(lambda part: _group_part(keys, part, 2, inverse, firsts[part]), range(2)))
    _shift_part(keys, 1, 2, inverse, sizes[0])
    return np.concatenate([f[:size] for f, size in zip(firsts, sizes, strict=True)]).astype(np.int64), inverse
