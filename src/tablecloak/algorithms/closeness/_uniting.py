"""Unite small classes until none exceeds the bounds of a goal: values that one has too often meet those it lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.closeness._bounded import BoundedColumn
from tablecloak.algorithms.merge_classes import boxes_of, renumbered
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.uniting import box_losses
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress

# Excess of a class, in records, that is rounding.
LEAST = 1e-9


def cells_of(problem: Problem, size: int, progress: Progress) -> IntArray:
    """The class of every tuple after top-down cuts into classes of so many records, whatever else is asked."""
    goal = Goal((KAnonymity(k=max(2, size)),))
    if size >= problem.table.n_rows:
        return np.zeros(problem.table.n_tuples, np.int64)
    return partition(replace(problem, goal=goal), CutRule(by_saving=True, relaxed=False), progress).class_of_tuple


class _Classes:
    """Classes while they are united: boxes, sizes, losses, and what they exceed."""

    def __init__(self, problem: Problem, classes: IntArray, columns: list[BoundedColumn]) -> None:
        table, n = problem.table, int(classes.max()) + 1
        self.space, self.columns = table.space, columns
        self.lo, self.hi = boxes_of(table, classes, n)
        weights = table.weights if len(table.weights) else None
        self.size = np.bincount(classes, weights=weights, minlength=n).astype(np.float64)
        self.loss = self.size * box_losses(self.space, self.lo, self.hi)
        self.featured = [c.featured(table, classes, n) for c in columns]
        self.excess = self._excess(self.featured, self.size)
        self.becomes = np.arange(n)
        self.places = np.arange(n)  # of classes that are still there

    def _excess(self, featured: list[FloatArray], size: FloatArray) -> FloatArray:
        total = np.zeros(len(size))
        for column, own in zip(self.columns, featured, strict=True):
            total += column.bounds.excess(own, size)
        return total

    def next_to_unite(self, *, repairs: bool) -> int | None:
        """The class that exceeds its bounds least, or most; None where none does."""
        excess = self.excess[self.places]
        failing = self.places[excess > LEAST]
        if len(failing) == 0 or len(self.places) < 2:
            return None
        own = self.excess[failing]
        return int(failing[np.argmin(own) if repairs else np.argmax(own / self.size[failing])])

    def unite(self, one: int, *, repairs: bool) -> None:
        """Unite a class with the other that costs least, for each record of excess that goes away or at all."""
        others = self.places[self.places != one]
        lo, hi = np.minimum(self.lo[others], self.lo[one]), np.maximum(self.hi[others], self.hi[one])
        size = self.size[others] + self.size[one]
        loss = size * box_losses(self.space, lo, hi)
        score = added = loss - self.loss[others] - self.loss[one]
        featured = [own[others] + own[one] for own in self.featured]
        excess = self._excess(featured, size)
        if repairs:
            repaired = self.excess[others] + self.excess[one] - excess
            does = repaired > LEAST
            if does.any():
                score = np.where(does, (added + LEAST) / np.where(does, repaired, 1.0), np.inf)
        best = int(np.argmin(score))
        other = int(others[best])
        self.lo[one], self.hi[one], self.size[one] = lo[best], hi[best], size[best]
        self.loss[one], self.excess[one] = loss[best], excess[best]
        for own, after in zip(self.featured, featured, strict=True):
            own[one] = after[best]
        self.becomes[self.becomes == other] = one
        self.places = self.places[self.places != other]


def united(problem: Problem, classes: IntArray, columns: list[BoundedColumn], *, repairs: bool = True) -> IntArray:
    """Classes of tuples after those that exceed their bounds were united with others until none does."""
    state = _Classes(problem, classes, columns)
    while (one := state.next_to_unite(repairs=repairs)) is not None:
        state.unite(one, repairs=repairs)
    return renumbered(state.becomes[classes])[0]
