"""Compiled kernels before they are needed: which a run needs, and how each is loaded, or compiled the first time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.garbage import keep_what_was_loaded
from tablecloak.kernels import auction as selling
from tablecloak.kernels import box_search as searching
from tablecloak.kernels import cutting as cuts
from tablecloak.kernels import dispatch, keys, refining, trimming
from tablecloak.kernels.packed_codes import Space, plan_layout
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.rules import only_size


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel that is loaded, or compiled the first time ever, by using it on two tuples."""

    name: str  # what it does, in plain words
    loops: tuple[dispatch.Loop, ...]  # that are kept on disk
    use: Callable[[], object]
    is_refining: bool = False  # such steps share most of their code, and are compiled by one process

    @property
    def is_kept(self) -> bool:
        """Whether it was compiled in this version."""
        return all(dispatch.was_kept(loop) for loop in self.loops)


def needed(
    *, refines: bool = False, boxes: bool = True, auctions: bool = True, as_sets: bool = False, trims: bool = False
) -> tuple[Step, ...]:
    """What a search by cuts needs.

    Args:
        refines: and what changes classes afterwards, which takes longest to compile.
        boxes: with a search for boxes.
        auctions: and an auction.
        as_sets: columns are published as sets, for which boxes are searched otherwise and no auction is held.
        trims: and what puts outliers elsewhere, in large tables.
    """
    auctions = refines and auctions and not as_sets
    more = {REFINE: refines, BOXES: refines and boxes, SETS: as_sets, AUCTION: auctions, TRIM: trims}
    return tuple(step for step in STEPS if more.get(step, True))


def preload(n_tuples: int, *, refines: bool = False) -> None:
    """Begin loading the kernels that a table of this many tuples will need, while its file is being read.

    Those that were never compiled are left to the search, which says so.
    """
    if not dispatch.pays(n_tuples, dispatch.REFINED_FROM if refines else None):
        return

    def load() -> None:
        with _uncollected():
            warm_up(step for step in needed(refines=refines) if step.is_kept)
            keep_what_was_loaded()

    thread = threading.Thread(target=load, daemon=True)
    dispatch.LOADING.append(thread)
    thread.start()


def warm_up(steps: Iterable[Step]) -> None:
    """Load kernels, or compile them here and now."""
    for step in steps:
        step.use()


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


# Two tuples of one dimension, and what each kernel makes of them.

SPACE = Space(
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
NO_WEIGHTS, STARTS, ENDS = np.zeros(0, np.int64), np.array([0]), np.array([2])
ONES, NO_VALUES, FIRST, STOP = (
    np.ones(2, np.int64),
    np.zeros((2, 0), np.int64),
    np.zeros(1, np.int64),
    np.zeros(1, np.int64),
)


def _keys() -> NDArray[np.uint64]:
    return np.array([[0, 1]], np.uint64)


def _ids() -> NDArray[np.uint32]:
    return np.arange(2, dtype=np.uint32)


def _code() -> None:
    for kind in (np.uint8, np.uint16, np.uint32, np.int64):
        values: NDArray[np.integer[Any]] = np.zeros(1, kind)
        values.flags.writeable = False  # as columns of frames are
        keys.add_codes.compiled(np.zeros(1, np.uint64), values, 0, np.zeros(1, np.uint64))


def _propose() -> Any:
    untried = np.zeros((1, 1), np.bool_)
    return cuts.propose.compiled(
        _keys(), NO_WEIGHTS, STARTS, ENDS, SPACE, untried, min_size=1, by_saving=True, relaxed=False
    )


def _split() -> None:
    cut = np.zeros(1, np.int64)
    cuts.split.compiled(_keys(), _ids(), NO_WEIGHTS, STARTS, ENDS, SPACE, cut, cut, cut - 1)


def _descend() -> None:
    cuts.descend.compiled(_keys(), _ids(), NO_WEIGHTS, 0, 2, SPACE, min_size=1, by_saving=True, relaxed=False)


def _refine() -> None:
    steps, prices = refining.Steps(sweeps=1), make_prices(SPACE, np.zeros(1, np.bool_))
    codes, class_of = np.array([[0], [1]]), np.arange(2)
    refining.refine.compiled(codes, ONES, NO_VALUES, class_of, prices, only_size(1), steps=steps, seed=0, stop=STOP)


def _trim() -> None:
    starts, prices = np.array([0, 2]), make_prices(SPACE, np.zeros(1, np.bool_))
    codes, class_of, rules = np.array([[0], [1]]), np.arange(2), only_size(1)
    trimming.trim_blocks.compiled(
        codes, ONES, NO_VALUES, class_of, starts, np.array([2]), prices, rules, stop=STOP
    )  # fmt: skip


def _search(*, as_sets: bool) -> None:
    steps, prices = refining.Steps(sweeps=1, boxes=1, work=1), make_prices(SPACE, np.full(1, as_sets))
    codes, class_of = np.array([[1], [2]] if as_sets else [[0], [1]]), np.arange(2)
    levels = searching.make_levels(SPACE, prices, FIRST, None, has_windows=not as_sets)
    searching.search_boxes.compiled(
        codes, ONES, NO_VALUES, class_of, prices, only_size(1), levels=levels, steps=steps, seed=0, stop=STOP
    )


def _auction() -> None:
    steps, prices = selling.AuctionSteps(listing=1, work=1), make_prices(SPACE, np.zeros(1, np.bool_))
    levels = searching.make_levels(SPACE, prices, FIRST, None, has_windows=False)
    codes, class_of = np.array([[0], [1]]), np.arange(2)
    selling.auction.compiled(codes, ONES, class_of, prices, 1, levels=levels, steps=steps, seed=0, stop=STOP)


REFINE = Step("refines classes", (refining._refine,), _refine, is_refining=True)
TRIM = Step("puts outliers elsewhere", (trimming.trim_loop,), _trim, is_refining=True)
BOXES = Step("searches boxes", (searching._search_boxes,), lambda: _search(as_sets=False), is_refining=True)
SETS = Step("searches sets of values", (searching._vary_boxes,), lambda: _search(as_sets=True), is_refining=True)
AUCTION = Step("holds auctions", (selling._auction,), _auction)
# Those that take longest come first.
STEPS = (
    REFINE,
    SETS,
    BOXES,
    TRIM,
    AUCTION,
    Step("chooses cuts", (cuts._propose,), _propose),
    Step("cuts blocks", (cuts._descend,), _descend),
    Step("makes cuts", (cuts._split,), _split),
    Step(
        "counts values",
        (cuts._count_codes,),
        lambda: cuts.count_codes.compiled(_keys(), NO_WEIGHTS, STARTS, ENDS, SPACE, 1, 2),
    ),
    Step("counts records", (cuts.sizes.plain,), lambda: cuts.sizes.compiled(NO_WEIGHTS, STARTS, ENDS)),
    Step(
        "groups equal rows",
        (keys._scatter, keys._group_parts, keys._renumber),
        lambda: keys.group_keys.compiled(_keys()),
    ),
    Step("codes columns", (keys._add_codes,), _code),
)
