"""Generalisation height."""

from __future__ import annotations

import numpy as np

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import levels_of


@metric("height", on_request=True)
def height(counts: ReleaseCounts) -> Amount:
    """Generalisation height: the highest level published in each column, added up.

      height = sum over columns of (weight of the column * max over classes of level)

    Where whole columns are generalised to one level, this is the height of that node of the lattice; otherwise that of
    the lowest node above the release. Suppressed records do not count. Weights are scaled to a mean of 1.
    Every quasi-identifier needs a hierarchy. Lower is better.
    Reference: Samarati, IEEE TKDE 2001.
    """
    tops = np.array([float(levels_of(c)[c.cell].max(initial=0)) for c in counts.cells])
    tops *= counts.mean_weights()
    return Amount(float(tops.sum()), counts.by_column(tops))
