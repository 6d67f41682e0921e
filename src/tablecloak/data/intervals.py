"""Intervals of codes that many classes share, each listed once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray

# So many pairs of codes are told apart by a table with a place for each, if classes are not far fewer.
TABLE_UP_TO = 1 << 24
PLACES_PER_CLASS = 8


def distinct_intervals(
    lo: NDArray[np.integer[Any]], hi: NDArray[np.integer[Any]], n_codes: int
) -> tuple[IntArray, IntArray, NDArray[np.integer[Any]]]:
    """The different intervals in ascending order, and which of them each one is: (lo, hi, (n,) places)."""
    n_pairs = n_codes * n_codes
    pairs = lo.astype(np.int64) * n_codes
    pairs += hi
    place: NDArray[np.integer[Any]]
    if n_pairs > min(TABLE_UP_TO, PLACES_PER_CLASS * len(pairs)):
        different, place = np.unique(pairs, return_inverse=True)
    else:  # no sorting
        is_there = np.zeros(n_pairs, np.bool_)
        is_there[pairs] = True
        different = np.flatnonzero(is_there)
        places = np.zeros(n_pairs, np.uint32)
        places[different] = np.arange(len(different), dtype=np.uint32)
        place = places[pairs]
    return *np.divmod(different, n_codes), place
