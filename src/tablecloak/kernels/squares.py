"""Plain-numpy kernels of microaggregation: same functions and results as `compiled/squares.py`, for small tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trees", "nearest_outside", "squared_distances"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int32]


def squared_distances(numbers: FloatArray, codes: Codes, place: FloatArray, tables: FloatArray) -> FloatArray:
    """Squared distance of every record from a point, (n,), added up one column after the other.

    Args:
        numbers: (n_numbers, n).
        codes: (n_categories, n).
        place: (n_numbers,) where the point lies.
        tables: (n_categories, most codes of a category) distance of the point from every code.
    """
    total = np.zeros(numbers.shape[1])
    for axis, at in zip(numbers, place.tolist(), strict=True):
        gap = axis - at
        gap *= gap
        total += gap
    for column, table in zip(codes, tables, strict=True):
        total += table[column]
    return total


class Trees(NamedTuple):
    """Levels of all categories under each other: what every code belongs to at every level."""

    start: NDArray[np.int64]  # (n_categories,) row of the first code
    levels: NDArray[np.int64]  # (codes of all categories, most levels)
    n_levels: NDArray[np.int64]  # (n_categories,)
    scale: FloatArray  # (n_categories,)


def nearest_outside(
    numbers: FloatArray,
    codes: Codes,
    is_gone: NDArray[np.bool_],
    members: NDArray[np.int64],
    from_extreme: FloatArray,
    trees: Trees,
) -> tuple[int, float]:
    """The free record nearest to any of some members, the first of several, and its squared distance.

    Args:
        from_extreme: (n,) squared distances from one of the members.
    """
    apart = from_extreme.copy()
    for m in members.tolist():
        tables = np.zeros((len(codes), int(np.diff([*trees.start.tolist(), len(trees.levels)]).max(initial=0))))
        for d, column in enumerate(codes):
            own = trees.levels[trees.start[d] : trees.start[d + 1] if d + 1 < len(codes) else None]
            own = own[:, : trees.n_levels[d]]
            tables[d, : len(own)] = trees.scale[d] * (own != own[column[m]]).mean(axis=1)
        apart = np.minimum(apart, squared_distances(numbers, codes, numbers[:, m], tables))
    apart = np.where(is_gone, np.inf, apart)
    best = int(np.argmin(apart))
    return best, float(apart[best])
