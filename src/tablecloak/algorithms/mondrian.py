"""Mondrian: multidimensional top-down partitioning for any goal."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.partition import CutRule, partition
from tablecloak.algorithms.prices import CLASS_COSTS, LEVEL_LOSSES, priced
from tablecloak.algorithms.suppress import leave_out, suppress
from tablecloak.kernels.space import ClassCost
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

__all__ = ["Mondrian"]


@algorithm("mondrian")
class Mondrian:
    """Cut the table in two along one quasi-identifier, again and again, while both sides satisfy the goal.

    Models that are not monotone rule out no cut above them: a class that violates one is cut further.
    Every class publishes the smallest interval, set or hierarchy node that holds its records. Cost: near-linear.
    Reference: LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    """

    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="strict: equal rows stay together; relaxed: rows with the cut value may go to either side"),
    ] = "strict"
    split: Annotated[
        Literal["loss", "width"],
        Field(description="which cut: the one that saves most information loss, or the middle of the widest column"),
    ] = "loss"
    loss: Annotated[
        Literal[
            "ncp",
            "iloss",
            "minimal-distortion",
            "precision",
            "total",
            "total-il",
            "star-count",
            "discernibility",
            "average-class-size",
        ],
        Field(description="the metric that cuts by loss improve; those of levels give every column a hierarchy"),
    ] = "ncp"
    suppression_limit: Annotated[
        float, Field(ge=0, lt=1, description="share of records that may be left out where that lowers the loss")
    ] = 0.0

    @property
    def may_shard(self) -> bool:
        return True

    @property
    def needs_rows(self) -> bool:
        return self.mode == "relaxed"

    @property
    def needs_hierarchies(self) -> bool:
        return self.loss in LEVEL_LOSSES and self.mode == "strict" and self.split == "loss"

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        is_relaxed = self.mode == "relaxed"
        # sharing out equal rows is defined by the median cut, so relaxed mode cuts by width
        by_saving = self.split == "loss" and not is_relaxed
        if by_saving:
            problem = replace(problem, table=priced(problem.table, self.loss))
        rule = CutRule(by_saving, is_relaxed, CLASS_COSTS.get(self.loss, ClassCost.CELLS))
        solution = partition(problem, rule, progress)
        budget = int(self.suppression_limit * problem.table.n_rows)
        if not budget:
            return solution
        return suppress(problem, solution, budget) if problem.goal.is_monotone else leave_out(problem, solution, budget)
