"""What the searches of the lattice have in common: their options, and from a searched lattice to a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.algorithms.base import FailingLimit, Problem, Solution
from tablecloak.algorithms.fulldomain._judge import Judge, NodeVerdict, publish, why_no_pruning
from tablecloak.algorithms.fulldomain._losses import LossName
from tablecloak.algorithms.fulldomain._searched_lattice import SearchedLattice
from tablecloak.algorithms.fulldomain.lattice_view import LatticeView, view_of_search
from tablecloak.algorithms.loss_target import TARGET_LOSSES, LossTarget
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

Suppress = Annotated[
    Literal["records", "cells"],
    Field(description="cells: of the records that would be left out, only as many cells as needed are hidden"),
]


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class FullDomain(ABC):
    """What all searches of the lattice have in common."""

    name: ClassVar[str]
    searches_lattice: ClassVar[bool] = True
    reaches_whole: ClassVar[bool] = True  # the top of the lattice
    needs_hierarchies: ClassVar[bool] = True
    loss: LossName = "gcp"
    suppression_limit: FailingLimit = 0.0
    suppress: Suppress = "records"
    target: LossTarget = None

    @property
    def needs_sensitive(self) -> bool:
        return self.loss in TARGET_LOSSES

    def refuses(self, goal: Goal) -> str | None:
        return why_no_pruning(goal, suppresses=self.suppression_limit > 0)

    def judge(self, problem: Problem) -> Judge:
        """Judges the nodes of a problem's lattice by this algorithm's loss and limit."""
        return Judge(problem, self.loss, self.suppression_limit, self.target)

    def explore(self, problem: Problem, progress: Progress) -> SearchedLattice:
        """Search the lattice and keep all that was found out; raises Infeasible if no node is safe."""
        searched = SearchedLattice(self.judge(problem), progress)
        self.visit(searched)
        self.choose(searched)
        return searched

    def choose(self, searched: SearchedLattice) -> NodeVerdict:
        """The safe node to publish, once the lattice was visited: the one that loses least."""
        return searched.choose()

    def view(self, problem: Problem, progress: Progress) -> LatticeView:
        """The searched lattice as a value."""
        searched = self.explore(problem, progress)
        return view_of_search(searched, self.choose(searched))

    @abstractmethod
    def visit(self, searched: SearchedLattice) -> None:
        """Tag nodes in the order of this algorithm."""

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        searched = self.explore(problem, progress)
        return publish(searched.judge, self.choose(searched).node, cells=self.suppress == "cells")


class ForAnyGoal(FullDomain):
    """What searches have in common that find their node without tags, whatever the goal."""

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def visit(self, searched: SearchedLattice) -> None:
        searched.choose()
