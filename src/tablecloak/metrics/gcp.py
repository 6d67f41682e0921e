"""Global certainty penalty."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss
from tablecloak.metrics.release_details import ColumnDetails


@metric("gcp")
def gcp(counts: ReleaseCounts) -> Amount:
    """Global certainty penalty: mean loss over all cells of the quasi-identifiers, 0 nothing lost, 1 everything.

    Column weights are scaled to sum to 1; a suppressed record loses 1.
    Reference: Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007.
    """
    losses = counts.column_losses()
    return Amount(float(losses @ counts.importance()), counts.by_column(losses))


@cell_loss("gcp", is_mean=True)
def _prices(column: ColumnDetails) -> Prices:
    return column.losses, 1.0
