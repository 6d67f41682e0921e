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
from pydantic import Field

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain._lattice import Ladder, Node
from tablecloak.algorithms.fulldomain._rollup import NodeGroups
from tablecloak.algorithms.loss_target import TARGET_LOSSES, AnyLoss, target_of
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import DoesNotApplyError, IncompatibleChoice
from tablecloak.metrics.cell_losses import CellLoss, Prices, cell_losses
from tablecloak.metrics.release_details import column_of_boxes
from tablecloak.metrics.target_column import class_entropies, entropy, minorities

LossName: TypeAlias = Annotated[
    AnyLoss, Field(description="the metric of cells or classes that is kept best; precision and igpl as high as can be")
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

    def value(self, groups: NodeGroups, left_out: BoolArray) -> float:
        """What a node loses if some of its classes are left out."""

    def base(self, groups: NodeGroups) -> float:
        """What the node and all nodes above it lose at least."""

    def penalty(self, groups: NodeGroups, lost: BoolArray) -> float:
        """What nodes below lose at least beyond their base, if the records of some classes are lost there too."""


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A sum over records: published ones cost more the coarser their class, suppressed ones cost at least as much."""

    name: str
    per_level: Sequence[FloatArray]
    is_closed: bool
    published: Callable[[NodeGroups], FloatArray]  # cost of a record of every class
    suppressed: float  # cost of a suppressed record
    scale: float  # the sum is divided by this
    exact: float = 0.0  # what a table of exact cells costs, which is no loss

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return added_up(self.per_level, shape)

    def value(self, groups: NodeGroups, left_out: BoolArray) -> float:
        return self.base(groups) + self.penalty(groups, left_out)

    def base(self, groups: NodeGroups) -> float:
        return float(groups.stats.size @ self.published(groups)) / self.scale - self.exact

    def penalty(self, groups: NodeGroups, lost: BoolArray) -> float:
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


def additive(
    name: str, table: CodedTable, ladders: Sequence[Ladder], bottom: NodeGroups, target: str
) -> Additive | None:
    """The loss of this name if it is a sum over records, otherwise None."""
    n = max(1, table.n_rows)
    cell_loss = cell_losses().get(name)
    if cell_loss is not None:
        return _of_cells(name, cell_loss, table, ladders, bottom)
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


def _sizes(groups: NodeGroups) -> FloatArray:
    return groups.stats.size.astype(np.float64)


def _of_cells(name: str, loss: CellLoss, table: CodedTable, ladders: Sequence[Ladder], bottom: NodeGroups) -> Additive:
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


def _prices(name: str, loss: CellLoss, ladder: Ladder, originals: IntArray) -> list[Prices]:
    """What every value of every level costs, and a suppressed cell."""
    prices = []
    for rung in ladder.rungs:
        nodes = None if ladder.domain.hierarchy is None else rung.node
        column = column_of_boxes(ladder.domain, rung.lo, rung.hi, originals, nodes)
        try:
            of_cell, of_suppressed = loss.price(column)
        except DoesNotApplyError as exc:
            raise IncompatibleChoice(f"the loss {name} cannot be minimised: {exc}", hint="loss: gcp") from exc
        prices.append((of_cell[column.cell], of_suppressed))
    return prices


def _level_sums(ladder: Ladder, costs: Sequence[FloatArray], bottom: NodeGroups, d: int) -> FloatArray:
    """What all records cost at each level of a column."""
    ranks = bottom.ranks[d]
    return np.array([bottom.stats.size @ of_value[ladder.step(0, i)[ranks]] for i, of_value in enumerate(costs)])


def _sum(costs: Sequence[Sequence[FloatArray]], groups: NodeGroups) -> FloatArray:
    total = np.zeros(groups.n_groups)
    for levels, level, ranks in zip(costs, groups.levels, groups.ranks, strict=True):
        total += levels[level][ranks]
    return total


def _product(factors: Sequence[Sequence[FloatArray]], groups: NodeGroups) -> FloatArray:
    total = np.ones(groups.n_groups)
    for levels, level, ranks in zip(factors, groups.levels, groups.ranks, strict=True):
        total *= levels[level][ranks]
    return total


def make_loss(
    name: str,
    problem: Problem,
    ladders: Sequence[Ladder],
    bottom: NodeGroups,
    *,
    budget: int,
    target: str | None = None,
) -> Loss:
    """The loss of this name.

    Args:
        budget: records that may be left out.
        target: the sensitive attribute of losses that speak of one; None means the first.
    """
    table = problem.table
    column = table.sensitive[target_of(table, target)].name if name in TARGET_LOSSES else ""
    sum_over_records = additive(name, table, ladders, bottom, column)
    if sum_over_records is not None:
        return sum_over_records
    if name == "height":
        return _height(table.space.weight, ladders, bottom, budget)
    if name == "average-class-size":
        return AverageSize(unknown(ladders), table.n_rows, budget, max(1, problem.goal.min_size))
    return TargetBits(name, unknown(ladders), column, table.totals[column], budget)


@dataclass(frozen=True, slots=True, eq=False)
class Height:
    """The highest level published in each column, added up."""

    per_level: Sequence[FloatArray]  # heights that remain whatever is left out within the budget
    heights: Sequence[Sequence[FloatArray]]  # by column and level: of every value, times the weight of the column
    name: str = "height"
    is_closed: bool = True

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return added_up(self.per_level, shape)

    def value(self, groups: NodeGroups, left_out: BoolArray) -> float:
        published = groups.ranks if left_out.all() else groups.ranks[:, ~left_out]
        columns = zip(self.heights, groups.levels, published, strict=True)
        return float(sum(levels[level][ranks].max(initial=0.0) for levels, level, ranks in columns))

    def base(self, groups: NodeGroups) -> float:
        return at_node(self.per_level, groups.levels)

    def penalty(self, groups: NodeGroups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0


def _height(weights: FloatArray, ladders: Sequence[Ladder], bottom: NodeGroups, budget: int) -> Height:
    heights = [
        [w * _heights(ladder, i) for i in range(ladder.height + 1)] for w, ladder in zip(weights, ladders, strict=True)
    ]
    per_level = []
    for d, ladder in enumerate(ladders):
        of_record = [levels[ladder.step(0, i)[bottom.ranks[d]]] for i, levels in enumerate(heights[d])]
        per_level.append(np.array([_remaining(h, bottom.stats.size, budget) for h in of_record]))
    return Height(per_level, heights)


def _heights(ladder: Ladder, level: int) -> FloatArray:
    tree, rung = ladder.domain.hierarchy, ladder.rungs[level]
    return np.full(rung.n_values, float(level)) if tree is None else tree.heights[rung.node].astype(np.float64)


def _remaining(heights: FloatArray, sizes: IntArray, budget: int) -> float:
    """The greatest height if the highest records are left out, as many as the budget allows."""
    order = np.argsort(-heights, kind="stable")
    stays = np.cumsum(sizes[order]) > budget
    return float(heights[order][stays].max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class AverageSize:
    """Records per published class over the least size asked for."""

    per_level: Sequence[FloatArray]
    n_rows: int
    budget: int
    k: int
    name: str = "average-class-size"
    is_closed: bool = False

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return np.ones(shape)

    def value(self, groups: NodeGroups, left_out: BoolArray) -> float:
        size = groups.stats.size[~left_out]
        return float(size.sum()) / (len(size) * self.k) if len(size) else self.n_rows / self.k

    def base(self, groups: NodeGroups) -> float:
        """Nodes above have no more classes, and no fewer records than may be left out."""
        return (self.n_rows - self.budget) / (groups.n_groups * self.k)

    def penalty(self, groups: NodeGroups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TargetBits:
    """Bits that remain unknown about the target (hce-tdr, in nats), or minus those gained for what is given up (igpl).

    Suppressed records are one class (hce-tdr), or say nothing, so that the target keeps the bits it has in the whole
    table (igpl). Uniting classes never gains bits. The anonymity given up may rise or fall with the level, so igpl is
    bounded by what a release gives up at least: half the table if it has two classes and leaves nothing out, otherwise
    nothing.
    """

    name: str
    per_level: Sequence[FloatArray]
    target: str
    totals: IntArray  # (n_values,)
    budget: int
    is_closed: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.totals.sum())

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return np.full(shape, 0.0 if self.name == "hce-tdr" else self._bounded(entropy(self.totals)))

    def value(self, groups: NodeGroups, left_out: BoolArray) -> float:
        unknown_bits = self._unknown(groups, left_out)
        if self.name == "hce-tdr":
            return unknown_bits * float(np.log(2))
        smallest = int(groups.stats.size[~left_out].min(initial=self.n_rows))
        return -max(0.0, entropy(self.totals) - unknown_bits) / (self.n_rows - smallest + 1)

    def base(self, groups: NodeGroups) -> float:
        if self.name == "hce-tdr":
            return self._unknown(groups, np.zeros(groups.n_groups, bool)) * float(np.log(2))
        whole, bits = entropy(self.totals), class_entropies(groups.stats.hist[self.target])
        # a class that says less than the whole table may be better left out
        least = np.minimum(bits, whole) if self.budget else bits
        return self._bounded(whole - float(groups.stats.size @ least) / max(1, self.n_rows))

    def penalty(self, groups: NodeGroups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0

    def _unknown(self, groups: NodeGroups, left_out: BoolArray) -> float:
        hist, size = groups.stats.hist[self.target], groups.stats.size
        total = float(size[~left_out] @ class_entropies(hist)[~left_out])
        if left_out.any() and self.name == "igpl":
            total += float(size[left_out].sum()) * entropy(self.totals)
        elif left_out.any():
            entries = left_out[hist.entry_class()]
            counts = np.bincount(hist.codes[entries], weights=hist.counts[entries]).astype(np.int64)
            total += float(size[left_out].sum()) * entropy(counts)
        return total / max(1, self.n_rows)

    def _bounded(self, gained: float) -> float:
        given_up = 0.0 if self.budget else self.n_rows / 2
        return -max(0.0, gained) / (given_up + 1)
