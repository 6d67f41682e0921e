"""Confidence limits of what was measured on drawn targets."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["Z", "mean_interval", "wilson"]

# Two-sided 95 %.
Z = 1.959963984540054


def mean_interval(chances: NDArray[np.float64]) -> tuple[float, float]:
    """95 % limits of a mean of chances, by the normal approximation, cut to [0, 1]."""
    n = len(chances)
    if n < 2:
        return 0.0, 1.0
    mean, error = float(chances.mean()), Z * float(chances.std(ddof=1)) / sqrt(n)
    return max(0.0, mean - error), min(1.0, mean + error)


def wilson(n_right: float, n: int) -> tuple[float, float]:
    """95 % limits of a rate of success by Wilson's score."""
    if n == 0:
        return 0.0, 1.0
    rate = n_right / n
    center = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    reach = Z * sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, center - reach), min(1.0, center + reach)
