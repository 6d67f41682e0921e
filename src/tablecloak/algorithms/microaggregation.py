"""Microaggregation: clusters of at least k similar records, each published as its center."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from tablecloak.algorithms.base import Problem, Publishes, Solution, algorithm
from tablecloak.algorithms.merging import boxes_of, merge_failing, renumbered
from tablecloak.algorithms.micro.centers import centers_of, check_ties, spread_within
from tablecloak.algorithms.micro.clusters import mdav, univariate, v_mdav
from tablecloak.algorithms.micro.records import is_number, numbers_of, records_of
from tablecloak.algorithms.micro.tie import Tie, parse_tie
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

__all__ = ["Mdav", "Univariate", "VMdav"]

IntArray = NDArray[np.int64]
Standardize = Annotated[bool, Field(description="give all columns the same spread before records are compared")]


def _refusal(goal: Goal) -> str | None:
    unsafe = goal.not_monotone
    if unsafe:
        return f"clusters that fail it are united, and uniting clusters can break {', '.join(unsafe)}"
    return None


class _Microaggregation:
    """What every kind of microaggregation shares."""

    @property
    def publishes(self) -> Publishes:
        return Publishes.CENTERS

    @property
    def needs_rows(self) -> bool:
        return True

    def refuses(self, goal: Goal) -> str | None:
        return _refusal(goal)


def _ties(tie: str | tuple[str, ...]) -> list[Tie]:
    return [parse_tie(text) for text in ([tie] if isinstance(tie, str) else tie)]


def _solution(problem: Problem, clusters: IntArray, ties: list[Tie], remarks: tuple[str, ...] = ()) -> Solution:
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
        _ties(tie)
    except ValueError as error:
        raise PydanticCustomError("tie", "{reason}", {"reason": str(error)}) from None
    return tie


TieField = Annotated[
    str | tuple[str, ...],
    AfterValidator(_readable),
    Field(description="columns computed from the averages of others, as in 'Sum = Hours * Rate'"),
]


@algorithm("mdav", minimizes="the squared distances to the centers")
class Mdav(_Microaggregation):
    """Put the k records around the most extreme one in a cluster, and the k around its opposite, again and again.

    Cells become the mean of their cluster, categories its most typical value: numbers stay numbers, but no cell is the
    original of anyone. All quasi-identifiers are clustered together, so k holds for all of them together.
    Cost: O(n^2 / k). Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11, 2005.
    """

    standardize: Standardize = True
    tie: TieField = ()

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        ties = _ties(self.tie)
        remarks = check_ties(problem.table, ties)
        progress.start("solve", problem.table.n_tuples)
        records = records_of(problem.table, standardize=self.standardize, without={t.target for t in ties})
        return _solution(problem, mdav(records, problem.goal.min_size, progress), ties, remarks)


@algorithm("v-mdav", minimizes="the squared distances to the centers")
class VMdav(_Microaggregation):
    """Clusters around extreme records, as MDAV makes them, that grow up to 2 k - 1 records where neighbours are close.

    Cost: O(n^2). Reference: Solanas, Martinez-Balleste, V-MDAV, COMPSTAT 2006.
    """

    gain: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="0 never grows; 0.2 suits scattered records, 1.1 clumps")
    ] = 0.2
    standardize: Standardize = True
    tie: TieField = ()

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        ties = _ties(self.tie)
        remarks = check_ties(problem.table, ties)
        progress.start("solve", problem.table.n_tuples)
        records = records_of(problem.table, standardize=self.standardize, without={t.target for t in ties})
        clusters = v_mdav(records, problem.goal.min_size, self.gain, progress)
        return _solution(problem, clusters, ties, remarks)


@algorithm("univariate", minimizes="the squared distances to the centers")
class Univariate(_Microaggregation):
    """The clusters of one numeric quasi-identifier that lose least, found exactly.

    Several quasi-identifiers are refused: averaging them column by column does not make records alike.
    Cost: O(n (log n + k)). Reference: Hansen, Mukherjee, IEEE TKDE 15, 2003.
    """

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        domains = problem.table.domains
        if len(domains) != 1 or not is_number(domains[0]):
            raise IncompatibleChoice(
                f"univariate averages one numeric quasi-identifier and there are {len(domains)} to protect; "
                "averaged column by column, records are not k-anonymous",
                hint="use mdav or v-mdav, which cluster all of them together",
            )
        progress.start("solve", problem.table.n_tuples)
        values = numbers_of(domains[0])[problem.table.quasi_codes(0)]
        # records without a value lie together at one end of the line
        far = np.nanmax(values, initial=0.0) + 1.0 if not np.isnan(values).all() else 0.0
        clusters = univariate(np.where(np.isnan(values), far, values), problem.goal.min_size)
        return _solution(problem, clusters, [])
