"""Non-uniform entropy."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss
from tablecloak.metrics.release_details import ColumnDetails


@metric("non-uniform-entropy", on_request=True)
def non_uniform_entropy(counts: ReleaseCounts) -> Amount:
    """Non-uniform entropy: bits needed to find the original value of every cell, knowing how frequent values are.

      loss(cell) = -log2(records with the original value / records with any value that the cell covers)

    Frequencies are those of the original column; cells are added up. A suppressed record may be any. Column weights
    are scaled to a mean of 1. Lower is better.
    Reference: Gionis, Tassa, k-Anonymization with minimal loss of information, IEEE TKDE 2009.
    """
    bits = np.array([_bits(counts, column) for column in counts.cells])
    bits *= counts.mean_weights()
    return Amount(float(bits.sum()), counts.by_column(bits))


def _bits(counts: ReleaseCounts, column: ColumnDetails) -> float:
    could_be, any_of_all = _price(column)
    published = float(counts.sizes @ could_be[column.cell])
    originals = column.originals.astype(np.float64)
    return max(0.0, published + counts.n_suppressed * any_of_all - float(originals @ _log2(originals)))


@cell_loss("non-uniform-entropy")
def _price(column: ColumnDetails) -> Prices:
    """Bits to name one of the records that have a covered value; exact cells have such bits too."""
    originals = column.originals.astype(np.float64)
    return _log2(column.sums(originals)), float(_log2(originals.sum(keepdims=True))[0])


def _log2(records: FloatArray) -> FloatArray:
    return np.log2(np.maximum(records, 1.0))
