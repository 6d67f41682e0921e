"""The algorithm seam: a problem goes in, a solution (class of every tuple, box of every class) comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.registry import register
from tablecloak.stats.classes import ClassStats

__all__ = ["Algorithm", "CutTree", "Problem", "Solution", "algorithm"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Problem:
    """What an algorithm must solve."""

    table: CodedTable
    goal: Goal
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class CutTree:
    """Cuts from the whole table down to classes; a child >= 0 is another cut, a child c < 0 is class ~c."""

    dim: IntArray  # (n_cuts,)
    cut: IntArray  # (n_cuts,) codes <= cut go left
    left: IntArray  # (n_cuts,)
    right: IntArray  # (n_cuts,)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Classes as boxes of codes, and the class of every tuple (-1: suppressed).

    A box publishes the lowest hierarchy node that holds it, unless `nodes` names the node itself, as methods do that
    generalise a whole column to one level.
    """

    class_of_tuple: IntArray  # (n_tuples,)
    lo: IntArray  # (n_classes, n_dims)
    hi: IntArray  # (n_classes, n_dims)
    tree: CutTree | None = None
    nodes: IntArray | None = None  # (n_classes, n_dims) hierarchy nodes; meaningless where a column has no hierarchy
    notes: tuple[str, ...] = ()  # what the user should know about the search, counts only

    @property
    def n_classes(self) -> int:
        return len(self.lo)

    def losses(self, domains: Sequence[Domain]) -> FloatArray:
        """Loss of what each class publishes, unweighted, (n_classes, n_dims)."""
        columns = []
        for i, domain in enumerate(domains):
            if self.nodes is not None and domain.hierarchy is not None:
                columns.append(domain.hierarchy.losses[self.nodes[:, i]])
            else:
                columns.append(domain.loss(self.lo[:, i], self.hi[:, i]))
        return np.stack(columns, axis=1)

    def class_of_row(self, table: CodedTable) -> IntArray:
        """The class of every row (-1: suppressed)."""
        return self.class_of_tuple if table.tuple_of_row is None else self.class_of_tuple[table.tuple_of_row]

    def stats(self, table: CodedTable) -> ClassStats:
        """Statistics of the classes as a reader of the release counts them: without suppressed records."""
        return table.class_stats(self.class_of_tuple, self.n_classes, own_totals=True)


class Algorithm(Protocol):
    """What every algorithm offers; its fields are the parameters of a policy."""

    name: ClassVar[str]

    @property
    def needs_rows(self) -> bool:
        """Equal rows may end in different classes, so tuples must be rows."""
        return False

    @property
    def needs_hierarchies(self) -> bool:
        """Every quasi-identifier must have a hierarchy; columns without one get an automatic one."""
        return False

    @property
    def needs_sensitive(self) -> bool:
        """The search looks at sensitive attributes even where the goal does not."""
        return False

    def refuses(self, goal: Goal) -> str | None:
        """Why this goal cannot be enforced, or None."""

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        """Find classes that satisfy the goal; the table as one class is known to satisfy it."""


def algorithm(name: str) -> Callable[[type[A]], type[A]]:
    """Make a class a registered algorithm: a frozen value whose fields are checked and appear in policies."""

    def decorate(cls: type[A]) -> type[A]:
        checked = checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
        checked.name = name  # type: ignore[attr-defined]
        for attribute in ("needs_rows", "needs_hierarchies", "needs_sensitive"):
            if not hasattr(checked, attribute):
                setattr(checked, attribute, vars(Algorithm)[attribute])
        return cast(type[A], register("algorithms", name)(checked))

    return decorate
