"""Anatomy: exact quasi-identifiers, and beside them how often each diverse group has each value."""

from __future__ import annotations

from tablecloak.algorithms.base import Bucketing, Problem, Solution, algorithm
from tablecloak.algorithms.buckets import base
from tablecloak.progress import Progress


@algorithm("anatomy", minimizes="nothing, its cells are exact")
class Anatomy(base.GivenGroups, base.Separating):
    """Publish exact quasi-identifiers with a group number, and beside them how often each group has each value.

    A group takes one record of each of the l most frequent remaining sensitive values, so no value makes up more than
    1/l of it. The main table keeps all quasi-identifiers: it hides what a person has, not that the person is there.
    Cost: O(n log n). Reference: Xiao, Tao, Anatomy: simple and effective privacy preservation, VLDB 2006.
    """

    groups: base.GroupsField = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        progress.start("solve", problem.table.n_tuples)
        names = base.sensitive_names(problem.table)
        return base.bucketed(problem, base.groups_for(problem), Bucketing(side=names, is_counted=True))
