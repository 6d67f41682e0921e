"""Changes of the classes of one block that lower the loss: moves, trims, dissolving, splitting, reshaping."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.jit import jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.states import (
    FAR,
    MOST,
    SET,
    State,
    admits_with,
    cell_price,
    cheapest,
    clear,
    join,
    link,
    members_of,
    price_without,
    rebuild,
    unlink,
    widened,
)
from tablecloak.kernels.prices import Prices
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray

__all__ = ["refine"]

# Pairs of kept ends are looked at only where a class has at most this many different codes.
PAIRS_UP_TO = 48
# A class this large is split by cuts alone: growing one side tuple by tuple would cost its square.
GROW_UP_TO = 600
STARTS = 3


@jit
def new_state(codes, weights, values, class_of, n_classes, n_places):  # type: ignore[no-untyped-def]
    """Arrays for the classes of a block, with room for as many again."""
    n, n_dims = codes.shape
    room = 2 * n_classes + 8
    state = State(
        codes,
        weights,
        values,
        class_of,
        np.full(n, -1, np.int64),
        np.full(room, -1, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_dims), np.int64),
        np.zeros((room, n_places), np.int64),
        np.full(1, n_classes, np.int64),
    )
    for i in range(n - 1, -1, -1):
        link(state, i, class_of[i])
    return state


@jit
def total_price(state):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for g in range(state.n_used[0]):
        total += state.size[g] * state.price[g]
    return total


@jit
def free_class(state):  # type: ignore[no-untyped-def]
    """A class number that is not in use, -1 if there is no room."""
    for g in range(state.n_used[0]):
        if state.head[g] < 0:
            return g
    if state.n_used[0] < state.head.size:
        state.n_used[0] += 1
        return state.n_used[0] - 1
    return np.int64(-1)


@jit
def move_tuples(state, prices, rules, spare):  # type: ignore[no-untyped-def]
    """Move single tuples to a class where they cost less."""
    n_moves = 0
    for i in range(state.codes.shape[0]):
        g = state.class_of[i]
        if state.price[g] == 0 or not admits_with(state, rules, g, i, -1, spare):
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


@jit
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
    n_touched = 0
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
            old_lo[n_touched] = state.lo[g]
            old_hi[n_touched] = state.hi[g]
            old_size[n_touched] = state.size[g]
            old_price[n_touched] = state.price[g]
            old_hist[n_touched] = state.hist[g]
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
        state.lo[g] = old_lo[t]
        state.hi[g] = old_hi[t]
        state.size[g] = old_size[t]
        state.price[g] = old_price[t]
        state.hist[g] = old_hist[t]
    return False


@jit
def dissolve_classes(state, prices, rules, spare):  # type: ignore[no-untyped-def]
    """Give the members of a class to others where that is cheaper than keeping the class."""
    n_done = 0
    for g in range(state.n_used[0]):
        if state.head[g] < 0 or state.price[g] == 0:
            continue
        if relocate(state, prices, rules, members_of(state, g), g, state.size[g] * state.price[g], spare):
            clear(state, g)
            n_done += 1
    return n_done


@jit
def _best_trim(state, prices, rules, members, g, d, spare_codes):  # type: ignore[no-untyped-def]
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
            saved = size * price - kept * (price - own + cell_price(prices, d, mask & ~bit, 0))
            if kept >= rules.min_size and saved / out > best:
                best, best_lo, best_kept = saved / out, mask & ~bit, kept
        return best_lo, best_hi, best_kept, best
    for m in range(n):
        spare_codes[m] = state.codes[members[m], d] * (n + 1) + m
    ranked = np.sort(spare_codes[:n])
    codes = np.empty(n, np.int64)
    below = np.zeros(n + 1, np.int64)
    n_codes = 0
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


@jit
def trim_classes(state, prices, rules, spare):  # type: ignore[no-untyped-def]
    """Put the outliers of a class in one dimension into other classes, together."""
    n_done = 0
    for g in range(state.n_used[0]):
        for d in range(state.codes.shape[1]):
            if state.head[g] < 0 or state.size[g] <= rules.min_size:
                break
            if cell_price(prices, d, state.lo[g, d], state.hi[g, d]) == 0:
                continue
            members = members_of(state, g)
            lo, hi, kept, _rate = _best_trim(state, prices, rules, members, g, d, np.empty(members.size, np.int64))
            if lo == FAR:
                continue
            n_out = 0
            for m in range(members.size):
                code = state.codes[members[m], d]
                is_out = (code & lo) == 0 if prices.kind[d] == SET else (code < lo or code > hi)
                if is_out:
                    members[n_out], members[m] = members[m], members[n_out]
                    n_out += 1
            out = np.sort(members[:n_out])
            stay = members[n_out:]
            kept_price, ok = priced(state, prices, rules, stay, spare)
            if not ok:
                continue
            budget = state.size[g] * state.price[g] - kept * kept_price
            if relocate(state, prices, rules, out, g, budget, spare):
                rebuild(state, prices, g)
                n_done += 1
    return n_done


@jit
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
            price += cell_price(prices, d, mask, 0)
            continue
        lo, hi = FAR, np.int64(-1)
        for m in range(members.size):
            code = state.codes[members[m], d]
            lo = min(lo, code)
            hi = max(hi, code)
        price += cell_price(prices, d, lo, hi)
    return price, admitted(rules, spare, size)


@jit
def _farthest(state, prices, members, start):  # type: ignore[no-untyped-def]
    """Place of the member that is dearest to publish together with a start."""
    far, most = 0, np.int64(-1)
    for m in range(members.size):
        price = np.int64(0)
        for d in range(state.codes.shape[1]):
            code = state.codes[members[start], d]
            price += widened(prices, d, code, code, state.codes[members[m], d])
        if price > most:
            far, most = m, price
    return far


@jit
def _grown(state, prices, rules, members, seed, is_in, spare):  # type: ignore[no-untyped-def]
    """Grow a class from a seed by the member that widens it least until it satisfies the goal; take what is free."""
    n_dims = state.codes.shape[1]
    lo = state.codes[members[seed]].copy()
    hi = lo.copy()
    is_in[:] = False
    spare[:] = 0
    size = np.int64(0)
    new = seed
    while True:
        i = members[new]
        is_in[new] = True
        size += state.weights[i]
        for v in range(state.values.shape[1]):
            spare[state.values[i, v]] += state.weights[i]
        own = np.int64(0)
        for d in range(n_dims):
            code = state.codes[i, d]
            if prices.kind[d] == SET:
                lo[d] |= code
            else:
                lo[d] = min(lo[d], code)
                hi[d] = max(hi[d], code)
            own += cell_price(prices, d, lo[d], hi[d])
        is_enough = size >= rules.min_size and admitted(rules, spare, size)
        least, new = MOST, -1
        for m in range(members.size):
            if is_in[m]:
                continue
            price = np.int64(0)
            for d in range(n_dims):
                price += widened(prices, d, lo[d], hi[d], state.codes[members[m], d])
                if price >= least:
                    break
            if price < least:
                least, new = price, m
        if new < 0 or (is_enough and least > own):
            return is_enough


@jit
def split_members(state, prices, rules, members, limit, is_best, spare):  # type: ignore[no-untyped-def]
    """The cheapest of a few ways to part members in two classes, below a limit: total price, or -1.

    `is_best` marks the members of the second class.
    """
    is_in = np.zeros(members.size, np.bool_)
    best = limit
    for start in range(min(STARTS, members.size)):
        place = start * (members.size - 1) // max(1, STARTS - 1)
        seed = _farthest(state, prices, members, place)
        if not _grown(state, prices, rules, members, seed, is_in, spare):
            continue
        one, other = members[is_in], members[~is_in]
        if other.size == 0:
            continue
        price_other, ok = priced(state, prices, rules, other, spare)
        if not ok:
            continue
        price_one, _ = priced(state, prices, rules, one, spare)
        total = state.weights[one].sum() * price_one + state.weights[other].sum() * price_other
        if total < best:
            best = total
            is_best[:] = is_in
    return best if best < limit else np.int64(-1)


@jit
def _assign(state, prices, members, is_second, one, two):  # type: ignore[no-untyped-def]
    clear(state, one)
    clear(state, two)
    for m in range(members.size - 1, -1, -1):
        link(state, members[m], two if is_second[m] else one)
    rebuild(state, prices, one)
    rebuild(state, prices, two)


@jit
def split_classes(state, prices, rules, spare):  # type: ignore[no-untyped-def]
    """Part classes that are large enough in two."""
    n_done = 0
    for g in range(state.head.size):
        if g >= state.n_used[0]:
            break
        if state.head[g] < 0 or state.size[g] < 2 * rules.min_size or state.price[g] == 0:
            continue
        if state.n_members[g] > GROW_UP_TO or state.n_members[g] < 2:
            continue
        members = members_of(state, g)
        is_second = np.zeros(members.size, np.bool_)
        found = split_members(state, prices, rules, members, state.size[g] * state.price[g], is_second, spare)
        if found < 0:
            continue
        new = free_class(state)
        if new < 0:
            break
        _assign(state, prices, members, is_second, g, new)
        n_done += 1
    return n_done


@jit
def _nearest(state, prices, g):  # type: ignore[no-untyped-def]
    """The class whose union with a class adds least price, -1 if there is no other."""
    best, found = MOST, -1
    for h in range(state.n_used[0]):
        if h == g or state.head[h] < 0:
            continue
        total = state.size[g] + state.size[h]
        base = state.size[g] * state.price[g] + state.size[h] * state.price[h]
        limit = (best + base) / total
        price = np.int64(0)
        for d in range(state.codes.shape[1]):
            if prices.kind[d] == SET:
                price += cell_price(prices, d, state.lo[g, d] | state.lo[h, d], 0)
            else:
                lo = min(state.lo[g, d], state.lo[h, d])
                price += cell_price(prices, d, lo, max(state.hi[g, d], state.hi[h, d]))
            if price >= limit:
                break
        if price < limit:
            best, found = total * price - base, h
    return found


@jit
def reshape_pairs(state, prices, rules, spare):  # type: ignore[no-untyped-def]
    """Unite a class with its nearest and part the two again, where that is cheaper."""
    n_done = 0
    for g in range(state.n_used[0]):
        if state.head[g] < 0 or state.price[g] == 0:
            continue
        h = _nearest(state, prices, g)
        if h < 0 or state.n_members[g] + state.n_members[h] > GROW_UP_TO:
            continue
        members = np.sort(np.concatenate((members_of(state, g), members_of(state, h))))
        now = state.size[g] * state.price[g] + state.size[h] * state.price[h]
        is_second = np.zeros(members.size, np.bool_)
        if split_members(state, prices, rules, members, now, is_second, spare) >= 0:
            _assign(state, prices, members, is_second, g, h)
            n_done += 1
    return n_done


@jit
def _refine(codes, weights, values, class_of, n_classes, prices, rules, sweeps):  # type: ignore[no-untyped-def]
    state = new_state(codes, weights, values, class_of, n_classes, rules.shares.size)
    for g in range(n_classes):
        rebuild(state, prices, g)
    spare = np.zeros(rules.shares.size, np.int64)
    before = total_price(state)
    now = before
    for _ in range(sweeps):
        last = now
        move_tuples(state, prices, rules, spare)
        trim_classes(state, prices, rules, spare)
        dissolve_classes(state, prices, rules, spare)
        split_classes(state, prices, rules, spare)
        reshape_pairs(state, prices, rules, spare)
        now = total_price(state)
        if (last - now) * 2000 < last:
            break
    return before, now


def refine(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    sweeps: int,
) -> tuple[int, int]:
    """Change the classes of tuples, in place, as long as that lowers their total price: (price before, price after).

    Args:
        codes: (n, n_dims) codes; masks of one bit in dimensions published as sets.
        values: (n, n_sensitive) places of the sensitive values in a class histogram.
        class_of: (n,) class numbers from 0; every class is admitted by the rules.
    """
    n_classes = int(class_of.max()) + 1
    before, after = _refine(codes, weights, values, class_of, n_classes, prices, rules, sweeps)
    return int(before), int(after)
