"""Boxes near those of the classes: would a class of the records in one lower the loss?

Where columns are published as sets of values there are far too many boxes to go through. So the box of every class is
tried, and the box with one value more; from there values are left out one by one, always the one that leaves the most
to gain. Records of the box then leave dearer classes, as in the box search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.compiled.changes import new_state, polish, total_price
from tablecloak.kernels.compiled.jit import inner_jit, jit, leaf_jit
from tablecloak.kernels.compiled.pools import rebuild_pools
from tablecloak.kernels.compiled.proposals import begin_pass, choose, is_better, new_scratch, take
from tablecloak.kernels.compiled.sorting import sort_up
from tablecloak.kernels.compiled.states import BUNCH, FAR, SET, cell_price, lies_in, n_bits
from tablecloak.kernels.prices import MOST_SET_VALUES
from tablecloak.kernels.steps import SPLIT_UP_TO

__all__ = ["vary_boxes"]

# A box with one value more is tried if the records with that value pay this share of what the class pays.
WORTH = 20
# Of a class that changed, at most so often in one pass.
TURNS = 4
# A range is widened by 1, 2 and 4 codes on either side.
WIDENINGS = 6


class Room(NamedTuple):
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
def _new_room(n, n_dims):  # type: ignore[no-untyped-def]
    ends = np.zeros((4, n_dims), np.int64)
    lists = np.zeros((4, n), np.int64)
    sums = np.zeros((2, n_dims, MOST_SET_VALUES), np.int64)
    return Room(
        ends[0], ends[1], ends[2], ends[3], lists[0], lists[1], lists[2], lists[3], sums[0], sums[1]
    )  # fmt: skip


@leaf_jit
def _n_apart(prices, lo, hi, other_lo, other_hi):  # type: ignore[no-untyped-def]
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
def _add_near(state, prices, room, g, h, n_near):  # type: ignore[no-untyped-def]
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
def _find_near(state, prices, room, g):  # type: ignore[no-untyped-def]
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
def _widened_ends(state, prices, g, d, v):  # type: ignore[no-untyped-def]
    """Ends of a dimension of a class with a value more, or with more codes on one side."""
    lo, hi = state.lo[g, d], state.hi[g, d]
    if prices.kind[d] == SET:
        return lo | np.int64(1) << v, hi
    more = np.int64(1) << (v // 2)
    return (lo - more, hi) if v % 2 == 0 else (lo, hi + more)


@leaf_jit
def _start(state, prices, room, g, d, v, n_near):  # type: ignore[no-untyped-def]
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
def _tighten(state, prices, room, n):  # type: ignore[no-untyped-def]
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
def _narrowed_ends(prices, room, d, v):  # type: ignore[no-untyped-def]
    """Ends of a dimension without a value of the set, or without the lowest (0) or highest (1) code of a range."""
    if prices.kind[d] == SET:
        return room.lo[d] & ~(np.int64(1) << v), room.hi[d]
    return (room.next_lo[d], room.hi[d]) if v == 0 else (room.lo[d], room.next_hi[d])


@leaf_jit
def _value_of(prices, room, d, code):  # type: ignore[no-untyped-def]
    """What a code is called among the values that may be left out, -1 where it is in the middle of a range."""
    if prices.kind[d] == SET:
        return n_bits(code - 1)
    if code == room.lo[d]:
        return np.int64(0)
    return np.int64(1) if code == room.hi[d] else np.int64(-1)


@leaf_jit
def _sum_up(state, prices, room, n, price):  # type: ignore[no-untyped-def]
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
def _bound_steps(state, prices, rules, room, n):  # type: ignore[no-untyped-def]
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
def _most_worth(room, least):  # type: ignore[no-untyped-def]
    """The step that may gain most, and more than the least asked for: (dimension or -1, value)."""
    d, v = np.int64(-1), np.int64(-1)
    for e in range(room.lo.size):
        for u in range(MOST_SET_VALUES):
            if room.worth[e, u] > least:
                least, d, v = room.worth[e, u], np.int64(e), np.int64(u)
    return d, v


@leaf_jit
def _keep(state, prices, room, d, v, n, target):  # type: ignore[no-untyped-def]
    """Copy the tuples that stay without a value; how many."""
    lo, hi = _narrowed_ends(prices, room, d, v)
    n_kept = np.int64(0)
    for r in range(n):
        if lies_in(prices, d, lo, hi, state.codes[room.rows[r], d]):
            target[n_kept] = room.rows[r]
            n_kept += 1
    return n_kept


@inner_jit
def _best_step(state, prices, rules, scratch, room, n, gain, fills, spare):  # type: ignore[no-untyped-def]
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
        choose(state, rules, scratch, room.trial, np.int64(0), n_trial, then, fills)
        scratch.work[0] += 2 * n
        if is_better(state, rules, scratch, gain, spare):
            best_d, best_v, gain = d, v, scratch.found[0]


@inner_jit
def _use_rows(state, prices, rules, scratch, room, n, fills, spare):  # type: ignore[no-untyped-def]
    """Leave out values as long as a class gains more, then make it; what it saves."""
    gain = np.int64(0)
    while True:
        d, v, gain = _best_step(state, prices, rules, scratch, room, n, gain, fills, spare)
        if d < 0:
            break
        n = _keep(state, prices, room, d, v, n, room.rows)
    if gain == 0:
        return np.int64(0)
    price = _tighten(state, prices, room, n)
    choose(state, rules, scratch, room.rows, np.int64(0), n, price, fills)
    return take(state, prices, rules, scratch, spare)


@inner_jit
def _vary_class(state, prices, rules, scratch, room, g, fills, spare):  # type: ignore[no-untyped-def]
    """Try the boxes around that of a class; what the first that saves saves."""
    n_near = _find_near(state, prices, room, g)
    scratch.work[0] += state.codes.shape[0] // 4
    for d in range(-1, state.codes.shape[1]):
        n_values = np.int64(1)
        if d >= 0:
            n_values = np.int64(MOST_SET_VALUES if prices.kind[d] == SET else WIDENINGS)
        for v in range(n_values):
            n = _start(state, prices, room, g, np.int64(d), np.int64(v), n_near)
            saved = _use_rows(state, prices, rules, scratch, room, n, fills, spare) if n > 0 else np.int64(0)
            if saved > 0:
                return saved
    return np.int64(0)


@inner_jit
def _vary_classes(state, prices, rules, scratch, room, fills, stop, spare):  # type: ignore[no-untyped-def]
    """One pass over all classes."""
    g = np.int64(0)
    while g < state.n_used[0]:  # new ones among them
        for _ in range(TURNS):
            is_over = stop[0] != 0 or scratch.work[0] >= scratch.work[1]
            if is_over or state.head[g] < 0 or state.price[g] == 0:
                break
            if _vary_class(state, prices, rules, scratch, room, g, fills, spare) == 0:
                break
        g += 1


@jit
def vary_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop):  # type: ignore[no-untyped-def]
    """Passes over the boxes of all classes, each followed by small changes, until one saves little: (before, after)."""
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.shares.size)
    spare = np.zeros(rules.shares.size, np.int64)
    scratch = new_scratch(codes.shape[0], state.head.size, steps.work)
    room = _new_room(codes.shape[0], codes.shape[1])
    before = total_price(state)
    now = before
    for p in range(steps.boxes):
        last = now
        begin_pass(state, prices, rules, scratch, stop, spare)
        _vary_classes(state, prices, rules, scratch, room, np.bool_(p >= steps.plain), stop, spare)
        polish(state, prices, rules, spare, stop)
        if p + 1 < steps.boxes:  # another start for the next pass
            most = np.int64(SPLIT_UP_TO)
            rebuild_pools(state, prices, rules, np.int64(1), most, 0.0, seed + p, np.bool_(False), 1, stop, spare)
        now = total_price(state)
        if stop[0] != 0 or (p >= steps.plain and (last - now) * 1000 < last):
            break
    return before, now
