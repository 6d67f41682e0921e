"""Large tables: outliers of the classes that lose most are put elsewhere, of as many tuples as a budget allows.

By the second, nothing else gains as much: on a census of a million rows 14 % of the loss for one that moving single
tuples lowers by 6, dissolving classes by 2 and building neighbouring ones anew by less than 1. How much is changed is
counted in tuples, never in seconds, so a release does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable, mixed
from tablecloak.kernels.packed_codes import unpack
from tablecloak.kernels.prices import Prices
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.trimming import trim_blocks

# Different tuples from which on a table is large.
LARGE = 400_000
# Tuples that are looked at, at most; with rules about sensitive values fewer, for each look costs more.
BUDGET = 700_000
# Classes of a block, which follow each other in the partition and so are near each other.
TOGETHER = 30
# Tuples of a block, at most: looking for the best change costs the square of what a class holds.
MOST_BLOCK = 3_000
# Tuples that a thread is given at once.
PORTION = 10_000
POLL_SECONDS = 0.1


def in_order_of_values(table: CodedTable) -> tuple[CodedTable, IntArray]:
    """The different tuples in the order of their values, and which of them every tuple is."""
    if len(table.keys) == 1 and bool((table.keys[0, 1:] > table.keys[0, :-1]).all()):
        return replace(table, tuple_of_row=None), np.arange(table.n_tuples)
    return table.united(np.lexsort(table.keys[::-1]))


@dataclass(frozen=True, slots=True, eq=False)
class Trimming:
    """What changes to a partition need besides its classes."""

    problem: Problem
    prices: Prices
    rules: Rules
    dims: IntArray  # the order in which kernels look at dimensions
    values_of: Callable[[IntArray], IntArray]  # places of the sensitive values of tuples, as the rules count them
    judges_all: bool  # the rules are the whole goal
    is_compiled: bool
    is_over: Callable[[], bool]

    def __call__(self, start: Solution) -> Solution:
        """A partition after its dearest blocks were changed."""
        chosen = self._dearest(start)
        if not len(chosen):
            return start
        order, block = self._in_blocks(start.class_of_tuple, chosen)
        starts = np.append(np.flatnonzero(np.diff(block, prepend=-1)), len(order))
        classes = start.class_of_tuple.copy()
        classes[order] = self._changed(classes[order], order, block, starts)
        if not self.judges_all:
            classes = self._admitted(start.class_of_tuple, classes)
        return _with_classes(self.problem.table, start, classes, order)

    def _dearest(self, start: Solution) -> IntArray:
        """Blocks that lose most, as many as have no more tuples than the budget allows."""
        table = self.problem.table
        losses = start.sizes(table) * (start.losses(table.domains) @ table.space.weight)
        blocks = np.arange(start.n_classes) // TOGETHER
        lost = np.bincount(blocks, losses)
        n_tuples = np.bincount(blocks, np.bincount(start.class_of_tuple, minlength=start.n_classes))
        most = BUDGET // (1 + len(self.rules.kind))
        order = np.argsort(-lost, kind="stable")
        order = order[n_tuples[order] <= MOST_BLOCK]
        return np.sort(order[np.cumsum(n_tuples[order]) <= most])

    def _in_blocks(self, classes: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
        """The tuples of the chosen blocks, one block after the other, and the block of each.

        Inside a block they come in the order of a hash: where similar tuples follow each other, less is found.
        """
        is_chosen = np.zeros(int(classes.max()) // TOGETHER + 1, bool)
        is_chosen[chosen] = True
        tuples = np.flatnonzero(is_chosen[classes // TOGETHER])
        block = classes[tuples] // TOGETHER
        free = np.uint64(64 - len(is_chosen).bit_length())  # bits of the hash that go beside the number of a block
        # tuples come in the order of their values, which decides between equal hashes
        ranks = (block.astype(np.uint64) << free) | (
            mixed(self.problem.table.keys[:, tuples]) >> (np.uint64(64) - free)
        )
        order = np.argsort(ranks, kind="stable")
        return tuples[order], block[order]

    def _changed(self, classes: IntArray, tuples: IntArray, block: IntArray, starts: IntArray) -> IntArray:
        """The classes of tuples after all blocks were changed, on threads."""
        table = self.problem.table
        base = block * TOGETHER
        own = classes - base
        keys = table.keys[:, tuples]
        weights = table.weights[tuples] if len(table.weights) else np.ones(len(tuples), np.int64)
        n_classes = np.maximum.reduceat(own, starts[:-1]) + 1
        values, prices = self.values_of(tuples), self.prices.in_order(self.dims)
        change, stop = trim_blocks.form(compiled=self.is_compiled), np.zeros(1, np.int64)

        def portion(first: int, last: int) -> None:
            part = slice(int(starts[first]), int(starts[last]))
            rows = np.empty((part.stop - part.start, len(self.dims)), np.int64)
            for i, d in enumerate(self.dims.tolist()):
                rows[:, i] = unpack(keys[:, part], table.space.layout, d)
            change(
                rows, weights[part], values[part], own[part], starts[first : last + 1] - starts[first],
                n_classes[first:last], prices, self.rules, stop=stop,
            )  # fmt: skip

        cuts = np.searchsorted(starts, np.arange(0, len(tuples) + PORTION, PORTION)).clip(max=len(starts) - 1)
        cuts = np.unique(np.append(cuts, [0, len(starts) - 1])).tolist()
        with ThreadPoolExecutor(max(1, self.problem.threads)) as pool:
            running = [pool.submit(portion, a, b) for a, b in pairwise(cuts)]
            try:
                while wait(running, timeout=POLL_SECONDS).not_done:
                    stop[0] = int(self.is_over())
            except BaseException:
                stop[0] = 1
                raise
            for future in running:
                future.result()
        return own + base

    def _admitted(self, before: IntArray, after: IntArray) -> IntArray:
        """Classes after the changes; a block that ends with a class the goal does not admit stays as it was."""
        table = self.problem.table
        stats = table.class_stats(after, int(before.max()) + 1)
        fails = ~self.problem.goal.admits(stats) & (stats.size > 0)
        stays = np.zeros(int(before.max()) // TOGETHER + 1, bool)
        stays[np.flatnonzero(fails) // TOGETHER] = True
        return np.where(stays[before // TOGETHER], before, after)


def _with_classes(table: CodedTable, start: Solution, classes: IntArray, changed: IntArray) -> Solution:
    """The solution after the classes of some tuples have changed; classes without tuples are gone."""
    lo, hi = start.lo.copy(), start.hi.copy()
    now = classes[changed]
    order = np.argsort(now, kind="stable")
    seen, begins = np.unique(now[order], return_index=True)
    keys, layout = table.keys[:, changed[order]], table.space.layout
    for d in range(table.space.n_dims):
        codes = ((keys[layout.word[d]] >> layout.shift[d]) & layout.mask[d]).astype(np.int64)
        lo[seen, d], hi[seen, d] = np.minimum.reduceat(codes, begins), np.maximum.reduceat(codes, begins)
    is_there = _are_there(classes, start.n_classes)
    number = np.cumsum(is_there) - 1
    return Solution(number[classes], lo[is_there], hi[is_there])


def _are_there(classes: IntArray, n: int) -> BoolArray:
    is_there = np.zeros(n, bool)
    is_there[classes] = True
    return is_there
