"""Which columns together single people out: risk per set of quasi-identifiers, keys, functional dependencies, and the
smallest sets on which a record is unique.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks.row_classes import Codes, class_sizes, classes_of
from tablecloak.looks import ShowsItself
from tablecloak.values.amounts import show_amount

LARGEST = 3
MOST_COLUMNS = 12


def weighted_sentence(risk: Mapping[str, Any]) -> str:
    """A weighted risk in words, from its plain data."""
    return (
        f"Among the {risk['people']:,.0f} people that weights add up to: individual risk max "
        f"{show_amount(risk['highest'])}, {show_amount(risk['expected_links'])} records "
        f"({risk['share']:.2%}) linked right in expectation, "
        f"{show_amount(risk['expected_population_uniques'])} records unique in the population"
    )


@dataclass(frozen=True, slots=True)
class WeightedRisk:
    """The risk of being linked with the population, as the weights of a survey tell it."""

    n_records: int
    people: float  # that the weights add up to
    highest: float  # individual risk of the most exposed record
    expected_links: float  # records linked right, if each is linked once
    expected_population_uniques: float

    @property
    def share(self) -> float:
        """Global risk: the share of records linked right in expectation."""
        return self.expected_links / max(1, self.n_records)

    def __str__(self) -> str:
        return weighted_sentence(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "highest": self.highest,
            "expected_links": self.expected_links,
            "share": self.share,
            "expected_population_uniques": self.expected_population_uniques,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Risk(ShowsItself):
    """How exposed the records of a table are to someone who knows all quasi-identifiers of a person."""

    n_records: int  # or persons
    n_unique: int  # records that no other record shares its quasi-identifiers with
    highest: float  # chance of singling out the most exposed record
    average: float  # chance of singling out a record, on average
    n_classes: int = 0
    counted: str = "records"  # or persons, where somebody has several records and it is known who
    weighted: WeightedRisk | None = None  # where a column says how many people records stand for

    @property
    def unique_share(self) -> float:
        return self.n_unique / max(1, self.n_records)

    def __str__(self) -> str:
        return (
            f"{self.n_unique:,} of {self.n_records:,} {self.counted} ({self.unique_share:.1%}) are unique. "
            f"Chance to single out a record: highest {self.highest:.2f}, average {self.average:.2f}"
            f"{f'. {self.weighted}' if self.weighted else ''}"
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
            **({"weighted": self.weighted.to_dict()} if self.weighted else {}),
        }


def risk_of_sizes(sizes: IntArray) -> Risk:
    """The risk of a table given as the sizes of its classes."""
    n = int(sizes.sum())
    if n == 0:
        return Risk(0, 0, 0.0, 0.0)
    return Risk(n, int(np.sum(sizes == 1)), 1 / int(sizes.min()), len(sizes) / n, len(sizes))


@dataclass(frozen=True, slots=True)
class SubsetRisk(Risk):
    """The same to someone who knows only some columns of a person."""

    columns: tuple[str, ...] = ()

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
    risk = risk_of_sizes(class_sizes([columns[name] for name in chosen]))
    return SubsetRisk(risk.n_records, risk.n_unique, risk.highest, risk.average, risk.n_classes, columns=chosen)


def riskiest(risks: list[SubsetRisk], most: int) -> Iterator[SubsetRisk]:
    """The sets with the most unique records; of equal ones the smaller set says more."""
    ordered = sorted((r for r in risks if r.n_unique), key=lambda r: (-r.n_unique, len(r.columns)))
    yield from ordered[:most]


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
    Reference: Elliot, Manning, Ford, A computational algorithm for handling the special uniques problem (SUDA),
    International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 2002.
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
