"""Top-down partitioning: where ranges of tuples are cut, and the tuples moved to both sides of a cut.

Nodes are ranges `[start, end)` of tuples; tuples are physically moved so that every node stays contiguous and memory is
read in order. What is cut is decided by one source; what goes through tuples has a form in numpy beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.kernels.dispatch import inner_jit, jit, kernel, leaf_jit
from tablecloak.kernels.packed_codes import ORDERED, TREE, ClassCost, Keys, Space
from tablecloak.kernels.small_loops import copy_into, sort_up

CELLS, AVERAGE_SIZE = int(ClassCost.CELLS), int(ClassCost.AVERAGE_SIZE)
FAR = np.int64(1) << 40


@leaf_jit
def _loss(space, d, lo, hi):
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
        return space.weight[d] * (space.inner_upper[space.start[d] + hi] - space.inner_lower[space.start[d] + lo])
    return space.weight[d] * (hi - lo + 1) / (space.n_codes[d] - space.has_missing[d])


@leaf_jit
def _gap_depth(space, d, code, following):
    """Depth of the lowest node holding two codes: cuts are allowed at the gaps of least depth."""
    if space.kind[d] != TREE:
        return 1 if space.has_missing[d] and code > 0 else 0
    row = space.tree_start[d] + code
    for depth in range(space.ends.shape[1] - 1, 0, -1):
        if space.ends[row, depth] >= following:
            return depth
    return 0


def _codes(keys: Keys, a: int, b: int, space: Space, d: int) -> IntArray:
    layout = space.layout
    codes: IntArray = ((keys[layout.word[d], a:b] >> layout.shift[d]) & layout.mask[d]).astype(np.int64)
    return codes


def _weight_of_in_numpy(weights: IntArray, a: int, b: int) -> int:
    return int(weights[a:b].sum()) if len(weights) else b - a


@leaf_jit(plain=_weight_of_in_numpy)
def _weight_of(weights, a, b):
    if weights.size == 0:
        return b - a
    total = np.int64(0)
    for i in range(a, b):
        total += weights[i]
    return total


def _all_codes(keys: Keys, a: int, b: int, space: Space) -> IntArray:
    """Codes of tuples in all dimensions, (n_dims, b - a)."""
    word, shift, mask = (part[: space.n_dims] for part in space.layout)
    codes: IntArray = ((keys[word, a:b] >> shift[:, None]) & mask[:, None]).astype(np.int64)
    return codes


def _box_of_in_numpy(keys: Keys, a: int, b: int, space: Space, lo: IntArray, hi: IntArray) -> None:
    codes = _all_codes(keys, a, b, space)
    lo[:], hi[:] = codes.min(axis=1), codes.max(axis=1)


@leaf_jit(plain=_box_of_in_numpy)
def _box_of(keys, a, b, space, lo, hi):
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


def _boxes_of_cut_in_numpy(
    keys: Keys, a: int, b: int, space: Space, dim: int, cut: int,
    lo1: IntArray, hi1: IntArray, lo2: IntArray, hi2: IntArray,
) -> None:  # fmt: skip
    codes = _all_codes(keys, a, b, space)
    is_left = codes[dim] <= cut
    left, right = codes[:, is_left], codes[:, ~is_left]
    lo1[:], hi1[:], lo2[:], hi2[:] = left.min(axis=1), left.max(axis=1), right.min(axis=1), right.max(axis=1)


@leaf_jit(plain=_boxes_of_cut_in_numpy)
def _boxes_of_cut(keys, a, b, space, dim, cut, lo1, hi1, lo2, hi2):
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


@leaf_jit
def _box_loss(space, lo, hi):
    total = 0.0
    for d in range(space.n_dims):
        total += _loss(space, d, lo[d], hi[d])
    return total


def _present_in_numpy(
    keys: Keys, weights: IntArray, a: int, b: int, space: Space, d: int, lo: int, hi: int,
    dense: IntArray, codes: IntArray, counts: IntArray,
) -> int:  # fmt: skip
    del dense
    own, share = _codes(keys, a, b, space, d), weights[a:b] if len(weights) else None
    if hi - lo < 8 * len(own) + 64:
        of_code = np.bincount(own - lo, share)
        places = np.flatnonzero(of_code)
        present, of_code = places + lo, of_code[places]
    else:
        present, place = np.unique(own, return_inverse=True)
        of_code = np.bincount(place, share)
    codes[: len(present)], counts[: len(present)] = present, of_code
    return len(present)


@inner_jit(plain=_present_in_numpy)
def _present(keys, weights, a, b, space, d, lo, hi, dense, codes, counts):
    """Codes of a dimension that occur in [a, b), ascending, with their weights; returns how many."""
    block = keys[space.layout.word[d], a:b]
    shift = space.layout.shift[d]
    mask = space.layout.mask[d]
    span = hi - lo + 1
    n_present = np.int64(0)
    if span <= dense.size and span < 8 * block.size + 64:  # few codes of many are sooner sorted than looked for
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


def _losses(space: Space, d: int, lo: IntArray, hi: IntArray) -> FloatArray:
    """Loss of code intervals of one dimension, times the dimension's weight."""
    weight = space.weight[d]
    if space.kind[d] == TREE:
        rows = space.tree_start[d] + lo
        # (intervals, depth), root first: what a node holds, all above it hold
        deepest = np.count_nonzero(space.ends[rows] >= hi[:, None], axis=1) - 1
        losses = weight * np.where(deepest >= 0, space.end_losses[rows, deepest], 1.0)
    elif space.kind[d] == ORDERED:
        begin = space.start[d]
        losses = weight * (space.inner_upper[begin + hi] - space.inner_lower[begin + lo])
    else:
        losses = weight * (hi - lo + 1) / float(space.n_codes[d] - space.has_missing[d])
    if space.has_missing[d] and space.kind[d] != TREE:
        losses = np.where(lo == 0, weight, losses)
    return np.where(lo >= hi, 0.0, losses)


def _gap_depths(space: Space, d: int, codes: IntArray) -> IntArray:
    """Depth of the lowest node holding each pair of neighbouring codes, (n_codes - 1,)."""
    if space.kind[d] != TREE:
        return (codes[:-1] > 0).astype(np.int64) if space.has_missing[d] else np.zeros(len(codes) - 1, np.int64)
    holds = space.ends[space.tree_start[d] + codes[:-1], 1:] >= codes[1:, None]  # below the root, (gaps, depth - 1)
    depths: IntArray = np.count_nonzero(holds, axis=1).astype(np.int64)
    return depths


def _savings(space: Space, d: int, codes: IntArray, left: IntArray, total: int) -> FloatArray:
    """What every cut between two codes saves on its own dimension."""
    first, last = np.full(len(left), codes[0]), np.full(len(left), codes[-1])
    saved: FloatArray = (
        total * _loss(space, d, codes[0], codes[-1])
        - left * _losses(space, d, first, codes[:-1])
        - (total - left) * _losses(space, d, codes[1:], last)
    )
    return saved


def _balanced_cut_in_numpy(
    space: Space, d: int, codes: IntArray, counts: IntArray, n_present: int, total: int, min_size: int
) -> tuple[int, int]:
    codes, left = codes[:n_present], np.cumsum(counts[: n_present - 1])
    depths = _gap_depths(space, d, codes)
    even = np.where(depths == depths.min(), np.minimum(left, total - left), -1)
    best = int(np.argmax(even))
    return (int(codes[best]) if even[best] >= min_size else -1), int(even[best])


@leaf_jit(plain=_balanced_cut_in_numpy)
def _balanced_cut(space, d, codes, counts, n_present, total, min_size):
    """The allowed cut with the most even sides: (code, weight of the smaller side), or -1 if a side is too small."""
    best = np.int64(-1)
    balance = np.int64(-1)
    least_depth = np.int64(1 << 20)
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


def _saving_cut_in_numpy(
    space: Space, d: int, codes: IntArray, counts: IntArray, n_present: int, total: int, min_size: int
) -> tuple[int, float]:
    left = np.cumsum(counts[: n_present - 1])
    saved = _savings(space, d, codes[:n_present], left, total)
    saved = np.where((left >= min_size) & (total - left >= min_size), saved, -1.0)
    best = int(np.argmax(saved))
    return (int(codes[best]), float(saved[best])) if saved[best] > -1.0 else (-1, -1.0)


@leaf_jit(plain=_saving_cut_in_numpy)
def _saving_cut(space, d, codes, counts, n_present, total, min_size):
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


def _descent_cut_in_numpy(
    space: Space, d: int, codes: IntArray, counts: IntArray, n_present: int, total: int, min_size: int
) -> tuple[int, float]:
    if space.kind[d] != TREE or n_present < 3:
        return -1, -1.0
    codes, left = codes[:n_present], np.cumsum(counts[:n_present])
    depths = _gap_depths(space, d, codes)
    ends = np.append(np.flatnonzero(depths == depths.min()), n_present - 1)  # last code of every child
    begins = np.append(0, ends[:-1] + 1)
    size = np.diff(left[ends], prepend=0)
    is_enough = size >= min_size
    even = np.minimum(left[ends], total - left[ends])[:-1]
    best = int(np.argmax(even))
    if np.count_nonzero(is_enough) < 2 or even[best] < min_size:
        return -1, -1.0
    whole = _loss(space, d, codes[0], codes[-1])
    saving = 0.0
    for part in (size * (whole - _losses(space, d, codes[begins], codes[ends])))[is_enough].tolist():
        saving += part  # one after the other, as the loop does
    return int(codes[ends[best]]), saving / max(1.0, float(np.log2(np.count_nonzero(is_enough))))


@leaf_jit(plain=_descent_cut_in_numpy)
def _descent_cut(space, d, codes, counts, n_present, total, min_size):
    """First step of splitting a tree node into all its children: (code, saving per binary step), or -1.

    One binary cut of a node with many children saves nothing yet; this looks ahead to the children.
    """
    if space.kind[d] != TREE or n_present < 3:
        return np.int64(-1), -1.0
    least_depth = np.int64(1 << 20)
    for i in range(n_present - 1):
        least_depth = min(least_depth, _gap_depth(space, d, codes[i], codes[i + 1]))
    whole = _loss(space, d, codes[0], codes[n_present - 1])
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
        if not is_last and _gap_depth(space, d, codes[i], codes[i + 1]) > least_depth:
            continue
        if child >= min_size:
            saving += child * (whole - _loss(space, d, codes[first], codes[i]))
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
def _best_of_three(even_cut, balance, saving_cut, saving, step_cut, step_saving):
    """The best cut by the counts of one dimension alone: (code, score); one that saves nothing yet ranks by balance."""
    cut = saving_cut if saving > 0 or even_cut < 0 else even_cut
    score = max(saving, 0.0) + 1e-9 * max(balance, 0)
    if step_cut >= 0 and step_saving >= score:
        return step_cut, step_saving
    return cut, score


def _left_weight_in_numpy(codes: IntArray, counts: IntArray, n_present: int, cut: int) -> int:
    return int(counts[:n_present][codes[:n_present] <= cut].sum())


@leaf_jit(plain=_left_weight_in_numpy)
def _left_weight(codes, counts, n_present, cut):
    left = np.int64(0)
    for i in range(n_present):
        if codes[i] <= cut:
            left += counts[i]
    return left


@inner_jit
def _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts):
    """Widest dimension that has an allowed cut: (dimension, cut, weight of ties that go left)."""
    closed = np.empty(space.n_dims, np.bool_)
    for d in range(space.n_dims):
        closed[d] = tried[d]
    for _ in range(space.n_dims):
        dim = np.int64(-1)
        width = -1.0
        for d in range(space.n_dims):
            if not closed[d] and lo[d] < hi[d]:
                wide = _loss(space, d, lo[d], hi[d])
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
def _cut_by_own_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts):
    """The cut that saves most loss on its own dimension: (dimension, cut, -1)."""
    most = np.empty(space.n_dims)
    for d in range(space.n_dims):
        most[d] = -1.0 if tried[d] or lo[d] >= hi[d] else total * _loss(space, d, lo[d], hi[d])
    best_dim, best_cut, best = np.int64(-1), np.int64(-1), -1.0
    for _ in range(space.n_dims):
        dim = np.int64(0)
        for d in range(space.n_dims):
            if most[d] > most[dim]:
                dim = np.int64(d)
        # no cut saves more than its dimension loses, so those that lose little need not be looked at
        if most[dim] < 0 or most[dim] + 1e-9 * total < best:
            break
        most[dim] = -1.0
        n_present = _present(keys, weights, a, b, space, dim, lo[dim], hi[dim], dense, codes, counts)
        saving_cut, saving = _saving_cut(space, dim, codes, counts, n_present, total, min_size)
        if saving_cut < 0:
            continue
        even_cut, balance = _balanced_cut(space, dim, codes, counts, n_present, total, min_size)
        step_cut, step_saving = _descent_cut(space, dim, codes, counts, n_present, total, min_size)
        cut, score = _best_of_three(even_cut, balance, saving_cut, saving, step_cut, step_saving)
        if score > best or (score == best and dim < best_dim):
            best, best_dim, best_cut = score, dim, cut
    return best_dim, best_cut, np.int64(-1)


@inner_jit
def _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts):
    """The cut that saves most loss, looking at all dimensions: (dimension, cut, -1)."""
    if b - a > space.exact_up_to:  # far from the leaves the own dimension decides
        return _cut_by_own_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts)
    n_dims = space.n_dims
    lo1 = np.empty(n_dims, np.int64)
    hi1 = np.empty(n_dims, np.int64)
    lo2 = np.empty(n_dims, np.int64)
    hi2 = np.empty(n_dims, np.int64)
    whole = total * _box_loss(space, lo, hi)
    best_dim = np.int64(-1)
    best_cut = np.int64(-1)
    best = -1.0
    for d in range(n_dims):
        if tried[d] or lo[d] >= hi[d]:
            continue
        n_present = _present(keys, weights, a, b, space, d, lo[d], hi[d], dense, codes, counts)
        even_cut, _balance = _balanced_cut(space, d, codes, counts, n_present, total, min_size)
        saving_cut, _saving = _saving_cut(space, d, codes, counts, n_present, total, min_size)
        if saving_cut < 0:
            continue
        step_cut, step_saving = _descent_cut(space, d, codes, counts, n_present, total, min_size)
        if step_cut >= 0 and step_saving > best:
            best, best_dim, best_cut = step_saving, np.int64(d), step_cut
        for candidate in range(2):
            cut = saving_cut if candidate == 0 else even_cut
            if cut < 0 or (candidate == 1 and even_cut == saving_cut):
                continue
            left = _left_weight(codes, counts, n_present, cut)
            _boxes_of_cut(keys, a, b, space, d, cut, lo1, hi1, lo2, hi2)
            saved = whole - left * _box_loss(space, lo1, hi1) - (total - left) * _box_loss(space, lo2, hi2)
            score = saved + 1e-9 * min(left, total - left)
            if score > best:
                best, best_dim, best_cut = score, np.int64(d), cut
    return best_dim, best_cut, np.int64(-1)


@leaf_jit
def _class_cost(size, min_size, cost):
    """What a side of a cut costs at best: as if it could be cut evenly into as many classes as fit into it."""
    n_classes = size // min_size
    if cost == AVERAGE_SIZE:
        return -n_classes
    even = size // n_classes
    n_larger = size - n_classes * even
    return (n_classes - n_larger) * even * even + n_larger * (even + 1) * (even + 1)


def _class_cut_in_numpy(
    space: Space, d: int, codes: IntArray, counts: IntArray, n_present: int, total: int, min_size: int, cost: int
) -> tuple[int, int, float]:
    left = np.cumsum(counts[: n_present - 1])
    goes = np.flatnonzero((left >= min_size) & (total - left >= min_size))
    if len(goes) == 0:
        return -1, 0, 0.0
    paid = np.zeros(len(goes), np.int64)
    for side in (left[goes], total - left[goes]):
        n_classes = side // min_size
        even = side // n_classes
        n_larger = side - n_classes * even
        squares = (n_classes - n_larger) * even * even + n_larger * (even + 1) * (even + 1)
        paid += -n_classes if cost == AVERAGE_SIZE else squares
    saved = _savings(space, d, codes[:n_present], left, total)[goes]
    at = int(np.argmax(np.where(paid == paid.min(), saved, -np.inf)))
    return int(codes[goes[at]]), int(paid[at]), float(saved[at])


@leaf_jit(plain=_class_cut_in_numpy)
def _class_cut(space, d, codes, counts, n_present, total, min_size, cost):
    """The cut of one dimension whose sides cost least as classes: (code or -1, cost of the sides, saved loss)."""
    cut, least, best = np.int64(-1), np.int64(0), 0.0
    whole = total * _loss(space, d, codes[0], codes[n_present - 1])
    left = np.int64(0)
    for i in range(n_present - 1):
        left += counts[i]
        if left < min_size:
            continue
        if total - left < min_size:
            break
        paid = _class_cost(left, min_size, cost) + _class_cost(total - left, min_size, cost)
        if cut >= 0 and paid > least:
            continue
        saved = (
            whole
            - left * _loss(space, d, codes[0], codes[i])
            - (total - left) * _loss(space, d, codes[i + 1], codes[n_present - 1])
        )
        if cut < 0 or paid < least or saved > best:
            cut, least, best = codes[i], paid, saved
    return cut, least, best


@inner_jit
def _cut_by_class(keys, weights, a, b, space, tried, min_size, cost, total, lo, hi, dense, codes, counts):
    """The cut whose sides cost least as classes; of several the one that saves most loss on its own dimension."""
    best_dim, best_cut = np.int64(-1), np.int64(-1)
    least, best = np.int64(0), 0.0
    for d in range(space.n_dims):
        if tried[d] or lo[d] >= hi[d]:
            continue
        n_present = _present(keys, weights, a, b, space, d, lo[d], hi[d], dense, codes, counts)
        cut, paid, saved = _class_cut(space, d, codes, counts, n_present, total, min_size, cost)
        if cut >= 0 and (best_dim < 0 or paid < least or (paid == least and saved > best)):
            least, best, best_dim, best_cut = paid, saved, np.int64(d), cut
    return best_dim, best_cut, np.int64(-1)


@inner_jit
def _propose_one(keys, weights, a, b, space, tried, min_size, by_saving, relaxed, cost, lo, hi, dense, codes, counts):
    """Box of a node into lo, hi; returns (dimension, cut, ties), dimension -1 if no cut is allowed."""
    _box_of(keys, a, b, space, lo, hi)
    total = _weight_of(weights, a, b)
    if total < 2 * min_size or b - a < 2:
        return np.int64(-1), np.int64(-1), np.int64(-1)
    if by_saving and cost != CELLS:
        return _cut_by_class(keys, weights, a, b, space, tried, min_size, cost, total, lo, hi, dense, codes, counts)
    if by_saving:
        return _cut_by_saving(keys, weights, a, b, space, tried, min_size, total, lo, hi, dense, codes, counts)
    return _cut_by_width(keys, weights, a, b, space, tried, min_size, relaxed, total, lo, hi, dense, codes, counts)


@inner_jit
def _scratch(space, largest):
    """Work arrays for nodes of at most `largest` tuples: dense counts, present codes, their weights."""
    n_codes = np.int64(1)
    for d in range(space.n_dims):
        n_codes = max(n_codes, space.n_codes[d])
    n_dense = min(n_codes, 8 * largest + 64)
    n_present = min(n_codes, largest) + 1
    return np.zeros(n_dense, np.int64), np.empty(n_present, np.int64), np.empty(n_present, np.int64)


@leaf_jit
def _longest(starts, ends):
    """Tuples of the largest range."""
    most = np.int64(0)
    for i in range(starts.size):
        most = max(most, ends[i] - starts[i])
    return most


@jit
def _propose(keys, weights, starts, ends, space, tried, min_size, by_saving, relaxed, cost):
    n = starts.size
    dims = np.empty(n, np.int64)
    cuts = np.empty(n, np.int64)
    ties = np.empty(n, np.int64)
    lo = np.empty((n, space.n_dims), np.int64)
    hi = np.empty((n, space.n_dims), np.int64)
    dense, codes, counts = _scratch(space, _longest(starts, ends))
    for i in range(n):
        dims[i], cuts[i], ties[i] = _propose_one(
            keys, weights, starts[i], ends[i], space, tried[i], min_size, by_saving, relaxed, cost,
            lo[i], hi[i], dense, codes, counts,
        )  # fmt: skip
    return dims, cuts, ties, lo, hi


@kernel()
def propose(
    keys: Keys,
    weights: IntArray,
    starts: IntArray,
    ends: IntArray,
    space: Space,
    tried: BoolArray,
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


@kernel(is_loop=True)
def sizes(weights: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Records of every node."""
    result = np.empty(starts.size, np.int64)
    for i in range(starts.size):
        result[i] = _weight_of(weights, starts[i], ends[i])
    return result


@jit
def _count_codes(keys, weights, starts, ends, word, shift, mask, n_values):
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
        sort_up(codes[first:used])
        for j in range(first, used):
            counts[j] = dense[codes[j]]
            dense[codes[j]] = 0
        indptr[i + 1] = used
    return indptr, codes[:used].copy(), counts[:used].copy()


def _count_codes_in_numpy(
    keys: Keys, weights: IntArray, starts: IntArray, ends: IntArray, space: Space, dim: int, n_values: int
) -> tuple[IntArray, IntArray, IntArray]:
    indptr = np.zeros(len(starts) + 1, np.int64)
    codes, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for i, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        share = weights[a:b] if len(weights) else None
        dense = np.bincount(_codes(keys, a, b, space, dim), share, minlength=n_values)
        present = np.flatnonzero(dense)
        codes.append(present)
        counts.append(dense[present].astype(np.int64))
        indptr[i + 1] = indptr[i] + len(present)
    return indptr, np.concatenate(codes), np.concatenate(counts)


@kernel(plain=_count_codes_in_numpy)
def count_codes(
    keys: Keys, weights: IntArray, starts: IntArray, ends: IntArray, space: Space, dim: int, n_values: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Histogram of one packed dimension in every node, in compressed rows: indptr, codes, counts."""
    layout = space.layout
    result: tuple[IntArray, IntArray, IntArray] = _count_codes(
        keys, weights, starts, ends, layout.word[dim], layout.shift[dim], layout.mask[dim], n_values
    )
    return result


def _split_one_in_numpy(
    keys: Keys, ids: NDArray[np.uint32], weights: IntArray, a: int, b: int, space: Space, dim: int, cut: int, ties: int,
    spare_keys: Keys, spare_ids: NDArray[np.uint32], spare_weights: IntArray,
) -> int:  # fmt: skip
    del spare_keys, spare_ids, spare_weights
    codes = _codes(keys, a, b, space, dim)
    goes_left = codes <= cut
    if ties >= 0:
        is_tie = codes == cut
        share = np.where(is_tie, weights[a:b] if len(weights) else 1, 0)
        goes_left &= ~is_tie | (np.cumsum(share) - share < ties)
    order = a + np.concatenate([np.flatnonzero(goes_left), np.flatnonzero(~goes_left)])
    keys[:, a:b] = keys[:, order]
    ids[a:b] = ids[order]
    if len(weights):
        weights[a:b] = weights[order]
    return a + int(goes_left.sum())


@leaf_jit(plain=_split_one_in_numpy)
def _split_one(keys, ids, weights, a, b, space, dim, cut, ties, spare_keys, spare_ids, spare_weights):
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
        copy_into(key[left:], spare_keys[0, :right])
        copy_into(part[left:], spare_ids[:right])
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
        copy_into(keys[j, a + left : b], spare_keys[j, :right])
    copy_into(ids[a + left : b], spare_ids[:right])
    if is_weighted:
        copy_into(weights[a + left : b], spare_weights[:right])
    return a + left


@inner_jit
def _spare(keys, ids, weights, largest):
    return (
        np.empty((keys.shape[0], largest), np.uint64),
        np.empty(largest, ids.dtype),
        np.empty(largest if weights.size > 0 else 0, np.int64),
    )


@jit
def _split(keys, ids, weights, starts, ends, space, dims, cuts, ties):
    middles = np.empty(starts.size, np.int64)
    spare_keys, spare_ids, spare_weights = _spare(keys, ids, weights, _longest(starts, ends))
    for i in range(starts.size):
        middles[i] = _split_one(
            keys, ids, weights, starts[i], ends[i], space, dims[i], cuts[i], ties[i],
            spare_keys, spare_ids, spare_weights,
        )  # fmt: skip
    return middles


@kernel()
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
def _descend(keys, ids, weights, begin, end, space, min_size, by_saving, relaxed, cost):
    n_leaves_most = max(1, min(end - begin, _weight_of(weights, begin, end) // max(1, min_size)))
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
    n_leaves = np.int64(0)
    n_cuts = np.int64(0)
    depth = np.int64(1)
    stack[0, 0] = begin
    stack[0, 1] = end
    while depth > 0:
        depth -= 1
        a = stack[depth, 0]
        b = stack[depth, 1]
        dim, cut, tie = _propose_one(
            keys, weights, a, b, space, tried, min_size, by_saving, relaxed, cost, box_lo, box_hi, dense, codes, counts
        )
        if dim < 0:
            leaves[n_leaves] = a
            copy_into(lo[n_leaves], box_lo)
            copy_into(hi[n_leaves], box_hi)
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
            for i in range(stack.shape[0]):
                copy_into(larger[i], stack[i])
            stack = larger
        stack[depth, 0] = middle
        stack[depth, 1] = b
        stack[depth + 1, 0] = a
        stack[depth + 1, 1] = middle
        depth += 2
    return leaves[:n_leaves], lo[:n_leaves], hi[:n_leaves], cuts[:n_cuts]


@kernel()
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
    leaves, lo, hi, cuts = _descend(keys, ids, weights, begin, end, space, min_size, by_saving, relaxed, int(cost))
    return leaves.copy(), lo.copy(), hi.copy(), cuts.copy()  # what was found, without the room for more


@jit
def _cut_of_counts(space, d, codes, counts, total, min_size):
    n = codes.size
    even_cut, balance = _balanced_cut(space, d, codes, counts, n, total, min_size)
    saving_cut, saving = _saving_cut(space, d, codes, counts, n, total, min_size)
    if saving_cut < 0:
        return np.int64(-1), -1.0
    step_cut, step_saving = _descent_cut(space, d, codes, counts, n, total, min_size)
    return _best_of_three(even_cut, balance, saving_cut, saving, step_cut, step_saving)


@kernel(compiled_from=1_000)
def cut_of_counts(space: Space, counts: Sequence[IntArray], tried: BoolArray, min_size: int) -> tuple[int, int] | None:
    """The dimension and the largest code of the left side of the cut that saves most loss, or None.

    The node is only known by the counts of its codes, as a large node is cut: each dimension for itself.

    Args:
        counts: records with each code, by dimension.
        tried: dimensions that are not to be cut.
        min_size: fewest records of a side.
    """
    present = {d: np.flatnonzero(counts[d]) for d in range(space.n_dims) if not tried[d]}
    total = max((int(counts[d].sum()) for d in present), default=0)
    # no cut saves more than a dimension loses, so those that lose little need not be looked at
    most = {
        d: total * float(_losses(space, d, codes[:1], codes[-1:])[0]) for d, codes in present.items() if len(codes) > 1
    }
    best, best_dim, best_cut = -1.0, -1, -1
    for d in sorted(most, key=lambda d: (-most[d], d)):
        if most[d] + 1e-9 * total < best:
            break
        cut, score = _cut_of_counts(space, d, present[d], counts[d][present[d]].astype(np.int64), total, min_size)
        if cut >= 0 and (score > best or (score == best and d < best_dim)):
            best, best_dim, best_cut = score, d, int(cut)
    return None if best_dim < 0 else (best_dim, best_cut)
