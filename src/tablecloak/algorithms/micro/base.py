"""What every kind of microaggregation shares: clusters, united where they fail the goal, published as their centers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from tablecloak.algorithms.base import Problem, Publishes, Solution, if_not_monotone
from tablecloak.algorithms.merge_classes import boxes_of, merge_failing, renumbered
from tablecloak.algorithms.micro._centers import centers_of, spread_within
from tablecloak.algorithms.micro._points import records_of
from tablecloak.algorithms.micro._tie import Tie, parse_tie
from tablecloak.arrays import IntArray
from tablecloak.models.base import Goal

Standardize = Annotated[bool, Field(description="give all columns the same spread before records are compared")]


class Microaggregation:
    """What every kind of microaggregation shares."""

    publishes: ClassVar[Publishes] = Publishes.CENTERS

    needs_rows: ClassVar[bool] = True

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, "clusters that fail it are united, and uniting clusters can break {models}")

    def comparisons(self, n_records: int, size: int) -> float | None:
        return n_records**2 / max(1, size)


def ties_of(tie: str | tuple[str, ...]) -> list[Tie]:
    """The formulas of a policy, read."""
    return [parse_tie(text) for text in ([tie] if isinstance(tie, str) else tie)]


def centered(problem: Problem, clusters: IntArray, ties: list[Tie], remarks: tuple[str, ...] = ()) -> Solution:
    """Clusters, united where they fail the goal, with their centers."""
    table = problem.table
    classes, n_classes = renumbered(merge_failing(problem, clusters))
    lo, hi = boxes_of(table, classes, n_classes)
    points = records_of(table, standardize=True).numbers
    if points.shape[1]:
        remarks = (f"{spread_within(points, classes):.2%} of the squared spread of the numbers is lost", *remarks)
    return Solution(classes, lo, hi, centers=centers_of(table, classes, n_classes, ties), notes=remarks)


def _readable(tie: str | tuple[str, ...]) -> str | tuple[str, ...]:
    try:
        ties_of(tie)
    except ValueError as error:
        raise PydanticCustomError("tie", "{reason}", {"reason": str(error)}) from None
    return tie


TieField = Annotated[
    str | tuple[str, ...],
    AfterValidator(_readable),
    Field(description="columns computed from the averages of others, as in 'Sum = Hours * Rate'"),
]
