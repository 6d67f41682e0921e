"""Buckets as lists of rows, and their exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Buckets", "Swap", "buckets_of", "classes_of", "first_seen", "swap"]

IntArray = NDArray[np.int64]
Buckets: TypeAlias = dict[int, list[int]]  # rows by label; labels ascend


@dataclass(frozen=True, slots=True)
class Swap:
    """Two rows that changed places between two buckets."""

    first: int  # label
    row: int
    second: int  # label
    other: int


def buckets_of(classes: IntArray) -> Buckets:
    """Buckets of rows given by class number."""
    order = np.argsort(classes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1) if len(order) else []
    return {int(classes[part[0]]): part.tolist() for part in parts}


def classes_of(buckets: Buckets, n_rows: int) -> IntArray:
    """The label of every row."""
    classes = np.empty(n_rows, np.int64)
    for label, rows in buckets.items():
        classes[rows] = label
    return classes


def swap(buckets: Buckets, first: int, place: int, second: int, other: int) -> Swap:
    """Exchange the rows at two places of two buckets."""
    one, two = buckets[first], buckets[second]
    done = Swap(first, one[place], second, two[other])
    one[place], two[other] = two[other], one[place]
    return done


def first_seen(columns: Sequence[IntArray]) -> IntArray:
    """Equal rows get equal numbers 0, 1, ... in the order in which they are first seen: V-KAN."""
    keys = np.stack(columns, axis=1)
    _, firsts, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[inverse.reshape(-1)]
