"""Proposals of the box search: what a class of the records of a box would take from other classes, and save."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.compiled.bunches import list_classes
from tablecloak.kernels.compiled.changes import free_class, relocate
from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.sorting import sort_up
from tablecloak.kernels.compiled.states import (
    cheapest,
    clear,
    link,
    members_of,
    rebuild,
    unlink,
)

__all__ = ["Scratch", "begin_pass", "choose", "is_better", "new_scratch", "take"]

# The price of a place that no class offers; sums of it do not overflow.
NOWHERE = np.int64(1) << 44


class Scratch(NamedTuple):
    """What the search knows about tuples and classes, and room for its lists."""

    other: np.ndarray  # (n,) price of putting a tuple into the cheapest other class
    dissolving: np.ndarray  # (room,) what dissolving a class adds to the price
    weight: np.ndarray  # (room,) records of a class that lie in the box
    gain: np.ndarray  # (room,) what they gain if the rest of their class is dissolved
    left: np.ndarray  # (room,) records that a class may still give
    donors: np.ndarray  # (n,) classes with records in the box
    taken: np.ndarray  # (n,) tuples of the new class
    found: np.ndarray  # (3,) gain, records, number of tuples taken
    work: np.ndarray  # (2,) tuples looked at, and how many may be


@inner_jit
def new_scratch(n, room, most_work):  # type: ignore[no-untyped-def]
    work = np.zeros(2, np.int64)
    work[1] = most_work
    return Scratch(
        np.zeros(n, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(3, np.int64), work,
    )  # fmt: skip


@leaf_jit
def _find_others(state, prices, rules, scratch, stop, spare):  # type: ignore[no-untyped-def]
    """Of every tuple the price of the cheapest other class, and what it would cost to dissolve each class."""
    for g in range(state.n_used[0]):
        scratch.dissolving[g] = -state.price[g] * state.size[g]
    for i in range(state.codes.shape[0]):
        if stop[0] != 0:
            return
        own = state.class_of[i]
        _, scratch.other[i] = cheapest(state, prices, rules, i, own, NOWHERE, spare)
        scratch.dissolving[own] += scratch.other[i]


@inner_jit
def _dissolve_loose(state, prices, rules, scratch, stop, spare):  # type: ignore[no-untyped-def]
    """Give the members of classes to others where each of them alone costs less there."""
    for g in range(state.n_used[0]):
        if (
            stop[0] == 0
            and state.head[g] >= 0
            and scratch.dissolving[g] < 0
            and relocate(state, prices, rules, members_of(state, g), g, state.size[g] * state.price[g], spare)
        ):
            clear(state, g)


@inner_jit
def begin_pass(state, prices, rules, scratch, stop, spare):  # type: ignore[no-untyped-def]
    """What a pass over boxes must know: where tuples would go otherwise; classes that cost less apart are dissolved."""
    scratch.work[0] = 0
    list_classes(state, prices)
    _find_others(state, prices, rules, scratch, stop, spare)
    _dissolve_loose(state, prices, rules, scratch, stop, spare)


@leaf_jit
def _weigh(state, rules, scratch, rows, a, b, price):  # type: ignore[no-untyped-def]
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
        if scratch.weight[g] == 0:
            scratch.donors[n_donors] = g
            n_donors += 1
        w = state.weights[i]
        scratch.weight[g] += w
        scratch.gain[g] += scratch.other[i] - price * w
    gain, records = np.int64(0), np.int64(0)
    for q in range(n_donors):
        g = scratch.donors[q]
        inside = scratch.weight[g]
        rest = state.size[g] - inside
        given = inside if rest == 0 or rest >= least else state.size[g] - least
        own = (state.price[g] - price) * given
        if given < inside:
            dissolved = scratch.gain[g] - scratch.dissolving[g]
            if dissolved > own and dissolved > 0:
                own, given = dissolved, inside
        gain += own
        records += given
        scratch.left[g] = given
    return gain, records, n_donors


@inner_jit
def _fill(state, rules, scratch, rows, a, b, price, n_taken, n_donors):  # type: ignore[no-untyped-def]
    """Complete a class with records of cheaper classes that can spare them, the dearest first: (taken, donors)."""
    least = rules.min_size
    missing = least - scratch.found[1]
    n = b - a
    ranked = np.empty(n, np.int64)
    n_ranked = np.int64(0)
    for r in range(a, b):
        i = rows[r]
        g = state.class_of[i]
        more = price - state.price[g]
        if more >= 0 and state.size[g] - state.weights[i] >= least and more * missing < scratch.found[0]:
            ranked[n_ranked] = more * n + (r - a)
            n_ranked += 1
    ranked = ranked[:n_ranked]
    sort_up(ranked)
    for q in range(n_ranked):
        if scratch.found[1] >= least:
            break
        i = rows[a + ranked[q] % n]
        g = state.class_of[i]
        w = state.weights[i]
        if scratch.weight[g] == 0:
            scratch.donors[n_donors] = g
            n_donors += 1
        if state.size[g] - scratch.weight[g] - w < least:
            continue
        scratch.weight[g] += w
        scratch.taken[n_taken] = i
        n_taken += 1
        scratch.found[1] += w
        scratch.found[0] -= (price - state.price[g]) * w
    return n_taken, n_donors


@inner_jit
def choose(state, rules, scratch, rows, a, b, price, fills):  # type: ignore[no-untyped-def]
    """Write to the scratch what a class of these tuples would take, and what it would gain; below 0: too small."""
    gain, records, n_donors = _weigh(state, rules, scratch, rows, a, b, price)
    n_taken = np.int64(0)
    scratch.found[0] = gain
    scratch.found[1] = 0
    if gain > 0 and (records >= rules.min_size or (fills and 2 * records >= rules.min_size)):
        for r in range(a, b):
            i = rows[r]
            g = state.class_of[i]
            w = state.weights[i]
            if state.price[g] > price and scratch.left[g] >= w:
                scratch.left[g] -= w
                scratch.taken[n_taken] = i
                n_taken += 1
                scratch.found[1] += w
        if fills and scratch.found[1] < rules.min_size:
            n_taken, n_donors = _fill(state, rules, scratch, rows, a, b, price, n_taken, n_donors)
    for q in range(n_donors):
        g = scratch.donors[q]
        scratch.weight[g] = 0
        scratch.gain[g] = 0
        scratch.left[g] = 0
    if scratch.found[1] < rules.min_size:
        scratch.found[0] = -1
    scratch.found[2] = n_taken


@leaf_jit
def is_better(state, rules, scratch, most, spare):  # type: ignore[no-untyped-def]
    """Whether what was chosen gains more than this, as a class that the goal admits."""
    if scratch.found[0] <= most:
        return False
    if rules.kind.size == 0:
        return True
    spare[:] = 0
    for q in range(scratch.found[2]):
        i = scratch.taken[q]
        for v in range(state.values.shape[1]):
            spare[state.values[i, v]] += state.weights[i]
    return admitted(rules, spare, scratch.found[1])


@leaf_jit
def _gather_donors(state, scratch, taken, came_from, donors):  # type: ignore[no-untyped-def]
    """Note the class of every tuple that is taken: (number of classes, their price)."""
    n_donors, before = np.int64(0), np.int64(0)
    for q in range(taken.size):
        g = state.class_of[taken[q]]
        came_from[q] = g
        if scratch.weight[g] == 0:
            scratch.weight[g] = 1
            donors[n_donors] = g
            n_donors += 1
            before += state.price[g] * state.size[g]
    for q in range(n_donors):
        scratch.weight[donors[q]] = 0
    return n_donors, before


@leaf_jit
def _count_donors(state, prices, rules, scratch, donors):  # type: ignore[no-untyped-def]
    """Count again classes that gave records: (price of those that stay, members of those that cannot, their price)."""
    price, n_rest, others = np.int64(0), np.int64(0), np.int64(0)
    for q in range(donors.size):
        g = donors[q]
        if state.head[g] < 0:
            clear(state, g)
            continue
        rebuild(state, prices, g)
        if admitted(rules, state.hist[g], state.size[g]):
            price += state.price[g] * state.size[g]
        else:
            n_rest += state.n_members[g]
            i = state.head[g]
            while i >= 0:
                others += scratch.other[i]
                i = state.following[i]
    return price, n_rest, others


@leaf_jit
def _give_up(state, rules, donors, rest, rest_from):  # type: ignore[no-untyped-def]
    """Empty the classes that cannot stay, and note their members."""
    n_rest = np.int64(0)
    for q in range(donors.size):
        g = donors[q]
        if state.head[g] < 0 or admitted(rules, state.hist[g], state.size[g]):
            continue
        i = state.head[g]
        while i >= 0:
            rest[n_rest] = i
            rest_from[n_rest] = g
            n_rest += 1
            i = state.following[i]
        clear(state, g)


@leaf_jit
def _put_back(state, prices, tuples, came_from):  # type: ignore[no-untyped-def]
    """Give tuples their former classes, which are then to be counted again."""
    for q in range(tuples.size):
        g = state.class_of[tuples[q]]
        if g >= 0:
            unlink(state, tuples[q])
            rebuild(state, prices, g)
        link(state, tuples[q], came_from[q])


@inner_jit
def take(state, prices, rules, scratch, spare):  # type: ignore[no-untyped-def]
    """Make the chosen tuples a class if that lowers the price and the goal admits all classes; what it saves, or 0."""
    taken = scratch.taken[: scratch.found[2]]
    if not is_better(state, rules, scratch, np.int64(0), spare):
        return np.int64(0)
    new = free_class(state)
    if new < 0:
        return np.int64(0)
    donors = np.empty(taken.size, np.int64)
    came_from = np.empty(taken.size, np.int64)
    n_donors, before = _gather_donors(state, scratch, taken, came_from, donors)
    donors = donors[:n_donors]
    for q in range(taken.size):
        unlink(state, taken[q])
        link(state, taken[q], new)
    rebuild(state, prices, new)
    price, n_rest, others = _count_donors(state, prices, rules, scratch, donors)
    saved = before - price - state.price[new] * state.size[new]
    # where rules forbid most, looking for places in vain would take most of the time
    if saved > (others if rules.kind.size > 0 else 0):
        rest = np.empty(n_rest, np.int64)
        rest_from = np.empty(n_rest, np.int64)
        _give_up(state, rules, donors, rest, rest_from)
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
def _place_rest(state, prices, rules, rest, saved, spare):  # type: ignore[no-untyped-def]
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
        if cost < saved and admitted(rules, state.hist[own], state.size[own]):
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
