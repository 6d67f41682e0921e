"""Choose the next cut of nodes by losses that kernels do not know: every cut of a node is priced, in plain numpy.

Tuples of a node are given in the order of one dimension; a cut parts the first of them from the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from tablecloak.algorithms.loss_target import TARGET_LOSSES, target_of
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.errors import DoesNotApplyError, IncompatibleChoice
from tablecloak.kernels.packed_codes import Keys, Space, unpack
from tablecloak.metrics.cell_losses import CellLoss, Prices, cell_losses, levels_of
from tablecloak.metrics.release_details import ColumnDetails, column_of_boxes

BoxPrice: TypeAlias = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class NodeTuples:
    """The tuples of a node in some order."""

    codes: IntArray  # (n_dims, n)
    weights: IntArray  # (n,)
    target: IntArray  # (n,) code of the target, 0 where there is none

    def ordered(self, order: IntArray) -> NodeTuples:
        return NodeTuples(self.codes[:, order], self.weights[order], self.target[order])

    def boxes(self, ends: IntArray) -> tuple[IntArray, IntArray]:
        """The box of the first `ends[i]` tuples, (n_dims, n_ends) each."""
        lo, hi = (f.accumulate(self.codes, axis=1)[:, ends - 1] for f in (np.minimum, np.maximum))
        return lo, hi

    def records(self, ends: IntArray) -> IntArray:
        """Records among the first `ends[i]` tuples."""
        return np.asarray(np.cumsum(self.weights)[ends - 1])

    def counts(self, ends: IntArray, n_values: int) -> FloatArray:
        """How often each value of the target occurs among the first `ends[i]` tuples, (n_ends, n_values)."""
        part = np.searchsorted(ends, np.arange(len(self.target)), side="right")
        n_parts = len(ends) + 1
        by_part = np.bincount(part * n_values + self.target, weights=self.weights, minlength=n_parts * n_values)
        return np.asarray(np.cumsum(by_part.reshape(n_parts, n_values), axis=0)[:-1])


class CutCost(Protocol):
    """What classes on both sides of a cut cost."""

    def of_cuts(self, left: NodeTuples, ends: IntArray, right: NodeTuples, others: IntArray) -> FloatArray:
        """The cost of cutting after the first `ends[i]` tuples; `right` are the tuples backwards, cut at `others`."""


class _BothSides(ABC):
    """A cost that both sides pay on their own."""

    def of_cuts(self, left: NodeTuples, ends: IntArray, right: NodeTuples, others: IntArray) -> FloatArray:
        return self.of_first(left, ends) + self.of_first(right, others)

    @abstractmethod
    def of_first(self, tuples: NodeTuples, ends: IntArray) -> FloatArray:
        """What the first `ends[i]` tuples cost as one class."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells(_BothSides):
    """Prices of all cells, added up or, where they are factors, multiplied for every record."""

    prices: Sequence[BoxPrice]
    weights: FloatArray | None  # None: the prices of a record are factors

    def of_first(self, tuples: NodeTuples, ends: IntArray) -> FloatArray:
        lo, hi = tuples.boxes(ends)
        prices = np.stack([price(a, b) for price, a, b in zip(self.prices, lo, hi, strict=True)])
        of_record = prices.prod(axis=0) if self.weights is None else self.weights @ prices
        return np.asarray(tuples.records(ends) * of_record)


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """The higher level of both sides in each column, added up; of equal cuts the one that saves most steps."""

    prices: Sequence[BoxPrice]
    weights: FloatArray

    def of_cuts(self, left: NodeTuples, ends: IntArray, right: NodeTuples, others: IntArray) -> FloatArray:
        a, b = self._levels(left, ends), self._levels(right, others)
        steps = left.records(ends) * a.sum(axis=0) + right.records(others) * b.sum(axis=0)
        return np.asarray(np.maximum(a, b).sum(axis=0) + 1e-6 * steps / left.weights.sum())

    def _levels(self, tuples: NodeTuples, ends: IntArray) -> FloatArray:
        lo, hi = tuples.boxes(ends)
        columns = zip(self.weights, self.prices, lo, hi, strict=True)
        return np.stack([weight * price(a, b) for weight, price, a, b in columns])


@dataclass(frozen=True, slots=True, eq=False)
class Misfits(_BothSides):
    """Records whose target is not the most frequent one of their side; of equal cuts the one that tells most bits."""

    n_values: int

    def of_first(self, tuples: NodeTuples, ends: IntArray) -> FloatArray:
        counts = tuples.counts(ends, self.n_values)
        return np.asarray(counts.sum(axis=1) - counts.max(axis=1) + 1e-6 * _unknown_bits(counts))


@dataclass(frozen=True, slots=True, eq=False)
class UnknownBits(_BothSides):
    """Bits that remain unknown about the target of all records, their side being known."""

    n_values: int

    def of_first(self, tuples: NodeTuples, ends: IntArray) -> FloatArray:
        return _unknown_bits(tuples.counts(ends, self.n_values))


def _unknown_bits(counts: FloatArray) -> FloatArray:
    bits = _weighted_log(counts.sum(axis=1)) - _weighted_log(counts).sum(axis=1)
    return np.asarray(bits)


def _weighted_log(counts: FloatArray) -> FloatArray:
    return np.asarray(counts * np.log2(np.maximum(counts, 1.0)))


def box_prices(table: CodedTable, loss: CellLoss, name: str) -> list[BoxPrice]:
    """What a cell metric asks for any box, column by column."""
    return [_box_price(d, loss, table.originals(i), name) for i, d in enumerate(table.domains)]


def _box_price(domain: Domain, loss: CellLoss, originals: IntArray, name: str) -> BoxPrice:
    if domain.hierarchy is None:

        def of_boxes(lo: IntArray, hi: IntArray) -> FloatArray:
            column = column_of_boxes(domain, lo, hi, originals)
            return _priced(loss, column, name)[0][column.cell]

        return of_boxes
    tree = domain.hierarchy
    above = tree.ancestors_by_depth()  # (n_leaves, depth), root first
    last, prices = tree.last[above], node_prices(domain, loss, originals, name)[above]

    def of_nodes(lo: IntArray, hi: IntArray) -> FloatArray:
        holds = last[lo] >= hi[:, None]
        lowest = holds.shape[1] - 1 - np.argmax(holds[:, ::-1], axis=1)
        return np.asarray(prices[lo, lowest])

    return of_nodes


def node_prices(domain: Domain, loss: CellLoss, originals: IntArray, name: str) -> FloatArray:
    """What a cell metric asks for every node of a domain's hierarchy."""
    tree = domain.hierarchy
    assert tree is not None
    column = column_of_boxes(domain, tree.first, tree.last, originals, np.arange(tree.n_nodes))
    return _priced(loss, column, name)[0]


def _priced(loss: CellLoss, column: ColumnDetails, name: str) -> Prices:
    try:
        return loss.price(column)
    except DoesNotApplyError as exc:
        raise IncompatibleChoice(f"{exc}, which the loss {name} needs", hint="loss: ncp") from exc


Cut = tuple[int, int, int]
NO_CUT: Cut = (-1, -1, -1)
# Of cuts that cost the same up to rounding the most even one is taken.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Chooser:
    """Proposes cuts as the kernels do, by a cost of its own."""

    cost: CutCost
    target: int | None = None  # number of the sensitive attribute that the cost speaks of

    def propose(
        self,
        keys: Keys,
        weights: IntArray,
        starts: IntArray,
        ends: IntArray,
        space: Space,
        is_tried: BoolArray,
        *,
        min_size: int,
    ) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
        """The next cut of every node: dimensions (-1 for none), cuts (left: code <= cut), ties; and boxes lo, hi."""
        cuts = np.full((len(starts), 3), -1, np.int64)
        lo, hi = (np.zeros((len(starts), space.n_dims), np.int64) for _ in range(2))
        for i, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            tuples = self._tuples(keys[:, a:b], weights[a:b] if len(weights) else np.ones(b - a, np.int64), space)
            lo[i], hi[i] = tuples.codes.min(axis=1), tuples.codes.max(axis=1)
            if tuples.weights.sum() >= 2 * min_size:
                cuts[i] = self._best(tuples, np.flatnonzero(~is_tried[i] & (lo[i] < hi[i])), min_size)
        return cuts[:, 0].copy(), cuts[:, 1].copy(), cuts[:, 2].copy(), lo, hi

    def _tuples(self, keys: Keys, weights: IntArray, space: Space) -> NodeTuples:
        codes = np.stack([unpack(keys, space.layout, d) for d in range(space.n_dims)])
        if self.target is None:
            return NodeTuples(codes, weights, np.zeros(len(weights), np.int64))
        return NodeTuples(codes, weights, unpack(keys, space.layout, space.n_dims + self.target))

    def _best(self, tuples: NodeTuples, dims: IntArray, min_size: int) -> Cut:
        least, best = np.inf, NO_CUT
        for d in dims.tolist():
            price, code = self._cheapest(tuples, d, min_size)
            if price < least - ROUNDING * max(1.0, abs(price)):
                least, best = price, (d, code, -1)
        return best

    def _cheapest(self, tuples: NodeTuples, d: int, min_size: int) -> tuple[float, int]:
        """The cheapest cut along one dimension: its cost and the last code of its left side."""
        order = np.argsort(tuples.codes[d], kind="stable")
        left, right = tuples.ordered(order), tuples.ordered(order[::-1])
        ends = np.flatnonzero(np.diff(left.codes[d])) + 1
        size, total = left.records(ends), int(left.weights.sum())
        ends = ends[(size >= min_size) & (total - size >= min_size)]
        if len(ends) == 0:
            return np.inf, -1
        costs = self.cost.of_cuts(left, ends, right, len(order) - ends)
        size = left.records(ends)
        is_least = costs <= costs.min() + ROUNDING * max(1.0, abs(float(costs.min())))
        at = int(np.argmax(np.where(is_least, np.minimum(size, total - size), -1)))
        return float(costs[at]), int(left.codes[d, ends[at] - 1])


def chooser_of(table: CodedTable, loss: str, target: str | None) -> Chooser:
    """Chooses cuts that keep a metric of cells or classes low."""
    if loss in TARGET_LOSSES:
        number = target_of(table, target)
        n_values = table.sensitive[number].n_values
        return Chooser(Misfits(n_values) if loss == "classification" else UnknownBits(n_values), number)
    if loss == "height":
        return Chooser(Heights(box_prices(table, CellLoss(_levels), loss), table.space.weight))
    cell_loss = cell_losses()[loss]
    return Chooser(Cells(box_prices(table, cell_loss, loss), None if cell_loss.is_product else table.space.weight))


def _levels(column: ColumnDetails) -> Prices:
    return levels_of(column).astype(float), float(column.height)
