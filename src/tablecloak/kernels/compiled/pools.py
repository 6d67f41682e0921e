"""Large steps of a refinement: the members of neighbouring classes are pooled and their classes built anew."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.changes import free_class, new_state, polish, total_price
from tablecloak.kernels.compiled.clustering import agglomerate, grow_classes, next_random, union_price
from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.sorting import copy_into, sort_up
from tablecloak.kernels.compiled.states import MOST, cheapest, clear, link, rebuild
from tablecloak.kernels.steps import PROMISING

__all__ = ["rebuild_pools"]

# Passes over tuples that no grown class could use; each place changes what the next may join.
PLACINGS = 3


@inner_jit
def nearest_classes(state, prices, g, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the classes that a class joins at least added price for a record, nearest first; how many."""
    n = found.size
    least = np.empty(n)
    for c in range(n):
        least[c] = np.inf
    n_found = np.int64(0)
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
def _rows(state, members):  # type: ignore[no-untyped-def]
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
def _place(part, prices, rules, left, spare):  # type: ignore[no-untyped-def]
    """Put tuples without a class into the cheapest that may take them; whether all found one.

    What is left then becomes one class with as many of the first classes as the goal asks for.
    """
    n_left = left.size
    for _ in range(PLACINGS):
        kept = np.int64(0)
        for q in range(n_left):
            i = left[q]
            g, _price = cheapest(part, prices, rules, i, np.int64(-1), MOST, spare)
            if g < 0:
                left[kept] = i
                kept += 1
                continue
            link(part, i, g)
            rebuild(part, prices, g)
        n_left = kept
    if n_left == 0:
        return True
    first = np.int64(0)
    for q in range(n_left):
        link(part, left[q], first)
    rebuild(part, prices, first)
    for g in range(1, part.n_used[0]):
        if admitted(rules, part.hist[first], part.size[first]):
            break
        while part.head[g] >= 0:
            i = part.head[g]
            part.head[g] = part.following[i]
            link(part, i, first)
        clear(part, g)
        rebuild(part, prices, first)
    return admitted(rules, part.hist[first], part.size[first])


@inner_jit
def _grown(codes, weights, values, prices, rules, seed, spare):  # type: ignore[no-untyped-def]
    """Classes grown one after the other: (state, whether every tuple has one)."""
    class_of = np.empty(codes.shape[0], np.int64)
    n_classes = grow_classes(codes, weights, values, prices, rules, seed % codes.shape[0], class_of, spare)
    left = np.empty(codes.shape[0], np.int64)
    n_left = np.int64(0)
    for i in range(class_of.size):
        if class_of[i] < 0:
            left[n_left] = i
            n_left += 1
    part = new_state(codes, weights, values, class_of, n_classes, prices, rules.shares.size)
    return part, n_classes > 0 and _place(part, prices, rules, left[:n_left], spare)


@inner_jit
def _merged(codes, weights, values, prices, rules, noise, seed):  # type: ignore[no-untyped-def]
    """Classes by merging: (state, whether every class satisfies the goal)."""
    class_of = np.zeros(codes.shape[0], np.int64)
    n_classes = agglomerate(codes, weights, values, prices, rules, noise, seed, class_of)
    if n_classes == 0:
        class_of[:] = 0
    part = new_state(codes, weights, values, class_of, max(1, n_classes), prices, rules.shares.size)
    return part, n_classes > 0


@leaf_jit
def _adopt(state, prices, classes, members, part):  # type: ignore[no-untyped-def]
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
def rebuild_pools(state, prices, rules, n_near, most, noise, seed, grows, n_polishes, stop, spare):  # type: ignore[no-untyped-def]
    """Pool each class with its nearest, build the classes of the pool anew, and keep them where they are cheaper.

    Args:
        n_near: neighbours in a pool; 0 rebuilds single classes that are large enough for two.
        most: members of a pool.
        grows: grow classes instead of merging.
        n_polishes: passes of small changes over what was built.
    """
    n_done = np.int64(0)
    near = np.empty(max(1, n_near), np.int64)
    for g in range(state.n_used[0]):
        if stop[0] != 0:
            break
        if state.head[g] < 0 or state.price[g] == 0 or state.n_members[g] > most:
            continue
        n_found = nearest_classes(state, prices, g, near) if n_near > 0 else np.int64(0)
        n = state.n_members[g]
        n_pooled = np.int64(0)
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
        copy_into(classes[1:], near[:n_pooled])
        members = _pool(state, classes)
        seed = next_random(seed)
        codes, weights, values = _rows(state, members)
        if grows:
            part, is_done = _grown(codes, weights, values, prices, rules, seed, spare)
        else:
            part, is_done = _merged(codes, weights, values, prices, rules, noise, seed)
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
