"""Samples without chance: members at equal distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["spread"]

IntArray = NDArray[np.int64]


def spread(weights: IntArray, n: int) -> IntArray:
    """Numbers of at most `n` members at equal distances, of groups that have so many each; a large one comes again."""
    running = np.cumsum(weights)
    n = min(n, int(running[-1]))
    places = (np.arange(n) + 0.5) / n * running[-1]
    found: IntArray = np.searchsorted(running, places, side="right").astype(np.int64)
    return found
