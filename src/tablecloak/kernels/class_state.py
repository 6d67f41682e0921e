"""Classes of one block of tuples while they are being changed, and lists of them that keep similar ones together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.dispatch import inner_jit, leaf_jit
from tablecloak.kernels.prices import SET, cell_price, n_bits, widened
from tablecloak.kernels.rules import admits
from tablecloak.kernels.small_loops import copy_into, sort_up

FAR = np.int64(1) << 40
MOST = np.int64(1) << 60
# Classes that are looked at together: none of them is if the box around them is too far.
BUNCH = 16
# Fewer classes are looked at one by one.
LISTED_FROM = 64
# Lists that a change makes of tuples or classes, at most.
N_LISTS = 6
# Places for every class number: one that is used again moves to the end of the list.
PLACES = 4


class ClassState(NamedTuple):
    """Tuples with their classes, and for every class what a change must know."""

    codes: np.ndarray  # (n, n_dims) codes, or masks of one bit
    weights: np.ndarray  # (n,)
    values: np.ndarray  # (n, n_sensitive) places of sensitive values
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
    hist: np.ndarray  # (room, n_kept) counts of sensitive values
    n_used: np.ndarray  # (2,) class numbers given out, and places of the list
    listed: np.ndarray  # classes in bunches of similar ones, -1: none any more; all in order where there are few
    place: np.ndarray  # (room,) of a class in the list
    around: np.ndarray  # (n_bunches, 2, n_dims) a box around all classes of a bunch, perhaps wider
    least: np.ndarray  # (n_bunches, 3) price of that box, and the least price and size of a class of the bunch, or less
    lists: (
        np.ndarray
    )  # (N_LISTS, n + 64) room for lists that a change makes; loops that allocate nothing compile sooner


@leaf_jit
def list_members(state, g):
    """Make the members of a class the first list, ascending; how many."""
    i = state.head[g]
    n = np.int64(0)
    while i >= 0:
        state.lists[0, n] = i
        n += 1
        i = state.following[i]
    sort_up(state.lists[0, :n])
    return n


@leaf_jit
def clear(state, g):
    state.head[g] = -1
    state.n_members[g] = 0
    state.size[g] = 0
    state.price[g] = 0


@leaf_jit
def link(state, i, g):
    state.following[i] = state.head[g]
    state.head[g] = i
    state.class_of[i] = g
    state.n_members[g] += 1


@leaf_jit
def unlink(state, i):
    """Take a tuple out of its class; the member before it, -1 for the first."""
    g = state.class_of[i]
    j, before = state.head[g], np.int64(-1)
    while j != i:
        before = j
        j = state.following[j]
    if before < 0:
        state.head[g] = state.following[i]
    else:
        state.following[before] = state.following[i]
    state.n_members[g] -= 1
    return before


@leaf_jit
def link_behind(state, i, g, before):
    """Undo `unlink`."""
    if before < 0:
        link(state, i, g)
        return
    state.following[i] = state.following[before]
    state.following[before] = i
    state.class_of[i] = g
    state.n_members[g] += 1


@leaf_jit
def widen_bunch(state, prices, g):
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
def keep_count(state, i, g):
    """Add the sensitive values of a tuple to the counts that a class keeps."""
    for v in range(state.values.shape[1]):
        if state.values[i, v] < state.hist.shape[1]:
            state.hist[g, state.values[i, v]] += state.weights[i]


@leaf_jit
def rebuild(state, prices, g):
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
        keep_count(state, i, g)
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
def price_without(state, prices, i):
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
def admits_with(state, rules, g, i, sign, spare):
    """Whether a class satisfies the goal once a tuple has joined (sign 1) or left (sign -1)."""
    size = state.size[g] + sign * state.weights[i]
    if size < rules.min_size:
        return False
    if rules.kind.size == 0:
        return True
    return admits(
        rules, state.hist[g], state.values, state.weights, state.following, state.head[g], size, i, sign, spare
    )


@leaf_jit
def admits_now(state, rules, g, spare):
    """Whether a class satisfies the goal."""
    return admits_with(state, rules, g, np.int64(0), np.int64(0), spare)


@leaf_jit
def _joint_price(prices, lo, hi, code, limit):
    """What a box costs once a tuple has joined it, or more than the limit."""
    price = np.int64(0)
    for d in range(code.size):
        price += widened(prices, d, lo[d], hi[d], code[d])
        if price > limit:
            break
    return price


@leaf_jit
def cheapest(state, prices, rules, i, own, best, spare):
    """The class that a tuple joins at least added price, below `best`: (class or -1, added price).

    Of equal ones it is the first. A bunch is passed by if the box around it would cost too much more with the tuple:
    each of its classes would, at least, but for the rounding of prices.
    """
    is_bunched = state.around.size > 0
    n = state.n_used[1 if is_bunched else 0]
    chosen = np.int64(-1)
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
            if added > best or (added == best and g > chosen):
                continue
            if rules.kind.size == 0 or admits_with(state, rules, g, i, np.int64(1), spare):
                chosen, best = np.int64(g), added
    return chosen, best


@leaf_jit
def join(state, prices, i, g):
    """Make a tuple a member of a class and widen it; `rebuild` must follow."""
    link(state, i, g)
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
    keep_count(state, i, g)
    widen_bunch(state, prices, g)


# Bunches: a search for the cheapest class passes by most of them.


@inner_jit
def new_bunches(room, n_dims, n_classes):
    """Room for a list of classes and the boxes around its bunches; where there are few, none, and a list of all."""
    is_bunched = n_classes >= LISTED_FROM
    listed = np.empty(PLACES * room if is_bunched else room, np.int64)
    for g in range(room):
        listed[g] = g
    n = listed.size // BUNCH + 1 if is_bunched else 0
    return listed, np.empty((n, 2, n_dims), np.int64), np.empty((n, 3), np.int64)


@leaf_jit
def _price_around(state, prices, classes):
    """What a box around some classes costs."""
    price = np.int64(0)
    for d in range(state.lo.shape[1]):
        lo, hi = state.lo[classes[0], d], state.hi[classes[0], d]
        for c in range(1, classes.size):
            if prices.kind[d] == SET:
                lo |= state.lo[classes[c], d]
            else:
                lo, hi = min(lo, state.lo[classes[c], d]), max(hi, state.hi[classes[c], d])
        price += cell_price(prices, d, lo, hi)
    return price


@leaf_jit
def _middle(state, prices, g, d):
    """Twice the middle of a class, of a set its first value."""
    lo = state.lo[g, d]
    if prices.kind[d] == SET:
        return n_bits((lo & -lo) - 1)
    return lo + state.hi[g, d]


@leaf_jit
def _bring_together(state, prices, ranked):
    """Put similar classes side by side: halve the list, and the halves, where the boxes around both cost least."""
    begin, end, keys, best_order = state.lists[1], state.lists[2], state.lists[3], state.lists[4]
    begin[0], end[0], n_open = 0, ranked.size, 1
    room = np.int64(state.head.size)
    while n_open > 0:
        n_open -= 1
        a, b = begin[n_open], end[n_open]
        if b - a <= BUNCH:
            continue
        middle = a + (b - a + BUNCH) // (2 * BUNCH) * BUNCH
        least = MOST
        for d in range(state.lo.shape[1]):
            for c in range(a, b):
                keys[c] = _middle(state, prices, ranked[c], d) * room + ranked[c]
            sort_up(keys[a:b])
            for c in range(a, b):
                keys[c] %= room
            price = _price_around(state, prices, keys[a:middle]) + _price_around(state, prices, keys[middle:b])
            if price < least:
                least = price
                copy_into(best_order[a:b], keys[a:b])
        copy_into(ranked[a:b], best_order[a:b])
        begin[n_open], end[n_open] = a, middle
        begin[n_open + 1], end[n_open + 1] = middle, b
        n_open += 2


@leaf_jit
def _forget_boxes(state, prices):
    for b in range(state.least.shape[0]):
        for d in range(state.lo.shape[1]):
            is_set = prices.kind[d] == SET
            state.around[b, 0, d] = 0 if is_set else FAR
            state.around[b, 1, d] = 0 if is_set else -1
        state.least[b, 0] = 0
        state.least[b, 1] = MOST
        state.least[b, 2] = MOST


@leaf_jit
def list_classes(state, prices):
    """List all classes anew, and draw the boxes around bunches as they are now."""
    if state.around.size == 0:
        return
    n = np.int64(0)
    for g in range(state.n_used[0]):
        state.place[g] = -1
        if state.head[g] >= 0:
            state.lists[0, n] = g
            n += 1
    ranked = state.lists[0, :n]
    _bring_together(state, prices, ranked)
    _forget_boxes(state, prices)
    for c in range(n):
        state.listed[c] = ranked[c]
        state.place[ranked[c]] = c
        widen_bunch(state, prices, ranked[c])
    state.n_used[1] = n


@leaf_jit
def list_new(state, g):
    """Give a class number that is used anew a place at the end of the list, among other new classes."""
    if state.around.size == 0:
        return
    before, last = state.place[g], state.n_used[1]
    if before >= 0:
        # it stands there already, or the rest of the list is for numbers without a place
        if before == last - 1 or last + state.head.size > state.listed.size:
            return
        state.listed[before] = -1
    state.listed[last] = g
    state.place[g] = last
    state.n_used[1] += 1


@inner_jit
def new_state(codes, weights, values, class_of, n_classes, prices, n_kept):
    """The classes of a block, counted, with room for as many again and for large ones that fall apart."""
    n, n_dims = codes.shape
    room = 2 * n_classes + n // 8 + 8
    listed, around, least = new_bunches(room, n_dims, n_classes)
    state = ClassState(
        codes,
        weights,
        values,
        class_of,
        np.empty(n, np.int64),
        np.empty(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_kept), np.int64),
        np.zeros(2, np.int64),
        listed,
        np.empty(room, np.int64),
        around,
        least,
        np.empty((N_LISTS, n + 64), np.int64),
    )
    state.n_used[0] = n_classes
    for i in range(n):
        state.following[i] = -1
    for g in range(room):
        state.head[g] = -1
        state.place[g] = -1
    for i in range(n - 1, -1, -1):
        if class_of[i] >= 0:  # others wait for a class
            link(state, i, class_of[i])
    for g in range(n_classes):
        rebuild(state, prices, g)
    list_classes(state, prices)
    return state


@leaf_jit
def total_price(state):
    total = np.int64(0)
    for g in range(state.n_used[0]):
        total += state.size[g] * state.price[g]
    return total


@leaf_jit
def free_class(state):
    """A class number that is not in use, -1 if there is no room."""
    free = np.int64(-1)
    for g in range(state.n_used[0]):
        if state.head[g] < 0:
            free = np.int64(g)
            break
    if free < 0 and state.n_used[0] < state.head.size:
        free = state.n_used[0]
        state.n_used[0] += 1
    if free >= 0:
        list_new(state, free)
    return free
