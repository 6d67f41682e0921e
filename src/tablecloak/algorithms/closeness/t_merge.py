"""Small classes first, united with others until all are close to the table."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm, if_not_monotone
from tablecloak.algorithms.closeness._bounded import bounded_columns
from tablecloak.algorithms.closeness._uniting import cells_of, united
from tablecloak.algorithms.merge_classes import boxes_of, merge_failing, renumbered
from tablecloak.models.base import Goal
from tablecloak.progress import Progress


@algorithm("t-merge", minimizes="NCP")
class TMerge:
    """Cut the table in small classes, then unite those that are far from the table until all are close enough.

    `repair` takes the class that exceeds its bounds least, and unites it with the one that costs least for each record
    of excess that goes away, so values that one class has too often meet those it lacks. `nearest` takes the class that
    exceeds most and unites it with its nearest, as published. Bounds are those of t-closeness (all distances) and
    beta-likeness; classes that fail the rest of the goal are united with their nearest. Equal rows stay together. The
    source begins with MDAV clusters; here it is top-down cuts.
    Reference: Soria-Comas, Domingo-Ferrer, Sanchez, Martinez, t-closeness through microaggregation, IEEE TKDE 27, 2015.
    Cost: O(n log n), and the square of the number of small classes.
    """

    reaches_whole: ClassVar[bool] = True
    lists_values: ClassVar[bool] = True
    merge: Annotated[Literal["repair", "nearest"], Field(description="which class is united, and with which other")] = (
        "repair"
    )
    records: Annotated[int, Field(ge=1, description="of a class before classes are united, at least; k where more")] = 1

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, "classes that fail are united, and uniting classes can break {models}")

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        size = max(self.records, problem.goal.min_size)
        classes = cells_of(problem, size, progress)
        columns = bounded_columns(problem)
        classes = united(problem, classes, columns, repairs=self.merge == "repair")
        classes, n_classes = renumbered(merge_failing(problem, classes))
        return Solution(classes, *boxes_of(problem.table, classes, n_classes))
