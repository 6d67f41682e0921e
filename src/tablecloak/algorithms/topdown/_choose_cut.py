"""Choose the next cut of nodes by any loss: the cheapest of all cuts along all dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.loss_target import TARGET_LOSSES, target_of
from tablecloak.algorithms.topdown._cut_costs import (
    Cells,
    CutCost,
    Heights,
    Misfits,
    NodeTuples,
    UnknownBits,
    box_prices,
)
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.packed_codes import Keys, Space, unpack
from tablecloak.metrics.cell_losses import CellLoss, Prices, cell_losses, levels_of
from tablecloak.metrics.release_details import ColumnDetails

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
