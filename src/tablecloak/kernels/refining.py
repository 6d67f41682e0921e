"""Refinement of the classes of one block, as long as that lowers their price.

Small changes move tuples to cheaper classes, put the outliers of a class elsewhere, and dissolve classes. Large ones
pool the members of neighbouring classes and build their classes anew: bottom-up by merging, or one after the other by
growing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.kernels.class_state import (
    FAR,
    MOST,
    admits_now,
    admits_with,
    cheapest,
    clear,
    free_class,
    join,
    link,
    link_behind,
    list_classes,
    list_members,
    new_state,
    price_without,
    rebuild,
    total_price,
    unlink,
)
from tablecloak.kernels.dispatch import inner_jit, jit, kernel, leaf_jit
from tablecloak.kernels.prices import SET, Prices, cell_price, lies_in, widened
from tablecloak.kernels.rules import TOLERANCE, Rules, admits, admits_tuples, new_spare, shortfall
from tablecloak.kernels.small_loops import copy_into, sort_up

# Classes of more tuples are not split: that would cost the square of their number.
SPLIT_UP_TO = 600
# A pool built anew is polished again if it costs at most this many percent of what its classes cost before.
PROMISING = 102
# Pairs of kept ends are looked at only where a class has at most this many different codes.
PAIRS_UP_TO = 48
# Passes over tuples that no grown class could use; each place changes what the next may join.
PLACINGS = 3
NEVER = np.inf


class Steps(NamedTuple):
    """How hard a block is refined."""

    sweeps: int  # at most
    near: int = 1  # neighbours that are pooled with a class and built anew together
    pooled: int = SPLIT_UP_TO  # tuples of a pool, at most
    alone: int = 0  # classes of at most this many tuples are first built anew on their own
    noise: float = 0.0  # how much chance raises the price of a merge, so that another turn finds other classes
    polishes: int = 1  # passes of small changes over a pool that was built anew, as long as it is promising
    turn: int = 0  # which round this is: rounds take turns between growing and merging
    boxes: int = 0  # passes of the box search, at most; compiled kernels only
    plain: int = 1  # of them before classes are completed with records of cheaper ones
    work: int = 0  # tuples that a pass may look at
    pools: int = 1 << 40  # pairs of tuples that may be compared while pools are built anew, in one sweep


@leaf_jit
def move_tuples(state, prices, rules, spare, stop):
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


@leaf_jit
def relocate(state, prices, rules, members, own, budget, spare):
    """Move tuples out of a class if others take them for less than the budget; all or none.

    The caller has made sure of what remains of the class, and counts it again.
    """
    n = members.size
    came_after, touched = state.lists[1], state.lists[2]
    n_touched, n_moved = np.int64(0), np.int64(0)
    left = budget
    for m in range(n):
        g, added = cheapest(state, prices, rules, members[m], own, left, spare)
        if g < 0:
            break
        left -= added
        is_new = True
        for t in range(n_touched):
            is_new = is_new and touched[t] != g
        if is_new:
            touched[n_touched] = g
            n_touched += 1
        came_after[m] = unlink(state, members[m])
        join(state, prices, members[m], g)
        n_moved += 1
    if n_moved < n:
        for m in range(n_moved - 1, -1, -1):
            unlink(state, members[m])
            link_behind(state, members[m], own, came_after[m])
    for t in range(n_touched):
        rebuild(state, prices, touched[t])
    return n_moved == n


@leaf_jit
def dissolve_classes(state, prices, rules, spare, stop):
    """Give the members of a class to others where that is cheaper than keeping the class."""
    n_done = 0
    for g in range(state.n_used[0]):
        if stop[0] != 0:
            break
        if state.head[g] < 0 or state.price[g] == 0:
            continue
        members = state.lists[0, : list_members(state, g)]
        if relocate(state, prices, rules, members, g, state.size[g] * state.price[g], spare):
            clear(state, g)
            n_done += 1
    return n_done


@leaf_jit
def _best_trim(state, prices, rules, members, g, d):
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
            n_kept = size - out
            saved = size * price - n_kept * (price - own + cell_price(prices, d, mask & ~bit, np.int64(0)))
            if n_kept >= rules.min_size and saved / out > best:
                best, best_lo, best_kept = saved / out, mask & ~bit, n_kept
        return best_lo, best_hi, best_kept, best
    ranked, codes, below = state.lists[1, :n], state.lists[2], state.lists[3]
    for m in range(n):
        ranked[m] = state.codes[members[m], d] * (n + 1) + m
    sort_up(ranked)
    below[0] = 0
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
            n_kept = below[b + 1] - below[a]
            if n_kept < rules.min_size:
                break
            if n_kept == size:
                continue
            kept_price = cell_price(prices, d, codes[a], codes[b])
            if kept_price >= own:
                continue
            saved = (size * price - n_kept * (price - own + kept_price)) / (size - n_kept)
            if saved > best:
                best, best_lo, best_hi, best_kept = saved, codes[a], codes[b], n_kept
    return best_lo, best_hi, best_kept, best


@leaf_jit
def trim_classes(state, prices, rules, spare, stop):
    """Put the outliers of a class in one dimension into other classes, together."""
    n_done = 0
    for g in range(state.n_used[0]):
        for d in range(state.codes.shape[1]):
            if stop[0] != 0 or state.head[g] < 0 or state.size[g] <= rules.min_size:
                break
            if cell_price(prices, d, state.lo[g, d], state.hi[g, d]) == 0:
                continue
            members = state.lists[0, : list_members(state, g)]
            lo, hi, n_kept, _rate = _best_trim(state, prices, rules, members, g, d)
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
            budget = state.size[g] * state.price[g] - n_kept * kept_price
            if relocate(state, prices, rules, out, g, budget, spare):
                rebuild(state, prices, g)
                n_done += 1
    return n_done


@leaf_jit
def priced(state, prices, rules, members, spare):
    """Price of one record of a class of these members, and whether it would satisfy the goal."""
    size = np.int64(0)
    for m in range(members.size):
        size += state.weights[members[m]]
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
    return price, admits_tuples(rules, state.values, state.weights, members, size, spare)


@leaf_jit
def polish(state, prices, rules, spare, stop):
    """One pass of every small change."""
    list_classes(state, prices)
    move_tuples(state, prices, rules, spare, stop)
    trim_classes(state, prices, rules, spare, stop)
    dissolve_classes(state, prices, rules, spare, stop)


@leaf_jit
def next_random(x):
    """The next number below 2**31 of a linear congruential sequence."""
    return (x * np.int64(1103515245) + np.int64(12345)) & np.int64(0x7FFFFFFF)


@leaf_jit
def union_price(prices, lo, hi, a, b, limit):
    """Price of one record of two boxes united, or any price from the limit on."""
    price = np.int64(0)
    for d in range(lo.shape[1]):
        if prices.kind[d] == SET:
            price += cell_price(prices, d, lo[a, d] | lo[b, d], np.int64(0))
        else:
            price += cell_price(prices, d, min(lo[a, d], lo[b, d]), max(hi[a, d], hi[b, d]))
        if price >= limit:
            break
    return price


@leaf_jit
def _score(prices, lo, hi, size, price, jitter, i, j, enough, best):
    """Price added by merging two clusters, for each record that counts towards the size wanted."""
    total = size[i] + size[j]
    counts = float(min(total, enough))
    base = size[i] * price[i] + size[j] * price[j]
    # a little above what could still win, so that rounding never hides a tie
    limit = ((best * counts + base) / total) * (1 + 1e-9) + 1
    united = union_price(prices, lo, hi, i, j, limit)
    return (total * united - base) / counts * (jitter[i] * jitter[j])


@leaf_jit
def _offer(score, i, j, nearest, least):
    if score < least[i] or (score == least[i] and j < nearest[i]):
        least[i] = score
        nearest[i] = j


@leaf_jit
def _absorb(prices, lo, hi, size, price, hist, a, b):
    size[a] += size[b]
    for v in range(hist.shape[1]):
        hist[a, v] += hist[b, v]
    own = np.int64(0)
    for d in range(lo.shape[1]):
        if prices.kind[d] == SET:
            lo[a, d] |= lo[b, d]
        else:
            lo[a, d] = min(lo[a, d], lo[b, d])
            hi[a, d] = max(hi[a, d], hi[b, d])
        own += cell_price(prices, d, lo[a, d], hi[a, d])
    price[a] = own


@inner_jit
def _numbered(parent, is_enough, class_of):
    """Number clusters by their first tuple; 0 if one of them is not enough."""
    n_classes = np.int64(0)
    number = np.empty(parent.size, np.int64)
    for i in range(parent.size):
        number[i] = -1
    for i in range(parent.size):
        root = np.int64(i)
        while parent[root] != root:
            root = parent[root]
        if not is_enough[root]:
            return np.int64(0)
        if number[root] < 0:
            number[root] = n_classes
            n_classes += 1
        class_of[i] = number[root]
    return n_classes


@inner_jit
def agglomerate(codes, weights, values, prices, rules, noise, seed, class_of, spare):
    """Merge the two clusters that cost least until all satisfy the goal: number of classes, 0 if some never do.

    Args:
        noise: every score is raised by up to this share, so that another seed gives other classes.
    """
    n = codes.shape[0]
    enough = rules.min_size
    lo, hi = np.empty(codes.shape, np.int64), np.empty(codes.shape, np.int64)
    size, price = np.empty(n, np.int64), np.zeros(n, np.int64)
    hist = np.zeros((n, rules.n_kept), np.int64)
    following, last_member = np.empty(n, np.int64), np.empty(n, np.int64)
    parent, live, jitter = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    is_enough, is_stale = np.zeros(n, np.bool_), np.zeros(n, np.bool_)  # of a stale one, `least` is a bound from below
    nearest, least = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        copy_into(lo[i], codes[i])
        copy_into(hi[i], codes[i])
        size[i], parent[i], live[i], nearest[i], least[i] = weights[i], i, i, n, NEVER
        seed = next_random(seed)
        jitter[i] = 1.0 + noise * (seed / 2147483648.0)
        following[i], last_member[i] = -1, i
        for v in range(values.shape[1]):
            if values[i, v] < rules.n_kept:
                hist[i, values[i, v]] += weights[i]
        is_enough[i] = admits(rules, hist[i], values, weights, following, i, size[i], i, np.int64(0), spare)
    for i in range(n):
        for j in range(i + 1, n):
            if is_enough[i] and is_enough[j]:
                continue
            best = max(least[i] if not is_enough[i] else -1.0, least[j] if not is_enough[j] else -1.0)
            score = _score(prices, lo, hi, size, price, jitter, i, j, enough, best)
            _offer(score, i, j, nearest, least)
            _offer(score, j, i, nearest, least)
    n_live = n
    while n_live > 1:
        a = np.int64(-1)
        for q in range(n_live):
            i = live[q]
            if not is_enough[i] and (a < 0 or least[i] < least[a]):
                a = i
        if a < 0:
            break
        if is_stale[a]:
            least[a], nearest[a], is_stale[a] = NEVER, n, False
            for q in range(n_live):
                j = live[q]
                if j != a:
                    _offer(_score(prices, lo, hi, size, price, jitter, a, j, enough, least[a]), a, j, nearest, least)
            continue
        b = nearest[a]
        parent[b] = a
        _absorb(prices, lo, hi, size, price, hist, a, b)
        following[last_member[a]] = b
        last_member[a] = last_member[b]
        is_enough[a] = admits(rules, hist[a], values, weights, following, a, size[a], a, np.int64(0), spare)
        n_kept = np.int64(0)
        for q in range(n_live):
            if live[q] != b:
                live[n_kept] = live[q]
                n_kept += 1
        n_live = n_kept
        least[a], nearest[a] = NEVER, n
        for q in range(n_live):
            j = live[q]
            if j == a or (is_enough[a] and is_enough[j]):
                continue
            if nearest[j] == a or nearest[j] == b:
                # all others cost at least what the old nearest did: they are looked at if it comes to that
                is_stale[j], nearest[j] = True, n
            best = max(least[a] if not is_enough[a] else -1.0, least[j] if not is_enough[j] else -1.0)
            score = _score(prices, lo, hi, size, price, jitter, a, j, enough, best)
            _offer(score, a, j, nearest, least)
            if not is_stale[j]:
                _offer(score, j, a, nearest, least)
            elif score < least[j]:
                least[j], nearest[j], is_stale[j] = score, a, False
    return _numbered(parent, is_enough, class_of)


@leaf_jit
def _helps(rules, hist, values, weights, following, first, size, j, now, spare):
    """Whether a tuple brings a class nearer to its rules, or leaves it within them."""
    after = shortfall(rules, hist, values, weights, following, first, size + weights[j], j, np.int64(1), spare)
    return after <= TOLERANCE or after < now - TOLERANCE


@leaf_jit
def _seed_of(codes, prices, free, n_free, last):
    """Place of the free tuple that is dearest to publish together with another."""
    far, most = np.int64(0), np.int64(-1)
    for q in range(n_free):
        price = np.int64(0)
        for d in range(codes.shape[1]):
            code = codes[last, d]
            price += widened(prices, d, code, code, codes[free[q], d])
        if price > most:
            far, most = np.int64(q), price
    return far


@inner_jit
def grow_classes(codes, weights, values, prices, rules, last, class_of, spare):
    """Grow one class after the other by the tuple that widens it least among those that help it towards its rules.

    Returns the number of classes; tuples that no class could use have class -1. The first seed lies far from `last`.
    """
    n, n_dims = codes.shape
    hist = np.zeros(rules.n_kept, np.int64)
    following = np.empty(n, np.int64)
    lo, hi = np.empty(n_dims, np.int64), np.empty(n_dims, np.int64)
    free, n_free = np.empty(n, np.int64), np.int64(n)
    for i in range(n):
        free[i], class_of[i] = i, -1
    grown = np.empty(n, np.int64)
    n_classes = np.int64(0)
    while n_free > 0:
        new = _seed_of(codes, prices, free, n_free, last)
        last = free[new]
        hist[:] = 0
        copy_into(lo, codes[last])
        copy_into(hi, codes[last])
        size, n_grown = np.int64(0), np.int64(0)
        is_enough = False
        while new >= 0:
            i = free[new]
            n_free -= 1
            for q in range(new, n_free):
                free[q] = free[q + 1]
            following[i] = grown[n_grown - 1] if n_grown > 0 else -1
            grown[n_grown] = i
            n_grown += 1
            size += weights[i]
            for v in range(values.shape[1]):
                if values[i, v] < rules.n_kept:
                    hist[values[i, v]] += weights[i]
            for d in range(n_dims):
                if prices.kind[d] == SET:
                    lo[d] |= codes[i, d]
                else:
                    lo[d] = min(lo[d], codes[i, d])
                    hi[d] = max(hi[d], codes[i, d])
            is_enough = admits(rules, hist, values, weights, following, i, size, i, np.int64(0), spare)
            if is_enough:
                break
            now = shortfall(rules, hist, values, weights, following, i, size, i, np.int64(0), spare)
            least, new = MOST, np.int64(-1)
            for q in range(n_free):
                j = free[q]
                price = np.int64(0)
                for d in range(n_dims):
                    price += widened(prices, d, lo[d], hi[d], codes[j, d])
                    if price >= least:
                        break
                if price < least and _helps(rules, hist, values, weights, following, i, size, j, now, spare):
                    least, new = price, q
        if is_enough:
            for m in range(n_grown):
                class_of[grown[m]] = n_classes
            n_classes += 1
    return n_classes


@inner_jit
def nearest_classes(state, prices, g, near):
    """Fill `near` with the classes that a class joins at least added price for a record, nearest first; how many."""
    n = near.size
    least = np.empty(n)
    for c in range(n):
        least[c] = np.inf
    n_near = np.int64(0)
    for h in range(state.n_used[0]):
        if h == g or state.head[h] < 0:
            continue
        total = state.size[g] + state.size[h]
        base = state.size[g] * state.price[g] + state.size[h] * state.price[h]
        limit = (least[n - 1] + base / total) * (1 + 1e-9) + 1
        score = union_price(prices, state.lo, state.hi, g, h, limit) - base / total
        if score >= least[n - 1]:
            continue
        place = n - 1
        while place > 0 and least[place - 1] > score:
            least[place] = least[place - 1]
            near[place] = near[place - 1]
            place -= 1
        least[place] = score
        near[place] = h
        n_near = min(n, n_near + 1)
    return n_near


@inner_jit
def _pool(state, classes):
    """Members of classes, ascending."""
    n = np.int64(0)
    for c in range(classes.size):
        n += state.n_members[classes[c]]
    members = np.empty(n, np.int64)
    m = np.int64(0)
    for c in range(classes.size):
        i = state.head[classes[c]]
        while i >= 0:
            members[m] = i
            m += 1
            i = state.following[i]
    sort_up(members)
    return members


@inner_jit
def _rows(state, members):
    """Codes, weights and sensitive values of some tuples."""
    codes = np.empty((members.size, state.codes.shape[1]), np.int64)
    weights = np.empty(members.size, np.int64)
    values = np.empty((members.size, state.values.shape[1]), np.int64)
    for m in range(members.size):
        i = members[m]
        copy_into(codes[m], state.codes[i])
        copy_into(values[m], state.values[i])
        weights[m] = state.weights[i]
    return codes, weights, values


@leaf_jit
def _place(part, prices, rules, left, spare):
    """Put tuples without a class into the cheapest that may take them; whether all found one.

    What is left then becomes one class with as many of the first classes as the goal asks for.
    """
    n_left = left.size
    for _ in range(PLACINGS):
        n_kept = np.int64(0)
        for q in range(n_left):
            i = left[q]
            g, _price = cheapest(part, prices, rules, i, np.int64(-1), MOST, spare)
            if g < 0:
                left[n_kept] = i
                n_kept += 1
                continue
            link(part, i, g)
            rebuild(part, prices, g)
        n_left = n_kept
    if n_left == 0:
        return True
    first = np.int64(0)
    for q in range(n_left):
        link(part, left[q], first)
    rebuild(part, prices, first)
    for g in range(1, part.n_used[0]):
        if admits_now(part, rules, first, spare):
            break
        while part.head[g] >= 0:
            i = part.head[g]
            part.head[g] = part.following[i]
            link(part, i, first)
        clear(part, g)
        rebuild(part, prices, first)
    return admits_now(part, rules, first, spare)


@inner_jit
def _grown(codes, weights, values, prices, rules, seed, spare):
    """Classes grown one after the other: (state, whether every tuple has one)."""
    class_of = np.empty(codes.shape[0], np.int64)
    n_classes = grow_classes(codes, weights, values, prices, rules, seed % codes.shape[0], class_of, spare)
    left = np.empty(codes.shape[0], np.int64)
    n_left = np.int64(0)
    for i in range(class_of.size):
        if class_of[i] < 0:
            left[n_left] = i
            n_left += 1
    part = new_state(codes, weights, values, class_of, n_classes, prices, rules.n_kept)
    return part, n_classes > 0 and _place(part, prices, rules, left[:n_left], spare)


@inner_jit
def _merged(codes, weights, values, prices, rules, noise, seed, spare):
    """Classes by merging: (state, whether every class satisfies the goal)."""
    class_of = np.zeros(codes.shape[0], np.int64)
    n_classes = agglomerate(codes, weights, values, prices, rules, noise, seed, class_of, spare)
    if n_classes == 0:
        class_of[:] = 0
    part = new_state(codes, weights, values, class_of, max(1, n_classes), prices, rules.n_kept)
    return part, n_classes > 0


@leaf_jit
def _adopt(state, prices, classes, members, part):
    """Give the members of classes the classes of a part of the table; whether there was room."""
    n_new = np.int64(0)
    for p in range(part.n_used[0]):
        n_new += part.head[p] >= 0
    if n_new - classes.size > state.head.size - state.n_used[0]:
        return False
    for c in range(classes.size):
        clear(state, classes[c])
    taken = np.int64(0)
    for p in range(part.n_used[0]):
        if part.head[p] < 0:
            continue
        g = classes[taken] if taken < classes.size else free_class(state)
        taken += 1
        i = part.head[p]
        while i >= 0:
            link(state, members[i], g)
            i = part.following[i]
        rebuild(state, prices, g)
    return True


@inner_jit
def rebuild_pools(state, prices, rules, n_near, most, noise, seed, grows, n_polishes, most_work, stop, spare):
    """Pool each class with its nearest, build the classes of the pool anew, and keep them where they are cheaper.

    Args:
        n_near: neighbours in a pool; 0 rebuilds single classes that are large enough for two.
        most: members of a pool.
        grows: grow classes instead of merging.
        n_polishes: passes of small changes over what was built.
        most_work: pairs of tuples compared, at most.
    """
    n_done, work = np.int64(0), np.int64(0)
    near = np.empty(max(1, n_near), np.int64)
    for g in range(state.n_used[0]):
        if stop[0] != 0 or work >= most_work:
            break
        if state.head[g] < 0 or state.price[g] == 0 or state.n_members[g] > most:
            continue
        n_neighbors = nearest_classes(state, prices, g, near) if n_near > 0 else np.int64(0)
        n = state.n_members[g]
        n_pooled = np.int64(0)
        now = state.size[g] * state.price[g]
        while n_pooled < n_neighbors and n + state.n_members[near[n_pooled]] <= most:
            h = near[n_pooled]
            n += state.n_members[h]
            now += state.size[h] * state.price[h]
            n_pooled += 1
        if n_pooled == 0 and (n_near > 0 or state.size[g] < 2 * rules.min_size or n < 2):
            continue
        classes = np.empty(1 + n_pooled, np.int64)
        classes[0] = g
        copy_into(classes[1:], near[:n_pooled])
        members = _pool(state, classes)
        work += n * n
        seed = next_random(seed)
        codes, weights, values = _rows(state, members)
        if grows:
            part, is_done = _grown(codes, weights, values, prices, rules, seed, spare)
        else:
            part, is_done = _merged(codes, weights, values, prices, rules, noise, seed, spare)
        if not is_done:
            continue
        last, cost = total_price(part) + 1, total_price(part)
        for p in range(n_polishes):
            if p > 0 and (cost >= last or cost * 100 > now * PROMISING):
                break
            last = cost
            polish(part, prices, rules, spare, stop)
            cost = total_price(part)
        if cost < now:
            n_done += _adopt(state, prices, classes, members, part)
    return n_done


@jit
def _refine(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop, spare):
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.n_kept)
    before = total_price(state)
    now = before
    near, most, noise = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3)
    most[0], most[1], most[2] = steps.alone, SPLIT_UP_TO, steps.pooled
    near[2], noise[2] = steps.near, steps.noise
    for sweep in range(-1 if steps.alone > 0 else 0, steps.sweeps):
        last = now
        if sweep >= 0:
            polish(state, prices, rules, spare, stop)
        # large classes on their own before the first sweep; then single classes, then pools of neighbours
        for kind in range(0 if sweep < 0 else 1, 1 if sweep < 0 else 3):
            grows = np.bool_(kind < 2 or (rules.kind.size > 0 and (sweep + steps.turn) % 2 == 0))
            random = seed + sweep if kind == 2 else seed
            n, work = steps.polishes, steps.pools
            rebuild_pools(
                state, prices, rules, near[kind], most[kind], noise[kind], random, grows, n, work, stop, spare
            )
        if sweep < 0:
            continue
        now = total_price(state)
        if (last - now) * 2000 < last or stop[0] != 0:
            break
    return before, now


@kernel()
def refine(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    steps: Steps,
    seed: int,
    stop: IntArray,
) -> tuple[int, int]:
    """Change the classes of tuples, in place, as long as that lowers their total price: (price before, price after).

    Args:
        codes: (n, n_dims) codes; masks of one bit in dimensions published as sets.
        values: (n, n_sensitive) places of the sensitive values, as the rules count them.
        class_of: (n,) class numbers from 0; every class is admitted by the rules.
        stop: (1,) another thread may set it to end the refinement early; the classes are then still admitted.
    """
    n_classes = int(class_of.max()) + 1
    spare = new_spare(rules)
    before, now = _refine(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop, spare)
    return int(before), int(now)
