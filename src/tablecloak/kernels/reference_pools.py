"""Plain-numpy building anew of pooled classes, equal to `compiled/pools.py` and `compiled/clustering.py`."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.reference_changes import Block, dissolve_classes, move_tuples, trim_classes
from tablecloak.kernels.reference_rules import admitted, shortfall
from tablecloak.kernels.rules import TOLERANCE, Rules
from tablecloak.kernels.space import FloatArray, IntArray
from tablecloak.kernels.steps import PROMISING

__all__ = ["agglomerate", "grow_classes", "rebuild_pools"]

PLACINGS = 3
MOST = 1 << 60


def next_random(x: int) -> int:
    """The next number below 2**31 of a linear congruential sequence."""
    return (x * 1103515245 + 12345) & 0x7FFFFFFF


def _jitter(n: int, noise: float, seed: int) -> FloatArray:
    found = np.empty(n)
    for i in range(n):
        seed = next_random(seed)
        found[i] = 1.0 + noise * (seed / 2147483648.0)
    return found


def _counts(block: Block, rules: Rules) -> IntArray:
    """Sensitive values of every tuple, (n, n_places)."""
    hist = np.zeros((len(block.codes), len(rules.shares)), np.int64)
    for v in range(block.values.shape[1]):
        hist[np.arange(len(hist)), block.values[:, v]] += block.weights
    return hist


def agglomerate(block: Block, rules: Rules, noise: float, seed: int) -> IntArray | None:
    """Classes of all tuples by merging the two clusters that cost least; None if some never satisfy the goal."""
    n = len(block.codes)
    lo, hi, size, price = block.codes.T.copy(), block.codes.T.copy(), block.weights.copy(), np.zeros(n, np.int64)
    hist, jitter, root = _counts(block, rules), _jitter(n, noise, seed), np.arange(n)
    is_enough = np.array([admitted(rules, hist[i], int(size[i])) for i in range(n)])
    is_live = np.ones(n, bool)

    def scores(i: int) -> FloatArray:
        united = block.box_price(*block.joined(lo, hi, lo[:, i : i + 1], hi[:, i : i + 1]))
        total = size + size[i]
        base = size * price + size[i] * price[i]
        found = (total * united - base) / np.minimum(total, rules.min_size).astype(np.float64) * (jitter * jitter[i])
        found[i] = np.inf
        return np.where(is_live, found, np.inf)

    table = np.stack([scores(i) for i in range(n)])
    while is_live.sum() > 1 and (is_live & ~is_enough).any():
        open_clusters = np.flatnonzero(is_live & ~is_enough)
        a = int(open_clusters[np.argmin(table[open_clusters].min(axis=1))])
        b = int(np.argmin(table[a]))
        root[root == b] = a
        is_live[b] = False
        size[a] += size[b]
        hist[a] += hist[b]
        joined = block.joined(lo[:, a : a + 1], hi[:, a : a + 1], lo[:, b : b + 1], hi[:, b : b + 1])
        lo[:, a], hi[:, a] = joined[0][:, 0], joined[1][:, 0]
        price[a] = block.box_price(*joined)[0]
        is_enough[a] = admitted(rules, hist[a], int(size[a]))
        table[b], table[:, b] = np.inf, np.inf
        table[a] = scores(a)
        table[:, a] = table[a]
    if not is_enough[root].all():
        return None
    first = {r: c for c, r in enumerate(dict.fromkeys(root.tolist()))}
    return np.array([first[r] for r in root.tolist()], np.int64)


def grow_classes(block: Block, rules: Rules, last: int) -> IntArray:
    """Classes grown one after the other from far seeds; -1 for tuples that no class could use."""
    codes, hists = block.codes.T, _counts(block, rules)
    class_of = np.full(codes.shape[1], -1, np.int64)
    free = np.arange(codes.shape[1])
    n_classes = 0
    while len(free):
        box = codes[:, last : last + 1], codes[:, last : last + 1]
        new = int(np.argmax(block.box_price(*block.joined(*box, codes[:, free], codes[:, free]))))
        last = int(free[new])
        lo = hi = codes[:, last : last + 1]
        hist, size, grown, is_enough = np.zeros_like(rules.shares, np.int64), 0, [], False
        while new >= 0 and not is_enough:
            i = int(free[new])
            free = np.delete(free, new)
            grown.append(i)
            size, hist = size + int(block.weights[i]), hist + hists[i]
            lo, hi = block.joined(lo, hi, codes[:, i : i + 1], codes[:, i : i + 1])
            is_enough = admitted(rules, hist, size)
            if not is_enough:
                new = _next_helper(block, rules, free, lo, hi, hist, size, hists)
        if is_enough:
            class_of[grown] = n_classes
            n_classes += 1
    return class_of


def _next_helper(
    block: Block, rules: Rules, free: IntArray, lo: IntArray, hi: IntArray, hist: IntArray, size: int, hists: IntArray
) -> int:
    """Place of the free tuple that widens a class least among those that help it towards its rules, -1: none."""
    codes = block.codes.T[:, free]
    now = shortfall(rules, hist, size)
    order: list[int] = np.argsort(block.box_price(*block.joined(lo, hi, codes, codes)), kind="stable").tolist()
    for q in order:
        i = int(free[q])
        after = shortfall(rules, hist + hists[i], size + int(block.weights[i]))
        if after <= TOLERANCE or after < now - TOLERANCE:
            return q
    return -1


def _grown(block: Block, rules: Rules, seed: int) -> bool:
    """Grow the classes of a block and place what is left; whether every tuple found a class."""
    class_of = grow_classes(block, rules, seed % len(block.codes))
    block.assign(class_of)
    left = np.flatnonzero(class_of < 0).tolist()
    if class_of.max() < 0:
        return False
    for _ in range(PLACINGS):
        kept = []
        for i in left:
            g, _price = block.cheapest(rules, i, -1, MOST)
            if g < 0:
                kept.append(i)
                continue
            block.class_of[i] = g
            block.rebuild(g)
        left = kept
    return not left or _unite(block, rules, left)


def _unite(block: Block, rules: Rules, left: list[int]) -> bool:
    """Make tuples one class with as many of the first classes as the goal asks for; whether that was enough."""
    block.class_of[left] = 0
    block.rebuild(0)
    for g in range(1, block.n_used):
        if block.holds(rules, block.members(0)):
            break
        block.class_of[block.members(g)] = 0
        block.clear(g)
        block.rebuild(0)
    return block.holds(rules, block.members(0))


def _nearest_classes(block: Block, g: int, n: int) -> list[int]:
    used = slice(0, block.n_used)
    united = block.box_price(
        *block.joined(block.lo[:, used], block.hi[:, used], block.lo[:, g : g + 1], block.hi[:, g : g + 1])
    )
    size, price = block.size[used], block.price[used]
    score = united - (size * price + size[g] * price[g]) / np.maximum(1, size + size[g])
    score[(size == 0) | (np.arange(block.n_used) == g)] = np.inf
    order = np.argsort(score, kind="stable")[:n]
    return [int(h) for h in order if score[h] < np.inf]


def _adopt(block: Block, classes: list[int], members: IntArray, part: Block) -> None:
    """Give the members of classes the classes of a part of the table, if there is room."""
    new = [p for p in range(part.n_used) if part.size[p] > 0]
    if len(new) - len(classes) > block.room - block.n_used:
        return
    for c in classes:
        block.clear(c)
    block.class_of[members] = -1
    for place, p in enumerate(new):
        g = classes[place] if place < len(classes) else block.free_class()
        block.class_of[members[part.class_of == p]] = g
        block.rebuild(g)


def rebuild_pools(
    block: Block, rules: Rules, n_near: int, most: int, noise: float, seed: int, n_polishes: int, *,
    grows: bool, stop: IntArray,
) -> None:  # fmt: skip
    """Pool each class with its nearest, build the classes of the pool anew, and keep them where they are cheaper."""
    for g in range(block.n_used):
        if stop[0]:
            break
        n = len(block.members(g)) if block.size[g] else 0
        if n == 0 or block.price[g] == 0 or n > most:
            continue
        classes = [g]
        for h in _nearest_classes(block, g, n_near) if n_near else []:
            if n + len(block.members(h)) > most:
                break
            n += len(block.members(h))
            classes.append(h)
        if len(classes) == 1 and (n_near or block.size[g] < 2 * rules.min_size or n < 2):
            continue
        seed = next_random(seed)
        members = np.flatnonzero(np.isin(block.class_of, classes))
        now = int((block.size[classes] * block.price[classes]).sum())
        part = _part(block, members)
        if not (_grown(part, rules, seed) if grows else _merged(part, rules, noise, seed)):
            continue
        _polish(part, rules, now, n_polishes, stop)
        if part.total() < now:
            _adopt(block, classes, members, part)


def _polish(part: Block, rules: Rules, now: int, n_polishes: int, stop: IntArray) -> None:
    """Small changes of a pool, again as long as they help and it may still become cheaper than it was."""
    last = part.total() + 1
    for p in range(n_polishes):
        cost = part.total()
        if p > 0 and (cost >= last or cost * 100 > now * PROMISING):
            break
        last = cost
        for change in (move_tuples, trim_classes, dissolve_classes):
            change(part, rules, stop)


def _part(block: Block, members: IntArray) -> Block:
    whole = np.zeros(len(members), np.int64)
    return Block(block.codes[members], block.weights[members], block.values[members], whole, block.prices)


def _merged(part: Block, rules: Rules, noise: float, seed: int) -> bool:
    class_of = agglomerate(part, rules, noise, seed)
    if class_of is None:
        return False
    part.assign(class_of)
    return True
