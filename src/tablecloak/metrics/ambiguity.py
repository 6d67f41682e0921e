"""Ambiguity: how many combinations of values a published record may stand for."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss
from tablecloak.metrics.release_details import ColumnDetails


@metric("ambiguity", on_request=True)
def ambiguity(counts: ReleaseCounts) -> Amount:
    """Ambiguity: combinations of values that a published record may stand for, on average.

      AM = mean over records of the product over columns of the values that its cell covers

    A suppressed record may stand for every combination. Lower is better.
    Reference: Goldberger, Tassa, Efficient anonymizations with enhanced utility, TDP 2010.
    """
    of_class, of_any = np.ones(len(counts.sizes)), 1.0
    for column in counts.cells:
        of_cell, of_suppressed = _price(column)
        of_class *= of_cell[column.cell]
        of_any *= of_suppressed
    return mean_ambiguity(counts, of_class, of_any)


@cell_loss("ambiguity", is_product=True)
def _price(column: ColumnDetails) -> Prices:
    return column.covered().astype(np.float64), float(column.n_codes)


def mean_ambiguity(counts: ReleaseCounts, of_class: FloatArray, of_suppressed: float) -> Amount:
    """The mean over all records of what their class, or a suppressed record, may stand for."""
    total = float(counts.sizes @ of_class) + counts.n_suppressed * of_suppressed
    return Amount(total / max(1, counts.n_rows))
