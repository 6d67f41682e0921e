"""Samples without chance: members at equal distances."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import IntArray


def spread(weights: IntArray, n: int) -> IntArray:
    """Numbers of at most `n` members at equal distances, of groups that have so many each; a large one comes again."""
    running = np.cumsum(weights)
    n = min(n, int(running[-1]))
    places = (np.arange(n) + 0.5) / n * running[-1]
    owner: IntArray = np.searchsorted(running, places, side="right").astype(np.int64)
    return owner
