"""Search for better boxes: would a class of the records in a box lower the loss?

Boxes of groups of codes are enumerated depth first, one dimension after the other, from fine groups to coarse ones; a
box is left as soon as too few of its records would gain. Where columns are published as sets of values there are far
too many boxes to go through. So the box of every class is tried, and the box with one value more; from there values are
left out one by one, always the one that leaves the most to gain.

Records of a box leave classes that are dearer than the box. A class that keeps enough records stays; one that does not
is dissolved where others take the rest at a price that the gain pays for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.kernels.class_state import (
    BUNCH,
    FAR,
    admits_now,
    cheapest,
    clear,
    free_class,
    link,
    list_classes,
    list_members,
    new_state,
    rebuild,
    total_price,
    unlink,
)
from tablecloak.kernels.dispatch import inner_jit, jit, kernel, leaf_jit
from tablecloak.kernels.packed_codes import TREE, Space
from tablecloak.kernels.prices import MOST_SET_VALUES, SET, Prices, cell_price, cell_prices, lies_in, n_bits
from tablecloak.kernels.refining import SPLIT_UP_TO, Steps, move_tuples, polish, rebuild_pools, relocate, trim_classes
from tablecloak.kernels.rules import Rules, admits_tuples, new_spare
from tablecloak.kernels.small_loops import copy_into, sort_up

# A dimension without a hierarchy is halved this often.
HALVINGS = 6
# The price of a place that no class offers; sums of it do not overflow.
NOWHERE = np.int64(1) << 44
# Records of a window in halves of the least class size; wider windows hold records of more classes.
N_WIDTHS = 6
# Windows of one box that are taken, or tried in vain.
MOST_TAKEN, MOST_FAILED = 20, 3
# A box with one value more is tried if the records with that value pay this share of what the class pays.
WORTH = 20
# Of a class that changed, at most so often in one pass.
TURNS = 4
# A range is widened by 1, 2 and 4 codes on either side.
WIDENINGS = 6


class CodeLevels(NamedTuple):
    """Of every dimension its levels, exact codes first; of every level the group of each code and its price."""

    first: IntArray  # (n_dims + 1,) first level of each dimension
    start: IntArray  # (n_levels,) where the codes of a level begin in `group` and `price`
    n_groups: IntArray  # (n_levels,)
    group: NDArray[np.int32]
    price: NDArray[np.int32]
    order: IntArray  # dimensions in the order in which boxes are narrowed; the one cut into windows is not among them
    line: int  # the dimension that is cut into windows, -1: none


def make_levels(
    space: Space, prices: Prices, dims: IntArray, random: np.random.Generator | None, *, has_windows: bool = True
) -> CodeLevels:
    """CodeLevels of all dimensions; chance, where given, orders the dimensions and the values of sets anew.

    Args:
        prices: of the dimensions in the order of the space.
        dims: the order in which the kernel has them.
        has_windows: the longest dimension without a hierarchy has no levels; it is cut into windows.
    """
    line = _longest_line(space, prices) if has_windows else -1
    levels = [_levels(space, prices, d, random) if d != line else [] for d in dims.tolist()]
    flat = [(groups, price) for own in levels for groups, price in own]
    line = int(np.flatnonzero(dims == line)[0]) if line >= 0 else line
    others = np.array([d for d in np.argsort(space.n_codes[dims], kind="stable") if d != line], np.int64)
    sizes = [len(groups) for groups, _ in flat]
    none = [np.zeros(0, np.int32)]
    return CodeLevels(
        first=np.concatenate([[0], np.cumsum([len(own) for own in levels])]).astype(np.int64),
        start=np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)].astype(np.int64),
        n_groups=np.array([int(groups.max()) + 1 for groups, _ in flat], np.int64),
        group=np.concatenate([*(groups.astype(np.int32) for groups, _ in flat), *none]),
        price=np.concatenate([*(price.astype(np.int32) for _, price in flat), *none]),
        order=others if random is None else random.permutation(others),
        line=line,
    )


def _longest_line(space: Space, prices: Prices) -> int:
    """The dimension without a hierarchy that has most codes."""
    lines = [d for d in range(space.n_dims) if space.kind[d] != TREE and not prices.is_set(d)]
    return max(lines, key=lambda d: int(space.n_codes[d]), default=-1)


def _levels(
    space: Space, prices: Prices, d: int, random: np.random.Generator | None
) -> list[tuple[IntArray, IntArray]]:
    """Groups and prices of one dimension's codes, level by level; equal levels once."""
    n = int(space.n_codes[d])
    if space.kind[d] == TREE:
        rows = slice(int(space.tree_start[d]), int(space.tree_start[d]) + n)
        ends = [space.ends[rows, depth].astype(np.int64) for depth in range(space.ends.shape[1] - 1, -1, -1)]
    else:
        ends = _halves(n)
    levels: list[tuple[IntArray, IntArray]] = []
    for last in [np.arange(n), *ends]:
        groups = np.unique(last, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if prices.is_set(d) and random is not None and groups.max() < n - 1:
            groups = groups[random.permutation(n)]
        if not any((groups == other).all() for other, _ in levels):
            levels.append((groups, _group_prices(prices, d, groups)))
    return levels


def _halves(n: int) -> list[IntArray]:
    """The last code of the half, quarter, ... that holds a code, fine ones first."""
    codes = np.arange(n, dtype=np.int64)
    parts = [1 << j for j in range(HALVINGS, -1, -1) if 1 << j < n]
    return [((codes * p // n + 1) * n + p - 1) // p - 1 for p in parts]


def _group_prices(prices: Prices, d: int, groups: IntArray) -> IntArray:
    """The price of each code's group."""
    n_groups = int(groups.max()) + 1
    codes = np.arange(len(groups))
    if prices.kind[d] == SET:
        lo, hi = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
        np.bitwise_or.at(lo, groups, np.left_shift(np.int64(1), codes))
    else:
        lo, hi = np.full(n_groups, len(groups)), np.zeros(n_groups, np.int64)
        np.minimum.at(lo, groups, codes)
        np.maximum.at(hi, groups, codes)
    return cell_prices(prices, d, lo, hi)[groups]


class Proposal(NamedTuple):
    """What the search knows about tuples and classes, and room for its lists."""

    other: np.ndarray  # (n,) price of putting a tuple into the cheapest other class
    dissolving: np.ndarray  # (room,) what dissolving a class adds to the price
    weight: np.ndarray  # (room,) records of a class that lie in the box
    gain: np.ndarray  # (room,) what they gain if the rest of their class is dissolved
    left: np.ndarray  # (room,) records that a class may still give
    donors: np.ndarray  # (n,) classes with records in the box
    taken: np.ndarray  # (n,) tuples of the new class
    totals: np.ndarray  # (3,) gain, records, number of tuples taken
    work: np.ndarray  # (2,) tuples looked at, and how many may be


@inner_jit
def new_proposal(n, room, most_work):
    work = np.zeros(2, np.int64)
    work[1] = most_work
    return Proposal(
        np.zeros(n, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(3, np.int64), work,
    )  # fmt: skip


@leaf_jit
def _find_others(state, prices, rules, proposal, stop, spare):
    """Of every tuple the price of the cheapest other class, and what it would cost to dissolve each class."""
    for g in range(state.n_used[0]):
        proposal.dissolving[g] = -state.price[g] * state.size[g]
    for i in range(state.codes.shape[0]):
        if stop[0] != 0:
            return
        own = state.class_of[i]
        _, proposal.other[i] = cheapest(state, prices, rules, i, own, NOWHERE, spare)
        proposal.dissolving[own] += proposal.other[i]


@leaf_jit
def _dissolve_loose(state, prices, rules, proposal, stop, spare):
    """Give the members of classes to others where each of them alone costs less there."""
    for g in range(state.n_used[0]):
        if stop[0] != 0 or state.head[g] < 0 or proposal.dissolving[g] >= 0:
            continue
        members = state.lists[0, : list_members(state, g)]
        if relocate(state, prices, rules, members, g, state.size[g] * state.price[g], spare):
            clear(state, g)


@leaf_jit
def begin_pass(state, prices, rules, proposal, stop, spare):
    """What a pass over boxes must know: where tuples would go otherwise; classes that cost less apart are dissolved."""
    proposal.work[0] = 0
    list_classes(state, prices)
    _find_others(state, prices, rules, proposal, stop, spare)
    _dissolve_loose(state, prices, rules, proposal, stop, spare)


@leaf_jit
def _weigh(state, rules, proposal, rows, a, b, price):
    """What the classes of some tuples would give to a class of this price: (gain, records, number of donors).

    A donor that keeps too little gives what it can spare, or all, if the rest is cheaper elsewhere.
    """
    least = rules.min_size
    n_donors = np.int64(0)
    for r in range(a, b):
        i = rows[r]
        g = state.class_of[i]
        if state.price[g] <= price:
            continue
        if proposal.weight[g] == 0:
            proposal.donors[n_donors] = g
            n_donors += 1
        w = state.weights[i]
        proposal.weight[g] += w
        proposal.gain[g] += proposal.other[i] - price * w
    gain, records = np.int64(0), np.int64(0)
    for q in range(n_donors):
        g = proposal.donors[q]
        inside = proposal.weight[g]
        rest = state.size[g] - inside
        donation = inside if rest == 0 or rest >= least else state.size[g] - least
        own = (state.price[g] - price) * donation
        if donation < inside:
            dissolved = proposal.gain[g] - proposal.dissolving[g]
            if dissolved > own and dissolved > 0:
                own, donation = dissolved, inside
        gain += own
        records += donation
        proposal.left[g] = donation
    return gain, records, n_donors


@leaf_jit
def _fill(state, rules, proposal, rows, a, b, price, n_taken, n_donors):
    """Complete a class with records of cheaper classes that can spare them, the dearest first: (taken, donors)."""
    least = rules.min_size
    missing = least - proposal.totals[1]
    n = b - a
    ranked = state.lists[5]
    n_ranked = np.int64(0)
    for r in range(a, b):
        i = rows[r]
        g = state.class_of[i]
        more = price - state.price[g]
        if more >= 0 and state.size[g] - state.weights[i] >= least and more * missing < proposal.totals[0]:
            ranked[n_ranked] = more * n + (r - a)
            n_ranked += 1
    sort_up(ranked[:n_ranked])
    for q in range(n_ranked):
        if proposal.totals[1] >= least:
            break
        i = rows[a + ranked[q] % n]
        g = state.class_of[i]
        w = state.weights[i]
        if proposal.weight[g] == 0:
            proposal.donors[n_donors] = g
            n_donors += 1
        if state.size[g] - proposal.weight[g] - w < least:
            continue
        proposal.weight[g] += w
        proposal.taken[n_taken] = i
        n_taken += 1
        proposal.totals[1] += w
        proposal.totals[0] -= (price - state.price[g]) * w
    return n_taken, n_donors


@leaf_jit
def propose_class(state, rules, proposal, rows, a, b, price, fills):
    """Write down what a class of these tuples would take, and what it would gain; below 0: too small."""
    gain, records, n_donors = _weigh(state, rules, proposal, rows, a, b, price)
    n_taken = np.int64(0)
    proposal.totals[0] = gain
    proposal.totals[1] = 0
    if gain > 0 and (records >= rules.min_size or (fills and 2 * records >= rules.min_size)):
        for r in range(a, b):
            i = rows[r]
            g = state.class_of[i]
            w = state.weights[i]
            if state.price[g] > price and proposal.left[g] >= w:
                proposal.left[g] -= w
                proposal.taken[n_taken] = i
                n_taken += 1
                proposal.totals[1] += w
        if fills and proposal.totals[1] < rules.min_size:
            n_taken, n_donors = _fill(state, rules, proposal, rows, a, b, price, n_taken, n_donors)
    for q in range(n_donors):
        g = proposal.donors[q]
        proposal.weight[g] = 0
        proposal.gain[g] = 0
        proposal.left[g] = 0
    if proposal.totals[1] < rules.min_size:
        proposal.totals[0] = -1
    proposal.totals[2] = n_taken


@leaf_jit
def is_better(state, rules, proposal, most, spare):
    """Whether what was chosen gains more than this, as a class that the goal admits."""
    if proposal.totals[0] <= most:
        return False
    taken = proposal.taken[: proposal.totals[2]]
    return admits_tuples(rules, state.values, state.weights, taken, proposal.totals[1], spare)


@leaf_jit
def _gather_donors(state, proposal, taken, came_from, donors):
    """Note the class of every tuple that is taken: (number of classes, their price)."""
    n_donors, before = np.int64(0), np.int64(0)
    for q in range(taken.size):
        g = state.class_of[taken[q]]
        came_from[q] = g
        if proposal.weight[g] == 0:
            proposal.weight[g] = 1
            donors[n_donors] = g
            n_donors += 1
            before += state.price[g] * state.size[g]
    for q in range(n_donors):
        proposal.weight[donors[q]] = 0
    return n_donors, before


@leaf_jit
def _count_donors(state, prices, rules, proposal, donors, spare):
    """Count again classes that gave records: (price of those that stay, members of those that cannot, their price)."""
    price, n_rest, others = np.int64(0), np.int64(0), np.int64(0)
    for q in range(donors.size):
        g = donors[q]
        if state.head[g] < 0:
            clear(state, g)
            continue
        rebuild(state, prices, g)
        if admits_now(state, rules, g, spare):
            price += state.price[g] * state.size[g]
        else:
            n_rest += state.n_members[g]
            i = state.head[g]
            while i >= 0:
                others += proposal.other[i]
                i = state.following[i]
    return price, n_rest, others


@leaf_jit
def _give_up(state, rules, donors, rest, rest_from, spare):
    """Empty the classes that cannot stay, and note their members."""
    n_rest = np.int64(0)
    for q in range(donors.size):
        g = donors[q]
        if state.head[g] < 0 or admits_now(state, rules, g, spare):
            continue
        i = state.head[g]
        while i >= 0:
            rest[n_rest] = i
            rest_from[n_rest] = g
            n_rest += 1
            i = state.following[i]
        clear(state, g)


@leaf_jit
def _put_back(state, prices, tuples, came_from):
    """Give tuples their former classes, which are then to be counted again."""
    for q in range(tuples.size):
        g = state.class_of[tuples[q]]
        if g >= 0:
            unlink(state, tuples[q])
            rebuild(state, prices, g)
        link(state, tuples[q], came_from[q])


@leaf_jit
def take(state, prices, rules, proposal, spare):
    """Make the chosen tuples a class if that lowers the price and the goal admits all classes; what it saves, or 0."""
    taken = proposal.taken[: proposal.totals[2]]
    if not is_better(state, rules, proposal, np.int64(0), spare):
        return np.int64(0)
    new = free_class(state)
    if new < 0:
        return np.int64(0)
    came_from = state.lists[2, : taken.size]
    n_donors, before = _gather_donors(state, proposal, taken, came_from, state.lists[1])
    donors = state.lists[1, :n_donors]
    for q in range(taken.size):
        unlink(state, taken[q])
        link(state, taken[q], new)
    rebuild(state, prices, new)
    price, n_rest, others = _count_donors(state, prices, rules, proposal, donors, spare)
    saved = before - price - state.price[new] * state.size[new]
    # where rules forbid most, looking for places in vain would take most of the time
    if saved > (others if rules.kind.size > 0 else 0):
        rest, rest_from = state.lists[3, :n_rest], state.lists[4, :n_rest]
        _give_up(state, rules, donors, rest, rest_from, spare)
        saved = _place_rest(state, prices, rules, rest, saved, spare)
        if saved > 0:
            return saved
        _put_back(state, prices, rest, rest_from)
    for q in range(taken.size):
        unlink(state, taken[q])
        link(state, taken[q], came_from[q])
    for q in range(n_donors):
        rebuild(state, prices, donors[q])
    clear(state, new)
    return np.int64(0)


@leaf_jit
def _place_rest(state, prices, rules, rest, saved, spare):
    """Make tuples without a class one class, or put each into the cheapest; what is still saved then.

    If nothing is saved, 0, with some of them left over.
    """
    for q in range(rest.size):
        state.class_of[rest[q]] = -1
    own = free_class(state) if rest.size > 0 else np.int64(-1)
    if own >= 0:
        for q in range(rest.size):
            link(state, rest[q], own)
        rebuild(state, prices, own)
        cost = state.size[own] * state.price[own]
        if cost < saved and admits_now(state, rules, own, spare):
            return saved - cost
        clear(state, own)
    for q in range(rest.size):
        state.class_of[rest[q]] = -1
    for q in range(rest.size):
        to, added = cheapest(state, prices, rules, rest[q], np.int64(-1), saved, spare)
        if to < 0:
            return np.int64(0)
        saved -= added
        link(state, rest[q], to)
        rebuild(state, prices, to)
    return saved


@leaf_jit
def _window_end(state, rows, n, line, end, records, needed, base):
    """The first end, after all tuples with the same code, before which as many records as needed are dearer."""
    while end < n and records < needed:
        code = state.codes[rows[end], line]
        while end < n and state.codes[rows[end], line] == code:
            if state.price[state.class_of[rows[end]]] > base:
                records += state.weights[rows[end]]
            end += 1
    return end, records


@leaf_jit
def _best_window(state, prices, rules, proposal, rows, n, line, base, fills, failed, spare):
    """The window of a box whose class would gain most: (begin, end), an end of 0 for none."""
    most, begin, finish = np.int64(0), np.int64(0), np.int64(0)
    for width in range(0 if fills else 1, N_WIDTHS):
        # half the least size, then once, 1.5, 2, 4 and 8 times
        needed = max(1, rules.min_size * (1, 2, 3, 4, 8, 16)[width] // 2)
        a, b, records = np.int64(0), np.int64(0), np.int64(0)
        while a < n:
            if line < 0:
                b, records = n, needed  # the whole box
            b, records = _window_end(state, rows, n, line, b, records, needed, base)
            if records < needed:
                break
            price = base
            if line >= 0:
                price += cell_price(prices, line, state.codes[rows[a], line], state.codes[rows[b - 1], line])
            is_failed = False
            for f in range(0, failed.size, 2):
                is_failed = is_failed or (failed[f] == a and failed[f + 1] == b)
            if not is_failed:
                propose_class(state, rules, proposal, rows, a, b, price, fills)
                proposal.work[0] += b - a
                if is_better(state, rules, proposal, most, spare):
                    most, begin, finish = proposal.totals[0], a, b
            if line < 0:
                return begin, finish
            code = state.codes[rows[a], line]
            while a < n and state.codes[rows[a], line] == code:
                if state.price[state.class_of[rows[a]]] > base:
                    records -= state.weights[rows[a]]
                a += 1
        if a == 0:
            break
    return begin, finish


@leaf_jit
def _use_box(state, prices, rules, proposal, rows, n, line, base, fills, spare):
    """Make classes of the best windows of a box, as long as that saves; what it saves."""
    saved = np.int64(0)
    failed = state.lists[0]  # begin and end of each
    n_failed = np.int64(0)
    for _ in range(MOST_TAKEN):
        a, b = _best_window(state, prices, rules, proposal, rows, n, line, base, fills, failed[: 2 * n_failed], spare)
        if b == 0:
            break
        price = base
        if line >= 0:
            price += cell_price(prices, line, state.codes[rows[a], line], state.codes[rows[b - 1], line])
        propose_class(state, rules, proposal, rows, a, b, price, fills)
        own = take(state, prices, rules, proposal, spare)
        saved += own
        if own == 0:
            if n_failed == MOST_FAILED:
                break
            failed[2 * n_failed] = a
            failed[2 * n_failed + 1] = b
            n_failed += 1
    return saved


@leaf_jit
def _group_of(state, prices, levels, level, d, i):
    code = state.codes[i, d]
    if prices.kind[d] == SET:
        code = n_bits(code - 1)
    return levels.start[level] + code


@leaf_jit
def _by_group(state, prices, levels, level, d, rows, n, counts, target):
    """Tuples in the order of their groups, otherwise as they were."""
    for c in range(levels.n_groups[level]):
        counts[c] = 0
    for r in range(n):
        counts[levels.group[_group_of(state, prices, levels, level, d, rows[r])]] += 1
    begin = np.int64(0)
    for c in range(levels.n_groups[level]):
        own = counts[c]
        counts[c] = begin
        begin += own
    for r in range(n):
        c = levels.group[_group_of(state, prices, levels, level, d, rows[r])]
        target[counts[c]] = rows[r]
        counts[c] += 1


@leaf_jit
def _gather(state, prices, rules, levels, level, d, ordered, a, n, base, target, fills):
    """Copy the tuples of one group that may be of use: (end of the group, tuples, dearer records, all records)."""
    group = levels.group[_group_of(state, prices, levels, level, d, ordered[a])]
    n_kept, dearer, records = np.int64(0), np.int64(0), np.int64(0)
    while a < n and levels.group[_group_of(state, prices, levels, level, d, ordered[a])] == group:
        i = ordered[a]
        g = state.class_of[i]
        w = state.weights[i]
        is_dearer = state.price[g] > base
        if is_dearer or (fills and state.size[g] - w >= rules.min_size):
            target[n_kept] = i
            n_kept += 1
            records += w
            dearer += w if is_dearer else 0
        a += 1
    return a, n_kept, dearer, records


@inner_jit
def _enumerate(state, prices, rules, levels, proposal, first, fills, stop, spare):
    """Use every box that holds enough records that would gain; what that saves."""
    n, depths = first.size, levels.order.size
    rows = np.empty((depths + 1, n), np.int64)
    ordered = np.empty((depths + 1, n), np.int64)
    n_rows = np.zeros(depths + 1, np.int64)
    n_ordered = np.zeros(depths + 1, np.int64)
    place = np.zeros(depths + 1, np.int64)
    level = np.zeros(depths + 1, np.int64)
    base = np.zeros(depths + 1, np.int64)
    most_groups = np.int64(1)
    for j in range(levels.n_groups.size):
        most_groups = max(most_groups, levels.n_groups[j])
    counts = np.zeros(most_groups, np.int64)
    copy_into(rows[0], first)
    n_rows[0] = n
    least = rules.min_size if not fills else (rules.min_size + 1) // 2
    saved, depth = np.int64(0), np.int64(0)
    if depths > 0:
        level[0] = levels.first[levels.order[0]] - 1
    while depth >= 0 and stop[0] == 0 and proposal.work[0] < proposal.work[1]:
        if depth == depths:
            saved += _use_box(
                state, prices, rules, proposal, rows[depth], n_rows[depth], levels.line, base[depth], fills, spare
            )
            depth -= 1
            continue
        d = levels.order[depth]
        if place[depth] >= n_ordered[depth]:
            level[depth] += 1
            if level[depth] >= levels.first[d + 1]:
                depth -= 1
                continue
            _by_group(state, prices, levels, level[depth], d, rows[depth], n_rows[depth], counts, ordered[depth])
            proposal.work[0] += n_rows[depth] + levels.n_groups[level[depth]]
            n_ordered[depth] = n_rows[depth]
            place[depth] = 0
            continue
        begin = place[depth]
        price = base[depth] + levels.price[_group_of(state, prices, levels, level[depth], d, ordered[depth, begin])]
        place[depth], n_kept, dearer, records = _gather(
            state, prices, rules, levels, level[depth], d, ordered[depth], begin, n_ordered[depth], price,
            rows[depth + 1], fills,
        )  # fmt: skip
        if dearer >= least and records >= rules.min_size:
            depth += 1
            n_rows[depth] = n_kept
            base[depth] = price
            n_ordered[depth] = 0
            place[depth] = 0
            if depth < depths:
                level[depth] = levels.first[levels.order[depth]] - 1
    return saved


@inner_jit
def _along_line(state, line):
    """Tuples in the order of the dimension that is cut into windows."""
    n = state.codes.shape[0]
    ranked = np.empty(n, np.int64)
    for i in range(n):
        code = state.codes[i, line] if line >= 0 else np.int64(0)
        ranked[i] = code * n + i
    sort_up(ranked)
    for i in range(n):
        ranked[i] %= n
    return ranked


@jit
def _search_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, levels, stop, spare):
    """Passes over all boxes, or as many as the work allows, each followed by small changes: (price before, after).

    It ends when a pass saves little.
    """
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.n_kept)
    proposal = new_proposal(state.codes.shape[0], state.head.size, steps.work)
    first = _along_line(state, levels.line)
    before = total_price(state)
    now = before
    for p in range(steps.boxes):
        last = now
        begin_pass(state, prices, rules, proposal, stop, spare)
        _enumerate(state, prices, rules, levels, proposal, first, np.bool_(p >= steps.plain), stop, spare)
        list_classes(state, prices)
        move_tuples(state, prices, rules, spare, stop)
        trim_classes(state, prices, rules, spare, stop)
        now = total_price(state)
        if stop[0] != 0 or (p >= steps.plain and (last - now) * 1000 < last):
            break
    return before, now


class TrialBox(NamedTuple):
    """The box that is being tried, its tuples, and what is known of them."""

    lo: np.ndarray  # (n_dims,)
    hi: np.ndarray
    next_lo: np.ndarray  # (n_dims,) second lowest code of a range
    next_hi: np.ndarray
    near: np.ndarray  # (n,) tuples in the box of the class but for one dimension
    outside: np.ndarray  # (n,) that dimension, -1: none
    rows: np.ndarray  # (n,) tuples in the box
    trial: np.ndarray  # (n,) those that a step would leave
    worth: np.ndarray  # (n_dims, MOST_SET_VALUES) what leaving out a value may gain at most
    records: np.ndarray  # (n_dims, MOST_SET_VALUES) records with a value


@inner_jit
def _new_room(n, n_dims):
    ends = np.zeros((4, n_dims), np.int64)
    lists = np.zeros((4, n), np.int64)
    sums = np.zeros((2, n_dims, MOST_SET_VALUES), np.int64)
    return TrialBox(
        ends[0], ends[1], ends[2], ends[3], lists[0], lists[1], lists[2], lists[3], sums[0], sums[1]
    )  # fmt: skip


@leaf_jit
def _n_apart(prices, lo, hi, other_lo, other_hi):
    """In how many dimensions two boxes have nothing in common; 2: two or more."""
    n = np.int64(0)
    for d in range(lo.size):
        if prices.kind[d] == SET:
            n += lo[d] & other_lo[d] == 0
        else:
            n += lo[d] > other_hi[d] or hi[d] < other_lo[d]
        if n == 2:
            break
    return n


@leaf_jit
def _add_near(state, prices, room, g, h, n_near):
    """Add the members of a class that lie in the box of another but for at most one dimension; how many are listed."""
    lo, hi = state.lo[g], state.hi[g]
    if _n_apart(prices, lo, hi, state.lo[h], state.hi[h]) == 2:
        return n_near
    i = state.head[h]
    while i >= 0:
        n_out = np.int64(0)
        for d in range(lo.size):
            if not lies_in(prices, d, lo[d], hi[d], state.codes[i, d]):
                n_out += 1
                if n_out == 2:
                    break
        if n_out < 2:
            room.near[n_near] = i
            n_near += 1
        i = state.following[i]
    return n_near


@leaf_jit
def _find_near(state, prices, room, g):
    """List the tuples that lie in the box of a class but for at most one dimension; how many."""
    n_near = np.int64(0)
    lo, hi = state.lo[g], state.hi[g]
    is_bunched = state.around.size > 0
    n = state.n_used[1 if is_bunched else 0]
    for begin in range(0, n, BUNCH):
        b = begin // BUNCH
        if is_bunched and _n_apart(prices, lo, hi, state.around[b, 0], state.around[b, 1]) == 2:
            continue
        for c in range(begin, min(n, begin + BUNCH)):
            if state.listed[c] >= 0:
                n_near = _add_near(state, prices, room, g, state.listed[c], n_near)
    sort_up(room.near[:n_near])
    for r in range(n_near):
        room.outside[r] = -1
        for d in range(lo.size):
            if not lies_in(prices, d, lo[d], hi[d], state.codes[room.near[r], d]):
                room.outside[r] = d
    return n_near


@leaf_jit
def _widened_ends(state, prices, g, d, v):
    """Ends of a dimension of a class with a value more, or with more codes on one side."""
    lo, hi = state.lo[g, d], state.hi[g, d]
    if prices.kind[d] == SET:
        return lo | np.int64(1) << v, hi
    more = np.int64(1) << (v // 2)
    return (lo - more, hi) if v % 2 == 0 else (lo, hi + more)


@leaf_jit
def _start(state, prices, room, g, d, v, n_near):
    """List the tuples of the box of a class, widened in a dimension (-1: none); how many, 0 if not worth while."""
    lo, hi = np.int64(0), np.int64(0)
    if d >= 0:
        lo, hi = _widened_ends(state, prices, g, d, v)
        if lo == state.lo[g, d] and hi == state.hi[g, d]:
            return np.int64(0)
    n, worth = np.int64(0), np.int64(0)
    for r in range(n_near):
        i, at = room.near[r], room.outside[r]
        if at >= 0 and (at != d or not lies_in(prices, d, lo, hi, state.codes[i, d])):
            continue
        room.rows[n] = i
        n += 1
        if at >= 0:
            worth += max(np.int64(0), state.price[state.class_of[i]] - state.price[g]) * state.weights[i]
    return n if d < 0 or worth * WORTH > state.price[g] * state.size[g] else np.int64(0)


@leaf_jit
def _tighten(state, prices, room, n):
    """Make the box as narrow as its tuples; its price."""
    price = np.int64(0)
    for d in range(room.lo.size):
        is_set = prices.kind[d] == SET
        lo, next_lo, hi, next_hi = np.int64(0) if is_set else FAR, FAR, np.int64(-1), np.int64(-1)
        for r in range(n):
            code = state.codes[room.rows[r], d]
            if is_set:
                lo |= code
                continue
            if code < lo:
                next_lo = lo
                lo = code
            elif lo < code < next_lo:
                next_lo = code
            if code > hi:
                next_hi = hi
                hi = code
            elif next_hi < code < hi:
                next_hi = code
        room.lo[d], room.hi[d], room.next_lo[d], room.next_hi[d] = lo, hi, next_lo, next_hi
        price += cell_price(prices, d, lo, hi)
    return price


@leaf_jit
def _narrowed_ends(prices, room, d, v):
    """Ends of a dimension without a value of the set, or without the lowest (0) or highest (1) code of a range."""
    if prices.kind[d] == SET:
        return room.lo[d] & ~(np.int64(1) << v), room.hi[d]
    return (room.next_lo[d], room.hi[d]) if v == 0 else (room.lo[d], room.next_hi[d])


@leaf_jit
def _value_of(prices, room, d, code):
    """What a code is called among the values that may be left out, -1 where it is in the middle of a range."""
    if prices.kind[d] == SET:
        return n_bits(code - 1)
    if code == room.lo[d]:
        return np.int64(0)
    return np.int64(1) if code == room.hi[d] else np.int64(-1)


@leaf_jit
def _sum_up(state, prices, room, n, price):
    """Note what the records with each value pay now, at least the price of the box: (all of it, all records)."""
    for d in range(room.lo.size):
        for v in range(MOST_SET_VALUES):
            room.worth[d, v] = 0
            room.records[d, v] = 0
    worth, records = np.int64(0), np.int64(0)
    for r in range(n):
        i = room.rows[r]
        w = state.weights[i]
        own = max(state.price[state.class_of[i]], price) * w
        worth += own
        records += w
        for d in range(room.lo.size):
            v = _value_of(prices, room, d, state.codes[i, d])
            if v >= 0:
                room.worth[d, v] += own
                room.records[d, v] += w
    return worth, records


@leaf_jit
def _bound_steps(state, prices, rules, room, n):
    """Note at most what a class gains by leaving out each value, 0 where too few records would stay; the price now."""
    price = _tighten(state, prices, room, n)
    worth, records = _sum_up(state, prices, room, n, price)
    for d in range(room.lo.size):
        own = cell_price(prices, d, room.lo[d], room.hi[d])
        for v in range(MOST_SET_VALUES):
            stays = records - room.records[d, v]
            if room.records[d, v] == 0 or own == 0 or stays < rules.min_size:
                room.worth[d, v] = 0
                continue
            lo, hi = _narrowed_ends(prices, room, d, v)
            then = price - own + cell_price(prices, d, lo, hi)
            room.worth[d, v] = worth - room.worth[d, v] - stays * then
    return price


@leaf_jit
def _most_worth(room, least):
    """The step that may gain most, and more than the least asked for: (dimension or -1, value)."""
    d, v = np.int64(-1), np.int64(-1)
    for e in range(room.lo.size):
        for u in range(MOST_SET_VALUES):
            if room.worth[e, u] > least:
                least, d, v = room.worth[e, u], np.int64(e), np.int64(u)
    return d, v


@leaf_jit
def _keep(state, prices, room, d, v, n, target):
    """Copy the tuples that stay without a value; how many."""
    lo, hi = _narrowed_ends(prices, room, d, v)
    n_kept = np.int64(0)
    for r in range(n):
        if lies_in(prices, d, lo, hi, state.codes[room.rows[r], d]):
            target[n_kept] = room.rows[r]
            n_kept += 1
    return n_kept


@leaf_jit
def _best_step(state, prices, rules, proposal, room, n, gain, fills, spare):
    """The value without which a class gains most, and more than now: (dimension or -1, value, gain)."""
    price = _bound_steps(state, prices, rules, room, n)
    best_d, best_v = np.int64(-1), np.int64(-1)
    while True:
        d, v = _most_worth(room, gain)
        if d < 0:
            return best_d, best_v, gain
        room.worth[d, v] = 0
        lo, hi = _narrowed_ends(prices, room, d, v)
        then = price - cell_price(prices, d, room.lo[d], room.hi[d]) + cell_price(prices, d, lo, hi)
        n_trial = _keep(state, prices, room, d, v, n, room.trial)
        propose_class(state, rules, proposal, room.trial, np.int64(0), n_trial, then, fills)
        proposal.work[0] += 2 * n
        if is_better(state, rules, proposal, gain, spare):
            best_d, best_v, gain = d, v, proposal.totals[0]


@leaf_jit
def _use_rows(state, prices, rules, proposal, room, n, fills, spare):
    """Leave out values as long as a class gains more, then make it; what it saves."""
    gain = np.int64(0)
    while True:
        d, v, gain = _best_step(state, prices, rules, proposal, room, n, gain, fills, spare)
        if d < 0:
            break
        n = _keep(state, prices, room, d, v, n, room.rows)
    if gain == 0:
        return np.int64(0)
    price = _tighten(state, prices, room, n)
    propose_class(state, rules, proposal, room.rows, np.int64(0), n, price, fills)
    return take(state, prices, rules, proposal, spare)


@leaf_jit
def _vary_class(state, prices, rules, proposal, room, g, fills, spare):
    """Try the boxes around that of a class; what the first that saves saves."""
    n_near = _find_near(state, prices, room, g)
    proposal.work[0] += state.codes.shape[0] // 4
    for d in range(-1, state.codes.shape[1]):
        n_values = np.int64(1)
        if d >= 0:
            n_values = np.int64(MOST_SET_VALUES if prices.kind[d] == SET else WIDENINGS)
        for v in range(n_values):
            n = _start(state, prices, room, g, np.int64(d), np.int64(v), n_near)
            saved = _use_rows(state, prices, rules, proposal, room, n, fills, spare) if n > 0 else np.int64(0)
            if saved > 0:
                return saved
    return np.int64(0)


@leaf_jit
def _vary_classes(state, prices, rules, proposal, room, fills, stop, spare):
    """One pass over all classes."""
    g = np.int64(0)
    while g < state.n_used[0]:  # new ones among them
        for _ in range(TURNS):
            is_over = stop[0] != 0 or proposal.work[0] >= proposal.work[1]
            if is_over or state.head[g] < 0 or state.price[g] == 0:
                break
            if _vary_class(state, prices, rules, proposal, room, g, fills, spare) == 0:
                break
        g += 1


@jit
def _vary_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop, spare):
    """Passes over the boxes of all classes, each followed by small changes, until one saves little: (before, after)."""
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.n_kept)
    proposal = new_proposal(codes.shape[0], state.head.size, steps.work)
    room = _new_room(codes.shape[0], codes.shape[1])
    before = total_price(state)
    now = before
    for p in range(steps.boxes):
        last = now
        begin_pass(state, prices, rules, proposal, stop, spare)
        _vary_classes(state, prices, rules, proposal, room, np.bool_(p >= steps.plain), stop, spare)
        polish(state, prices, rules, spare, stop)
        if p + 1 < steps.boxes:  # another start for the next pass
            most = np.int64(SPLIT_UP_TO)
            rebuild_pools(
                state, prices, rules, np.int64(1), most, 0.0, seed + p, np.bool_(False), 1, steps.pools, stop, spare
            )
        now = total_price(state)
        if stop[0] != 0 or (p >= steps.plain and (last - now) * 1000 < last):
            break
    return before, now


@kernel()
def search_boxes(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    steps: Steps,
    levels: CodeLevels,
    seed: int,
    stop: IntArray,
) -> tuple[int, int]:
    """Change the classes of tuples, in place, where other boxes lower their total price: (price before, price after).

    Args:
        levels: of which boxes are made where a column is not published as sets.
        stop: (1,) another thread may set it to end the search early; the classes are then still admitted.
    """
    is_set = prices.kind == SET
    totals: list[tuple[int, int]] = []
    spare = new_spare(rules)
    if not is_set.any() or not is_set[levels.order].all():
        n_classes = int(class_of.max()) + 1
        totals.append(
            _search_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, levels, stop, spare)
        )
        class_of[:] = np.unique(class_of, return_inverse=True)[1].reshape(-1)  # classes that were dissolved leave gaps
    if is_set.any():
        n_classes = int(class_of.max()) + 1
        totals.append(_vary_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop, spare))
    return int(totals[0][0]), int(totals[-1][1])
