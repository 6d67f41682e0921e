"""Building the classes of a few tuples anew: bottom-up by merging, or one after the other by growing."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.jit import inner_jit, leaf_jit
from tablecloak.kernels.compiled.rules import admitted, shortfall
from tablecloak.kernels.compiled.sorting import copy_into
from tablecloak.kernels.compiled.states import SET, cell_price, widened

__all__ = ["agglomerate", "grow_classes", "next_random", "union_price"]

NEVER = np.inf
TOLERANCE = 1e-9
MOST = np.int64(1) << 60


@leaf_jit
def next_random(x):  # type: ignore[no-untyped-def]
    """The next number below 2**31 of a linear congruential sequence."""
    return (x * np.int64(1103515245) + np.int64(12345)) & np.int64(0x7FFFFFFF)


@leaf_jit
def union_price(prices, lo, hi, a, b, limit):  # type: ignore[no-untyped-def]
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
def _score(prices, lo, hi, size, price, jitter, i, j, enough, best):  # type: ignore[no-untyped-def]
    """Price added by merging two clusters, for each record that counts towards the size wanted."""
    total = size[i] + size[j]
    counts = float(min(total, enough))
    base = size[i] * price[i] + size[j] * price[j]
    # a little above what could still win, so that rounding never hides a tie
    limit = ((best * counts + base) / total) * (1 + 1e-9) + 1
    united = union_price(prices, lo, hi, i, j, limit)
    return (total * united - base) / counts * (jitter[i] * jitter[j])


@leaf_jit
def _offer(score, i, j, nearest, least):  # type: ignore[no-untyped-def]
    if score < least[i] or (score == least[i] and j < nearest[i]):
        least[i] = score
        nearest[i] = j


@leaf_jit
def _absorb(prices, lo, hi, size, price, hist, a, b):  # type: ignore[no-untyped-def]
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
def _numbered(parent, is_enough, class_of):  # type: ignore[no-untyped-def]
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
def agglomerate(codes, weights, values, prices, rules, noise, seed, class_of):  # type: ignore[no-untyped-def]
    """Merge the two clusters that cost least until all satisfy the goal: number of classes, 0 if some never do.

    Args:
        noise: every score is raised by up to this share, so that another seed gives other classes.
    """
    n = codes.shape[0]
    enough = rules.min_size
    lo, hi = np.empty(codes.shape, np.int64), np.empty(codes.shape, np.int64)
    size, price = np.empty(n, np.int64), np.zeros(n, np.int64)
    hist = np.zeros((n, rules.shares.size), np.int64)
    parent, live, jitter = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    is_enough = np.zeros(n, np.bool_)
    nearest, least = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        copy_into(lo[i], codes[i])
        copy_into(hi[i], codes[i])
        size[i], parent[i], live[i], nearest[i], least[i] = weights[i], i, i, n, NEVER
        seed = next_random(seed)
        jitter[i] = 1.0 + noise * (seed / 2147483648.0)
        for v in range(values.shape[1]):
            hist[i, values[i, v]] += weights[i]
        is_enough[i] = admitted(rules, hist[i], size[i])
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
        b = nearest[a]
        parent[b] = a
        _absorb(prices, lo, hi, size, price, hist, a, b)
        is_enough[a] = admitted(rules, hist[a], size[a])
        kept = np.int64(0)
        for q in range(n_live):
            if live[q] != b:
                live[kept] = live[q]
                kept += 1
        n_live = kept
        least[a], nearest[a] = NEVER, n
        for q in range(n_live):
            i = live[q]
            if i == a or is_enough[i] or (nearest[i] != a and nearest[i] != b):
                continue
            least[i], nearest[i] = NEVER, n
            for r in range(n_live):
                j = live[r]
                if j != i and j != a:  # noqa: PLR1714
                    score = _score(prices, lo, hi, size, price, jitter, i, j, enough, least[i])
                    _offer(score, i, j, nearest, least)
        for q in range(n_live):
            j = live[q]
            if j == a or (is_enough[a] and is_enough[j]):
                continue
            best = max(least[a] if not is_enough[a] else -1.0, least[j] if not is_enough[j] else -1.0)
            score = _score(prices, lo, hi, size, price, jitter, a, j, enough, best)
            _offer(score, a, j, nearest, least)
            _offer(score, j, a, nearest, least)
    return _numbered(parent, is_enough, class_of)


@leaf_jit
def _helps(rules, hist, size, tuple_values, weight, now, spare):  # type: ignore[no-untyped-def]
    """Whether a tuple brings a class nearer to its rules, or leaves it within them."""
    copy_into(spare, hist)
    for v in range(tuple_values.size):
        spare[tuple_values[v]] += weight
    after = shortfall(rules, spare, size + weight)
    return after <= TOLERANCE or after < now - TOLERANCE


@leaf_jit
def _seed_of(codes, prices, free, n_free, last):  # type: ignore[no-untyped-def]
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
def grow_classes(codes, weights, values, prices, rules, last, class_of, spare):  # type: ignore[no-untyped-def]
    """Grow one class after the other by the tuple that widens it least among those that help it towards its rules.

    Returns the number of classes; tuples that no class could use have class -1. The first seed lies far from `last`.
    """
    n, n_dims = codes.shape
    hist = np.zeros(rules.shares.size, np.int64)
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
            grown[n_grown] = i
            n_grown += 1
            size += weights[i]
            for v in range(values.shape[1]):
                hist[values[i, v]] += weights[i]
            for d in range(n_dims):
                if prices.kind[d] == SET:
                    lo[d] |= codes[i, d]
                else:
                    lo[d] = min(lo[d], codes[i, d])
                    hi[d] = max(hi[d], codes[i, d])
            is_enough = admitted(rules, hist, size)
            if is_enough:
                break
            now = shortfall(rules, hist, size)
            least, new = MOST, np.int64(-1)
            for q in range(n_free):
                j = free[q]
                price = np.int64(0)
                for d in range(n_dims):
                    price += widened(prices, d, lo[d], hi[d], codes[j, d])
                    if price >= least:
                        break
                if price < least and _helps(rules, hist, size, values[j], weights[j], now, spare):
                    least, new = price, q
        if is_enough:
            for m in range(n_grown):
                class_of[grown[m]] = n_classes
            n_classes += 1
    return n_classes
