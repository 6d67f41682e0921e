"""Minimal sample uniques: the smallest sets of columns on which a record is unique (in the manner of SUDA).

Reference: Elliot, Manning, Ford, A computational algorithm for handling the special uniques problem, International
Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks.row_classes import Codes, classes_of

LARGEST = 3


@dataclass(frozen=True, slots=True, eq=False)
class Uniques:
    """Which sets of columns make which records unique, no smaller set doing so."""

    counts: Mapping[tuple[str, ...], int]  # records for which the set is a minimal unique, sets without any left out
    n_of_record: IntArray  # (n_records,) minimal uniques of every record
    scores: FloatArray  # (n_records,) more and smaller minimal uniques score higher

    @property
    def n_special(self) -> int:
        """Records that are unique on few columns already."""
        return int(np.count_nonzero(self.n_of_record))

    def worst(self, most: int) -> list[int]:
        """Numbers (from 1) of the records with the highest scores."""
        order = np.argsort(-self.scores, kind="stable")[:most]
        return [int(i) + 1 for i in order if self.scores[i] > 0]

    def to_dict(self, most: int = 10) -> dict[str, Any]:
        """Plain data: sets with the most records, and record numbers."""
        sets = sorted(self.counts.items(), key=lambda item: (-item[1], len(item[0])))[:most]
        return {
            "records": self.n_special,
            "sets": [{"columns": list(columns), "records": n} for columns, n in sets],
            "worst_rows": self.worst(most),
        }


def is_unique(columns: Sequence[Codes], n_rows: int | None = None) -> BoolArray:
    """Whether each record is the only one with its values in the given columns."""
    classes, n_classes = classes_of(columns, n_rows)
    return np.asarray(np.bincount(classes, minlength=n_classes)[classes] == 1)


def minimal_uniques(columns: Mapping[str, Codes], *, largest: int = LARGEST) -> Uniques:
    """The minimal sample uniques of up to `largest` columns.

    A minimal unique of m columns scores the product of (number of columns - i) for i = m ... largest - 1.
    """
    names = list(columns)
    n_rows = len(columns[names[0]]) if names else 0
    unique_on: dict[frozenset[str], BoolArray] = {}
    counts: dict[tuple[str, ...], int] = {}
    n_of_record, scores = np.zeros(n_rows, np.int64), np.zeros(n_rows)
    for size in range(1, min(largest, len(names)) + 1):
        weight = prod(len(names) - i for i in range(size, min(largest, len(names))))
        for chosen in combinations(names, size):
            unique = is_unique([columns[name] for name in chosen])
            unique_on[frozenset(chosen)] = unique
            minimal = unique & ~_below(chosen, unique_on, n_rows)
            if minimal.any():
                counts[chosen] = int(minimal.sum())
                n_of_record += minimal
                scores += minimal * float(weight)
    return Uniques(counts, n_of_record, scores)


def _below(chosen: tuple[str, ...], unique_on: Mapping[frozenset[str], BoolArray], n_rows: int) -> BoolArray:
    """Records that are unique already on all but one of the columns."""
    smaller = [unique_on[frozenset(chosen) - {name}] for name in chosen] if len(chosen) > 1 else []
    return np.any(smaller, axis=0) if smaller else np.zeros(n_rows, bool)
