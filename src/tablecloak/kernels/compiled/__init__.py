"""Compiled kernels of top-down partitioning. `reference.py` has the same functions in plain numpy.

Nodes are ranges `[start, end)` of tuples; tuples are physically moved so that every node stays contiguous and memory is
read in order. Loops index slices that begin at 0, which lets the compiler drop wrap-around checks and use SIMD.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.boxes import search_boxes
from tablecloak.kernels.compiled.coding import add_codes, count_leaves, covers, leaves_of
from tablecloak.kernels.compiled.counts import count_codes, sizes
from tablecloak.kernels.compiled.cuts import propose
from tablecloak.kernels.compiled.grouping import group
from tablecloak.kernels.compiled.jit import was_kept
from tablecloak.kernels.compiled.moves import descend, split
from tablecloak.kernels.compiled.refine import refine
from tablecloak.kernels.compiled.search import search
from tablecloak.kernels.compiled.variations import vary_boxes
from tablecloak.kernels.levels import make_levels
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.rules import only_size
from tablecloak.kernels.space import Space, plan_layout
from tablecloak.kernels.steps import Steps

__all__ = [
    "add_codes",
    "count_codes",
    "count_leaves",
    "covers",
    "descend",
    "group",
    "is_kept",
    "leaves_of",
    "propose",
    "refine",
    "search",
    "sizes",
    "split",
    "warm_up",
]


def warm_up(*, refines: bool = False, as_sets: bool = False) -> None:
    """Load (or, the first time ever, compile) every kernel by using it on two tuples.

    Args:
        refines: those that refine classes and search for boxes too, which take longest.
        as_sets: the search where columns are published as sets.
    """
    space = Space(
        n_dims=1,
        layout=plan_layout([2, 2]),
        kind=np.zeros(1, np.int64),
        has_missing=np.zeros(1, np.bool_),
        n_codes=np.full(1, 2, np.int64),
        weight=np.ones(1),
        start=np.zeros(1, np.int64),
        lower=np.array([0.0, 1.0]),
        upper=np.array([0.0, 1.0]),
        inner_lower=np.array([0.0, 1.0]),
        inner_upper=np.array([0.0, 1.0]),
        tree_start=np.zeros(1, np.int64),
        ends=np.zeros((0, 1), np.int32),
        end_losses=np.zeros((0, 1)),
    )
    keys = np.array([[0, 1]], np.uint64)
    ids, weights = np.arange(2, dtype=np.uint32), np.zeros(0, np.int64)
    starts, ends = np.array([0]), np.array([2])
    group(keys)
    sizes(weights, starts, ends)
    untried = np.zeros((1, 1), np.bool_)
    dims, cuts, ties, _, _ = propose(
        keys, weights, starts, ends, space, untried, min_size=1, by_saving=True, relaxed=False
    )
    split(keys, ids, weights, starts, ends, space, dims, cuts, ties)
    count_codes(keys, weights, starts, ends, space, 1, 2)
    descend(keys, ids, weights, 0, 2, space, min_size=1, by_saving=True, relaxed=False)
    for kind in (np.uint8, np.uint16, np.uint32, np.int64):
        values: NDArray[np.integer[Any]] = np.zeros(1, kind)
        values.flags.writeable = False  # as columns of frames are
        add_codes(np.zeros(1, np.uint64), values, 0, np.zeros(1, np.uint64))
    alone, one, none = np.zeros((2, 0), np.int64), np.ones(2, np.int64), np.zeros(1, np.int64)
    rules, order = only_size(1), np.zeros(1, np.int64)
    for is_set in [False] * refines + [True] * as_sets:
        prices, codes = make_prices(space, np.full(1, is_set)), np.array([[1], [2]] if is_set else [[0], [1]])
        how: dict[str, Any] = {"steps": Steps(sweeps=1, boxes=1, work=1), "seed": 0, "stop": none}
        levels = make_levels(space, prices, order, None)
        refine(codes, one, alone, np.arange(2), prices, rules, **how)
        search(codes, one, alone, np.arange(2), prices, rules, levels=levels, **how)


def is_kept(*, as_sets: bool = False) -> bool:
    """Whether kernels that search for boxes were compiled before, in this version."""
    return was_kept(vary_boxes if as_sets else search_boxes)
