"""Suppressed records."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric


@metric("suppressed-records")
def suppressed_records(counts: ReleaseCounts) -> Amount:
    """Records of the original that are not published."""
    return Amount(float(counts.n_suppressed))
