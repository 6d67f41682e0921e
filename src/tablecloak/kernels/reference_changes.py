"""Plain-numpy changes of the classes of a block: the same, in the same order, as `compiled/changes.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.prices import SET, TABLE, Prices, cell_prices
from tablecloak.kernels.reference_rules import admitted
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray

__all__ = ["Block", "dissolve_classes", "move_tuples", "trim_classes"]

PAIRS_UP_TO = 48
Bools = NDArray[np.bool_]


class Block:
    """Tuples with their classes, and the box, size and price of every class."""

    def __init__(
        self, codes: IntArray, weights: IntArray, values: IntArray, class_of: IntArray, prices: Prices
    ) -> None:
        self.codes, self.weights, self.values, self.prices = codes, weights, values, prices
        self.n_dims = codes.shape[1]
        self.is_set = prices.kind == SET
        self.flat = np.flatnonzero(prices.kind == TABLE)  # dimensions priced in one go
        self.others = np.flatnonzero(prices.kind != TABLE).tolist()
        self.assign(class_of)

    def assign(self, class_of: IntArray) -> None:
        """Give every tuple another class; those of class -1 wait for one."""
        self.class_of = class_of
        self.n_used = int(class_of.max()) + 1
        self.room = 2 * self.n_used + len(class_of) // 8 + 8
        self.size, self.price = np.zeros(self.room, np.int64), np.zeros(self.room, np.int64)
        self.lo, self.hi = (np.zeros((self.n_dims, self.room), np.int64) for _ in range(2))
        for g in range(self.n_used):
            self.rebuild(g)

    def members(self, g: int) -> IntArray:
        return np.flatnonzero(self.class_of == g)

    def box(self, members: IntArray) -> tuple[IntArray, IntArray]:
        """Lowest and highest codes; of a set its mask, twice."""
        part = self.codes[members]
        union = np.bitwise_or.reduce(part, axis=0)
        return np.where(self.is_set, union, part.min(axis=0)), np.where(self.is_set, union, part.max(axis=0))

    def box_price(self, lo: IntArray, hi: IntArray) -> IntArray:
        """Prices of boxes given as (n_dims, n)."""
        p = self.prices
        place = p.start[self.flat, None] + lo[self.flat] * p.n[self.flat, None] + hi[self.flat]
        total: IntArray = p.table[place].sum(axis=0, dtype=np.int64)
        for d in self.others:
            total += cell_prices(p, d, lo[d], hi[d])
        return total

    def joined(self, lo: IntArray, hi: IntArray, other_lo: IntArray, other_hi: IntArray) -> tuple[IntArray, IntArray]:
        """Boxes (n_dims, n) united with other boxes."""
        is_set = self.is_set[:, None]
        if not self.is_set.any():
            return np.minimum(lo, other_lo), np.maximum(hi, other_hi)
        return (
            np.where(is_set, lo | other_lo, np.minimum(lo, other_lo)),
            np.where(is_set, lo | other_lo, np.maximum(hi, other_hi)),
        )

    def rebuild(self, g: int) -> None:
        members = self.members(g)
        self.lo[:, g], self.hi[:, g] = self.box(members)
        self.size[g] = self.weights[members].sum()
        self.price[g] = self.box_price(self.lo[:, g : g + 1], self.hi[:, g : g + 1])[0]

    def clear(self, g: int) -> None:
        self.size[g] = self.price[g] = 0

    def priced(self, members: IntArray) -> int:
        lo, hi = self.box(members)
        return int(self.box_price(lo[:, None], hi[:, None])[0])

    def holds(self, rules: Rules, members: IntArray) -> bool:
        """Whether a class of these members would satisfy the goal."""
        size = int(self.weights[members].sum())
        if size < rules.min_size or len(rules.kind) == 0:
            return size >= rules.min_size
        hist = np.zeros(len(rules.shares), np.int64)
        for v in range(self.values.shape[1]):
            np.add.at(hist, self.values[members, v], self.weights[members])
        return admitted(rules, hist, size)

    def cheapest(
        self, rules: Rules, i: int, own: int, best: int, tentative: dict[int, list[int]] | None = None
    ) -> tuple[int, int]:
        """The class that a tuple joins at least added price, below `best`: (class or -1, added price)."""
        used = slice(0, self.n_used)
        code = self.codes[i][:, None]
        price = self.box_price(*self.joined(self.lo[:, used], self.hi[:, used], code, code))
        size = self.size[used]
        added = (size + self.weights[i]) * price - size * self.price[used]
        added[(size == 0)] = best
        if 0 <= own < self.n_used:
            added[own] = best
        if len(rules.kind) == 0:
            g = int(np.argmin(added))
            return (g, int(added[g])) if added[g] < best else (-1, best)
        for g in np.argsort(added, kind="stable").tolist():
            if added[g] >= best:
                break
            extra = (tentative or {}).get(g, [])
            if self.holds(rules, np.concatenate([self.members(g), np.array([*extra, i], np.int64)])):
                return g, int(added[g])
        return -1, best

    def relocate(self, rules: Rules, members: IntArray, own: int, budget: int) -> bool:
        """Move tuples out of a class if others take them for less than the budget; all or none."""
        before: dict[int, tuple[IntArray, IntArray, int, int]] = {}
        joins: dict[int, list[int]] = {}
        left = budget
        for i in members.tolist():
            g, added = self.cheapest(rules, i, own, left, joins)
            if g < 0:
                for h, (lo, hi, size, price) in before.items():
                    self.lo[:, h], self.hi[:, h], self.size[h], self.price[h] = lo, hi, size, price
                return False
            left -= added
            if g not in before:
                before[g] = (self.lo[:, g].copy(), self.hi[:, g].copy(), int(self.size[g]), int(self.price[g]))
            joins.setdefault(g, []).append(i)
            lo, hi = self.joined(self.lo[:, g : g + 1], self.hi[:, g : g + 1], *2 * (self.codes[i][:, None],))
            self.lo[:, g], self.hi[:, g] = lo[:, 0], hi[:, 0]
            self.size[g] += self.weights[i]
            self.price[g] = self.box_price(lo, hi)[0]
        for g, joined in joins.items():
            self.class_of[joined] = g
        return True

    def total(self) -> int:
        return int((self.size * self.price).sum())

    def free_class(self) -> int:
        free = np.flatnonzero(self.size[: self.n_used] == 0)
        if len(free):
            return int(free[0])
        if self.n_used < self.room:
            self.n_used += 1
            return self.n_used - 1
        return -1


def move_tuples(block: Block, rules: Rules, stop: IntArray) -> None:
    for i in range(len(block.codes)):
        if stop[0]:
            break
        g = int(block.class_of[i])
        if block.price[g] == 0 or block.size[g] - block.weights[i] < max(1, rules.min_size):
            continue
        members = block.members(g)
        rest = members[members != i]
        if not block.holds(rules, rest):
            continue
        saved = int(block.size[g] * block.price[g] - (block.size[g] - block.weights[i]) * block.priced(rest))
        to, _ = block.cheapest(rules, i, g, saved)
        if to >= 0:
            block.class_of[i] = to
            block.rebuild(g)
            block.rebuild(to)


def dissolve_classes(block: Block, rules: Rules, stop: IntArray) -> None:
    for g in range(block.n_used):
        if stop[0]:
            break
        if block.size[g] == 0 or block.price[g] == 0:
            continue
        if block.relocate(rules, block.members(g), g, int(block.size[g] * block.price[g])):
            block.clear(g)


def _kept_by_trim(block: Block, rules: Rules, members: IntArray, g: int, d: int) -> Bools | None:
    """Members that stay in the trim that saves most per record put out, None if there is none."""
    prices = block.prices
    codes, inverse = np.unique(block.codes[members, d], return_inverse=True)
    if block.is_set[d]:
        order = np.argsort(codes.astype(np.uint64))
        kept = [(mask, None) for mask in (~codes[order] & block.lo[d, g]).tolist() if mask]
        stays = [(block.codes[members, d] & mask) > 0 for mask, _ in kept]
        ends = [(mask, 0) for mask, _ in kept]
    else:
        n = len(codes)
        pairs = [(a, b) for a in range(n) for b in range(n - 1, a - 1, -1)]
        if n > PAIRS_UP_TO:
            pairs = [(a, b) for a, b in pairs if a == 0 or b == n - 1]
        stays = [(inverse >= a) & (inverse <= b) for a, b in pairs]
        ends = [(int(codes[a]), int(codes[b])) for a, b in pairs]
    size, price = int(block.size[g]), int(block.price[g])
    own = int(cell_prices(prices, d, block.lo[d, g : g + 1], block.hi[d, g : g + 1])[0])
    best, found = -1.0, None
    if not ends:
        return None
    lows, highs = (np.array(side, np.int64) for side in zip(*ends, strict=True))
    for stay, kept_price in zip(stays, cell_prices(prices, d, lows, highs), strict=True):
        n_kept = int(block.weights[members[stay]].sum())
        if n_kept < rules.min_size or n_kept == size or (kept_price >= own and not block.is_set[d]):
            continue
        saved = (size * price - n_kept * (price - own + int(kept_price))) / (size - n_kept)
        if saved > best:
            best, found = saved, stay
    return found


def trim_classes(block: Block, rules: Rules, stop: IntArray) -> None:
    for g in range(block.n_used):
        for d in range(block.n_dims):
            if stop[0] or block.size[g] == 0 or block.size[g] <= rules.min_size:
                break
            if cell_prices(block.prices, d, block.lo[d, g : g + 1], block.hi[d, g : g + 1])[0] == 0:
                continue
            members = block.members(g)
            stays = _kept_by_trim(block, rules, members, g, d)
            if stays is None or not block.holds(rules, members[stays]):
                continue
            kept = int(block.weights[members[stays]].sum()) * block.priced(members[stays])
            if block.relocate(rules, members[~stays], g, int(block.size[g] * block.price[g]) - kept):
                block.rebuild(g)
