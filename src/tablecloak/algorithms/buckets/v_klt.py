"""V-KLT: V-KAN groups, PM-HCA mixes categories and T-MSN mixes numbers, one after the other."""

from __future__ import annotations

from dataclasses import field, replace
from typing import ClassVar

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.buckets._v_klt_shared import ByRow, LevelsField, TField, VariantField, finished, spans_at
from tablecloak.algorithms.buckets.pm_hca import mixed_categories, numbers_united, permuted_as_published
from tablecloak.algorithms.buckets.t_msn import closer_to_table, exchanged_as_published
from tablecloak.algorithms.buckets.v_kan import grouped_at_levels
from tablecloak.algorithms.merge_classes import merge_failing
from tablecloak.progress import Progress


@algorithm("v-klt", minimizes="what its three parts do")
class VKlt(ByRow):
    """V-KAN, then PM-HCA on categories, then T-MSN on numbers, then common quasi-identifiers for every bucket.

    The published variant runs the steps to the letter; the recount then says whether the result holds.
    Cost: O(n log n + buckets^2). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    needs_hierarchies: ClassVar[bool] = True
    variant: VariantField = "sound"
    levels: LevelsField = field(default_factory=dict)
    t: TField = 0.0

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        progress.start("solve", table.n_tuples)
        spans = spans_at(table, self.levels)
        classes = grouped_at_levels(spans)
        if self.variant == "published":
            after, notes = permuted_as_published(table, classes)
            _, more = exchanged_as_published(table, after)
            return numbers_united(table, spans, after).solution((*notes, *more))
        models = tuple(m for m in problem.goal.models if not m.is_distance)
        if models:
            classes = merge_failing(replace(problem, goal=replace(problem.goal, models=models)), classes)
        classes, notes = mixed_categories(problem, spans, classes)
        classes, more = closer_to_table(problem, spans, classes, self.t)
        return finished(problem, spans, classes, [*notes, *more])
