"""Groups of codes from fine to coarse, of which the box search makes its boxes; flat, so that kernels can read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.prices import SET, Prices, cell_prices
from tablecloak.kernels.space import IntArray, Space

__all__ = ["Levels", "make_levels"]

TREE = 1
# A dimension without a hierarchy is halved this often.
HALVINGS = 6


class Levels(NamedTuple):
    """Of every dimension its levels, exact codes first; of every level the group of each code and its price."""

    first: IntArray  # (n_dims + 1,) first level of each dimension
    start: IntArray  # (n_levels,) where the codes of a level begin in `group` and `price`
    n_groups: IntArray  # (n_levels,)
    group: NDArray[np.int32]
    price: NDArray[np.int32]
    order: IntArray  # dimensions in the order in which boxes are narrowed; the one cut into windows is not among them
    line: int  # the dimension that is cut into windows, -1: none


def make_levels(space: Space, prices: Prices, dims: IntArray, random: np.random.Generator | None) -> Levels:
    """Levels of all dimensions; chance, where given, orders the dimensions and the values of sets anew.

    Args:
        prices: of the dimensions in the order of the space.
        dims: the order in which the kernel has them.
    """
    line = _longest_line(space, prices)
    levels = [_levels(space, prices, d, random) if d != line else [] for d in dims.tolist()]
    flat = [(groups, price) for own in levels for groups, price in own]
    line = int(np.flatnonzero(dims == line)[0]) if line >= 0 else line
    others = np.array([d for d in np.argsort(space.n_codes[dims], kind="stable") if d != line], np.int64)
    sizes = [len(groups) for groups, _ in flat]
    none = [np.zeros(0, np.int32)]
    return Levels(
        first=np.concatenate([[0], np.cumsum([len(own) for own in levels])]).astype(np.int64),
        start=np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)].astype(np.int64),
        n_groups=np.array([int(groups.max()) + 1 for groups, _ in flat], np.int64),
        group=np.concatenate([*(groups.astype(np.int32) for groups, _ in flat), *none]),
        price=np.concatenate([*(price.astype(np.int32) for _, price in flat), *none]),
        order=others if random is None else random.permutation(others),
        line=line,
    )


def _longest_line(space: Space, prices: Prices) -> int:
    """The dimension without a hierarchy that has most codes."""
    lines = [d for d in range(space.n_dims) if space.kind[d] != TREE and not prices.is_set(d)]
    return max(lines, key=lambda d: int(space.n_codes[d]), default=-1)


def _levels(
    space: Space, prices: Prices, d: int, random: np.random.Generator | None
) -> list[tuple[IntArray, IntArray]]:
    """Groups and prices of one dimension's codes, level by level; equal levels once."""
    n = int(space.n_codes[d])
    if space.kind[d] == TREE:
        rows = slice(int(space.tree_start[d]), int(space.tree_start[d]) + n)
        ends = [space.ends[rows, depth].astype(np.int64) for depth in range(space.ends.shape[1] - 1, -1, -1)]
    else:
        ends = _halves(n)
    found: list[tuple[IntArray, IntArray]] = []
    for last in [np.arange(n), *ends]:
        groups = np.unique(last, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if prices.is_set(d) and random is not None and groups.max() < n - 1:
            groups = groups[random.permutation(n)]
        if not any((groups == other).all() for other, _ in found):
            found.append((groups, _group_prices(prices, d, groups)))
    return found


def _halves(n: int) -> list[IntArray]:
    """The last code of the half, quarter, ... that holds a code, fine ones first."""
    codes = np.arange(n, dtype=np.int64)
    parts = [1 << j for j in range(HALVINGS, -1, -1) if 1 << j < n]
    return [((codes * p // n + 1) * n + p - 1) // p - 1 for p in parts]


def _group_prices(prices: Prices, d: int, groups: IntArray) -> IntArray:
    """The price of each code's group."""
    n_groups = int(groups.max()) + 1
    codes = np.arange(len(groups))
    if prices.kind[d] == SET:
        lo, hi = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
        np.bitwise_or.at(lo, groups, np.left_shift(np.int64(1), codes))
    else:
        lo, hi = np.full(n_groups, len(groups)), np.zeros(n_groups, np.int64)
        np.minimum.at(lo, groups, codes)
        np.maximum.at(hi, groups, codes)
    return cell_prices(prices, d, lo, hi)[groups]
