"""Similar classes side by side, so that a search for the cheapest class passes by most of them."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.sorting import copy_into, sort_up
from tablecloak.kernels.compiled.states import BUNCH, FAR, MOST, SET, cell_price, n_bits, widen_bunch

__all__ = ["list_classes", "list_new", "new_bunches"]

# Fewer classes are looked at one by one.
LISTED_FROM = 64
# Places for every class number: one that is used again moves to the end of the list.
PLACES = 4


@inner_jit
def new_bunches(room, n_dims, n_classes):  # type: ignore[no-untyped-def]
    """Room for a list of classes and the boxes around its bunches; where there are few, none, and a list of all."""
    is_bunched = n_classes >= LISTED_FROM
    listed = np.empty(PLACES * room if is_bunched else room, np.int64)
    for g in range(room):
        listed[g] = g
    n = listed.size // BUNCH + 1 if is_bunched else 0
    return listed, np.empty((n, 2, n_dims), np.int64), np.empty((n, 3), np.int64)


@leaf_jit
def _price_around(state, prices, classes):  # type: ignore[no-untyped-def]
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
def _middle(state, prices, g, d):  # type: ignore[no-untyped-def]
    """Twice the middle of a class, of a set its first value."""
    lo = state.lo[g, d]
    if prices.kind[d] == SET:
        return n_bits((lo & -lo) - 1)
    return lo + state.hi[g, d]


@inner_jit
def _bring_together(state, prices, ranked):  # type: ignore[no-untyped-def]
    """Put similar classes side by side: halve the list, and the halves, where the boxes around both cost least."""
    begin, end = np.empty(64, np.int64), np.empty(64, np.int64)
    begin[0], end[0], n_open = 0, ranked.size, 1
    keys = np.empty(ranked.size, np.int64)
    found = np.empty(ranked.size, np.int64)
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
                copy_into(found[a:b], keys[a:b])
        copy_into(ranked[a:b], found[a:b])
        begin[n_open], end[n_open] = a, middle
        begin[n_open + 1], end[n_open + 1] = middle, b
        n_open += 2


@leaf_jit
def _forget_boxes(state, prices):  # type: ignore[no-untyped-def]
    for b in range(state.least.shape[0]):
        for d in range(state.lo.shape[1]):
            is_set = prices.kind[d] == SET
            state.around[b, 0, d] = 0 if is_set else FAR
            state.around[b, 1, d] = 0 if is_set else -1
        state.least[b, 0] = 0
        state.least[b, 1] = MOST
        state.least[b, 2] = MOST


@inner_jit
def list_classes(state, prices):  # type: ignore[no-untyped-def]
    """List all classes anew, and draw the boxes around bunches as they are now."""
    if state.around.size == 0:
        return
    ranked = np.empty(state.n_used[0], np.int64)
    n = np.int64(0)
    for g in range(state.n_used[0]):
        state.place[g] = -1
        if state.head[g] >= 0:
            ranked[n] = g
            n += 1
    ranked = ranked[:n]
    _bring_together(state, prices, ranked)
    _forget_boxes(state, prices)
    for c in range(n):
        state.listed[c] = ranked[c]
        state.place[ranked[c]] = c
        widen_bunch(state, prices, ranked[c])
    state.n_used[1] = n


@leaf_jit
def list_new(state, g):  # type: ignore[no-untyped-def]
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
