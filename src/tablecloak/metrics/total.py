"""Total: mean level."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import level_shares, mean_of_cells


@metric("total", on_request=True)
def total(counts: ReleaseCounts) -> Amount:
    """Total: the mean share of its hierarchy that a cell was moved up, 0 nothing lost, 1 everything.

      Total = mean over cells of level(cell) / (levels of the hierarchy - 1)

    A suppressed record loses 1. Column weights are scaled to sum to 1. Every quasi-identifier needs a hierarchy.
    It depends on how high hierarchies are, so shallow ones exaggerate. Lower is better.
    Reference: 1 minus the precision of Sweeney, IJUFKS 2002.
    """
    return mean_of_cells(counts, level_shares)
