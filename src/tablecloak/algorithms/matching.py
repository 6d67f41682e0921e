"""One-to-one assignments under constraints, by augmenting paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.rng import Stream

__all__ = ["random_matching"]

IntArray = NDArray[np.int64]


def random_matching(allowed: NDArray[np.bool_], stream: Stream) -> IntArray:
    """A value for every row, each value once, only allowed ones; rows and values are tried in random order.

    Raises: ValueError if there is no such assignment. Cost: O(rows * allowed pairs).
    """
    row_of = np.full(allowed.shape[1], -1)
    for row in stream.permutation(len(allowed)).tolist():
        if not _augment(allowed, row, row_of, stream.permutation(allowed.shape[1])):
            raise ValueError("there is no assignment without a forbidden pair")
    value_of = np.empty(len(allowed), np.int64)
    value_of[row_of[row_of >= 0]] = np.flatnonzero(row_of >= 0)
    return value_of


def _augment(allowed: NDArray[np.bool_], start: int, row_of: IntArray, order: IntArray) -> bool:
    """Give a row a value, moving others along a path of values if need be (breadth first)."""
    came_from = np.full(len(row_of), -1)
    is_seen = np.zeros(len(row_of), bool)
    queue = [start]
    for row in queue:
        for value in order[allowed[row][order] & ~is_seen[order]].tolist():
            is_seen[value] = True
            came_from[value] = row
            if row_of[value] < 0:
                _shift(value, start, came_from, row_of)
                return True
            queue.append(int(row_of[value]))
    return False


def _shift(value: int, start: int, came_from: IntArray, row_of: IntArray) -> None:
    while True:
        row = int(came_from[value])
        previous = np.flatnonzero(row_of == row)
        row_of[value] = row
        if row == start:
            return
        value = int(previous[0])
