"""Large steps of a refinement: the members of neighbouring classes are pooled and their classes built anew."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.changes import (
    dissolve_classes,
    free_class,
    move_tuples,
    new_state,
    total_price,
    trim_classes,
)
from tablecloak.kernels.compiled.clustering import agglomerate, grow_classes, next_random, union_price
from tablecloak.kernels.compiled.jit import inner_jit, jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.states import MOST, cheapest, clear, link, rebuild, sort_up

__all__ = ["rebuild_pools"]

# Passes over tuples that no grown class could use; each place changes what the next may join.
PLACINGS = 3


@inner_jit
def nearest_classes(state, prices, g, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the classes that a class joins at least added price for a record, nearest first; how many."""
    n = found.size
    least = np.full(n, np.inf)
    n_found = 0
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
            found[place] = found[place - 1]
            place -= 1
        least[place] = score
        found[place] = h
        n_found = min(n, n_found + 1)
    return n_found


@inner_jit
def _pool(state, classes):  # type: ignore[no-untyped-def]
    """Members of classes, ascending."""
    n = 0
    for c in range(classes.size):
        n += state.n_members[classes[c]]
    members = np.empty(n, np.int64)
    m = 0
    for c in range(classes.size):
        i = state.head[classes[c]]
        while i >= 0:
            members[m] = i
            m += 1
            i = state.following[i]
    sort_up(members)
    return members


@inner_jit
def _place(part, prices, rules, left, spare):  # type: ignore[no-untyped-def]
    """Put tuples without a class into the cheapest that may take them; whether all found one.

    What is left then becomes one class with as many of the first classes as the goal asks for.
    """
    n_left = left.size
    for _ in range(PLACINGS):
        kept = 0
        for q in range(n_left):
            i = left[q]
            g, _price = cheapest(part, prices, rules, i, -1, MOST, spare)
            if g < 0:
                left[kept] = i
                kept += 1
                continue
            link(part, i, g)
            rebuild(part, prices, g)
        n_left = kept
    if n_left == 0:
        return True
    for q in range(n_left):
        link(part, left[q], 0)
    rebuild(part, prices, 0)
    for g in range(1, part.n_used[0]):
        if admitted(rules, part.hist[0], part.size[0]):
            break
        while part.head[g] >= 0:
            i = part.head[g]
            part.head[g] = part.following[i]
            link(part, i, 0)
        clear(part, g)
        rebuild(part, prices, 0)
    return admitted(rules, part.hist[0], part.size[0])


@inner_jit
def _grown(codes, weights, values, prices, rules, seed, spare):  # type: ignore[no-untyped-def]
    """Classes grown one after the other: (state, whether every tuple has one)."""
    class_of = np.empty(codes.shape[0], np.int64)
    n_classes = grow_classes(codes, weights, values, prices, rules, seed % codes.shape[0], class_of, spare)
    left = np.flatnonzero(class_of < 0)
    part = new_state(codes, weights, values, class_of, n_classes, rules.shares.size)
    for g in range(n_classes):
        rebuild(part, prices, g)
    return part, n_classes > 0 and _place(part, prices, rules, left, spare)


@inner_jit
def _merged(codes, weights, values, prices, rules, noise, seed):  # type: ignore[no-untyped-def]
    """Classes by merging: (state, whether every class satisfies the goal)."""
    class_of = np.zeros(codes.shape[0], np.int64)
    n_classes = agglomerate(codes, weights, values, prices, rules, noise, seed, class_of)
    if n_classes == 0:
        class_of[:] = 0
    part = new_state(codes, weights, values, class_of, max(1, n_classes), rules.shares.size)
    for g in range(n_classes):
        rebuild(part, prices, g)
    return part, n_classes > 0


@inner_jit
def _adopt(state, prices, classes, members, part):  # type: ignore[no-untyped-def]
    """Give the members of classes the classes of a part of the table; whether there was room."""
    n_new = 0
    for p in range(part.n_used[0]):
        n_new += part.head[p] >= 0
    if n_new - classes.size > state.head.size - state.n_used[0]:
        return False
    for c in range(classes.size):
        clear(state, classes[c])
    taken = 0
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


@jit
def rebuild_pools(state, prices, rules, n_near, most, noise, seed, grows, stop, spare):  # type: ignore[no-untyped-def]
    """Pool each class with its nearest, build the classes of the pool anew, and keep them where they are cheaper.

    Args:
        n_near: neighbours in a pool; 0 rebuilds single classes that are large enough for two.
        most: members of a pool.
        grows: grow classes instead of merging.
    """
    n_done = 0
    near = np.empty(max(1, n_near), np.int64)
    for g in range(state.n_used[0]):
        if stop[0] != 0:
            break
        if state.head[g] < 0 or state.price[g] == 0 or state.n_members[g] > most:
            continue
        n_found = nearest_classes(state, prices, g, near) if n_near > 0 else 0
        n = state.n_members[g]
        n_pooled = 0
        now = state.size[g] * state.price[g]
        while n_pooled < n_found and n + state.n_members[near[n_pooled]] <= most:
            h = near[n_pooled]
            n += state.n_members[h]
            now += state.size[h] * state.price[h]
            n_pooled += 1
        if n_pooled == 0 and (n_near > 0 or state.size[g] < 2 * rules.min_size or n < 2):
            continue
        classes = np.empty(1 + n_pooled, np.int64)
        classes[0] = g
        classes[1:] = near[:n_pooled]
        members = _pool(state, classes)
        seed = next_random(seed)
        codes, weights, values = state.codes[members], state.weights[members], state.values[members]
        if grows:
            part, is_done = _grown(codes, weights, values, prices, rules, seed, spare)
        else:
            part, is_done = _merged(codes, weights, values, prices, rules, noise, seed)
        if not is_done:
            continue
        move_tuples(part, prices, rules, spare, stop)
        trim_classes(part, prices, rules, spare, stop)
        dissolve_classes(part, prices, rules, spare, stop)
        if total_price(part) < now:
            n_done += _adopt(state, prices, classes, members, part)
    return n_done
