"""Distribution metrics in common: each column as it was, and as a reader of the release would rebuild it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts
from tablecloak.metrics.release_details import ColumnDetails

DISTRIBUTION_METRICS = ("emd", "hellinger", "kl", "lp-norm")


def mean_distance(counts: ReleaseCounts, distance: Callable[[FloatArray, FloatArray], float]) -> Amount:
    """Mean over columns of a distance between the original distribution and the rebuilt one."""
    distances = np.array([distance(*distributions(counts, column)) for column in counts.cells])
    return Amount(float(distances @ counts.importance()), counts.by_column(distances))


def distributions(counts: ReleaseCounts, column: ColumnDetails) -> tuple[FloatArray, FloatArray]:
    """Original and rebuilt shares of every code; a suppressed record may have any value."""
    of_cell = np.bincount(column.cell, weights=counts.sizes, minlength=len(column.losses)).astype(np.float64)
    rebuilt = column.spread(of_cell) + counts.n_suppressed / max(1, column.n_codes)
    n = max(1, counts.n_rows)
    return column.originals / n, rebuilt / n
