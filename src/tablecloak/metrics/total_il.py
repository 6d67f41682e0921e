"""Total information loss of k-member clustering."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss, level_shares, sum_of_cells
from tablecloak.metrics.release_details import ColumnDetails


@metric("total-il", on_request=True)
def total_il(counts: ReleaseCounts) -> Amount:
    """Total information loss: width of numbers and dates, height of common ancestors of categories, added up.

      IL(E) = |E| * (sum over numeric columns of (max - min) / (range of the column)
                     + sum over categorical columns of level of the published node / height of the hierarchy)
      Total-IL = sum over classes of IL(E)

    A suppressed record loses 1 in every column. Column weights are scaled to a mean of 1. Every categorical
    quasi-identifier needs a hierarchy. Lower is better.
    Reference: Byun, Kamra, Bertino, Li, Efficient k-anonymization using clustering techniques, DASFAA 2007.
    """
    return sum_of_cells(counts, _price)


@cell_loss("total-il")
def _price(column: ColumnDetails) -> Prices:
    return (column.losses, 1.0) if column.is_ordered else level_shares(column)
