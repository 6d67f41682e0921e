"""Distance of distributions in an L_p norm."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.distributions import mean_distance


@metric("lp-norm", on_request=True)
def lp_norm(counts: ReleaseCounts, *, p: float = 1.0) -> Amount:
    """L_p distance of the columns between the original and what a reader rebuilds; L_1 unless another p is given.

      L_p = (sum over values of |original share - rebuilt share|^p)^(1/p)

    Every cell is spread evenly over the values it covers, suppressed records over all values. The mean over columns,
    each counting its weight. Lower is better, 0 is the same; L_1 is at most 2.
    Reference: Aggarwal, Agrawal, PODS 2001 (half of L_1).
    """
    return mean_distance(counts, lambda before, after: lp_distance(before, after, p))


def lp_distance(before: FloatArray, after: FloatArray, p: float) -> float:
    """The L_p norm of a difference."""
    return float(np.sum(np.abs(before - after) ** p) ** (1 / p))
