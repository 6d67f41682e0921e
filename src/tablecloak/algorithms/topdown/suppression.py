"""Suppression and nothing else: cells are published exactly or as `*`."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import FINER, FailingLimit, Problem, Solution, algorithm, if_not_monotone
from tablecloak.algorithms.merge_classes import released
from tablecloak.algorithms.topdown._expose_siblings import Exposing, flat_tree
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import ClassLabels, united_labels
from tablecloak.data.domain import ANYTHING
from tablecloak.errors import Infeasible
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.values.amounts import most_of

Stars = BoolArray  # (n_dims, n_tuples)
# With more columns, sets of them are not all tried.
ALL_SETS_UP_TO = 10


@algorithm("suppression")
class Suppression:
    """Hide as little as satisfies the goal: whole columns, all occurrences of values, single cells, or records.

    `attributes` finds the columns to hide that lose least (up to ten columns; beyond, one after the other);
    `values` publishes values one after the other, the most frequent first, and hides all others wherever they occur;
    `cells` hides as few cells as possible in each record of a class that is too small; `records` leaves such records
    out, as far as `suppression_limit` allows. No hierarchy is used.
    Reference: Meyerson, Williams, On the complexity of optimal k-anonymity, PODS 2004 (hiding cells).
    """

    unit: Annotated[
        Literal["cells", "values", "attributes", "records"], Field(description="what is hidden as a whole")
    ] = "cells"
    suppression_limit: FailingLimit = 0.0

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, FINER)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        budget = most_of(problem.table.n_rows, self.suppression_limit)
        for allowed in dict.fromkeys([budget, 0]):
            solution = _SEARCHES[self.unit](problem, allowed, progress)
            # leaving records out changes the table's own distribution, which some models compare with
            if problem.goal.admits(solution.stats(problem.table)).all():
                return solution
        raise _infeasible(problem, 0)


def _records(problem: Problem, budget: int, progress: Progress) -> Solution:
    """Exact records; those that fail the goal are left out."""
    progress.start("solve", problem.table.n_tuples)
    stars = np.zeros((problem.table.space.n_dims, problem.table.n_tuples), bool)
    classes, n_out = _judged(problem, stars)
    if n_out > budget:
        raise _infeasible(problem, n_out)
    return _solution(problem, stars, classes)


def _attributes(problem: Problem, budget: int, progress: Progress) -> Solution:
    """Hide the cheapest set of columns that leaves few enough records failing."""
    n_dims, n_tuples = problem.table.space.n_dims, problem.table.n_tuples
    is_small = n_dims <= ALL_SETS_UP_TO
    progress.start("solve", 1 << n_dims if is_small else n_dims)
    for n_tried, hidden in enumerate(_sets_by_loss(problem) if is_small else _one_by_one(problem, budget)):
        stars = np.zeros((n_dims, n_tuples), bool)
        stars[list(hidden)] = True
        classes, n_out = _judged(problem, stars)
        progress.advance(n_tried)
        if n_out <= budget:
            return _solution(problem, stars, classes)
    raise _infeasible(problem, problem.table.n_rows)


def _sets_by_loss(problem: Problem) -> list[tuple[int, ...]]:
    """All sets of columns in the order of what hiding them loses, then of their number."""
    weight = problem.table.space.weight
    dims = range(problem.table.space.n_dims)
    sets = [s for n in range(len(dims) + 1) for s in itertools.combinations(dims, n)]
    return sorted(sets, key=lambda s: (round(sum(float(weight[d]) for d in s), 9), len(s), s))


def _one_by_one(problem: Problem, budget: int) -> list[tuple[int, ...]]:
    """The set that is left hidden when columns are shown one after the other, the weightiest first, where allowed."""
    table = problem.table
    stars = np.ones((table.space.n_dims, table.n_tuples), bool)
    for dim in np.argsort(-table.space.weight, kind="stable").tolist():
        stars[dim] = False
        stars[dim] = _judged(problem, stars)[1] > budget
    return [tuple(np.flatnonzero(stars[:, 0]).tolist())]


def _values(problem: Problem, budget: int, progress: Progress) -> Solution:
    """Show values one after the other, those first that save most loss."""
    search = Exposing(problem, [flat_tree(d) for d in problem.table.domains], budget)
    search.run(progress)
    roots = np.array([tree.root for tree in search.trees])
    return _solution(problem, search.node_of == roots[:, None], search.released())


def _cells(problem: Problem, budget: int, progress: Progress) -> Solution:
    """Hide the cheapest set of cells that puts each failing record in a class that satisfies the goal."""
    table = problem.table
    stars = np.zeros((table.space.n_dims, table.n_tuples), bool)
    is_done = np.zeros(table.n_tuples, bool)
    progress.start("solve", table.n_tuples)
    for hidden in _cell_sets(problem):
        pending = ~is_done
        stars[np.ix_(np.array(hidden, np.int64), np.flatnonzero(pending))] = True
        classes, _ = _judged(problem, stars, pending)
        is_done |= classes >= 0
        stars[:, ~is_done] = False
        progress.advance(int(is_done.sum()))
        if is_done.all():
            break
    return _with_the_rest(problem, stars, is_done, budget)


def _cell_sets(problem: Problem) -> list[tuple[int, ...]]:
    if problem.table.space.n_dims <= ALL_SETS_UP_TO:
        return _sets_by_loss(problem)
    dims = range(problem.table.space.n_dims)
    return [s for n in (0, 1, 2) for s in itertools.combinations(dims, n)] + [tuple(dims)]


def _with_the_rest(problem: Problem, stars: Stars, is_done: BoolArray, budget: int) -> Solution:
    """Records that no set of cells helps are left out, or hidden altogether with the cheapest classes to keep company.

    Showing nothing of all records is known to satisfy the goal, so enough company exists.
    """
    table = problem.table
    classes, _ = _judged(problem, stars, is_done)
    if _n_rows(problem, ~is_done) <= budget:
        return _solution(problem, stars, np.where(is_done, classes, -1))
    sizes = table.class_stats(classes, int(classes.max(initial=-1)) + 1).size
    shown = np.zeros(len(sizes))
    shown[classes[is_done]] = (~stars[:, is_done]).sum(axis=0)
    order = np.argsort(sizes * shown, kind="stable")
    low, high = 0, len(order)
    while low < high:  # fewest classes that do; more of them do as well, for the goal is monotone
        middle = (low + high) // 2
        hidden = ~is_done | np.isin(classes, order[:middle])
        enough = problem.goal.admits(table.class_stats(np.where(hidden, 0, -1), 1))[0]
        low, high = (low, middle) if enough else (middle + 1, high)
    stars = stars.copy()
    stars[:, ~is_done | np.isin(classes, order[:low])] = True
    return _solution(problem, stars, _judged(problem, stars)[0])


_SEARCHES = {"cells": _cells, "values": _values, "attributes": _attributes, "records": _records}


def _judged(problem: Problem, stars: Stars, among: BoolArray | None = None) -> tuple[IntArray, int]:
    """The class of every tuple (of some) as a reader sees it, -1 where it fails the goal, and how many records do."""
    table = problem.table
    columns = [np.where(hidden, -1, table.quasi_codes(d)) for d, hidden in enumerate(stars)]
    part = np.ones(table.n_tuples, bool) if among is None else among
    classes = np.full(table.n_tuples, -1, np.int64)
    if part.any():
        classes[part] = _numbered([column[part] for column in columns])
    stats = table.class_stats(classes, int(classes.max(initial=-1)) + 1)
    fails = ~problem.goal.admits(stats)
    judged = np.where((classes >= 0) & fails[classes], -1, classes) if len(fails) else classes
    return judged, int(stats.size[fails].sum())


def _numbered(columns: list[IntArray]) -> IntArray:
    """Equal rows get equal numbers."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        width = int(column.max()) + 2
        numbers = np.unique(numbers * width + column + 1, return_inverse=True)[1]
    return numbers


def _n_rows(problem: Problem, part: BoolArray) -> int:
    weights = problem.table.weights
    return int(weights[part].sum()) if len(weights) else int(part.sum())


def _solution(problem: Problem, stars: Stars, classes: IntArray) -> Solution:
    """Classes with exact values where nothing is hidden."""
    table = problem.table
    numbers, firsts = released(classes)
    hidden = stars[:, firsts].T  # (n_classes, n_dims)
    codes = np.stack([table.quasi_codes(d)[firsts] for d in range(table.space.n_dims)], axis=1)
    lo, hi = np.where(hidden, 0, codes), np.where(hidden, table.space.n_codes - 1, codes)
    labels = {d.name: _labels(d.labels(codes[:, i], codes[:, i]), hidden[:, i]) for i, d in enumerate(table.domains)}
    return Solution(numbers, lo, hi, centers=labels)


def _labels(texts: list[str | None], hidden: BoolArray) -> ClassLabels:
    shown = [ANYTHING if star else text for text, star in zip(texts, hidden.tolist(), strict=True)]
    return united_labels(shown, np.arange(len(shown)))


def _infeasible(problem: Problem, n_failing: int) -> Infeasible:
    n_rows = problem.table.n_rows
    enough = np.ceil(1000 * n_failing / n_rows) / 1000
    return Infeasible(
        f"infeasible  {n_failing:,} of {n_rows:,} records are in classes that fail the goal",
        best=[],
        relaxations=[{"change": f"suppression_limit: {enough:g}  → feasible", "feasible": True}] if enough < 1 else [],
    )
