"""ILoss."""

from __future__ import annotations

from typing import Literal

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss, sum_of_cells
from tablecloak.metrics.release_details import ColumnDetails


@metric("iloss", on_request=True)
def iloss(counts: ReleaseCounts, *, denominator: Literal["|D|-1", "|D|"] = "|D|-1") -> Amount:
    """ILoss: for every cell the share of other values that it may stand for as well, added up.

      ILoss(cell) = (values it covers - 1) / (values of the column - 1)

    A suppressed cell costs 1. With denominator "|D|" the divisor is the number of values of the column, and a
    suppressed cell costs a little less than 1. A cell that hides whether a value is missing costs as much as a
    suppressed one. Column weights are scaled to a mean of 1. Lower is better.
    Reference: Xiao, Tao, Personalized privacy preservation, SIGMOD 2006; Iyengar, KDD 2002 (LM).
    """
    return iloss_with(counts, 1 if denominator == "|D|-1" else 0)


def iloss_with(counts: ReleaseCounts, less: int) -> Amount:
    """ILoss whose divisor is the number of values, less so many."""
    return sum_of_cells(counts, lambda column: iloss_prices(column, less))


@cell_loss("iloss")
def _default_price(column: ColumnDetails) -> Prices:
    return iloss_prices(column, 1)


def iloss_prices(column: ColumnDetails, less: int) -> Prices:
    """Shares of other values that cells may stand for, where the divisor is the number of values, less so many."""
    whole = max(1, column.n_values - less)
    hides, others = column.hides_missing(), (column.values() - 1) / whole
    most = (column.n_values - 1) / whole if column.n_values > 1 else float(column.n_codes > 1)
    others[hides] = most
    return others, most
