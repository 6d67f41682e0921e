"""Permutation: every column shuffled inside diverse groups."""

from __future__ import annotations

from tablecloak.algorithms.base import Bucketing, Problem, Solution, algorithm
from tablecloak.algorithms.buckets import base
from tablecloak.data.coded import CodedTable
from tablecloak.progress import Progress


@algorithm("permutation", minimizes="nothing, its cells are exact")
class Permutation(base.GivenGroups, base.Separating):
    """Shuffle every quasi-identifier, and the sensitive columns, independently inside each group.

    The sensitive columns stand in a table of their own; every column of every group keeps its values.
    Cost: O(n log n). Reference: He, Xiao et al., Permutation anonymization: improving anatomy, PAKDD workshops 2011.
    """

    groups: base.GroupsField = None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return [*((d.name,) for d in table.domains), base.sensitive_names(table)]

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        progress.start("solve", table.n_tuples)
        groups = base.groups_for(problem)
        blocks = tuple(base.shuffled(problem, groups, names) for names in self.moving(table))
        return base.bucketed(problem, groups, Bucketing(blocks, side=base.sensitive_names(table)))
