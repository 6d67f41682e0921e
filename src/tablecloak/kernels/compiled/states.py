"""Classes of one block of tuples while they are being changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.sorting import copy_into, sort_up

TABLE, LINE, SPAN, BRANCH, SET = 0, 1, 2, 3, 4
FAR = np.int64(1) << 40
MOST = np.int64(1) << 60
# Classes that are looked at together: none of them is if the box around them is too far.
BUNCH = 16


class State(NamedTuple):
    """Tuples with their classes, and for every class what a change must know."""

    codes: np.ndarray  # (n, n_dims) codes, or masks of one bit
    weights: np.ndarray  # (n,)
    values: np.ndarray  # (n, n_sensitive) places in a class histogram
    class_of: np.ndarray  # (n,)
    following: np.ndarray  # (n,) next member of the same class, -1 at the end
    head: np.ndarray  # (room,) first member, -1: no class
    n_members: np.ndarray  # (room,)
    size: np.ndarray  # (room,) records
    price: np.ndarray  # (room,) price of one record
    lo: np.ndarray  # (room, n_dims); the mask of a set
    hi: np.ndarray  # (room, n_dims); of a set: values carried by one member only
    next_lo: np.ndarray  # (room, n_dims) lowest code once a member that carries `lo` has left
    next_hi: np.ndarray  # (room, n_dims)
    hist: np.ndarray  # (room, n_places) sensitive values
    n_used: np.ndarray  # (2,) class numbers given out, and places of the list
    listed: np.ndarray  # classes in bunches of similar ones, -1: none any more; all in order where there are few
    place: np.ndarray  # (room,) of a class in the list
    around: np.ndarray  # (n_bunches, 2, n_dims) a box around all classes of a bunch, perhaps wider
    least: np.ndarray  # (n_bunches, 3) price of that box, and the least price and size of a class of the bunch, or less


@leaf_jit
def n_bits(mask):  # type: ignore[no-untyped-def]
    x = np.uint64(mask)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@leaf_jit
def set_price(table, start, mask):  # type: ignore[no-untyped-def]
    n = n_bits(mask)
    if n > 1 and mask & 1 and table[start] >= 0:
        return np.int64(table[start])  # a missing cell among others can only be published as anything
    return np.int64(table[start + 1 + n])


@leaf_jit
def interval_price(table, kind, n, start, lo, hi):  # type: ignore[no-untyped-def]  # noqa: PLR0911
    if kind == TABLE:
        return np.int64(table[start + lo * n + hi])
    if lo >= hi:
        return np.int64(0)
    if kind == BRANCH:
        row = start + lo * 2 * n
        for depth in range(n - 1, 0, -1):
            if table[row + depth] >= hi:
                return np.int64(table[row + n + depth])
        return np.int64(table[row + n])
    if lo == 0 and table[start] >= 0:
        return np.int64(table[start])
    if kind == LINE:
        width = np.int64(table[start + 1 + n + hi]) - np.int64(table[start + 1 + lo])
        return min(width, np.int64(table[start + 1 + 2 * n]))
    return np.int64(table[start + 1 + hi - lo])


@leaf_jit
def cell_price(prices, d, lo, hi):  # type: ignore[no-untyped-def]
    """Price of a box in one dimension; of a set only `lo` counts."""
    if prices.kind[d] == SET:
        return set_price(prices.table, prices.start[d], lo)
    return interval_price(prices.table, prices.kind[d], prices.n[d], prices.start[d], lo, hi)


@leaf_jit
def lies_in(prices, d, lo, hi, code):  # type: ignore[no-untyped-def]
    """Whether a box holds a code in one dimension; of a set only `lo` counts."""
    if prices.kind[d] == SET:
        return code & lo != 0
    return lo <= code <= hi


@leaf_jit
def widened(prices, d, lo, hi, code):  # type: ignore[no-untyped-def]
    """Price of a box in one dimension after a code joined it."""
    if prices.kind[d] == SET:
        return set_price(prices.table, prices.start[d], lo | code)
    return interval_price(prices.table, prices.kind[d], prices.n[d], prices.start[d], min(lo, code), max(hi, code))


@inner_jit
def members_of(state, g):  # type: ignore[no-untyped-def]
    """Members of a class, ascending."""
    found = np.empty(state.n_members[g], np.int64)
    i = state.head[g]
    n = np.int64(0)
    while i >= 0:
        found[n] = i
        n += 1
        i = state.following[i]
    sort_up(found)
    return found


@leaf_jit
def clear(state, g):  # type: ignore[no-untyped-def]
    state.head[g] = -1
    state.n_members[g] = 0
    state.size[g] = 0
    state.price[g] = 0


@leaf_jit
def link(state, i, g):  # type: ignore[no-untyped-def]
    state.following[i] = state.head[g]
    state.head[g] = i
    state.class_of[i] = g
    state.n_members[g] += 1


@leaf_jit
def unlink(state, i):  # type: ignore[no-untyped-def]
    g = state.class_of[i]
    j = state.head[g]
    if j == i:
        state.head[g] = state.following[i]
    else:
        while state.following[j] != i:
            j = state.following[j]
        state.following[j] = state.following[i]
    state.n_members[g] -= 1


@leaf_jit
def widen_bunch(state, prices, g):  # type: ignore[no-untyped-def]
    """See to it that a class lies in the box around its bunch."""
    if state.place[g] < 0:
        return
    b = state.place[g] // BUNCH
    least_lo, most_hi = state.around[b, 0], state.around[b, 1]
    is_wider = False
    for d in range(state.lo.shape[1]):
        lo, hi = state.lo[g, d], state.hi[g, d]
        if prices.kind[d] == SET:
            lo |= least_lo[d]
            hi = np.int64(0)
        else:
            lo, hi = min(lo, least_lo[d]), max(hi, most_hi[d])
        if lo != least_lo[d] or hi != most_hi[d]:
            is_wider = True
            least_lo[d] = lo
            most_hi[d] = hi
    least = state.least[b]
    if is_wider:
        least[0] = 0
        for d in range(state.lo.shape[1]):
            least[0] += cell_price(prices, d, least_lo[d], most_hi[d])
    least[1] = min(least[1], state.price[g])
    least[2] = min(least[2], state.size[g])


@leaf_jit
def rebuild(state, prices, g):  # type: ignore[no-untyped-def]
    """Count a class again from its members."""
    n_dims = state.codes.shape[1]
    lo, hi, next_lo, next_hi = state.lo[g], state.hi[g], state.next_lo[g], state.next_hi[g]
    for d in range(n_dims):
        is_set = prices.kind[d] == SET
        lo[d] = 0 if is_set else FAR
        hi[d] = 0 if is_set else -1
        next_lo[d] = FAR
        next_hi[d] = -1
    state.hist[g, :] = 0
    size = np.int64(0)
    i = state.head[g]
    while i >= 0:
        size += state.weights[i]
        for v in range(state.values.shape[1]):
            state.hist[g, state.values[i, v]] += state.weights[i]
        for d in range(n_dims):
            code = state.codes[i, d]
            if prices.kind[d] == SET:
                hi[d] = (hi[d] & ~code) | (code & ~lo[d])
                lo[d] |= code
                continue
            # the second extreme equals the first where two members carry it
            if code < lo[d]:
                next_lo[d] = lo[d]
                lo[d] = code
            elif code < next_lo[d]:
                next_lo[d] = code
            if code > hi[d]:
                next_hi[d] = hi[d]
                hi[d] = code
            elif code > next_hi[d]:
                next_hi[d] = code
        i = state.following[i]
    price = np.int64(0)
    for d in range(n_dims):
        price += cell_price(prices, d, lo[d], hi[d])
    state.size[g] = size
    state.price[g] = price
    widen_bunch(state, prices, g)


@leaf_jit
def price_without(state, prices, i):  # type: ignore[no-untyped-def]
    """Price of one record of the class of a tuple once the tuple has left; others must remain."""
    g = state.class_of[i]
    price = np.int64(0)
    for d in range(state.codes.shape[1]):
        code = state.codes[i, d]
        if prices.kind[d] == SET:
            price += cell_price(prices, d, state.lo[g, d] & ~(state.hi[g, d] & code), np.int64(0))
            continue
        lo = state.next_lo[g, d] if code == state.lo[g, d] else state.lo[g, d]
        hi = state.next_hi[g, d] if code == state.hi[g, d] else state.hi[g, d]
        price += cell_price(prices, d, lo, hi)
    return price


@leaf_jit
def admits_with(state, rules, g, i, sign, spare):  # type: ignore[no-untyped-def]
    """Whether a class satisfies the goal once a tuple has joined (sign 1) or left (sign -1)."""
    size = state.size[g] + sign * state.weights[i]
    if size < rules.min_size:
        return False
    if rules.kind.size == 0:
        return True
    copy_into(spare, state.hist[g])
    for v in range(state.values.shape[1]):
        spare[state.values[i, v]] += sign * state.weights[i]
    return admitted(rules, spare, size)


@leaf_jit
def _joint_price(prices, lo, hi, code, limit):  # type: ignore[no-untyped-def]
    """What a box costs once a tuple has joined it, or more than the limit."""
    price = np.int64(0)
    for d in range(code.size):
        price += widened(prices, d, lo[d], hi[d], code[d])
        if price > limit:
            break
    return price


@leaf_jit
def cheapest(state, prices, rules, i, own, best, spare):  # type: ignore[no-untyped-def]
    """The class that a tuple joins at least added price, below `best`: (class or -1, added price).

    Of equal ones it is the first. A bunch is passed by if the box around it would cost too much more with the tuple:
    each of its classes would, at least, but for the rounding of prices.
    """
    is_bunched = state.around.size > 0
    n = state.n_used[1 if is_bunched else 0]
    found = np.int64(-1)
    w = state.weights[i]
    code = state.codes[i]
    first = max(np.int64(0), state.place[own] // BUNCH) if own >= 0 else np.int64(0)
    for turn in range((n + BUNCH - 1) // BUNCH):
        # classes near its own are the cheapest, and others are then passed by
        b = first if turn == 0 else np.int64(0) if turn == first else np.int64(turn)
        if is_bunched:
            left = best - w * state.least[b, 1]
            limit = state.least[b, 0] + 2 * code.size + left / (w + state.least[b, 2])
            if left < 0 or _joint_price(prices, state.around[b, 0], state.around[b, 1], code, limit) > limit:
                continue
        for c in range(b * BUNCH, min(n, (b + 1) * BUNCH)):
            g = state.listed[c]
            if g < 0 or g == own or state.head[g] < 0:
                continue
            base = state.size[g] * state.price[g]
            total = state.size[g] + w
            if total * state.price[g] - base > best:
                continue
            price = _joint_price(prices, state.lo[g], state.hi[g], code, (best + base) / total)
            added = total * price - base
            if added > best or (added == best and g > found):
                continue
            if rules.kind.size == 0 or admits_with(state, rules, g, i, np.int64(1), spare):
                found, best = np.int64(g), added
    return found, best


@leaf_jit
def join(state, prices, i, g):  # type: ignore[no-untyped-def]
    """Widen a class by a tuple without making the tuple its member; `rebuild` must follow."""
    price = np.int64(0)
    for d in range(state.codes.shape[1]):
        code = state.codes[i, d]
        if prices.kind[d] == SET:
            state.lo[g, d] |= code
        else:
            state.lo[g, d] = min(state.lo[g, d], code)
            state.hi[g, d] = max(state.hi[g, d], code)
        price += cell_price(prices, d, state.lo[g, d], state.hi[g, d])
    state.price[g] = price
    state.size[g] += state.weights[i]
    for v in range(state.values.shape[1]):
        state.hist[g, state.values[i, v]] += state.weights[i]
    widen_bunch(state, prices, g)
