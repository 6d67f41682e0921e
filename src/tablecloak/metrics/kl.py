"""Kullback-Leibler divergence."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.distributions import mean_distance


@metric("kl", on_request=True)
def kl(counts: ReleaseCounts) -> Amount:
    """KL divergence of the columns: how surprising the original is to a reader of the release, in nats.

      KL(P || Q) = sum over values of p * ln(p / q)

    P is the original distribution of a column, Q the one rebuilt from the release, every cell spread evenly over the
    values it covers; suppressed records are spread over all values. The mean over columns, each counting its weight.
    Lower is better, 0 is the same.
    Reference: Kifer, Gehrke, Injecting utility into anonymized datasets, SIGMOD 2006.
    """
    return mean_distance(counts, kl_divergence)


def kl_divergence(p: FloatArray, q: FloatArray) -> float:
    """Sum of p ln(p / q); infinite if q lacks a value of p."""
    is_p = p > 0
    if (q[is_p] <= 0).any():
        return np.inf
    return max(0.0, float(np.sum(p[is_p] * np.log(p[is_p] / q[is_p]))))
