"""Keys with repeats: columns whose equal values mark the rows of one person, household or firm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.profile.column import Codes, Column
from tablecloak.risks.grouping import class_sizes

__all__ = ["KEY_DETECTORS", "RepeatedKey", "repeated_keys"]

IntArray = NDArray[np.int64]
# Detectors whose columns are numbers of something, or that have not been recognized at all.
KEY_DETECTORS = (None, "record-number")
# Columns with fewer values than this share of the rows are categories, not keys.
MANY_VALUES = 0.02
# Below this many rows that repeat a value, agreement is chance.
ENOUGH_REPEATS = 20
# How much more than by chance rows of one value agree on another column, from 0 to 1.
AGREES = 0.9
# Of one column that agrees, with at least this many values, no other evidence is needed.
TELLING_VALUES = 10
# What a key decides has fewer values than it; amounts that follow from an amount have as many.
COARSER = 0.5
MOST_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A column whose values repeat, and the columns on which rows of one value agree."""

    name: str
    n_values: int
    agreeing: tuple[str, ...]


def repeated_keys(columns: Mapping[str, Column], codes: Mapping[str, Codes]) -> list[RepeatedKey]:
    """The columns that repeat like keys of persons or households, the one with the most values first.

    Rows of one value agree on other columns far more often than rows of different values do. For the rows that repeat a
    value, the share that brings no new combination with another column is compared with what chance gives.
    """
    n_rows = len(next(iter(codes.values()), ()))
    if n_rows > MOST_ROWS:  # whole keys, so that their rows stay together, would need a sort: the first rows do
        codes = {name: of_column[:MOST_ROWS] for name, of_column in codes.items()}
        n_rows = MOST_ROWS
    sizes = {name: class_sizes([of_column]) for name, of_column in codes.items()}
    evidence = [
        RepeatedKey(name, len(sizes[name]), _agreeing(name, codes, sizes))
        for name in columns
        if _may_be_key(sizes[name], n_rows)
    ]
    keys = [key for key in evidence if _is_enough(key, sizes)]
    return sorted(keys, key=lambda key: -key.n_values)


def _may_be_key(sizes: IntArray, n_rows: int) -> bool:
    n_values = len(sizes)
    return n_values >= MANY_VALUES * n_rows and n_rows - n_values >= max(ENOUGH_REPEATS, 0.01 * n_rows)


def _is_enough(key: RepeatedKey, sizes: Mapping[str, IntArray]) -> bool:
    return len(key.agreeing) > 1 or any(len(sizes[name]) >= TELLING_VALUES for name in key.agreeing)


def _agreeing(key: str, codes: Mapping[str, Codes], sizes: Mapping[str, IntArray]) -> tuple[str, ...]:
    n_rows, n_keys = len(codes[key]), len(sizes[key])
    agreeing = []
    for other, of_other in codes.items():
        if other == key or not 1 < len(sizes[other]) <= COARSER * n_keys:
            continue
        by_chance = float(((sizes[other] / n_rows) ** 2).sum())
        n_new = len(class_sizes([codes[key], of_other])) - n_keys
        agreement = 1 - n_new / (n_rows - n_keys)
        if agreement - by_chance >= AGREES * (1 - by_chance):
            agreeing.append(other)
    return tuple(agreeing)
