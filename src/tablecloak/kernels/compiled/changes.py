"""Changes of the classes of one block that lower the loss: moves, trims, dissolving."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.bunches import list_classes, list_new, new_bunches
from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.sorting import copy_into, sort_up
from tablecloak.kernels.compiled.states import (
    FAR,
    SET,
    State,
    admits_with,
    cell_price,
    cheapest,
    clear,
    join,
    lies_in,
    link,
    members_of,
    price_without,
    rebuild,
    unlink,
)

__all__ = ["free_class", "new_state", "polish", "total_price"]

# Pairs of kept ends are looked at only where a class has at most this many different codes.
PAIRS_UP_TO = 48


@inner_jit
def new_state(codes, weights, values, class_of, n_classes, prices, n_places):  # type: ignore[no-untyped-def]
    """The classes of a block, counted, with room for as many again and for large ones that fall apart."""
    n, n_dims = codes.shape
    room = 2 * n_classes + n // 8 + 8
    listed, around, least = new_bunches(room, n_dims, n_classes)
    state = State(
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
        np.zeros((room, n_places), np.int64),
        np.zeros(2, np.int64),
        listed,
        np.empty(room, np.int64),
        around,
        least,
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
def total_price(state):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for g in range(state.n_used[0]):
        total += state.size[g] * state.price[g]
    return total


@leaf_jit
def free_class(state):  # type: ignore[no-untyped-def]
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


@leaf_jit
def move_tuples(state, prices, rules, spare, stop):  # type: ignore[no-untyped-def]
    """Move single tuples to a class where they cost less."""
    n_moves = 0
    for i in range(state.codes.shape[0]):
        if stop[0] != 0:
            break
        g = state.class_of[i]
        if state.price[g] == 0 or not admits_with(state, rules, g, i, np.int64(-1), spare):
            continue
        rest = state.size[g] - state.weights[i]
        if rest == 0:
            continue
        saved = state.size[g] * state.price[g] - rest * price_without(state, prices, i)
        to, _ = cheapest(state, prices, rules, i, g, saved, spare)
        if to >= 0:
            unlink(state, i)
            link(state, i, to)
            rebuild(state, prices, g)
            rebuild(state, prices, to)
            n_moves += 1
    return n_moves


@inner_jit
def relocate(state, prices, rules, members, own, budget, spare):  # type: ignore[no-untyped-def]
    """Move tuples out of a class if others take them for less than the budget; all or none.

    The caller has made sure of what remains of the class, and counts it again.
    """
    n = members.size
    to = np.empty(n, np.int64)
    touched = np.empty(n, np.int64)
    old_lo = np.empty((n, state.codes.shape[1]), np.int64)
    old_hi = np.empty((n, state.codes.shape[1]), np.int64)
    old_size = np.empty(n, np.int64)
    old_price = np.empty(n, np.int64)
    old_hist = np.empty((n, state.hist.shape[1]), np.int64)
    n_touched = np.int64(0)
    left = budget
    is_done = True
    for m in range(n):
        g, added = cheapest(state, prices, rules, members[m], own, left, spare)
        if g < 0:
            is_done = False
            break
        left -= added
        to[m] = g
        is_new = True
        for t in range(n_touched):
            is_new = is_new and touched[t] != g
        if is_new:
            touched[n_touched] = g
            copy_into(old_lo[n_touched], state.lo[g])
            copy_into(old_hi[n_touched], state.hi[g])
            old_size[n_touched] = state.size[g]
            old_price[n_touched] = state.price[g]
            copy_into(old_hist[n_touched], state.hist[g])
            n_touched += 1
        join(state, prices, members[m], g)
    if is_done:
        for m in range(n):
            unlink(state, members[m])
            link(state, members[m], to[m])
        for t in range(n_touched):
            rebuild(state, prices, touched[t])
        return True
    for t in range(n_touched):
        g = touched[t]
        copy_into(state.lo[g], old_lo[t])
        copy_into(state.hi[g], old_hi[t])
        state.size[g] = old_size[t]
        state.price[g] = old_price[t]
        copy_into(state.hist[g], old_hist[t])
    return False


@inner_jit
def dissolve_classes(state, prices, rules, spare, stop):  # type: ignore[no-untyped-def]
    """Give the members of a class to others where that is cheaper than keeping the class."""
    n_done = 0
    for g in range(state.n_used[0]):
        if stop[0] != 0:
            break
        if state.head[g] < 0 or state.price[g] == 0:
            continue
        if relocate(state, prices, rules, members_of(state, g), g, state.size[g] * state.price[g], spare):
            clear(state, g)
            n_done += 1
    return n_done


@inner_jit
def _best_trim(state, prices, rules, members, g, d):  # type: ignore[no-untyped-def]
    """Ends (keep_lo, keep_hi, records that stay) of the trim that saves most per record put out; keep_lo FAR: none.

    Of a set dimension keep_lo is the mask of values that stay.
    """
    own = cell_price(prices, d, state.lo[g, d], state.hi[g, d])
    size, price = state.size[g], state.price[g]
    best, best_lo, best_hi, best_kept = -1.0, FAR, np.int64(-1), size
    n = members.size
    if prices.kind[d] == SET:
        mask = state.lo[g, d]
        for b in range(prices.n[d]):
            bit = np.int64(1) << b
            if not mask & bit or mask == bit:
                continue
            out = np.int64(0)
            for m in range(n):
                if state.codes[members[m], d] == bit:
                    out += state.weights[members[m]]
            kept = size - out
            saved = size * price - kept * (price - own + cell_price(prices, d, mask & ~bit, np.int64(0)))
            if kept >= rules.min_size and saved / out > best:
                best, best_lo, best_kept = saved / out, mask & ~bit, kept
        return best_lo, best_hi, best_kept, best
    ranked = np.empty(n, np.int64)
    for m in range(n):
        ranked[m] = state.codes[members[m], d] * (n + 1) + m
    sort_up(ranked)
    codes = np.empty(n, np.int64)
    below = np.zeros(n + 1, np.int64)
    n_codes = np.int64(0)
    for r in range(n):
        code, m = ranked[r] // (n + 1), ranked[r] % (n + 1)
        if n_codes == 0 or codes[n_codes - 1] != code:
            codes[n_codes] = code
            n_codes += 1
            below[n_codes] = below[n_codes - 1]
        below[n_codes] += state.weights[members[m]]
    all_pairs = n_codes <= PAIRS_UP_TO
    for a in range(n_codes):
        for b in range(n_codes - 1, a - 1, -1):
            if not all_pairs and a > 0 and b < n_codes - 1:
                break
            kept = below[b + 1] - below[a]
            if kept < rules.min_size:
                break
            if kept == size:
                continue
            kept_price = cell_price(prices, d, codes[a], codes[b])
            if kept_price >= own:
                continue
            saved = (size * price - kept * (price - own + kept_price)) / (size - kept)
            if saved > best:
                best, best_lo, best_hi, best_kept = saved, codes[a], codes[b], kept
    return best_lo, best_hi, best_kept, best


@inner_jit
def trim_classes(state, prices, rules, spare, stop):  # type: ignore[no-untyped-def]
    """Put the outliers of a class in one dimension into other classes, together."""
    n_done = 0
    for g in range(state.n_used[0]):
        for d in range(state.codes.shape[1]):
            if stop[0] != 0 or state.head[g] < 0 or state.size[g] <= rules.min_size:
                break
            if cell_price(prices, d, state.lo[g, d], state.hi[g, d]) == 0:
                continue
            members = members_of(state, g)
            lo, hi, kept, _rate = _best_trim(state, prices, rules, members, g, d)
            if lo == FAR:
                continue
            n_out = np.int64(0)
            for m in range(members.size):
                if not lies_in(prices, d, lo, hi, state.codes[members[m], d]):
                    members[n_out], members[m] = members[m], members[n_out]
                    n_out += 1
            out = members[:n_out]
            sort_up(out)
            stay = members[n_out:]
            kept_price, ok = priced(state, prices, rules, stay, spare)
            if not ok:
                continue
            budget = state.size[g] * state.price[g] - kept * kept_price
            if relocate(state, prices, rules, out, g, budget, spare):
                rebuild(state, prices, g)
                n_done += 1
    return n_done


@leaf_jit
def priced(state, prices, rules, members, spare):  # type: ignore[no-untyped-def]
    """Price of one record of a class of these members, and whether it would satisfy the goal."""
    size = np.int64(0)
    spare[:] = 0
    for m in range(members.size):
        i = members[m]
        size += state.weights[i]
        for v in range(state.values.shape[1]):
            spare[state.values[i, v]] += state.weights[i]
    price = np.int64(0)
    for d in range(state.codes.shape[1]):
        if prices.kind[d] == SET:
            mask = np.int64(0)
            for m in range(members.size):
                mask |= state.codes[members[m], d]
            price += cell_price(prices, d, mask, np.int64(0))
            continue
        lo, hi = FAR, np.int64(-1)
        for m in range(members.size):
            code = state.codes[members[m], d]
            lo = min(lo, code)
            hi = max(hi, code)
        price += cell_price(prices, d, lo, hi)
    return price, admitted(rules, spare, size)


@inner_jit
def polish(state, prices, rules, spare, stop):  # type: ignore[no-untyped-def]
    """One pass of every small change."""
    list_classes(state, prices)
    move_tuples(state, prices, rules, spare, stop)
    trim_classes(state, prices, rules, spare, stop)
    dissolve_classes(state, prices, rules, spare, stop)
