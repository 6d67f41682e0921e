"""Full-domain algorithms: all values of a column are generalised to one level; nodes of a lattice are searched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.fulldomain.best_first import Found, best_first
from tablecloak.algorithms.fulldomain.datafly import datafly
from tablecloak.algorithms.fulldomain.explore import Exploration
from tablecloak.algorithms.fulldomain.flash import flash
from tablecloak.algorithms.fulldomain.incognito import incognito
from tablecloak.algorithms.fulldomain.judge import Judge, why_no_pruning
from tablecloak.algorithms.fulldomain.losses import LossName
from tablecloak.algorithms.fulldomain.ola import ola
from tablecloak.algorithms.fulldomain.publish import publish
from tablecloak.algorithms.fulldomain.view import LatticeView, view_of_exploration, view_of_found
from tablecloak.algorithms.target import TARGET_LOSSES, LossTarget
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

__all__ = ["BestFirst", "Datafly", "Flash", "FullDomain", "Incognito", "Ola", "Optimal"]

Limit = Annotated[
    float, Field(ge=0, lt=1, description="share of records that may be left out because their class fails the goal")
]


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class FullDomain(ABC):
    """What all searches of the lattice have in common."""

    name: ClassVar[str]
    loss: LossName = "gcp"
    suppression_limit: Limit = 0.0
    suppress: Annotated[
        Literal["records", "cells"],
        Field(description="cells: of the records that would be left out, only as many cells as needed are hidden"),
    ] = "records"
    target: LossTarget = None

    @property
    def needs_hierarchies(self) -> bool:
        return True

    @property
    def needs_sensitive(self) -> bool:
        return self.loss in TARGET_LOSSES

    def refuses(self, goal: Goal) -> str | None:
        return why_no_pruning(goal, suppresses=self.suppression_limit > 0)

    def judge(self, problem: Problem) -> Judge:
        """Judges the nodes of a problem's lattice by this algorithm's loss and limit."""
        return Judge(problem, self.loss, self.suppression_limit, self.target)

    def explore(self, problem: Problem, progress: Progress) -> Exploration:
        """Search the lattice and keep all that was found out; `best` is the node to publish."""
        known = Exploration(self.judge(problem), progress)
        self.visit(known)
        known.choose()
        return known

    def view(self, problem: Problem, progress: Progress) -> LatticeView:
        """The searched lattice as a value."""
        return view_of_exploration(self.explore(problem, progress))

    @abstractmethod
    def visit(self, known: Exploration) -> None:
        """Tag nodes in the order of this algorithm."""

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        known = self.explore(problem, progress)
        return publish(known.judge, known.choose().node, cells=self.suppress == "cells")


@algorithm("flash")
class Flash(FullDomain):
    """Full-domain optimum by bisecting paths through the lattice; one check tags all nodes above or below.

    Paths follow total level, then share of levels climbed, then share of values lost. Cost: few checks, each a roll-up.
    Reference: Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash, PASSAT 2012.
    """

    def visit(self, known: Exploration) -> None:
        flash(known)


@algorithm("incognito")
class Incognito(FullDomain):
    """Full-domain optimum by breadth-first search over ever larger sets of columns.

    What fails on some columns fails on all, so few candidates are left for the larger sets. Cost: exponential in the
    number of columns.
    Reference: LeFevre, DeWitt, Ramakrishnan, Incognito, SIGMOD 2005.
    """

    def visit(self, known: Exploration) -> None:
        incognito(known)


@algorithm("ola")
class Ola(FullDomain):
    """Full-domain optimum by halving sublattices; one check tags all nodes above or below.

    Of all safe nodes the one that loses least is published, which is one of the minimal nodes if nothing is suppressed.
    Reference: El Emam et al., A globally optimal k-anonymity method, JAMIA 2009.
    """

    def visit(self, known: Exploration) -> None:
        ola(known)


@algorithm("optimal")
class Optimal(FullDomain):
    """Full-domain optimum for any loss and goal, suppression included, by branch and bound over the lattice.

    Nodes are ruled out by what coarser nodes must suppress and by what finer nodes lose. Goals that are not monotone
    rule out less, and their lattice is searched node by node where nothing else helps.
    """

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def visit(self, known: Exploration) -> None:
        known.choose()


@algorithm("best-first")
class BestFirst(FullDomain):
    """Best full-domain node within a time limit, for lattices of any size, with a bound on what was missed.

    Sublattices that could hold the best node are cut in two until time is up or nothing better is left.
    Reference: Prasser, Bild, Eicher, Spengler, Kuhn, Lightning, Transactions on Data Privacy 2016 (the same purpose).
    """

    time_limit: Annotated[float, Field(gt=0, description="seconds after which the best node so far is published")] = (
        30.0
    )
    checks: Annotated[int | None, Field(ge=1, description="nodes counted at most; the same on every machine")] = None

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def visit(self, known: Exploration) -> None:
        known.choose()

    def find(self, problem: Problem, progress: Progress) -> tuple[Judge, Found]:
        """Search, and say how good the best node is."""
        judge = self.judge(problem)
        return judge, best_first(judge, self.time_limit, self.checks, progress)

    def view(self, problem: Problem, progress: Progress) -> LatticeView:
        return view_of_found(*self.find(problem, progress))

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        judge, found = self.find(problem, progress)
        solution = publish(judge, found.best.node, cells=self.suppress == "cells")
        return solution if found.is_optimal else replace(solution, notes=(found.remark(self.loss),))


@algorithm("datafly", minimizes="the number of values of the column that has most")
class Datafly:
    """Greedy full-domain generalisation: the column with most values climbs a level until few records fail the goal.

    Of columns with equally many values the last listed climbs. Records that still fail are suppressed. Fast, and it
    generalises more than needed.
    Reference: Sweeney, Datafly, DBSec 1997.
    """

    suppression_limit: Annotated[
        float | None,
        Field(ge=0, lt=1, description="share of records that may be left out; if not given, as many as a class needs"),
    ] = None
    suppress: Annotated[
        Literal["records", "cells"],
        Field(description="cells: of the records that would be left out, only as many cells as needed are hidden"),
    ] = "records"

    @property
    def needs_hierarchies(self) -> bool:
        return True

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
        return publish(judge, datafly(judge, progress)[-1].node, cells=self.suppress == "cells")
