"""Risk per set of quasi-identifiers, keys and functional dependencies: which columns together single people out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tablecloak.attacks.row_classes import Codes, class_sizes

LARGEST = 3
MOST_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class SubsetRisk:
    """What someone who knows only some columns of a person can do."""

    columns: tuple[str, ...]
    n_records: int
    n_classes: int
    n_unique: int  # records that no other record shares these columns with
    smallest: int  # size of the smallest class

    @property
    def unique_share(self) -> float:
        return self.n_unique / max(1, self.n_records)

    @property
    def highest(self) -> float:
        """Chance of singling out the most exposed record."""
        return 1 / self.smallest if self.smallest else 0.0

    @property
    def average(self) -> float:
        """Chance of singling out a record, on average."""
        return self.n_classes / max(1, self.n_records)

    @property
    def is_key(self) -> bool:
        """Every record is unique."""
        return 0 < self.n_records == self.n_unique

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the names other reports use."""
        return {
            "columns": list(self.columns),
            "unique": self.n_unique,
            "unique_share": self.unique_share,
            "highest": self.highest,
            "average": self.average,
            "classes": self.n_classes,
            "key": self.is_key,
        }


@dataclass(frozen=True, slots=True)
class Dependency:
    """Records that agree on some columns always agree on another one, which therefore adds nothing to them."""

    columns: tuple[str, ...]
    decides: str

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "decides": self.decides}


def subset_risks(
    columns: Mapping[str, Codes], *, largest: int = LARGEST, most_columns: int = MOST_COLUMNS
) -> list[SubsetRisk]:
    """The risk of every set of up to `largest` columns, smaller sets first.

    Args:
        columns: a code for the value of every row, by column.
        most_columns: only this many columns are combined, those with the most values.
    """
    names = _widest(columns, most_columns)
    return [_risk(chosen, columns) for size in range(1, largest + 1) for chosen in combinations(names, size)]


def keys(risks: list[SubsetRisk]) -> list[tuple[str, ...]]:
    """The minimal sets of columns on which every record is unique."""
    minimal: list[tuple[str, ...]] = []
    for risk in sorted((r for r in risks if r.is_key), key=lambda r: len(r.columns)):
        if not any(set(key) <= set(risk.columns) for key in minimal):
            minimal.append(risk.columns)
    return minimal


def dependencies(risks: list[SubsetRisk]) -> list[Dependency]:
    """The minimal functional dependencies among sets whose risks were counted; keys, which decide everything, aside.

    X decides A exactly if X and X with A have equally many classes.
    """
    n_classes = {frozenset(r.columns): r.n_classes for r in risks}
    n_records = risks[0].n_records if risks else 0
    minimal: list[Dependency] = []
    for risk in sorted(risks, key=lambda r: len(r.columns)):
        for name in risk.columns:
            rest = frozenset(risk.columns) - {name}
            is_decided = n_classes[rest] == risk.n_classes if rest else risk.n_classes == 1
            is_key = bool(rest) and n_classes[rest] == n_records
            is_implied = any(d.decides == name and set(d.columns) <= rest for d in minimal)
            if is_decided and not is_key and not is_implied:
                minimal.append(Dependency(tuple(c for c in risk.columns if c != name), name))
    return minimal


def _widest(columns: Mapping[str, Codes], most: int) -> list[str]:
    """The columns with the most values, in their own order."""
    widest = sorted(columns, key=lambda name: -int(columns[name].max(initial=0)))[:most]
    return [name for name in columns if name in widest]


def _risk(chosen: tuple[str, ...], columns: Mapping[str, Codes]) -> SubsetRisk:
    sizes = class_sizes([columns[name] for name in chosen])
    n_unique = int(np.count_nonzero(sizes == 1))
    return SubsetRisk(chosen, int(sizes.sum()), len(sizes), n_unique, int(sizes.min()) if len(sizes) else 0)


def riskiest(risks: list[SubsetRisk], most: int) -> Iterator[SubsetRisk]:
    """The sets with the most unique records; of equal ones the smaller set says more."""
    ordered = sorted((r for r in risks if r.n_unique), key=lambda r: (-r.n_unique, len(r.columns)))
    yield from ordered[:most]
