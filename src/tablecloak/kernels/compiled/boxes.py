"""Box search: for every box of groups of codes, would a class of the records in it lower the loss?

Boxes are enumerated depth first, one dimension after the other, from fine groups of codes to coarse ones; a box is left
as soon as too few of its records would gain. Records of a box leave classes that are dearer than the box. A class that
keeps enough records stays; one that does not is dissolved where others take the rest at a price that the gain pays for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.compiled.changes import free_class, move_tuples, priced, relocate, total_price, trim_classes
from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted
from tablecloak.kernels.compiled.sorting import copy_into, sort_up
from tablecloak.kernels.compiled.states import (
    SET,
    cell_price,
    cheapest,
    cheapest_of,
    clear,
    link,
    members_of,
    n_bits,
    rebuild,
    unlink,
)

__all__ = ["search_boxes"]

# The price of a place that no class offers; sums of it do not overflow.
NOWHERE = np.int64(1) << 44
# Records of a window in quarters of the least class size; wider windows hold more classes' worth of records.
N_WIDTHS = 6
# Windows of one box that are taken, or tried in vain.
MOST_TAKEN, MOST_FAILED = 20, 3


class Scratch(NamedTuple):
    """What the search knows about tuples and classes, and room for its lists."""

    other: np.ndarray  # (n,) price of putting a tuple into the cheapest other class
    other_class: np.ndarray  # (n,) that class
    changed: np.ndarray  # (room,) classes that are not what they were when others were last looked for
    is_changed: np.ndarray  # (room,)
    seen_size: np.ndarray  # (room,) what they were then
    seen_price: np.ndarray  # (room,)
    dissolving: np.ndarray  # (room,) what dissolving a class adds to the price
    weight: np.ndarray  # (room,) records of a class that lie in the box
    gain: np.ndarray  # (room,) what they gain if the rest of their class is dissolved
    left: np.ndarray  # (room,) records that a class may still give
    donors: np.ndarray  # (n,) classes with records in the box
    taken: np.ndarray  # (n,) tuples of the new class
    found: np.ndarray  # (3,) gain, records, number of tuples taken
    work: np.ndarray  # (2,) tuples looked at, and how many may be


@inner_jit
def _scratch(n, room, most_work):  # type: ignore[no-untyped-def]
    work = np.zeros(2, np.int64)
    work[1] = most_work
    other_class = np.empty(n, np.int64)
    for i in range(n):
        other_class[i] = -1
    return Scratch(
        np.zeros(n, np.int64), other_class, np.zeros(room, np.int64), np.zeros(room, np.bool_),
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(3, np.int64), work,
    )  # fmt: skip


@leaf_jit
def _find_changed(state, scratch):  # type: ignore[no-untyped-def]
    """List the classes that are not what they were at the last call; how many."""
    n_changed = np.int64(0)
    for g in range(state.n_used[0]):
        is_same = scratch.seen_size[g] == state.size[g] and scratch.seen_price[g] == state.price[g]
        scratch.is_changed[g] = not is_same
        if not is_same and state.head[g] >= 0:
            scratch.changed[n_changed] = g
            n_changed += 1
        scratch.seen_size[g] = state.size[g]
        scratch.seen_price[g] = state.price[g]
        scratch.dissolving[g] = -state.price[g] * state.size[g]
    return n_changed


@leaf_jit
def _find_others(state, prices, rules, scratch, stop, spare):  # type: ignore[no-untyped-def]
    """Of every tuple the cheapest other class, and what it would cost to dissolve each class.

    A tuple whose cheapest class is what it was looks at changed classes only.
    """
    n_changed = _find_changed(state, scratch)
    for i in range(state.codes.shape[0]):
        if stop[0] != 0:
            return
        own, to, best = state.class_of[i], scratch.other_class[i], scratch.other[i]
        is_known = to >= 0 and to != own and not scratch.is_changed[to]
        n_listed = n_changed if is_known else np.int64(-1)
        limit = best if is_known else NOWHERE
        found, best = cheapest_of(state, prices, rules, i, own, limit, scratch.changed, n_listed, spare)
        scratch.other[i] = best
        scratch.other_class[i] = found if found >= 0 or not is_known else to
        scratch.dissolving[own] += best


@inner_jit
def _dissolve(state, prices, rules, scratch, stop, spare):  # type: ignore[no-untyped-def]
    """Give the members of classes to others where each of them alone costs less there."""
    for g in range(state.n_used[0]):
        if (
            stop[0] == 0
            and state.head[g] >= 0
            and scratch.dissolving[g] < 0
            and relocate(state, prices, rules, members_of(state, g), g, state.size[g] * state.price[g], spare)
        ):
            clear(state, g)


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
def _choose(state, rules, scratch, rows, a, b, price, fills):  # type: ignore[no-untyped-def]
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


@inner_jit
def _take(state, prices, rules, scratch, spare):  # type: ignore[no-untyped-def]
    """Make the chosen tuples a class if that lowers the price and the goal admits all classes; what it saves, or 0."""
    new = free_class(state)
    if new < 0:
        return np.int64(0)
    n_taken = scratch.found[2]
    taken = scratch.taken[:n_taken]
    if rules.kind.size > 0:
        _price, is_ok = priced(state, prices, rules, taken, spare)
        if not is_ok:
            return np.int64(0)
    donors = np.empty(n_taken, np.int64)
    n_donors = np.int64(0)
    came_from = np.empty(n_taken, np.int64)
    before = np.int64(0)
    for q in range(n_taken):
        g = state.class_of[taken[q]]
        came_from[q] = g
        if scratch.weight[g] == 0:
            scratch.weight[g] = 1
            donors[n_donors] = g
            n_donors += 1
            before += state.price[g] * state.size[g]
    for q in range(n_taken):
        unlink(state, taken[q])
        link(state, taken[q], new)
    rebuild(state, prices, new)
    saved = before - state.price[new] * state.size[new]
    n_rest = np.int64(0)
    for q in range(n_donors):
        g = donors[q]
        scratch.weight[g] = 0
        if state.head[g] < 0:
            clear(state, g)
            continue
        rebuild(state, prices, g)
        if not admitted(rules, state.hist[g], state.size[g]):
            n_rest += state.n_members[g]
        else:
            saved -= state.price[g] * state.size[g]
    rest = np.empty(n_rest, np.int64)
    rest_from = np.empty(n_rest, np.int64)
    n_rest = np.int64(0)
    if saved > 0:
        for q in range(n_donors):
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
        saved = _place_rest(state, prices, rules, rest, saved, spare)
    if saved > 0:
        return saved
    for q in range(n_rest):  # back to where they were
        to = state.class_of[rest[q]]
        if to >= 0:
            unlink(state, rest[q])
            rebuild(state, prices, to)
        link(state, rest[q], rest_from[q])
    for q in range(n_taken):
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


@leaf_jit
def _window_end(state, rows, n, line, end, records, needed, base):  # type: ignore[no-untyped-def]
    """The first end, after all tuples with the same code, before which as many records as needed are dearer."""
    while end < n and records < needed:
        code = state.codes[rows[end], line]
        while end < n and state.codes[rows[end], line] == code:
            if state.price[state.class_of[rows[end]]] > base:
                records += state.weights[rows[end]]
            end += 1
    return end, records


@inner_jit
def _best_window(state, prices, rules, scratch, rows, n, line, base, fills, failed):  # type: ignore[no-untyped-def]
    """The window of a box whose class would gain most: (begin, end), an end of 0 for none."""
    most, begin, finish = np.int64(0), np.int64(0), np.int64(0)
    for width in range(0 if fills else 1, N_WIDTHS):
        # half the least size, then once, 1.5, 2, 4 and 8 times
        needed = max(1, rules.min_size * (1, 2, 3, 4, 8, 16)[width] // 2)
        a, b, records = np.int64(0), np.int64(0), np.int64(0)
        while a < n:
            if line < 0:
                b, records = n, needed  # the whole box
            b, records = _window_end(state, rows, n, line, b, records, needed, base)
            if records < needed:
                break
            price = base
            if line >= 0:
                price += cell_price(prices, line, state.codes[rows[a], line], state.codes[rows[b - 1], line])
            is_failed = False
            for f in range(failed.shape[0]):
                is_failed = is_failed or (failed[f, 0] == a and failed[f, 1] == b)
            if not is_failed:
                _choose(state, rules, scratch, rows, a, b, price, fills)
                scratch.work[0] += b - a
                if scratch.found[0] > most:
                    most, begin, finish = scratch.found[0], a, b
            if line < 0:
                return begin, finish
            code = state.codes[rows[a], line]
            while a < n and state.codes[rows[a], line] == code:
                if state.price[state.class_of[rows[a]]] > base:
                    records -= state.weights[rows[a]]
                a += 1
        if a == 0:
            break
    return begin, finish


@inner_jit
def _use_box(state, prices, rules, scratch, rows, n, line, base, fills, spare):  # type: ignore[no-untyped-def]
    """Make classes of the best windows of a box, as long as that saves; what it saves."""
    saved = np.int64(0)
    failed = np.empty((MOST_FAILED, 2), np.int64)
    n_failed = np.int64(0)
    for _ in range(MOST_TAKEN):
        a, b = _best_window(state, prices, rules, scratch, rows, n, line, base, fills, failed[:n_failed])
        if b == 0:
            break
        price = base
        if line >= 0:
            price += cell_price(prices, line, state.codes[rows[a], line], state.codes[rows[b - 1], line])
        _choose(state, rules, scratch, rows, a, b, price, fills)
        own = _take(state, prices, rules, scratch, spare)
        saved += own
        if own == 0:
            if n_failed == MOST_FAILED:
                break
            failed[n_failed, 0] = a
            failed[n_failed, 1] = b
            n_failed += 1
    return saved


@leaf_jit
def _group_of(state, prices, levels, level, d, i):  # type: ignore[no-untyped-def]
    code = state.codes[i, d]
    if prices.kind[d] == SET:
        code = n_bits(code - 1)
    return levels.start[level] + code


@leaf_jit
def _by_group(state, prices, levels, level, d, rows, n, counts, target):  # type: ignore[no-untyped-def]
    """Tuples in the order of their groups, otherwise as they were."""
    for c in range(levels.n_groups[level]):
        counts[c] = 0
    for r in range(n):
        counts[levels.group[_group_of(state, prices, levels, level, d, rows[r])]] += 1
    begin = np.int64(0)
    for c in range(levels.n_groups[level]):
        own = counts[c]
        counts[c] = begin
        begin += own
    for r in range(n):
        c = levels.group[_group_of(state, prices, levels, level, d, rows[r])]
        target[counts[c]] = rows[r]
        counts[c] += 1


@leaf_jit
def _gather(state, prices, rules, levels, level, d, ordered, a, n, base, target, fills):  # type: ignore[no-untyped-def]
    """Copy the tuples of one group that may be of use: (end of the group, tuples, dearer records, all records)."""
    group = levels.group[_group_of(state, prices, levels, level, d, ordered[a])]
    n_kept, dearer, records = np.int64(0), np.int64(0), np.int64(0)
    while a < n and levels.group[_group_of(state, prices, levels, level, d, ordered[a])] == group:
        i = ordered[a]
        g = state.class_of[i]
        w = state.weights[i]
        is_dearer = state.price[g] > base
        if is_dearer or (fills and state.size[g] - w >= rules.min_size):
            target[n_kept] = i
            n_kept += 1
            records += w
            dearer += w if is_dearer else 0
        a += 1
    return a, n_kept, dearer, records


@inner_jit
def _enumerate(state, prices, rules, levels, scratch, first, fills, stop, spare):  # type: ignore[no-untyped-def]
    """Use every box that holds enough records that would gain; what that saves."""
    n, depths = first.size, levels.order.size
    rows = np.empty((depths + 1, n), np.int64)
    ordered = np.empty((depths + 1, n), np.int64)
    n_rows = np.zeros(depths + 1, np.int64)
    n_ordered = np.zeros(depths + 1, np.int64)
    place = np.zeros(depths + 1, np.int64)
    level = np.zeros(depths + 1, np.int64)
    base = np.zeros(depths + 1, np.int64)
    most_groups = np.int64(1)
    for j in range(levels.n_groups.size):
        most_groups = max(most_groups, levels.n_groups[j])
    counts = np.zeros(most_groups, np.int64)
    copy_into(rows[0], first)
    n_rows[0] = n
    least = rules.min_size if not fills else (rules.min_size + 1) // 2
    saved, depth = np.int64(0), np.int64(0)
    if depths > 0:
        level[0] = levels.first[levels.order[0]] - 1
    while depth >= 0 and stop[0] == 0 and scratch.work[0] < scratch.work[1]:
        if depth == depths:
            saved += _use_box(
                state, prices, rules, scratch, rows[depth], n_rows[depth], levels.line, base[depth], fills, spare
            )
            depth -= 1
            continue
        d = levels.order[depth]
        if place[depth] >= n_ordered[depth]:
            level[depth] += 1
            if level[depth] >= levels.first[d + 1]:
                depth -= 1
                continue
            _by_group(state, prices, levels, level[depth], d, rows[depth], n_rows[depth], counts, ordered[depth])
            scratch.work[0] += n_rows[depth] + levels.n_groups[level[depth]]
            n_ordered[depth] = n_rows[depth]
            place[depth] = 0
            continue
        begin = place[depth]
        price = base[depth] + levels.price[_group_of(state, prices, levels, level[depth], d, ordered[depth, begin])]
        place[depth], n_kept, dearer, records = _gather(
            state, prices, rules, levels, level[depth], d, ordered[depth], begin, n_ordered[depth], price,
            rows[depth + 1], fills,
        )  # fmt: skip
        if dearer >= least and records >= rules.min_size:
            depth += 1
            n_rows[depth] = n_kept
            base[depth] = price
            n_ordered[depth] = 0
            place[depth] = 0
            if depth < depths:
                level[depth] = levels.first[levels.order[depth]] - 1
    return saved


@inner_jit
def _along_line(state, line):  # type: ignore[no-untyped-def]
    """Tuples in the order of the dimension that is cut into windows."""
    n = state.codes.shape[0]
    ranked = np.empty(n, np.int64)
    for i in range(n):
        code = state.codes[i, line] if line >= 0 else np.int64(0)
        ranked[i] = code * n + i
    sort_up(ranked)
    for i in range(n):
        ranked[i] %= n
    return ranked


@inner_jit
def search_boxes(state, prices, rules, levels, n_passes, n_plain, most_work, stop, spare):  # type: ignore[no-untyped-def]
    """Passes over all boxes, or as many as the work allows, each followed by small changes; until one saves little.

    Args:
        n_plain: passes before classes that are too small are completed with records of cheaper ones.
        most_work: tuples looked at in a pass.
    """
    scratch = _scratch(state.codes.shape[0], state.head.size, most_work)
    first = _along_line(state, levels.line)
    now = total_price(state)
    for p in range(n_passes):
        last = now
        scratch.work[0] = 0
        _find_others(state, prices, rules, scratch, stop, spare)
        _dissolve(state, prices, rules, scratch, stop, spare)
        _enumerate(state, prices, rules, levels, scratch, first, np.bool_(p >= n_plain), stop, spare)
        move_tuples(state, prices, rules, spare, stop)
        trim_classes(state, prices, rules, spare, stop)
        now = total_price(state)
        if stop[0] != 0 or (p >= n_plain and (last - now) * 1000 < last):
            break
