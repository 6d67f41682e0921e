"""Groups of rows that are alike, and diverse together."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.algorithms.base import Problem, Publishes
from tablecloak.algorithms.buckets.base import ExactValues, GivenGroups, groups_for, groups_inside
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import IntArray
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress

NEIGHBOURS = 16  # groups that can be made of neighbours, at least


BY_VALUES = (
    "a value is too frequent to be spread over groups, so sensitive values decided where groups part: whoever runs the "
    "program again may learn from it why a group is not smaller"
)


class InGroups(GivenGroups, ExactValues):
    """What both share: rows that are alike, and diverse together, form a group."""

    publishes: ClassVar[Publishes] = Publishes.GROUPED


def similar_groups(problem: Problem, progress: Progress) -> tuple[IntArray, tuple[str, ...]]:
    """Given groups, or groups of rows that are near each other and satisfy the goal, with a remark.

    Rows that differ little are neighbours, whatever their sensitive values; who forms a group among neighbours is drawn
    from the secret. If the values decided where neighbours part, a reader who runs the program again would learn them:
    why a group was not cut. So where some neighbours cannot be spread over groups, all neighbourhoods are made larger.
    """
    if problem.given is not None:
        return groups_for(problem), ()
    rule = CutRule(by_saving=True, relaxed=False)
    size = NEIGHBOURS * problem.goal.min_size
    while True:
        is_whole = 2 * size > problem.table.n_rows
        blind = replace(problem, goal=Goal((KAnonymity(k=size),)))
        near = np.zeros(problem.table.n_rows, np.int64) if is_whole else partition(blind, rule, progress).class_of_tuple
        groups = groups_inside(problem, near)
        if groups is not None:
            return groups, ()
        if is_whole:
            break
        size *= 2
    return partition(problem, rule, progress).class_of_tuple, (BY_VALUES,)
