"""Datafly: raise the column with most values until few enough records are left in classes that fail."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.fulldomain._judge import Judge, NodeVerdict, publish
from tablecloak.algorithms.fulldomain.base import Suppress
from tablecloak.models.base import Goal
from tablecloak.progress import Progress


@algorithm("datafly", minimizes="the number of values of the column that has most")
class Datafly:
    """Greedy full-domain generalisation: the column with most values climbs a level until few records fail the goal.

    Of columns with equally many values the last listed climbs. Records that still fail are suppressed. Fast, and it
    generalises more than needed.
    Reference: Sweeney, Datafly, DBSec 1997.
    """

    needs_hierarchies: ClassVar[bool] = True
    suppression_limit: Annotated[
        float | None,
        Field(ge=0, lt=1, description="share of records that may be left out; if not given, as many as a class needs"),
    ] = None
    suppress: Suppress = "records"

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def judge(self, problem: Problem) -> Judge:
        """Judges nodes as Datafly does: at most k records may fail unless a limit says else."""
        judge = Judge(problem, "gcp", self.suppression_limit or 0.0)
        if self.suppression_limit is None:
            judge.budget = min(problem.goal.min_size, problem.table.n_rows - 1)
        return judge

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        judge = self.judge(problem)
        return publish(judge, nodes_on_the_way(judge, progress)[-1].node, cells=self.suppress == "cells")


def nodes_on_the_way(judge: Judge, progress: Progress) -> list[NodeVerdict]:
    """The nodes on the way, the last of them safe."""
    progress.start("solve", judge.lattice.n_rows)
    node = judge.lattice.bottom
    way = [judge.verdict(node)]
    while not way[-1].is_safe:
        counts = {d: judge.rollups.distinct(d, node[d]) for d, h in enumerate(judge.lattice.heights) if node[d] < h}
        if not counts:
            raise judge.infeasible()
        dim = max(counts, key=lambda d: (counts[d], d))  # of columns with equally many values the last listed
        node = (*node[:dim], node[dim] + 1, *node[dim + 1 :])
        way.append(judge.verdict(node))
        progress.advance(sum(node))
    return way
