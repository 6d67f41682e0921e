"""Mondrian: multidimensional top-down partitioning for any goal."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tablecloak.algorithms.base import LoweringLimit, Problem, Solution, algorithm
from tablecloak.algorithms.loss_target import TARGET_LOSSES, AnyLoss, LossTarget
from tablecloak.algorithms.solution_metrics import best_by
from tablecloak.algorithms.topdown._cut_costs import chooser_of, node_prices
from tablecloak.algorithms.topdown._cut_further import best_among_people
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.algorithms.topdown._suppress_records import leave_out, suppress
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.loading import Step, needed
from tablecloak.kernels.packed_codes import ClassCost
from tablecloak.metrics.cell_losses import cell_losses
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.values.amounts import most_of


@algorithm("mondrian")
class Mondrian:
    """Cut the table in two along one quasi-identifier, again and again, while both sides satisfy the goal.

    Models that are not monotone rule out no cut above them: a class that violates one is cut further.
    Every class publishes the smallest interval, set or hierarchy node that holds its records. Cost: near-linear.
    Reference: LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    """

    reaches_whole: ClassVar[bool] = True
    may_shard: ClassVar[bool] = True
    lists_values: ClassVar[bool] = True
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="strict: equal rows stay together; relaxed: rows with the cut value may go to either side"),
    ] = "strict"
    split: Annotated[
        Literal["loss", "width"],
        Field(description="which cut: the one that saves most information loss, or the middle of the widest column"),
    ] = "loss"
    loss: Annotated[
        AnyLoss,
        Field(description="the metric that cuts by loss improve; those of levels give every column a hierarchy"),
    ] = "ncp"
    target: LossTarget = None
    suppression_limit: LoweringLimit = 0.0

    @property
    def needs_rows(self) -> bool:
        return self.mode == "relaxed"

    @property
    def needs_hierarchies(self) -> bool:
        return self.loss in LEVEL_LOSSES and self.mode == "strict" and self.split == "loss"

    @property
    def needs_sensitive(self) -> bool:
        return self.loss in TARGET_LOSSES and self.mode == "strict" and self.split == "loss"

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def kernels(self, n_tuples: int, goal: Goal) -> tuple[Step, ...]:  # noqa: ARG002
        return needed() if pays(n_tuples) else ()

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        return best_among_people(problem, lambda each: self._solved(each, progress), self.loss, self.target)

    def _solved(self, problem: Problem, progress: Progress) -> Solution:
        is_relaxed = self.mode == "relaxed"
        # sharing out equal rows is defined by the median cut, so relaxed mode cuts by width
        by_saving = self.split == "loss" and not is_relaxed
        budget = most_of(problem.table.n_rows, self.suppression_limit)
        if by_saving and self.loss in CHOSEN_LOSSES:
            return self._with_suppression(problem, self._chosen(problem, progress), budget)
        if by_saving:
            problem = replace(problem, table=priced(problem.table, self.loss))
        rule = CutRule(by_saving, is_relaxed, CLASS_COSTS.get(self.loss, ClassCost.CELLS))
        solution = partition(problem, rule, progress)
        if not budget:
            return solution
        return suppress(problem, solution, budget) if problem.goal.is_monotone else leave_out(problem, solution, budget)

    def _with_suppression(self, problem: Problem, solution: Solution, budget: int) -> Solution:
        """The same after outliers were left out, where that is better by the chosen loss."""
        if not problem.goal.is_monotone:
            return leave_out(problem, solution, budget)
        if not budget:
            return solution
        return best_by(self.loss, problem, [solution, suppress(problem, solution, budget)], self.target)

    def _chosen(self, problem: Problem, progress: Progress) -> Solution:
        """Cut by a loss that kernels do not know, and by NCP, which looks further ahead; the better of both is kept."""
        rule = CutRule(True, False, chooser=chooser_of(problem.table, self.loss, self.target))
        # smaller classes tell more bits but give up more anonymity, so several least sizes are tried
        least = max(1, problem.goal.min_size)
        sizes = _doubled(least, problem.table.n_rows // 2) if self.loss == "igpl" else [least]
        rules = [replace(other, min_size=size) for size in sizes for other in (rule, CutRule(True, False))]
        solutions = (partition(problem, each, progress) for each in rules)
        return best_by(self.loss, problem, solutions, self.target)


def _doubled(least: int, most: int) -> list[int]:
    """The least size, twice as much, and so on."""
    return [least, *(least << i for i in range(1, most.bit_length()) if least << i <= most)]


# Metrics that speak of steps up a hierarchy, so every column must have one.
LEVEL_LOSSES = ("minimal-distortion", "precision", "total", "total-il", "star-count", "height")
# Metrics of class sizes alone.
CLASS_COSTS = {
    "discernibility": ClassCost.DISCERNIBILITY,
    "ambiguity-data": ClassCost.DISCERNIBILITY,  # the same where classes do not overlap
    "average-class-size": ClassCost.AVERAGE_SIZE,
}


# Metrics that kernels do not know: every cut is priced in plain numpy.
CHOSEN_LOSSES = ("ambiguity", "non-uniform-entropy", "height", "classification", "hce-tdr", "igpl")


def priced(table: CodedTable, loss: str) -> CodedTable:
    """The same tuples with the prices of another metric, between 0 for an exact value and 1 for any value."""
    if loss in ("ncp", "gcp") or loss in CLASS_COSTS:
        return table
    tallest = max((d.hierarchy.height for d in table.domains if d.hierarchy), default=1)
    domains = tuple(_priced(d, loss, max(1, tallest), table.originals(i)) for i, d in enumerate(table.domains))
    return replace(table, domains=domains, space=make_space(domains, table.space.layout))


def _priced(domain: Domain, loss: str, tallest: int, originals: IntArray) -> Domain:
    tree = domain.hierarchy
    if tree is not None:
        prices = node_prices(domain, cell_losses()[loss], originals, loss)
        return replace(domain, hierarchy=tree.with_losses(prices / (tallest if loss == "minimal-distortion" else 1)))
    if loss in ("iloss", "iloss-domain"):
        n = len(domain.values)
        steps = pl.Series(domain.name, np.arange(n))  # values as far apart as their codes
        weight = domain.weight * (1.0 if loss == "iloss" else max(1, n - 1) / max(1, n))  # from n - 1 steps to n values
        first, last = ((side - int(domain.has_missing)) / max(1, n - 1) for side in domain.covers())
        spans = np.maximum(first, 0.0), np.maximum(last, 0.0)
        return replace(
            domain, kind=DomainKind.ORDERED, type=ColumnType.INTEGER, values=steps, weight=weight, spans=spans
        )
    raise IncompatibleChoice(f"column '{domain.name}' needs a hierarchy for the loss {loss}", hint="loss: ncp")
