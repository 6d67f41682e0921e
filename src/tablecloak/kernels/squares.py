"""Squared distances of records, for microaggregation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.kernels.dispatch import inner_jit, kernel

Codes = NDArray[np.int32]
# Comparing records pair by pair pays for the compiler from fewer records on than counting them.
COMPILED_FROM = 3_000
# Records whose distances stay in the processor's fastest cache while all columns are added.
STRIP = 2048


class Trees(NamedTuple):
    """Levels of all categories under each other: what every code belongs to at every level."""

    start: IntArray  # (n_categories,) row of the first code
    levels: IntArray  # (codes of all categories, most levels)
    n_levels: IntArray  # (n_categories,)
    scale: FloatArray  # (n_categories,)


@inner_jit
def _add_axis(total, axis, at):
    for i in range(total.size):
        gap = axis[i] - at
        total[i] += gap * gap


@inner_jit
def _add_table(total, codes, table):
    for i in range(total.size):
        total[i] += table[codes[i]]


def _squared_distances_in_numpy(numbers: FloatArray, codes: Codes, place: FloatArray, tables: FloatArray) -> FloatArray:
    total = np.zeros(numbers.shape[1])
    for axis, at in zip(numbers, place.tolist(), strict=True):
        gap = axis - at
        gap *= gap
        total += gap
    for column, table in zip(codes, tables, strict=True):
        total += table[column]
    return total


@kernel(plain=_squared_distances_in_numpy, compiled_from=COMPILED_FROM, is_loop=True)
def squared_distances(numbers: FloatArray, codes: Codes, place: FloatArray, tables: FloatArray) -> FloatArray:
    """Squared distance of every record from a point, (n,), added up one column after the other.

    Args:
        numbers: (n_numbers, n).
        codes: (n_categories, n).
        place: (n_numbers,) where the point lies.
        tables: (n_categories, most codes of a category) distance of the point from every code.
    """
    n = numbers.shape[1]
    total = np.zeros(n)
    for begin in range(0, n, STRIP):
        end = min(n, begin + STRIP)
        for d in range(numbers.shape[0]):
            _add_axis(total[begin:end], numbers[d, begin:end], place[d])
        for d in range(codes.shape[0]):
            _add_table(total[begin:end], codes[d, begin:end], tables[d])
    return total


@inner_jit
def _between(numbers, codes, a, b, trees, limit):
    """Squared distance of two records, or something above the limit."""
    total = 0.0
    for d in range(numbers.shape[0]):
        gap = numbers[d, a] - numbers[d, b]
        total += gap * gap
    for d in range(codes.shape[0]):
        if total > limit:
            return total
        one = trees.start[d] + codes[d, a]
        other = trees.start[d] + codes[d, b]
        n_apart = 0
        for level in range(trees.n_levels[d]):
            n_apart += trees.levels[one, level] != trees.levels[other, level]
        total += trees.scale[d] * (n_apart / trees.n_levels[d])
    return total


def _nearest_outside_in_numpy(
    numbers: FloatArray,
    codes: Codes,
    is_gone: BoolArray,
    members: IntArray,
    from_extreme: FloatArray,
    trees: Trees,
) -> tuple[int, float]:
    apart = from_extreme.copy()
    for m in members.tolist():
        tables = np.zeros((len(codes), int(np.diff([*trees.start.tolist(), len(trees.levels)]).max(initial=0))))
        for d, column in enumerate(codes):
            own = trees.levels[trees.start[d] : trees.start[d + 1] if d + 1 < len(codes) else None]
            own = own[:, : trees.n_levels[d]]
            tables[d, : len(own)] = trees.scale[d] * (own != own[column[m]]).mean(axis=1)
        apart = np.minimum(apart, _squared_distances_in_numpy(numbers, codes, numbers[:, m], tables))
    apart = np.where(is_gone, np.inf, apart)
    best = int(np.argmin(apart))
    return best, float(apart[best])


@kernel(plain=_nearest_outside_in_numpy, compiled_from=COMPILED_FROM, is_loop=True)
def nearest_outside(
    numbers: FloatArray,
    codes: Codes,
    is_gone: BoolArray,
    members: IntArray,
    from_extreme: FloatArray,
    trees: Trees,
) -> tuple[int, float]:
    """The free record nearest to any of some members, the first of several, and its squared distance.

    Args:
        from_extreme: (n,) squared distances from one of the members.
    """
    radius = 0.0
    for m in members:
        radius = max(radius, np.sqrt(from_extreme[m]))
    best = -1
    least = np.inf
    for i in range(is_gone.size):
        if not is_gone[i] and from_extreme[i] < least:
            least = from_extreme[i]
            best = i
    reach = ((np.sqrt(least) + radius) * (1 + 1e-9)) ** 2
    for i in range(is_gone.size):
        # farther than this from the extreme, a record is farther from every member than the best so far
        if is_gone[i] or from_extreme[i] > reach:
            continue
        for m in members:
            apart = _between(numbers, codes, i, m, trees, least)
            if apart < least or (apart == least and i < best):
                least = apart
                best = i
                reach = ((np.sqrt(least) + radius) * (1 + 1e-9)) ** 2
    return best, least
