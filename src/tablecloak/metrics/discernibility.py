"""Discernibility: how large the crowds are in which records hide."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric


@metric("discernibility")
def discernibility(counts: ReleaseCounts) -> Amount:
    """Discernibility: every record pays the size of its class, suppressed records pay the size of the table.

    Records in classes smaller than the k asked for pay the size of the table too.
    Reference: Bayardo, Agrawal, ICDE 2005.
    """
    n_unprotected = counts.n_rows - counts.sums.n_kept
    return Amount(float(counts.sums.squares + n_unprotected * counts.n_rows))
