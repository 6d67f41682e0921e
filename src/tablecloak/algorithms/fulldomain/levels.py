"""Full-domain generalisation to given levels."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.fulldomain._judge import publish
from tablecloak.algorithms.fulldomain._lattice import Node
from tablecloak.algorithms.fulldomain.base import ForAnyGoal
from tablecloak.errors import IncompatibleChoice, did_you_mean
from tablecloak.progress import Progress


@algorithm("levels")
class Levels(ForAnyGoal):
    """Full-domain generalisation to the levels given, such as a node that was chosen in the lattice.

    Columns that are not named stay as they are. Fails where the levels do not satisfy the goal within the limit.
    """

    reaches_whole: ClassVar[bool] = False
    levels: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        Field(description="level of each quasi-identifier, 0 as it is; beyond the top of its hierarchy means the top"),
    ] = Field(default_factory=dict)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        judge = self.judge(problem)
        node = self._node([d.name for d in problem.table.domains], judge.lattice.top)
        progress.start("solve", 1)
        return publish(judge, node, cells=self.suppress == "cells")

    def _node(self, columns: list[str], top: Node) -> Node:
        for name in self.levels:
            if name not in columns:
                raise IncompatibleChoice(
                    f"algorithm.levels names '{name}', which is no quasi-identifier", hint=did_you_mean(name, columns)
                )
        return tuple(min(self.levels.get(name, 0), most) for name, most in zip(columns, top, strict=True))
