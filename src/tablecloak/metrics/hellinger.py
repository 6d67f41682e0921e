"""Hellinger distance."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.distributions import mean_distance


@metric("hellinger", on_request=True)
def hellinger(counts: ReleaseCounts) -> Amount:
    """Hellinger distance of the columns between the original and what a reader rebuilds, 0 the same, 1 disjoint.

      Hellinger(P, Q) = |sqrt(P) - sqrt(Q)| / sqrt(2)

    Every cell is spread evenly over the values it covers, suppressed records over all values. The mean over columns,
    each counting its weight. Lower is better.
    Reference: Gomatam, Karr, Sanil, Data swapping as a decision problem, JOS 2005.
    """
    return mean_distance(counts, hellinger_distance)


def hellinger_distance(p: FloatArray, q: FloatArray) -> float:
    """Euclidean distance of the square roots, scaled to at most 1."""
    return float(np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) / 2))
