"""Average class size."""

from __future__ import annotations

import numpy as np

from tablecloak.metrics.base import Amount, ReleaseCounts, metric


@metric("average-class-size")
def average_class_size(counts: ReleaseCounts) -> Amount:
    """Average class size relative to the k asked for: 1 is ideal.

    Reference: LeFevre, DeWitt, Ramakrishnan, ICDE 2006 (C_avg).
    """
    n_classes = counts.sums.n_classes
    return Amount(counts.n_records / (n_classes * (counts.k or 1)) if n_classes else np.nan)
