"""Searches for goals that count people of a population: any algorithm, and what is left where it comes to nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.algorithms import secret_order
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.algorithms.solution_metrics import united_by_labels
from tablecloak.data.coded import CodedTable
from tablecloak.data.register import top_boxes
from tablecloak.errors import CloakError
from tablecloak.models.base import Monotone
from tablecloak.progress import Progress
from tablecloak.stats.classes import Evidence


def solve(algorithm: Algorithm, problem: Problem, progress: Progress) -> Solution:
    """What an algorithm finds; where that does not satisfy the goal, what it finds by counting no more people than
    equal some record, or else all records as the most general class there is.
    """
    solution, table = secret_order.solve(algorithm, problem, progress), problem.table
    if table.register is None or _suffices(problem, solution):
        return solution
    plain = replace(problem, table=replace(table, register=None))
    if problem.goal.admits(plain.table.whole()).all():
        try:
            other = secret_order.solve(algorithm, plain, progress)
        except CloakError:
            other = None
        if other is not None and _suffices(problem, other):
            return other
    whole = as_one_class(table)
    return whole if problem.goal.admits(whole.stats(table)).all() else solution


def _suffices(problem: Problem, solution: Solution) -> bool:
    """Whether classes satisfy the goal as readers see them, to whom those with equal labels are one."""
    counting = [m for m in problem.goal.models if Evidence.POPULATION in m.evidence]
    if solution.n_classes > 1 and all(Monotone.BOTH in m.in_search.monotone for m in counting):
        return True  # what the search counted for parts of a class, the class has
    united = united_by_labels(problem.table, solution)
    return bool(problem.goal.admits(united.stats(problem.table)).all())


def as_one_class(table: CodedTable) -> Solution:
    """All records together, under the top of every hierarchy."""
    boxes = top_boxes(table.domains)
    solution = Solution(np.zeros(table.n_tuples, np.int64), boxes.lo, boxes.hi, nodes=boxes.nodes)
    return solution.listing_values(table)
