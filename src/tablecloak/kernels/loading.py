"""Compiled kernels before they are needed: loaded while a file is being read, compiled once for every version."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels import dispatch
from tablecloak.kernels.auction import AuctionSteps, auction
from tablecloak.kernels.box_search import make_levels, search_boxes, search_loop
from tablecloak.kernels.cutting import count_codes, descend, propose, sizes, split
from tablecloak.kernels.keys import add_codes, group_keys
from tablecloak.kernels.packed_codes import Space, plan_layout
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.refining import Steps, refine
from tablecloak.kernels.rules import only_size


def preload(n_tuples: int, *, refines: bool = False) -> None:
    """Begin loading the kernels that a table of this many tuples will need, while its file is being read."""
    if not dispatch.pays(n_tuples, dispatch.REFINED_FROM if refines else None):
        return

    def load() -> None:
        with _uncollected():
            warm_up(refines=refines)

    thread = threading.Thread(target=load, daemon=True)
    dispatch.LOADING.append(thread)
    thread.start()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looks for garbage: loading a compiler makes a hundred thousand things that stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def must_compile(*, as_sets: bool) -> bool:
    """Whether kernels that search for boxes were not compiled yet, in this version."""
    return not dispatch.was_kept(search_loop(as_sets=as_sets))


def warm_up(*, refines: bool = False, as_sets: bool = False) -> None:
    """Load (or, the first time ever, compile) kernels by using each on two tuples.

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
    group_keys.compiled(keys)
    sizes.compiled(weights, starts, ends)
    untried = np.zeros((1, 1), np.bool_)
    dims, cuts, ties, _, _ = propose.compiled(
        keys, weights, starts, ends, space, untried, min_size=1, by_saving=True, relaxed=False
    )
    split.compiled(keys, ids, weights, starts, ends, space, dims, cuts, ties)
    count_codes.compiled(keys, weights, starts, ends, space, 1, 2)
    descend.compiled(keys, ids, weights, 0, 2, space, min_size=1, by_saving=True, relaxed=False)
    for kind in (np.uint8, np.uint16, np.uint32, np.int64):
        values: NDArray[np.integer[Any]] = np.zeros(1, kind)
        values.flags.writeable = False  # as columns of frames are
        add_codes.compiled(np.zeros(1, np.uint64), values, 0, np.zeros(1, np.uint64))
    alone, one, stop = np.zeros((2, 0), np.int64), np.ones(2, np.int64), np.zeros(1, np.int64)
    rules, order, steps = only_size(1), np.zeros(1, np.int64), Steps(sweeps=1, boxes=1, work=1)
    for is_set in [False] * refines + [True] * as_sets:
        prices, codes = make_prices(space, np.full(1, is_set)), np.array([[1], [2]] if is_set else [[0], [1]])
        levels = make_levels(space, prices, order, None)
        refine.compiled(codes, one, alone, np.arange(2), prices, rules, steps=steps, seed=0, stop=stop)
        search_boxes.compiled(
            codes, one, alone, np.arange(2), prices, rules, levels=levels, steps=steps, seed=0, stop=stop
        )
    if refines:
        prices = make_prices(space, np.zeros(1, np.bool_))
        levels = make_levels(space, prices, order, None, has_windows=False)
        sale = AuctionSteps(listing=1, work=1)
        auction.compiled(
            np.array([[0], [1]]), one, np.arange(2), prices, 1, levels=levels, steps=sale, seed=0, stop=stop
        )
