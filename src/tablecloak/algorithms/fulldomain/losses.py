"""What a node loses by any metric of cells or classes, with the bounds that make searches skip nodes.

A loss says three things about a counted node X:
  its value, given the classes that are left out;
  the least that any node above X loses;
  the penalty: what every node Y below X loses beyond its own base, if whatever X must leave out Y must leave out too.
Where a metric is no sum over records, the penalty is 0 and the bound is as weak as the metric needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.fulldomain.ladder import Ladder
from tablecloak.algorithms.fulldomain.lattice import Node
from tablecloak.algorithms.fulldomain.rollup import Groups
from tablecloak.algorithms.target import AnyLoss
from tablecloak.data.coded import CodedTable
from tablecloak.errors import IncompatibleChoice
from tablecloak.metrics.base import DoesNotApplyError
from tablecloak.metrics.cells import CellLoss, Prices, cell_losses
from tablecloak.metrics.details import column_of_boxes
from tablecloak.metrics.target import minorities

__all__ = ["Additive", "Loss", "LossName", "additive"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

LossName: TypeAlias = Annotated[
    AnyLoss,
    Field(description="the metric of cells or classes that is kept best; precision and igpl as high as can be"),
]


class Loss(Protocol):
    """What a search minimises."""

    @property
    def name(self) -> str:
        """Of the metric."""

    @property
    def per_level(self) -> Sequence[FloatArray]:
        """What each level of each column adds, where columns add up; otherwise 0."""

    @property
    def is_closed(self) -> bool:
        """`per_level` adds up to the base of a node, which need not be counted for it."""

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        """What every node loses at least, before any is counted."""

    def value(self, groups: Groups, left_out: BoolArray) -> float:
        """What a node loses if some of its classes are left out."""

    def base(self, groups: Groups) -> float:
        """What the node and all nodes above it lose at least."""

    def penalty(self, groups: Groups, lost: BoolArray) -> float:
        """What nodes below lose at least beyond their base, if the records of some classes are lost there too."""


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A sum over records: published ones cost more the coarser their class, suppressed ones cost at least as much."""

    name: str
    per_level: Sequence[FloatArray]
    is_closed: bool
    published: Callable[[Groups], FloatArray]  # cost of a record of every class
    suppressed: float  # cost of a suppressed record
    scale: float  # the sum is divided by this
    exact: float = 0.0  # what a table of exact cells costs, which is no loss

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return added_up(self.per_level, shape)

    def value(self, groups: Groups, left_out: BoolArray) -> float:
        return self.base(groups) + self.penalty(groups, left_out)

    def base(self, groups: Groups) -> float:
        return float(groups.stats.size @ self.published(groups)) / self.scale - self.exact

    def penalty(self, groups: Groups, lost: BoolArray) -> float:
        if not lost.any():
            return 0.0
        extra = self.suppressed - self.published(groups)[lost]
        return float(groups.stats.size[lost] @ extra) / self.scale


def added_up(per_level: Sequence[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    """Sums over columns for every node."""
    total = np.zeros(shape)
    for d, values in enumerate(per_level):
        total += values.reshape([-1 if i == d else 1 for i in range(len(shape))])
    return total


def at_node(per_level: Sequence[FloatArray], levels: Node) -> float:
    """The sum over columns for one node."""
    return float(sum(values[level] for values, level in zip(per_level, levels, strict=True)))


def additive(name: str, table: CodedTable, ladders: Sequence[Ladder], bottom: Groups, target: str) -> Additive | None:
    """The loss of this name if it is a sum over records, otherwise None."""
    n = max(1, table.n_rows)
    found = cell_losses().get(name)
    if found is not None:
        return _of_cells(name, found, table, ladders, bottom)
    nothing = unknown(ladders)
    if name == "discernibility":
        return Additive(name, nothing, False, _sizes, float(n), 1.0)
    if name == "ambiguity-data":  # the records that a published one may stand for are those of its class
        return Additive(name, nothing, False, _sizes, float(n), float(n))
    if name == "classification":
        return Additive(name, nothing, False, lambda g: minorities(g.stats.hist[target]) / g.stats.size, 1.0, float(n))
    return None


def unknown(ladders: Sequence[Ladder]) -> list[FloatArray]:
    """Levels about which nothing is known before a node is counted."""
    return [np.zeros(ladder.height + 1) for ladder in ladders]


def _sizes(groups: Groups) -> FloatArray:
    return groups.stats.size.astype(np.float64)


def _of_cells(name: str, loss: CellLoss, table: CodedTable, ladders: Sequence[Ladder], bottom: Groups) -> Additive:
    priced = [_prices(name, loss, ladder, table.originals(d)) for d, ladder in enumerate(ladders)]
    if loss.is_product:
        factors = [[of_value for of_value, _ in levels] for levels in priced]
        most = float(np.prod([levels[0][1] for levels in priced]))
        return Additive(name, unknown(ladders), False, lambda g: _product(factors, g), most, float(table.n_rows))
    weights = table.space.weight / (max(1, len(ladders)) if loss.is_mean else 1)
    scale = float(max(1, table.n_rows)) if loss.is_mean else 1.0
    costs = [[w * of_value for of_value, _ in levels] for w, levels in zip(weights, priced, strict=True)]
    most = float(sum(w * levels[0][1] for w, levels in zip(weights, priced, strict=True)))
    sums = [_level_sums(ladder, costs[d], bottom, d) / scale for d, ladder in enumerate(ladders)]
    exact = float(sum(s[0] for s in sums))
    return Additive(name, [s - s[0] for s in sums], True, lambda g: _sum(costs, g), most, scale, exact)


def _prices(name: str, loss: CellLoss, ladder: Ladder, originals: NDArray[np.int64]) -> list[Prices]:
    """What every value of every level costs, and a suppressed cell."""
    found = []
    for rung in ladder.rungs:
        nodes = None if ladder.domain.hierarchy is None else rung.node
        column = column_of_boxes(ladder.domain, rung.lo, rung.hi, originals, nodes)
        try:
            of_cell, of_suppressed = loss.price(column)
        except DoesNotApplyError as exc:
            raise IncompatibleChoice(f"the loss {name} cannot be minimised: {exc}", hint="loss: gcp") from exc
        found.append((of_cell[column.cell], of_suppressed))
    return found


def _level_sums(ladder: Ladder, costs: Sequence[FloatArray], bottom: Groups, d: int) -> FloatArray:
    """What all records cost at each level of a column."""
    ranks = bottom.ranks[d]
    return np.array([bottom.stats.size @ of_value[ladder.step(0, i)[ranks]] for i, of_value in enumerate(costs)])


def _sum(costs: Sequence[Sequence[FloatArray]], groups: Groups) -> FloatArray:
    total = np.zeros(groups.n_groups)
    for levels, level, ranks in zip(costs, groups.levels, groups.ranks, strict=True):
        total += levels[level][ranks]
    return total


def _product(factors: Sequence[Sequence[FloatArray]], groups: Groups) -> FloatArray:
    total = np.ones(groups.n_groups)
    for levels, level, ranks in zip(factors, groups.levels, groups.ranks, strict=True):
        total *= levels[level][ranks]
    return total
