"""Spending an average: classes are cut apart where that saves most loss, until the mean chance reaches its limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.merge_classes import boxes_of, renumbered
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.uniting import box_losses
from tablecloak.models._averages import AverageModel
from tablecloak.models.base import TOLERANCE, Goal
from tablecloak.progress import REFINE, Progress

# Tables of more tuples are searched class by class alone.
MOST_TUPLES = 400_000
ROUNDS = 60
# Of the allowance that is left, so much is spent before gains are looked at again.
SPENT_AT_ONCE = 0.25
# Neighbours of a class, in every order of classes, that it may be united with.
NEAR = 3
# A round that lowers the loss by less than this share is the last.
WORTH = 0.0005


def bounds_an_average(goal: Goal) -> bool:
    """All that the goal asks is the mean of a chance over the records."""
    return not goal.counts_persons and len(goal.models) == 1 and isinstance(goal.models[0], AverageModel)


def spend(problem: Problem, solution: Solution, is_over: Callable[[], bool], progress: Progress) -> Solution | None:
    """The classes of a solution, cut apart and united while that lowers the loss and the mean stays within its limit.

    A cut costs what it adds to the sum of chances; the cuts that save most loss for it come first. Where the limit is
    reached, classes are united that lose least for what they give back, if a cut elsewhere saves more.
    None where the table is too large.
    """
    table, (model,) = problem.table, problem.goal.models
    if table.n_tuples > MOST_TUPLES or (solution.class_of_tuple < 0).any():
        return None
    assert isinstance(model, AverageModel)
    progress.start(REFINE, table.n_tuples)
    search = _Spending(table, model, solution.class_of_tuple)
    search.cut(is_over)
    for _ in range(ROUNDS):
        before = search.lost
        if is_over():
            break
        search.exchange()
        search.cut(is_over)
        if before - search.lost <= WORTH * before:
            break
    classes, n_classes = renumbered(search.classes)
    return Solution(classes, *boxes_of(table, classes, n_classes))


class _Spending:
    """Classes while they are cut and united, with the best cut of each; those that were united away are empty."""

    def __init__(self, table: CodedTable, model: AverageModel, classes: IntArray) -> None:
        self.table, self.model, self.classes = table, model, renumbered(classes)[0]
        self.codes = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)], axis=1).astype(np.int64)
        self.weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
        self.people = table.class_stats(np.arange(table.n_tuples), table.n_tuples).weighed
        self.allowed = (model.limit + TOLERANCE / 2) * table.n_rows
        self.goes = np.zeros(table.n_tuples, bool)  # tuples that the best cut takes away
        self.lo = self.hi = np.zeros((0, table.space.n_dims), np.int64)
        # by class: records, their people, loss, part of the sum of chances, and what the best cut saves and costs
        self.sizes = self.covered = self.losses = self.costs = self.saved = self.price = np.zeros(0)
        self._count(np.ones(int(self.classes.max()) + 1, bool))

    @property
    def lost(self) -> float:
        """Loss of all records."""
        return float(self.losses.sum())

    @property
    def left(self) -> float:
        """What may still be added to the sum of chances."""
        return self.allowed - float(self.costs.sum())

    def _rate(self) -> FloatArray:
        """Loss that the best cut of each class saves, for what it costs."""
        return np.where(self.saved > 0, self.saved / np.maximum(self.price, TOLERANCE), 0.0)

    def cut(self, is_over: Callable[[], bool]) -> None:
        """Cut classes apart, those that save most for their cost first, until the allowance is spent."""
        while not is_over():
            order = np.argsort(-self._rate(), kind="stable")
            order = order[(self.saved[order] > 0) & (self.price[order] <= self.left)]
            if not len(order):
                return
            paid = np.cumsum(np.maximum(self.price[order], 0.0))
            n = max(1, int(np.count_nonzero(paid <= SPENT_AT_ONCE * self.left)))
            self._apply(order[:n], np.zeros((2, 0), np.int64))

    def exchange(self) -> None:
        """Unite classes that lose least for what they give back, as long as cuts elsewhere save more."""
        pairs, added, freed = self._unions()
        by_rate = np.argsort(-self._rate(), kind="stable")
        by_price = np.argsort(added / np.maximum(freed, TOLERANCE), kind="stable")
        is_taken, left = np.zeros(len(self.sizes), bool), self.left
        offers = iter(by_price[freed[by_price] > TOLERANCE].tolist())
        chosen: list[int] = []
        united: list[int] = []
        for one in by_rate[self.saved[by_rate] > 0].tolist():
            if is_taken[one]:
                continue
            is_taken[one] = True
            gain, budget, ours = float(self.saved[one]), left, []
            while budget < self.price[one] and (offer := next(offers, None)) is not None:
                pair = pairs[:, offer]
                if not is_taken[pair].any():
                    is_taken[pair] = True
                    ours.append(offer)
                    gain, budget = gain - float(added[offer]), budget + float(freed[offer])
            if budget < self.price[one] or gain <= 0:
                break
            left = budget - float(self.price[one])
            chosen.append(one)
            united += ours
        self._apply(np.array(chosen, np.int64), pairs[:, united])

    def _apply(self, chosen: IntArray, united: IntArray) -> None:
        n_classes = len(self.sizes)
        becomes, new = np.arange(n_classes), np.full(n_classes, -1)
        becomes[united[1]] = united[0]
        new[chosen] = n_classes + np.arange(len(chosen))
        leaves = (new[self.classes] >= 0) & self.goes
        self.classes = np.where(leaves, new[self.classes], becomes[self.classes])
        is_changed = np.zeros(n_classes + len(chosen), bool)
        for changed in (chosen, new[chosen], *united):
            is_changed[changed] = True
        self._count(is_changed)

    def _count(self, is_changed: BoolArray) -> None:
        """Count changed classes anew; classes that come last may be new."""
        n_old = len(self.sizes)
        none = np.zeros(len(is_changed) - n_old)
        for name in ("sizes", "covered", "losses", "costs", "saved", "price"):
            kept = np.where(is_changed[:n_old], 0.0, getattr(self, name))
            setattr(self, name, np.append(kept, none))
        nowhere = np.zeros((len(none), self.lo.shape[1]), np.int64)
        self.lo, self.hi = (np.concatenate([side, nowhere]) for side in (self.lo, self.hi))
        rows = np.flatnonzero(is_changed[self.classes])
        if not len(rows):
            return
        rows = rows[np.argsort(self.classes[rows], kind="stable")]
        ids, starts = np.unique(self.classes[rows], return_index=True)
        self.lo[ids] = np.minimum.reduceat(self.codes[rows], starts)
        self.hi[ids] = np.maximum.reduceat(self.codes[rows], starts)
        self.sizes[ids] = np.add.reduceat(self.weights[rows], starts)
        if self.people is not None:
            self.covered[ids] = np.add.reduceat(self.people[rows], starts)
        self.losses[ids] = self.sizes[ids] * box_losses(self.table.space, self.lo[ids], self.hi[ids])
        self.costs[ids] = self._costs(self.sizes[ids], self.covered[ids])
        self._find_cuts(rows)

    def _costs(self, sizes: FloatArray, people: FloatArray) -> FloatArray:
        """What classes add to the sum of chances."""
        costs: FloatArray = sizes * self.model.chance(sizes, None if self.people is None else people)
        return costs

    def _unions(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Pairs of near classes, (2, n); the loss that uniting each adds, and what it takes from the sum of chances."""
        ids = np.flatnonzero(self.sizes > 0)
        middles, found = (self.lo + self.hi)[ids].T, [np.zeros((2, 0), np.int64)]
        for d in range(len(middles)):
            order = ids[np.lexsort(np.roll(middles, -d, axis=0)[::-1])]
            found += [np.stack([order[:-step], order[step:]]) for step in range(1, min(NEAR, len(ids) - 1) + 1)]
        pairs = np.unique(np.sort(np.concatenate(found, axis=1), axis=0), axis=1)
        one, other = pairs
        lo, hi = np.minimum(self.lo[one], self.lo[other]), np.maximum(self.hi[one], self.hi[other])
        sizes = self.sizes[one] + self.sizes[other]
        added = sizes * box_losses(self.table.space, lo, hi) - self.losses[one] - self.losses[other]
        costs = self._costs(sizes, self.covered[one] + self.covered[other])
        return pairs, added, self.costs[one] + self.costs[other] - costs

    def _find_cuts(self, rows: IntArray) -> None:
        """The best cut of every class that these tuples make up, along one column."""
        self.goes[rows] = False
        best = np.zeros(len(self.sizes))
        for d in range(self.codes.shape[1]):
            order = rows[np.lexsort((self.codes[rows, d], self.classes[rows]))]
            owner, code = self.classes[order], self.codes[order, d]
            at = np.flatnonzero((owner[1:] == owner[:-1]) & (code[1:] != code[:-1]))
            if not len(at):
                continue
            saved, price = self._of_cuts(order, at)
            rate = np.where(saved > 0, saved / np.maximum(price, TOLERANCE), 0.0)
            top = firsts_by_rate(owner[at], rate)
            top = top[rate[top] > best[owner[at[top]]]]
            ids = owner[at[top]]
            best[ids], self.saved[ids], self.price[ids] = rate[top], saved[top], price[top]
            last = np.full(len(self.sizes), -1)
            last[ids] = code[at[top]]
            stays = last[self.classes[rows]]
            self.goes[rows] = np.where(stays >= 0, self.codes[rows, d] > stays, self.goes[rows])

    def _of_cuts(self, order: IntArray, at: IntArray) -> tuple[FloatArray, FloatArray]:
        """The loss that cuts behind these places save, and what they cost."""
        owner, codes, space = self.classes[order], self.codes[order], self.table.space
        ids = owner[at]
        before = _sums_before(self.weights[order], owner)[at]
        people = np.zeros(len(at)) if self.people is None else _sums_before(self.people[order], owner)[at]
        lo, hi = running(codes, owner)
        left = before * box_losses(space, lo[at], hi[at])
        lo, hi = (side[::-1] for side in running(codes[::-1], owner[::-1]))
        after = self.sizes[ids] - before
        right = after * box_losses(space, lo[at + 1], hi[at + 1])
        parts = self._costs(before, people) + self._costs(after, self.covered[ids] - people)
        return self.losses[ids] - left - right, parts - self.costs[ids]


def _sums_before(amounts: IntArray | FloatArray, segment: IntArray) -> FloatArray:
    """Sums inside every segment up to each place, this one included."""
    sums = np.cumsum(amounts, dtype=np.float64)
    starts = np.flatnonzero(np.append(True, segment[1:] != segment[:-1]))
    return sums - np.repeat((sums - amounts)[starts], np.diff(np.append(starts, len(segment))))


def running(codes: IntArray, segment: IntArray) -> tuple[IntArray, IntArray]:
    """Smallest and largest codes of every segment so far, (n, n_dims) each; rows of a segment follow each other."""
    lo, hi, step = codes.copy(), codes.copy(), 1
    while step < len(segment):
        same = np.flatnonzero(segment[step:] == segment[:-step]) + step
        if not len(same):
            break
        lower, upper = lo[same - step], hi[same - step]
        lo[same], hi[same] = np.minimum(lo[same], lower), np.maximum(hi[same], upper)
        step *= 2
    return lo, hi


def firsts_by_rate(owner: IntArray, rate: FloatArray) -> IntArray:
    """The place of the highest rate of every owner; of equal ones the first."""
    order = np.lexsort((-rate, owner))
    is_top = np.ones(len(order), bool)
    is_top[1:] = owner[order[1:]] != owner[order[:-1]]
    top: IntArray = order[is_top]
    return top
