"""Cell metrics in common: a price for every published cell, added up over records or averaged.

A price that is named by `cell_loss` is what searches minimise when they are asked for that metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount, ReleaseCounts
from tablecloak.metrics.release_details import ColumnDetails
from tablecloak.registry import known

# The price of every different cell of a column, and that of a suppressed record.
Prices: TypeAlias = "tuple[FloatArray, float]"
Price: TypeAlias = Callable[[ColumnDetails], Prices]


@dataclass(frozen=True, slots=True)
class CellLoss:
    """A cell metric as something to minimise: what cells cost, and how the cells of a record make one number."""

    price: Price
    is_mean: bool = False  # of all cells; otherwise they are added up
    is_product: bool = False  # prices of a record are multiplied, and weights do not count


_losses: dict[str, CellLoss] = {}


def cell_loss(name: str, *, is_mean: bool = False, is_product: bool = False) -> Callable[[Price], Price]:
    """Say that a price is what the metric of this name adds up."""

    def add(price: Price) -> Price:
        _losses[name] = CellLoss(price, is_mean, is_product)
        return price

    return add


def cell_losses() -> Mapping[str, CellLoss]:
    """Metrics that are a price per cell, by name."""
    known("metrics")  # every module that names a price
    return _losses


def sum_of_cells(counts: ReleaseCounts, price: Price) -> Amount:
    """Prices of all cells added up, each cell counting its column's weight; weights are scaled to a mean of 1."""
    totals = _totals(counts, price) * counts.mean_weights()
    return Amount(float(totals.sum()), counts.by_column(totals))


def mean_of_cells(counts: ReleaseCounts, price: Price) -> Amount:
    """Mean price of a cell, columns counting their weight; weights are scaled to sum to 1."""
    means = _totals(counts, price) / max(1, counts.n_rows)
    return Amount(float(means @ counts.importance()), counts.by_column(means))


def _totals(counts: ReleaseCounts, price: Price) -> FloatArray:
    """Price of all records by column, unweighted, (n_columns,)."""
    totals = np.zeros(len(counts.columns))
    for i, column in enumerate(counts.cells):
        of_cell, of_suppressed = price(column)
        totals[i] = counts.sizes @ of_cell[column.cell] + counts.n_suppressed * of_suppressed
    return totals


def levels_of(column: ColumnDetails) -> IntArray:
    """Steps up the hierarchy of every cell, (n_cells,)."""
    if column.levels is None:
        raise DoesNotApplyError(f"column '{column.name}' has no hierarchy")
    return column.levels


@cell_loss("precision", is_mean=True)
@cell_loss("total", is_mean=True)
def level_shares(column: ColumnDetails) -> Prices:
    """Steps up the hierarchy as a share of all there are."""
    levels = levels_of(column)
    return levels / max(1, column.height), float(column.height > 0)
