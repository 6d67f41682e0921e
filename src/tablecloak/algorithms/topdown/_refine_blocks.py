"""Refining a partition block by block: neighbouring classes form a block, blocks are refined on threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.merge_classes import renumbered
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.box_search import CodeLevels, search_boxes
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.kernels.prices import Prices, cell_prices
from tablecloak.kernels.refining import Steps, refine
from tablecloak.kernels.rules import Rules
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress, silent

POLL_SECONDS = 0.1
# Of records, to see what a dimension usually costs.
PAIRS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Refinery:
    """What refining needs besides the classes."""

    problem: Problem
    prices: Prices
    rules: Rules
    counted: Sequence[int]  # sensitive attributes that the rules count
    judges_all: bool  # the rules are the whole goal, so refined classes need no second look
    deadline: float  # on the clock of `time.monotonic`
    is_compiled: bool
    most_tuples: int  # looked at in one pass; the dearest blocks come first
    dims: IntArray  # the order in which kernels look at dimensions

    def is_over(self, progress: Progress) -> bool:
        """Whether the time is up or the user has asked to stop."""
        return time.monotonic() >= self.deadline or progress.stopping()

    def refine(
        self, classes: IntArray, losses: FloatArray, order: IntArray, n_blocks: int, steps: Steps, progress: Progress,
        levels: CodeLevels | None = None,
    ) -> IntArray:  # fmt: skip
        """Classes after one pass over blocks of classes that follow each other in an order.

        Args:
            losses: (n_classes,) loss of all records of a class together.
            levels: of which the box search makes its boxes, where the steps ask for one.

        Blocks that have not begun when time is up keep their classes; so do blocks that end with a class the goal does
        not admit.
        """
        stop = np.zeros(1, np.int64)
        blocks = _dearest(_blocks(classes, order, n_blocks), classes, losses, self.most_tuples)
        with ThreadPoolExecutor(max(1, self.problem.threads)) as pool:
            running = [
                pool.submit(self._refined, classes, block, steps, levels, i, stop) for i, block in enumerate(blocks)
            ]
            self._watch(running, blocks, stop, progress)
            refined = [future.result() for future in running]
            finer = classes.copy()
            base = len(losses)
            for block, own in zip(blocks, refined, strict=True):
                finer[block] = own + base
                base += len(block)
        if self.judges_all:
            return renumbered(finer)[0]
        return self._admitted(classes, renumbered(finer)[0], blocks)

    def near_order(self, classes: IntArray, emphasis: FloatArray) -> IntArray:
        """Classes in the order of a top-down partition of their middles; another emphasis gives another order."""
        table = self.problem.table
        n_classes = int(classes.max()) + 1
        first = np.searchsorted(classes[by_class := np.argsort(classes, kind="stable")], np.arange(n_classes))
        middles = []
        for d in range(table.space.n_dims):
            codes = table.quasi_codes(d)[by_class]
            ends = np.append(first[1:], len(codes))
            ranked = np.lexsort((codes, classes[by_class]))
            middles.append(codes[ranked][(first + ends - 1) // 2].astype(np.uint32))
        layout = plan_layout(table.space.n_codes.tolist())
        space = table.space._replace(layout=layout, weight=table.space.weight * emphasis)
        middle = CodedTable(table.domains, (), space, pack(middles, layout), np.zeros(0, np.int64), None, {})
        problem = replace(self.problem, table=middle, goal=Goal((KAnonymity(k=2),)))
        rule = CutRule(by_saving=True, relaxed=False)
        # few classes may come of many tuples
        solution = partition(problem, rule, silent, compiled=self.is_compiled)
        return np.argsort(solution.class_of_tuple, kind="stable")

    def _watch(
        self, running: list[Future[IntArray]], blocks: list[IntArray], stop: IntArray, progress: Progress
    ) -> None:
        """Tell how far the blocks are, and ask them to end when time is up."""
        try:
            left = set(running)
            while left:
                left = wait(left, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED).not_done
                progress.advance(sum(len(b) for b, f in zip(blocks, running, strict=True) if f.done()))
                if self.is_over(progress):
                    stop[0] = 1
        except BaseException:
            stop[0] = 1
            raise

    def _refined(
        self, classes: IntArray, block: IntArray, steps: Steps, levels: CodeLevels | None, number: int, stop: IntArray
    ) -> IntArray:
        own = renumbered(classes[block])[0]
        if stop[0] == 0 and (own.max() > 0 or steps.alone > 0):
            table = self.problem.table
            change = refine.form(compiled=self.is_compiled)
            if levels is not None:
                change = partial(search_boxes.form(compiled=self.is_compiled), levels=levels)
            change(
                self._codes(block), table.weights[block] if len(table.weights) else np.ones(len(block), np.int64),
                self._values(block), own, self.prices.in_order(self.dims), self.rules,
                steps=steps, seed=(self.problem.seed + 7919 * number + 104729 * steps.turn) & 0x7FFFFFFF, stop=stop,
            )  # fmt: skip
        return own

    def _codes(self, block: IntArray) -> IntArray:
        table = self.problem.table
        keys = table.keys[:, block]
        layout = table.space.layout
        codes = np.empty((len(block), table.space.n_dims), np.int64)
        for place, d in enumerate(self.dims.tolist()):
            codes[:, place] = (keys[layout.word[d]] >> layout.shift[d]) & layout.mask[d]
            if self.prices.is_set(d):
                codes[:, place] = np.left_shift(np.int64(1), codes[:, place])
        return codes

    def _values(self, block: IntArray) -> IntArray:
        """Places of the sensitive values of tuples in a class histogram, (n, n_sensitive)."""
        table = self.problem.table
        if len(self.rules.kind) == 0:
            return np.zeros((len(block), 0), np.int64)
        starts = np.concatenate([[0], np.cumsum([table.sensitive[i].n_values for i in self.counted])])
        keys, layout, n = table.keys[:, block], table.space.layout, table.space.n_dims
        columns = [
            start + ((keys[layout.word[n + i]] >> layout.shift[n + i]) & layout.mask[n + i]).astype(np.int64)
            for start, i in zip(starts[:-1], self.counted, strict=True)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def _admitted(self, before: IntArray, after: IntArray, blocks: list[IntArray]) -> IntArray:
        table = self.problem.table
        ok = self.problem.goal.admits(table.class_stats(after, int(after.max()) + 1))
        result = after + int(before.max()) + 1
        for block in blocks:
            if not ok[after[block]].all():
                result[block] = before[block]
        return renumbered(result)[0]


def dearest_first(table: CodedTable, prices: Prices, random: np.random.Generator) -> IntArray:
    """Dimensions in the order of what two records of one class usually cost there: sums exceed a limit soonest."""
    one, other = random.integers(0, table.n_tuples, (2, PAIRS))
    usual = []
    for d in range(table.space.n_dims):
        a, b = (table.quasi_codes(d)[rows].astype(np.int64) for rows in (one, other))
        lo = np.left_shift(1, a) | np.left_shift(1, b) if prices.is_set(d) else np.minimum(a, b)
        usual.append(int(cell_prices(prices, d, lo, np.maximum(a, b)).sum()))
    return np.argsort(-np.array(usual, np.int64), kind="stable")


def _blocks(classes: IntArray, order: IntArray, n_blocks: int) -> list[IntArray]:
    """Tuples of about equally many classes that follow each other in an order, ascending inside a block."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    block_of = rank * n_blocks // max(1, len(order))
    tuples = np.argsort(block_of[classes], kind="stable")
    ends = np.cumsum(np.bincount(block_of[classes], minlength=n_blocks))
    return [part for part in np.split(tuples, ends[:-1]) if len(part)]


def _dearest(blocks: list[IntArray], classes: IntArray, losses: FloatArray, most_tuples: int) -> list[IntArray]:
    """The blocks that lose most, as many as have no more tuples than allowed (but one), in their order."""
    if sum(map(len, blocks)) <= most_tuples:
        return blocks
    lost = np.array([losses[np.unique(classes[block])].sum() for block in blocks])
    ranked = np.argsort(-lost, kind="stable")
    fits = np.cumsum([len(blocks[b]) for b in ranked]) <= most_tuples
    fits[0] = True
    return [blocks[b] for b in np.sort(ranked[fits]).tolist()]
