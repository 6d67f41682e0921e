"""Normalised certainty penalty."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss
from tablecloak.metrics.release_details import ColumnDetails


@metric("ncp")
def ncp(counts: ReleaseCounts) -> Amount:
    """Normalised certainty penalty: losses of all cells added up, each cell counting its column's weight.

    Weights are scaled to a mean of 1, so that without weights every lost cell counts 1.
    Reference: Xu et al., KDD 2006.
    """
    totals = counts.column_losses() * counts.mean_weights() * counts.n_rows
    return Amount(float(totals.sum()), counts.by_column(totals))


@cell_loss("ncp")
def _prices(column: ColumnDetails) -> Prices:
    return column.losses, 1.0
