"""Precision."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import level_shares, mean_of_cells


@metric("precision", on_request=True, higher_is_better=True)
def precision(counts: ReleaseCounts) -> Amount:
    """Precision: 1 minus the mean share of its hierarchy that a cell was moved up; 1 is the original.

      Prec = 1 - mean over cells of level(cell) / height of the hierarchy

    A suppressed record has precision 0. Column weights are scaled to sum to 1. Every quasi-identifier needs a
    hierarchy. Higher is better.
    Reference: Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 2002.
    """
    lost = mean_of_cells(counts, level_shares)
    return Amount(1 - lost.value, {name: 1 - share for name, share in (lost.per_column or {}).items()})
