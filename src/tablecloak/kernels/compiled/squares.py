"""Compiled kernels of microaggregation; `kernels/squares.py` has the same functions in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.compiled.jit import inner_jit, jit
from tablecloak.kernels.squares import Trees

__all__ = ["nearest_outside", "squared_distances"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.int32]
# Records whose distances stay in the processor's fastest cache while all columns are added.
STRIP = 2048


@inner_jit
def _add_axis(total, axis, at):  # type: ignore[no-untyped-def]
    for i in range(total.size):
        gap = axis[i] - at
        total[i] += gap * gap


@inner_jit
def _add_table(total, codes, table):  # type: ignore[no-untyped-def]
    for i in range(total.size):
        total[i] += table[codes[i]]


@jit
def _squared_distances(numbers, codes, place, tables):  # type: ignore[no-untyped-def]
    n = numbers.shape[1]
    total = np.zeros(n)
    for begin in range(0, n, STRIP):
        end = min(n, begin + STRIP)
        for d in range(numbers.shape[0]):
            _add_axis(total[begin:end], numbers[d, begin:end], place[d])
        for d in range(codes.shape[0]):
            _add_table(total[begin:end], codes[d, begin:end], tables[d])
    return total


def squared_distances(numbers: FloatArray, codes: Codes, place: FloatArray, tables: FloatArray) -> FloatArray:
    """Squared distance of every record from a point, (n,), added up one column after the other."""
    result: FloatArray = _squared_distances(numbers, codes, place, tables)
    return result


@inner_jit
def _between(numbers, codes, a, b, trees, limit):  # type: ignore[no-untyped-def]
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


@jit
def _nearest_outside(numbers, codes, is_gone, members, from_extreme, trees):  # type: ignore[no-untyped-def]
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


def nearest_outside(
    numbers: FloatArray,
    codes: Codes,
    is_gone: NDArray[np.bool_],
    members: NDArray[np.int64],
    from_extreme: FloatArray,
    trees: Trees,
) -> tuple[int, float]:
    """The free record nearest to any of some members, the first of several, and its squared distance."""
    best, least = _nearest_outside(numbers, codes, is_gone, members, from_extreme, trees)
    return int(best), float(least)
