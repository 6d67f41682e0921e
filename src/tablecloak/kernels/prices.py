"""Prices of boxes as whole numbers, so that sums do not depend on the order in which they are added up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.kernels.dispatch import leaf_jit
from tablecloak.kernels.packed_codes import ORDERED, TREE, Space

# The price of one cell about which everything is lost, in an attribute of weight 1.
FULL = 1 << 20
# Dimensions with at most this many codes are priced by look-up.
TABLE_UP_TO = 256
# A set of values is one 64-bit word.
MOST_SET_VALUES = 64
TABLE, LINE, SPAN, BRANCH, SET = 0, 1, 2, 3, 4
NONE = -1


class Prices(NamedTuple):
    """How a box of codes is priced in each dimension; all entries are in one table.

    TABLE   price of [lo, hi] at lo * n + hi
    LINE    where boxes begin by their first code, then where they end by their last, on a line, then the most that one
            costs; all after the price of a box that mixes the missing value with others (or -1)
    SPAN    price by hi - lo, after the same
    BRANCH  of each code: last code of its ancestor at n depths, root first, then their prices
    SET     price by number of values, after the price of a set that mixes the missing value with others (or -1);
            such a dimension holds masks instead of codes, where bit `c` stands for code `c`
    """

    kind: IntArray  # (n_dims,)
    n: IntArray  # (n_dims,)
    start: IntArray  # (n_dims,) where the entries of a dimension begin
    table: NDArray[np.int32]

    def in_order(self, dims: IntArray) -> Prices:
        """The same prices with the dimensions in another order."""
        return Prices(self.kind[dims], self.n[dims], self.start[dims], self.table)

    def is_set(self, d: int) -> bool:
        """Whether a dimension holds masks."""
        return bool(self.kind[d] == SET)


def make_prices(space: Space, is_set: BoolArray) -> Prices:
    """Prices of the dimensions of a space; those marked are published as sets of values."""
    parts = [_entries(space, d, is_set=bool(is_set[d])) for d in range(space.n_dims)]
    return Prices(
        kind=np.array([kind for kind, _, _ in parts], np.int64),
        n=np.array([n for _, n, _ in parts], np.int64),
        start=np.concatenate([[0], np.cumsum([len(t) for _, _, t in parts])])[: len(parts)].astype(np.int64),
        table=np.concatenate([*(t for _, _, t in parts), np.zeros(0)]).astype(np.int32),
    )


def cell_prices(prices: Prices, d: int, lo: IntArray, hi: IntArray) -> IntArray:
    """Prices of boxes in one dimension; of a set only `lo` counts."""
    kind, n, start = int(prices.kind[d]), int(prices.n[d]), int(prices.start[d])
    table = prices.table
    if kind == TABLE:
        looked_up: IntArray = table[start + lo * n + hi].astype(np.int64)
        return looked_up
    if kind == SET:
        count = np.bitwise_count(lo.astype(np.uint64)).astype(np.int64)
        mixed = (count > 1) & ((lo & 1) > 0) & (table[start] >= 0)
        return np.where(mixed, table[start], table[start + 1 + count]).astype(np.int64)
    mixed = (lo == 0) & (table[start] >= 0)
    if kind == LINE:
        width = table[start + 1 + n + hi].astype(np.int64) - table[start + 1 + lo]
        price = np.where(mixed, table[start], np.minimum(width, table[start + 1 + 2 * n]))
    elif kind == SPAN:
        price = np.where(mixed, table[start], table[start + 1 + np.maximum(hi - lo, 0)])
    else:
        rows = table[start + lo[..., None] * 2 * n + np.arange(2 * n)]
        holds = rows[..., :n] >= hi[..., None]
        depth = n - 1 - np.argmax(holds[..., ::-1], axis=-1)
        price = np.take_along_axis(rows, n + depth[..., None], axis=-1)[..., 0]
    return np.where(lo >= hi, 0, price).astype(np.int64)


def _entries(space: Space, d: int, *, is_set: bool) -> tuple[int, int, FloatArray]:
    n = int(space.n_codes[d])
    n_values = max(1, n - int(space.has_missing[d]))
    mixed = [
        float(_whole(space.weight[d])) if space.has_missing[d] and (is_set or space.kind[d] != TREE) else float(NONE)
    ]
    shares = np.arange(max(n, MOST_SET_VALUES) + 1) / n_values
    if is_set:
        by_count = np.where(np.arange(len(shares)) > 1, np.minimum(1.0, shares), 0.0)
        return SET, n, np.concatenate([mixed, _whole(by_count * space.weight[d])])
    if n <= TABLE_UP_TO:
        lo, hi = np.divmod(np.arange(n * n), n)
        return TABLE, n, _whole(np.where(lo < hi, _losses(space, d, lo, np.maximum(lo, hi)), 0.0) * space.weight[d])
    if space.kind[d] == TREE:
        rows = slice(int(space.tree_start[d]), int(space.tree_start[d]) + n)
        branch = np.concatenate([space.ends[rows], _whole(space.end_losses[rows] * space.weight[d])], axis=1)
        return BRANCH, space.ends.shape[1], branch.reshape(-1)
    if space.kind[d] == ORDERED:
        part = slice(int(space.start[d]), int(space.start[d]) + n)
        line = np.concatenate([space.lower[part], space.upper[part], [1.0]])
        return LINE, n, np.concatenate([mixed, _whole(line * space.weight[d])])
    by_width = np.where(np.arange(n) > 0, shares[1 : n + 1], 0.0)
    return SPAN, n, np.concatenate([mixed, _whole(by_width * space.weight[d])])


def _whole(losses: FloatArray) -> FloatArray:
    return np.floor(losses * FULL + 0.5)


def _losses(space: Space, d: int, lo: IntArray, hi: IntArray) -> FloatArray:
    if space.kind[d] == TREE:
        row = space.tree_start[d] + lo
        holds = space.ends[row] >= hi[..., None]  # (..., depth), root first
        depth = holds.shape[-1] - 1 - np.argmax(holds[..., ::-1], axis=-1)
        losses = space.end_losses[row, depth]
    elif space.kind[d] == ORDERED:
        losses = np.minimum(1.0, space.upper[space.start[d] + hi] - space.lower[space.start[d] + lo])
    else:
        losses = (hi - lo + 1) / max(1.0, float(space.n_codes[d] - space.has_missing[d]))
    mixed = (lo == 0) & bool(space.has_missing[d] and space.kind[d] != TREE)
    return np.where(lo >= hi, 0.0, np.where(mixed, 1.0, losses))


# The same prices of one box in one dimension, for loops.


@leaf_jit
def n_bits(mask):
    x = np.uint64(mask)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    # bytes are added up by shifts: a product would overflow, which plain numpy warns of
    x = x + (x >> np.uint64(8))
    x = x + (x >> np.uint64(16))
    x = x + (x >> np.uint64(32))
    return np.int64(x & np.uint64(0x7F))


@leaf_jit
def set_price(table, start, mask):
    n = n_bits(mask)
    if n > 1 and mask & 1 and table[start] >= 0:
        return np.int64(table[start])  # a missing cell among others can only be published as anything
    return np.int64(table[start + 1 + n])


@leaf_jit
def interval_price(table, kind, n, start, lo, hi):  # noqa: PLR0911
    if kind == TABLE:
        return np.int64(table[start + lo * n + hi])
    if lo >= hi:
        return np.int64(0)
    if kind == BRANCH:
        row = start + lo * 2 * n
        for depth in range(n - 1, 0, -1):
            if table[row + depth] >= hi:
                return np.int64(table[row + n + depth])
        return np.int64(table[row + n])
    if lo == 0 and table[start] >= 0:
        return np.int64(table[start])
    if kind == LINE:
        width = np.int64(table[start + 1 + n + hi]) - np.int64(table[start + 1 + lo])
        return min(width, np.int64(table[start + 1 + 2 * n]))
    return np.int64(table[start + 1 + hi - lo])


@leaf_jit
def cell_price(prices, d, lo, hi):
    """Price of a box in one dimension; of a set only `lo` counts."""
    if prices.kind[d] == SET:
        return set_price(prices.table, prices.start[d], lo)
    return interval_price(prices.table, prices.kind[d], prices.n[d], prices.start[d], lo, hi)


@leaf_jit
def lies_in(prices, d, lo, hi, code):
    """Whether a box holds a code in one dimension; of a set only `lo` counts."""
    if prices.kind[d] == SET:
        return code & lo != 0
    return lo <= code <= hi


@leaf_jit
def widened(prices, d, lo, hi, code):
    """Price of a box in one dimension after a code joined it."""
    if prices.kind[d] == SET:
        return set_price(prices.table, prices.start[d], lo | code)
    return interval_price(prices.table, prices.kind[d], prices.n[d], prices.start[d], min(lo, code), max(hi, code))
