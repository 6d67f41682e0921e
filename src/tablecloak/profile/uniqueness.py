"""Who stands alone: risk of a set of columns, and which small sets single people out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.profile.column import Codes, column_of

LARGEST_SET = 3
MOST_COLUMNS = 12
MOST_SETS = 10


@dataclass(frozen=True, slots=True)
class Risk:
    """How exposed the records of a table are to someone who knows all quasi-identifiers of a person."""

    n_records: int  # or persons
    n_unique: int  # records that no other record shares its quasi-identifiers with
    highest: float  # chance of singling out the most exposed record
    average: float  # chance of singling out a record, on average
    n_classes: int = 0
    counted: str = "records"  # or persons, where somebody has several records and it is known who

    @property
    def unique_share(self) -> float:
        return self.n_unique / max(1, self.n_records)

    def __str__(self) -> str:
        return (
            f"{self.n_unique:,} of {self.n_records:,} {self.counted} ({self.unique_share:.1%}) are unique. "
            f"Chance to single out a record: highest {self.highest:.2f}, average {self.average:.2f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the names other reports use."""
        return {
            "records": self.n_records,
            "unique": self.n_unique,
            "unique_share": self.unique_share,
            "highest": self.highest,
            "average": self.average,
            "classes": self.n_classes,
            "counted": self.counted,
        }


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that together single out some of the records."""

    columns: tuple[str, ...]
    n_unique: int
    unique_share: float

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "unique": self.n_unique, "unique_share": self.unique_share}


def risk_of_sizes(sizes: IntArray) -> Risk:
    """The risk of a table given as the sizes of its classes."""
    n = int(sizes.sum())
    if n == 0:
        return Risk(0, 0, 0.0, 0.0)
    return Risk(n, int(np.sum(sizes == 1)), 1 / int(sizes.min()), len(sizes) / n, len(sizes))


def risk_of_frame(frame: pl.DataFrame, quasi: Sequence[str]) -> Risk:
    """The risk of a table as it stands; an empty cell matches only other empty cells."""
    return risk_of_sizes(class_sizes([column_of(frame[name])[1] for name in quasi]))


def singling_sets(columns: Mapping[str, Codes], *, most: int = MOST_SETS) -> list[ColumnSet]:
    """The sets of up to three columns with the largest share of unique records, largest first.

    At most 12 columns are looked at, those with the most values. A set of columns cannot have more unique records than
    combinations of values, so sets that cannot enter the list are not counted.
    """
    n_values = {name: int(codes.max(initial=0)) + 1 for name, codes in columns.items()}
    names = sorted(columns, key=lambda name: -n_values[name])[:MOST_COLUMNS]
    n_rows = len(next(iter(columns.values()), ()))
    sets: list[ColumnSet] = []
    for size in range(1, LARGEST_SET + 1):
        bounded = [(math.prod(n_values[name] for name in chosen), chosen) for chosen in combinations(names, size)]
        for bound, chosen in sorted(bounded, key=lambda pair: -pair[0]):
            if len(sets) >= most and bound <= sets[-1].n_unique:
                break
            n_unique = int(np.sum(class_sizes([columns[name] for name in chosen]) == 1))
            sets.append(ColumnSet(chosen, n_unique, n_unique / max(1, n_rows)))
            # of equal sets the smaller one says more
            sets = sorted(sets, key=lambda s: (-s.n_unique, len(s.columns)))[:most]
    return [found_set for found_set in sets if found_set.n_unique]
