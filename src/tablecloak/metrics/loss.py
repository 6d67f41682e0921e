"""Loss metrics: how much less the published values say than the originals."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cells import Prices, cell_loss
from tablecloak.metrics.details import ColumnDetails

__all__ = ["gcp", "ncp"]


@metric("gcp")
def gcp(counts: ReleaseCounts) -> Amount:
    """Global certainty penalty: mean loss over all cells of the quasi-identifiers, 0 nothing lost, 1 everything.

    Column weights are scaled to sum to 1; a suppressed record loses 1.
    Reference: Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007.
    """
    losses = counts.column_losses()
    return Amount(float(losses @ counts.importance()), counts.by_column(losses))


@metric("ncp")
def ncp(counts: ReleaseCounts) -> Amount:
    """Normalised certainty penalty: losses of all cells added up, each cell counting its column's weight.

    Weights are scaled to a mean of 1, so that without weights every lost cell counts 1.
    Reference: Xu et al., KDD 2006.
    """
    totals = counts.column_losses() * counts.mean_weights() * counts.n_rows
    return Amount(float(totals.sum()), counts.by_column(totals))


@cell_loss("gcp", is_mean=True)
@cell_loss("ncp")
def _price(column: ColumnDetails) -> Prices:
    return column.losses, 1.0
