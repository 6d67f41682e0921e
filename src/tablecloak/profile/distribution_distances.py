"""Distances between the distribution of a column before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.emd import emd_distance


@dataclass(frozen=True, slots=True)
class Distances:
    """How far two distributions are apart: 0 means they are the same."""

    l1: float  # sum of |p - q|, at most 2
    hellinger: float  # |sqrt(p) - sqrt(q)| / sqrt(2), at most 1
    kl: float | None  # sum of p ln(p / q); None where it is infinite: a value of the original has vanished
    emd: float  # least work that turns one into the other, numbers lying between 0 and 1, other values 1 apart

    def to_dict(self) -> dict[str, float | None]:
        return asdict(self)


def distances(before: FloatArray, after: FloatArray, places: FloatArray | None = None) -> Distances:
    """Distances of two distributions given as weights of the same values.

    Args:
        places: of numbers and dates on a line from 0 to 1, NaN for the missing value; None for other values.
    """
    p, q = before / before.sum(), after / after.sum()
    is_p = p > 0
    has_vanished = bool((is_p & (q <= 0)).any())
    kl = None if has_vanished else float(np.sum(p[is_p] * np.log(p[is_p] / q[is_p])))
    hellinger = float(np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) / 2))
    # rounding may leave a tiny negative number where the two are the same
    kl = kl if kl is None else max(0.0, kl)
    return Distances(float(np.abs(p - q).sum()), hellinger, kl, emd_distance(p, q, places))
