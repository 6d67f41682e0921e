"""Class metrics: how large the crowds are in which records hide, and how many records were left out."""

from __future__ import annotations

import numpy as np

from tablecloak.metrics.base import Amount, ReleaseCounts, metric

__all__ = ["average_class_size", "discernibility", "suppressed_records"]


@metric("discernibility")
def discernibility(counts: ReleaseCounts) -> Amount:
    """Discernibility: every record pays the size of its class, suppressed records pay the size of the table.

    Records in classes smaller than the k asked for pay the size of the table too.
    Reference: Bayardo, Agrawal, ICDE 2005.
    """
    is_kept = counts.sizes >= (counts.k or 1)
    kept = counts.sizes[is_kept]
    n_unprotected = counts.n_rows - int(kept.sum())
    # squares of sizes overflow 64 bits only beyond 3e9 records in one class
    return Amount(float((kept * kept).sum() + n_unprotected * counts.n_rows))


@metric("average-class-size")
def average_class_size(counts: ReleaseCounts) -> Amount:
    """Average class size relative to the k asked for: 1 is ideal.

    Reference: LeFevre, DeWitt, Ramakrishnan, ICDE 2006 (C_avg).
    """
    n_classes = len(counts.sizes)
    return Amount(counts.n_records / (n_classes * (counts.k or 1)) if n_classes else np.nan)


@metric("suppressed-records")
def suppressed_records(counts: ReleaseCounts) -> Amount:
    """Records of the original that are not published."""
    return Amount(float(counts.n_suppressed))
