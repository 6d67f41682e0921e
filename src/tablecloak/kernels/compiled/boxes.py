"""Box search: for every box of groups of codes, would a class of the records in it lower the loss?

Boxes are enumerated depth first, one dimension after the other, from fine groups of codes to coarse ones; a box is left
as soon as too few of its records would gain. Records of a box leave classes that are dearer than the box. A class that
keeps enough records stays; one that does not is dissolved where others take the rest at a price that the gain pays for.
"""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.bunches import list_classes
from tablecloak.kernels.compiled.changes import move_tuples, new_state, total_price, trim_classes
from tablecloak.kernels.compiled.jit import inner_jit, jit, leaf_jit
from tablecloak.kernels.compiled.proposals import begin_pass, choose, is_better, new_scratch, take
from tablecloak.kernels.compiled.sorting import copy_into, sort_up
from tablecloak.kernels.compiled.states import SET, cell_price, n_bits

__all__ = ["search_boxes"]

# Records of a window in halves of the least class size; wider windows hold records of more classes.
N_WIDTHS = 6
# Windows of one box that are taken, or tried in vain.
MOST_TAKEN, MOST_FAILED = 20, 3


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
def _best_window(state, prices, rules, scratch, rows, n, line, base, fills, failed, spare):  # type: ignore[no-untyped-def]
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
                choose(state, rules, scratch, rows, a, b, price, fills)
                scratch.work[0] += b - a
                if is_better(state, rules, scratch, most, spare):
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
        a, b = _best_window(state, prices, rules, scratch, rows, n, line, base, fills, failed[:n_failed], spare)
        if b == 0:
            break
        price = base
        if line >= 0:
            price += cell_price(prices, line, state.codes[rows[a], line], state.codes[rows[b - 1], line])
        choose(state, rules, scratch, rows, a, b, price, fills)
        own = take(state, prices, rules, scratch, spare)
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


@jit
def search_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, levels, stop):  # type: ignore[no-untyped-def]
    """Passes over all boxes, or as many as the work allows, each followed by small changes: (price before, after).

    It ends when a pass saves little.
    """
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.shares.size)
    spare = np.zeros(rules.shares.size, np.int64)
    scratch = new_scratch(state.codes.shape[0], state.head.size, steps.work)
    first = _along_line(state, levels.line)
    before = total_price(state)
    now = before
    for p in range(steps.boxes):
        last = now
        begin_pass(state, prices, rules, scratch, stop, spare)
        _enumerate(state, prices, rules, levels, scratch, first, np.bool_(p >= steps.plain), stop, spare)
        list_classes(state, prices)
        move_tuples(state, prices, rules, spare, stop)
        trim_classes(state, prices, rules, spare, stop)
        now = total_price(state)
        if stop[0] != 0 or (p >= steps.plain and (last - now) * 1000 < last):
            break
    return before, now
