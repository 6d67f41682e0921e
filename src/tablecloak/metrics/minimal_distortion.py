"""Minimal distortion."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss, levels_of, sum_of_cells
from tablecloak.metrics.release_details import ColumnDetails


@metric("minimal-distortion", on_request=True)
def minimal_distortion(counts: ReleaseCounts) -> Amount:
    """Minimal distortion: one unit for every step that a cell was moved up its hierarchy.

      MD = sum over cells of level(cell)

    The level of a node is the number of steps down to its deepest leaf; a suppressed record goes up to every root.
    Column weights are scaled to a mean of 1. Every quasi-identifier needs a hierarchy. Lower is better.
    Reference: Samarati, IEEE TKDE 2001; Sweeney, Achieving k-anonymity, IJUFKS 2002.
    """
    return sum_of_cells(counts, _price)


@cell_loss("minimal-distortion")
def _price(column: ColumnDetails) -> Prices:
    return levels_of(column).astype(float), float(column.height)
