"""Large classes shared out: smaller ones with the same sensitive values in the same proportions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.partition import CutRule, partition
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import silent

__all__ = ["share_out"]

IntArray = NDArray[np.int64]


def share_out(problem: Problem, classes: IntArray, counted: list[int], most: int) -> IntArray:
    """Classes of at most about `most` tuples; a class whose parts the goal does not admit stays whole.

    The records of each sensitive value are put in the order of a top-down partition and dealt out in equal shares, so
    every part has neighbours in it and the distribution of the whole class.
    """
    n_members = np.bincount(classes)
    n_parts = -(-n_members // most)
    if n_parts.max() < 2 or not counted:
        return classes
    table = problem.table
    values = np.zeros(table.n_tuples, np.int64)
    for i in counted:
        values = values * table.sensitive[i].n_values + table.sensitive_codes(i)
    goal = Goal((KAnonymity(k=2),))
    near = partition(replace(problem, goal=goal), CutRule(by_saving=True, relaxed=False), silent).class_of_tuple
    order = np.lexsort((near, values, classes))
    group = np.unique(np.stack([classes, values])[:, order], axis=1, return_inverse=True)[1].reshape(-1)
    weight = table.weights[order] if len(table.weights) else np.ones(len(order), np.int64)
    size = np.bincount(group, weights=weight).astype(np.int64)
    before = np.cumsum(weight) - weight - (np.cumsum(size) - size)[group]  # records of the group that come earlier
    part = np.empty(len(order), np.int64)
    part[order] = (2 * before + weight) * n_parts[classes[order]] // (2 * size[group])
    shared = np.unique(classes * int(n_parts.max()) + part, return_inverse=True)[1].reshape(-1).astype(np.int64)
    ok = problem.goal.admits(table.class_stats(shared, int(shared.max()) + 1))
    is_whole = np.zeros(len(n_members), bool)
    is_whole[classes[~ok[shared]]] = True
    return np.unique(np.where(is_whole[classes], classes, shared + len(n_members)), return_inverse=True)[1].reshape(-1)
