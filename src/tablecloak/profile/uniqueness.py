"""Who stands alone: risk of a set of columns, and which small sets single people out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from tablecloak.attacks.risk_by_columns import Risk, risk_of_sizes
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.profile.column import Codes, column_of

LARGEST_SET = 3
MOST_COLUMNS = 12
MOST_SETS = 10


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that together single out some of the records."""

    columns: tuple[str, ...]
    n_unique: int
    unique_share: float

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "unique": self.n_unique, "unique_share": self.unique_share}


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
