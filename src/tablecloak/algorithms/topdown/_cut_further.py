"""Goals that fewer records satisfy because people of a population count, too: never worse than without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.solution_metrics import best_by
from tablecloak.algorithms.topdown._partition import CutRule, partition_nodes


def best_among_people(
    problem: Problem, solve: Callable[[Problem], Solution], loss: str, target: str | None = None
) -> Solution:
    """What a search finds, or what it finds for a goal of records alone, cut further where people allow it; the better.

    Greedy cuts that more people allow may lead to a worse end.
    """
    first, table = solve(problem), problem.table
    strict = problem.goal.among_records
    if table.register is None or strict == problem.goal:
        return first
    bare = replace(table, register=None)
    if not strict.admits(bare.whole()).all():
        return first
    second = solve(replace(problem, table=bare, goal=strict))
    # records may be missing in the register
    if not any(problem.goal.admits(second.stats(each)).all() for each in (bare, table)):
        return first
    return best_by(loss, replace(problem, table=bare), [first, second, _cut_further(problem, second)], target)


def _cut_further(problem: Problem, solution: Solution) -> Solution:
    """Every class cut as far as the goal allows."""
    if solution.sets:
        return solution
    order = np.argsort(solution.class_of_tuple, kind="stable")
    order = order[solution.class_of_tuple[order] >= 0]
    number = np.unique(solution.class_of_tuple[order], return_inverse=True)[1].reshape(-1)
    part = replace(problem, table=problem.table.reordered(order))
    cut = partition_nodes(part, CutRule(by_saving=True, relaxed=False), number, compiled=None)
    classes = np.full_like(solution.class_of_tuple, -1)
    classes[order] = cut.class_of_tuple
    return Solution(classes, cut.lo, cut.hi)
