"""Discernibility: how large the crowds are in which records hide."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric


@metric("discernibility")
def discernibility(counts: ReleaseCounts) -> Amount:
    """Discernibility: every record pays the size of its class, suppressed records pay the size of the table.

    Records in classes smaller than the k asked for pay the size of the table too.
    Reference: Bayardo, Agrawal, ICDE 2005.
    """
    is_kept = counts.sizes >= (counts.k or 1)
    sizes = counts.sizes[is_kept]
    n_unprotected = counts.n_rows - int(sizes.sum())
    # squares of sizes overflow 64 bits only beyond 3e9 records in one class
    return Amount(float((sizes * sizes).sum() + n_unprotected * counts.n_rows))
