"""Cell metrics in common: a price for every published cell, added up over records or averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tablecloak.metrics.base import Amount, DoesNotApplyError, ReleaseCounts
from tablecloak.metrics.details import ColumnDetails
from tablecloak.stats.classes import FloatArray, IntArray

__all__ = ["Prices", "level_shares", "levels_of", "mean_of_cells", "sum_of_cells"]

# The price of every different cell of a column, and that of a suppressed record.
Prices: TypeAlias = "tuple[FloatArray, float]"


def sum_of_cells(counts: ReleaseCounts, price: Callable[[ColumnDetails], Prices]) -> Amount:
    """Prices of all cells added up, each cell counting its column's weight; weights are scaled to a mean of 1."""
    totals = _totals(counts, price) * counts.mean_weights()
    return Amount(float(totals.sum()), counts.by_column(totals))


def mean_of_cells(counts: ReleaseCounts, price: Callable[[ColumnDetails], Prices]) -> Amount:
    """Mean price of a cell, columns counting their weight; weights are scaled to sum to 1."""
    means = _totals(counts, price) / max(1, counts.n_rows)
    return Amount(float(means @ counts.importance()), counts.by_column(means))


def _totals(counts: ReleaseCounts, price: Callable[[ColumnDetails], Prices]) -> FloatArray:
    """Price of all records by column, unweighted, (n_columns,)."""
    totals = np.zeros(len(counts.columns))
    for i, column in enumerate(counts.details.columns):
        of_cell, of_suppressed = price(column)
        totals[i] = counts.sizes @ of_cell[column.cell] + counts.n_suppressed * of_suppressed
    return totals


def levels_of(column: ColumnDetails) -> IntArray:
    """Steps up the hierarchy of every cell, (n_cells,)."""
    if column.levels is None:
        raise DoesNotApplyError(f"column '{column.name}' has no hierarchy")
    return column.levels


def level_shares(column: ColumnDetails) -> Prices:
    """Steps up the hierarchy as a share of all there are."""
    levels = levels_of(column)
    return levels / max(1, column.height), float(column.height > 0)
