"""V-KAN: every quasi-identifier generalised to one level, and equal rows grouped."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.buckets import _v_klt_shared as shared
from tablecloak.arrays import IntArray
from tablecloak.models.base import Goal
from tablecloak.progress import Progress


@algorithm("v-kan", minimizes="the levels of its columns, one step after the other")
class VKan(shared.Variants):
    """Generalise every quasi-identifier to one level and group equal rows; classes that fail the goal join a neighbour.

    The published variant leaves them as they are: its k is whatever the smallest class happens to have.
    Cost: O(n log n). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    needs_hierarchies: ClassVar[bool] = True
    variant: shared.VariantField = "sound"
    levels: shared.LevelsField = field(default_factory=dict)

    def refuses(self, goal: Goal) -> str | None:
        return shared.refusal(goal, needs_sensitive=False)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        progress.start("solve", problem.table.n_tuples)
        spans = shared.spans_at(problem.table, self.levels)
        if self.variant == "published":
            return spans.solution(("published variant: classes are as large as the chosen levels make them",))
        return shared.finished(problem, spans, grouped_at_levels(spans), [])


def grouped_at_levels(spans: shared.Spans) -> IntArray:
    """Rows with equal spans in one class, numbered as they come."""
    return shared.first_seen([*spans.lo.T, *spans.hi.T])
