"""ClassStats: sizes and sensitive histograms of equivalence classes, as flat arrays.

Histograms are stored by class in compressed rows, so a million small classes cost what they contain and no more.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.stats.value_labels import Labels, codes_between

if TYPE_CHECKING:
    from tablecloak.stats.consistency import Consistency

# Dense work arrays stay below this many cells; larger inputs are processed in slices of classes.
DENSE_CELLS = 1 << 22


class Evidence(enum.Flag):
    """What a model must see, and gets with the statistics."""

    SIZE = enum.auto()
    SENSITIVE = enum.auto()
    PERSONS = enum.auto()
    POPULATION = enum.auto()
    TABLE = enum.auto()  # how values are distributed in the whole table, which classes are compared with
    GUARDS = enum.auto()  # what people say must not be learned of them, in columns that are not published
    JOINT = enum.auto()  # combinations of all sensitive values
    PAIRS = enum.auto()  # the original beside the release: which published rows each record could be
    ITEMS = enum.auto()  # itemsets of a column of sets, which are no classes
    WEIGHTS = enum.auto()  # how many people of the population each record stands for, as weights of a survey say


class Counted(enum.Enum):
    """What a counted attribute is."""

    SENSITIVE = "sensitive"
    PERSON = "person"  # the key of a person, who may have several records
    JOINT = "joint"  # the combination of several sensitive attributes
    HOLDING = "holding"  # the combination of a person and all sensitive attributes: who holds what
    POPULATION = "population"  # people of the population behind a record, as a number
    WEIGHT = "weight"  # people of the population that a record stands for, as a number
    GUARD = "guard"  # the node of a sensitive hierarchy that a person wants kept from others


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveDomain:
    """The values of one sensitive attribute: code `i` stands for `labels[i]`, None for the missing value.

    Keys of persons have no labels: all are None.
    """

    name: str
    labels: Labels
    is_ordered: bool = False  # codes follow the order of numbers or dates
    hierarchy: Hierarchy | None = None  # its leaf codes are the codes here
    numbers: FloatArray | None = None  # (n_values,) places of numbers or dates on a line, NaN for the missing value
    kind: Counted = Counted.SENSITIVE
    parts: Mapping[str, IntArray] | None = None  # of a combination: (n_values,) codes by attribute
    n_people: int = 0  # of a population: how many people it has
    n_outside: int = 0  # of a population: how many of them no class covers, where that was counted

    @property
    def n_values(self) -> int:
        return len(self.labels)

    def codes_in(self, other: SensitiveDomain) -> IntArray:
        """The code that each value has in another domain, -1 where that has none, (n_values,)."""
        return codes_between(self.labels, other.labels)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of one sensitive attribute in every class: of records, or of persons (see `stats/persons.py`).

    Entries of class `c` are `indptr[c]:indptr[c + 1]`; codes ascend inside a class and counts are positive.
    """

    domain: SensitiveDomain
    indptr: IntArray  # (n_classes + 1,)
    codes: IntArray  # (n_entries,)
    counts: NDArray[Any]  # (n_entries,) whole numbers, or masses of persons
    totals: NDArray[Any]  # (n_values,) counts in the whole table
    crowd: IntArray | None = None  # (n_classes,) where persons may hold several values: how many persons there are
    n_crowd: int | None = None  # the same of the whole table

    @property
    def n_classes(self) -> int:
        return len(self.indptr) - 1

    def entry_class(self) -> IntArray:
        """The class of every entry, (n_entries,)."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.indptr))

    def distinct(self) -> IntArray:
        """Number of different values in every class, (n_classes,)."""
        return np.diff(self.indptr)

    def sum_by_class(self, per_entry: NDArray[np.generic]) -> FloatArray:
        """Sum of a quantity given per entry, (n_classes,)."""
        padded = np.append(np.asarray(per_entry, dtype=np.float64), 0.0)
        sums = np.add.reduceat(padded, self.indptr[:-1]) if self.n_classes else np.zeros(0)
        return np.where(self.distinct() > 0, sums, 0.0)

    def max_by_class(self, per_entry: NDArray[np.generic], *, empty: float = 0.0) -> FloatArray:
        """Largest of a quantity given per entry, (n_classes,); `empty` for a class without entries."""
        padded = np.append(np.asarray(per_entry, dtype=np.float64), -np.inf)
        largest = np.maximum.reduceat(padded, self.indptr[:-1]) if self.n_classes else np.zeros(0)
        return np.where(self.distinct() > 0, largest, empty)

    def records(self) -> FloatArray:
        """Records of every class, or its persons, (n_classes,)."""
        return self.sum_by_class(self.counts) if self.crowd is None else self.crowd.astype(np.float64)

    def shares(self) -> FloatArray:
        """Share of its class that every entry makes up, (n_entries,)."""
        return self.counts / np.maximum(self.records(), 1.0)[self.entry_class()]

    def recoded(self, codes: IntArray, domain: SensitiveDomain) -> Self:
        """The histogram after value `v` is replaced by `codes[v]` of another domain (-1: left out)."""
        assert self.crowd is None, "a person who holds two values may hold one after they are united"
        entry = codes[self.codes]
        is_named = entry >= 0
        totals = np.bincount(codes[codes >= 0], weights=self.totals[codes >= 0], minlength=domain.n_values)
        recoded = histogram_of(
            self.entry_class()[is_named],
            entry[is_named],
            self.counts[is_named],
            self.n_classes,
            domain,
            totals.astype(np.int64),
        )
        return replace(
            self,
            domain=domain,
            indptr=recoded.indptr,
            codes=recoded.codes,
            counts=recoded.counts,
            totals=recoded.totals,
        )

    def total_shares(self) -> FloatArray:
        """Share of the whole table that every value makes up, (n_values,)."""
        n = self.totals.sum() if self.n_crowd is None else self.n_crowd
        shares: FloatArray = self.totals / max(1, n)
        return shares

    def rollup(self, group: IntArray, n_groups: int) -> Histogram:
        """The histogram after classes are united: class `c` becomes part of `group[c]` (-1: left out)."""
        assert self.crowd is None, "a person may be in two classes that are united"
        entry = group[self.entry_class()]
        is_in = slice(None) if group.min(initial=0) >= 0 else entry >= 0
        codes, counts = self.codes[is_in], self.counts[is_in]
        return histogram_of(entry[is_in], codes, counts, n_groups, self.domain, self.totals)


@dataclass(frozen=True, slots=True, eq=False)
class ClassStats:
    """Arrays over equivalence classes: their sizes and their sensitive histograms by attribute name."""

    size: IntArray  # (n_classes,) records
    hist: Mapping[str, Histogram] = field(default_factory=dict)
    labels: Mapping[str, IntArray] | None = None  # (n_classes,) published label by quasi-identifier, where known
    pairs: Consistency | None = None  # which published rows each record could be, where original and release were held
    # (n_classes,) in a search, people of the population whom a class covers although no record equals them: each is
    # counted for one class at most, so a union has no fewer than its parts together
    beyond: IntArray | None = None

    @property
    def n_classes(self) -> int:
        return len(self.size)

    def hist_of(self, kind: Counted) -> dict[str, Histogram]:
        """Histograms of one kind of attribute, by name."""
        return {name: h for name, h in self.hist.items() if h.domain.kind is kind}

    @property
    def persons(self) -> IntArray:
        """Different persons in every class, (n_classes,): its records unless persons were counted."""
        counted = self.hist_of(Counted.PERSON)
        return next(iter(counted.values())).distinct() if counted else self.size

    @property
    def n_persons(self) -> int:
        """Different persons in the whole table, of which these classes may be a part."""
        counted = next(iter(self.hist_of(Counted.PERSON).values()), None)
        population = self.population
        whole = None if population is None else int(population.totals.sum())
        return int(np.count_nonzero(counted.totals)) if counted is not None else whole or self.n_records

    @property
    def population(self) -> Histogram | None:
        """People of the population by class, if they were counted: amounts are the numbers of the domain."""
        return next(iter(self.hist_of(Counted.POPULATION).values()), None)

    @property
    def people(self) -> FloatArray | None:
        """People of the population that every class covers, (n_classes,); in a search a lower bound."""
        counted = self.population
        if counted is None or counted.domain.numbers is None:
            return None
        people = counted.sum_by_class(counted.counts * counted.domain.numbers[counted.codes])
        return people if self.beyond is None else people + self.beyond

    @property
    def weighed(self) -> FloatArray | None:
        """The sum of the weights of every class, (n_classes,), where weights of a survey were counted.

        A record without a weight stands for nobody.
        """
        counted = next(iter(self.hist_of(Counted.WEIGHT).values()), None)
        if counted is None or counted.domain.numbers is None:
            return None
        weights = np.maximum(np.nan_to_num(counted.domain.numbers), 0.0)
        return counted.sum_by_class(counted.counts * weights[counted.codes])

    def by_labels(self, columns: Sequence[str]) -> tuple[ClassStats, IntArray]:
        """Classes with equal labels on some quasi-identifiers united, and the group of every class.

        Where labels are not known, as inside a search, every class stays alone.
        """
        if self.labels is None:
            return self, np.arange(self.n_classes)
        group, n_groups = number_rows([self.labels[name] for name in columns], self.n_classes)
        return self.rollup(group, n_groups), group

    @property
    def n_records(self) -> int:
        return int(self.size.sum())

    def rollup(self, group: IntArray, n_groups: int) -> ClassStats:
        """Statistics after classes are united: class `c` becomes part of `group[c]` (-1: left out)."""
        is_in = group >= 0
        size, beyond = (
            None if n is None else np.bincount(group[is_in], n[is_in], minlength=n_groups).astype(np.int64)
            for n in (self.size, self.beyond)
        )
        assert size is not None
        return ClassStats(size, {name: h.rollup(group, n_groups) for name, h in self.hist.items()}, beyond=beyond)

    def __add__(self, other: ClassStats) -> ClassStats:
        """Merge counts of the same classes taken from two parts of a table."""
        both = np.tile(np.arange(self.n_classes), 2)
        return concat([self, other]).rollup(both, self.n_classes)


def number_rows(columns: Sequence[IntArray], n: int) -> tuple[IntArray, int]:
    """Number the different rows of some columns in their order: the number of every row, and how many there are."""
    values, group = np.unique(_told_apart(columns, n), return_inverse=True)
    return group.reshape(-1).astype(np.int64), len(values)


def _told_apart(columns: Sequence[IntArray], n: int) -> IntArray:
    """One number for every row that ascends as rows do; rows with equal numbers are equal."""
    numbers, room = np.zeros(n, np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if room > (1 << 62) // width:
            values, numbers = np.unique(numbers, return_inverse=True)
            room = len(values)
        numbers = numbers * width + column
        room *= width
    return numbers


def one_class(n_records: int, totals: Sequence[tuple[SensitiveDomain, IntArray]]) -> ClassStats:
    """Statistics of a table as one class, given how often each value of every attribute occurs."""
    hist = {}
    for domain, counts in totals:
        codes = np.flatnonzero(counts)
        hist[domain.name] = Histogram(domain, np.array([0, len(codes)]), codes, counts[codes], counts)
    return ClassStats(np.array([n_records]), hist)


def without_classes(stats: ClassStats) -> ClassStats:
    """Statistics of none of the classes: attributes, and how often each value occurs in the table."""
    nothing = np.zeros(0, np.int64)
    hist = {
        name: replace(h, indptr=np.zeros(1, np.int64), codes=nothing, counts=nothing) for name, h in stats.hist.items()
    }
    return ClassStats(nothing, hist)


def concat(parts: list[ClassStats]) -> ClassStats:
    """All classes of several statistics, one after the other; totals of the parts are added."""
    size = np.concatenate([p.size for p in parts])
    names = parts[0].hist
    return ClassStats(size, {name: _concat_histograms([p.hist[name] for p in parts]) for name in names})


def side_by_side(parts: Sequence[ClassStats]) -> ClassStats:
    """All classes of parts of one table, each of which knows the labels and the totals of the table."""
    together = concat(list(parts))
    hist = {name: replace(h, totals=parts[0].hist[name].totals) for name, h in together.hist.items()}
    names = parts[0].labels
    labels = None if names is None else {n: np.concatenate([(p.labels or {})[n] for p in parts]) for n in names}
    return replace(together, hist=hist, labels=labels)


def _concat_histograms(parts: list[Histogram]) -> Histogram:
    widths = np.concatenate([np.diff(p.indptr) for p in parts])
    return Histogram(
        domain=parts[0].domain,
        indptr=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        codes=np.concatenate([p.codes for p in parts]),
        counts=np.concatenate([p.counts for p in parts]),
        totals=np.sum([p.totals for p in parts], axis=0),
    )


def histogram_of(
    classes: NDArray[np.integer],
    codes: NDArray[np.integer],
    weights: IntArray | None,
    n_classes: int,
    domain: SensitiveDomain,
    totals: IntArray | None = None,
) -> Histogram:
    """Count sensitive codes by class; rows are given in any order, `weights` None means one each."""
    n_values = max(1, domain.n_values)
    key = classes.astype(np.int64) * n_values + codes
    if n_classes * n_values <= min(8 * DENSE_CELLS, max(1 << 16, 16 * len(key))):  # few of them are empty
        dense = _weighted_bincount(key, weights, n_classes * n_values)
        cells = np.flatnonzero(dense)
        counts = dense[cells]
    else:
        cells, inverse = np.unique(key, return_inverse=True)
        counts = _weighted_bincount(inverse, weights, len(cells))
    entry_class, entry_code = np.divmod(cells, n_values)
    indptr = np.searchsorted(entry_class, np.arange(n_classes + 1)).astype(np.int64)
    if totals is None:
        totals = _weighted_bincount(codes.astype(np.int64), weights, domain.n_values)
    return Histogram(domain, indptr, entry_code, counts, totals)


def _weighted_bincount(key: IntArray, weights: IntArray | None, length: int) -> IntArray:
    if weights is None:
        return np.bincount(key, minlength=length)
    # float64 sums of integers are exact below 2**53 records
    return np.bincount(key, weights=weights, minlength=length).astype(np.int64)


def count_classes(
    classes: NDArray[np.integer],
    n_classes: int,
    sensitive: Mapping[str, tuple[NDArray[np.integer], SensitiveDomain]],
    *,
    weights: IntArray | None = None,
    totals: Mapping[str, IntArray] | None = None,
) -> ClassStats:
    """Statistics of rows (or weighted tuples) whose class is given by number.

    Args:
        sensitive: codes and domain by attribute name.
        totals: counts of the whole table where the rows given are only a part of it.
    """
    size = _weighted_bincount(classes.astype(np.int64), weights, n_classes)
    hist = {
        name: histogram_of(classes, codes, weights, n_classes, domain, (totals or {}).get(name))
        for name, (codes, domain) in sensitive.items()
    }
    return ClassStats(size, hist)
