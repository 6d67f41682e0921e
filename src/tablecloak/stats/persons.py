"""Who holds which value: a sensitive attribute of classes as models ask about it, in records or in persons.

A model's promise holds for a person. Where every record is a person of its own, counting records is counting persons;
where persons have several records, a class knows which person holds which value (`Counted.HOLDING`), and every count
is derived from that, so no model can count records by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.graph import transport
from tablecloak.stats.classes import ClassStats, Counted, Histogram, SensitiveDomain, histogram_of, number_rows
from tablecloak.stats.numeric import records_between

HOLDING_NAME = "**"  # no column can be called so and be counted twice


class Held(Protocol):
    """The values of one attribute in every class, and by how many they are held."""

    @property
    def domain(self) -> SensitiveDomain: ...

    def recoded(self, codes: IntArray, domain: SensitiveDomain) -> Self:
        """The same after value `v` is replaced by `codes[v]` of another domain (-1: left out)."""
        ...

    def holders(self) -> Histogram:
        """How many hold each value; shares are those of all who hold any, so they may add up to more than 1."""
        ...

    def masses(self) -> Histogram:
        """The same with a mass of 1 for each of them, spread over the records with their values."""
        ...

    def different(self) -> IntArray:
        """The most that can be paired off, each with another value, (n_classes,)."""
        ...

    def between(self, first: IntArray, last: IntArray) -> IntArray:
        """How many hold a value in `first[c]..last[c]`, c the code of an entry of `holders`, (n_entries,)."""
        ...

    def least(self, weights: FloatArray) -> FloatArray:
        """The sum, over all who hold a value, of the smallest weight of their values, (n_classes,)."""
        ...

    def span(self, numbers: FloatArray) -> FloatArray:
        """The largest difference between numbers of two of them, 0 where there are not two, (n_classes,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class HeldByRecords:
    """Every record is a person of its own."""

    hist: Histogram

    @property
    def domain(self) -> SensitiveDomain:
        return self.hist.domain

    def recoded(self, codes: IntArray, domain: SensitiveDomain) -> Self:
        return replace(self, hist=self.hist.recoded(codes, domain))

    def holders(self) -> Histogram:
        return self.hist

    def masses(self) -> Histogram:
        return self.hist

    def different(self) -> IntArray:
        return self.hist.distinct()

    def between(self, first: IntArray, last: IntArray) -> IntArray:
        return records_between(self.hist, first, last)

    def least(self, weights: FloatArray) -> FloatArray:
        return self.hist.sum_by_class(self.hist.counts * weights[self.hist.codes])

    def span(self, numbers: FloatArray) -> FloatArray:
        hist = self.hist
        return hist.max_by_class(numbers[hist.codes]) + hist.max_by_class(-numbers[hist.codes])


@dataclass(frozen=True, slots=True, eq=False)
class _Triples:
    """Different (class, person, value), ascending, with the records of each."""

    classes: IntArray
    persons: IntArray
    codes: IntArray
    records: IntArray

    @classmethod
    def of(cls, classes: IntArray, persons: IntArray, codes: IntArray, records: IntArray) -> _Triples:
        order = np.lexsort((codes, persons, classes))
        columns = [column[order] for column in (classes, persons, codes)]
        is_new = np.zeros(len(order), bool)
        is_new[:1] = True
        for column in columns:
            is_new[1:] |= column[1:] != column[:-1]
        starts = np.flatnonzero(is_new)
        summed = np.add.reduceat(records[order], starts) if len(starts) else records
        return cls(columns[0][starts], columns[1][starts], columns[2][starts], summed)

    def recoded(self, codes: IntArray) -> _Triples:
        new = codes[self.codes]
        is_named = new >= 0
        return _Triples.of(self.classes[is_named], self.persons[is_named], new[is_named], self.records[is_named])

    def owners(self) -> tuple[IntArray, IntArray]:
        """A number for every (class, person), and that of each triple."""
        is_new = np.ones(len(self.codes), bool)
        is_new[1:] = (np.diff(self.classes) != 0) | (np.diff(self.persons) != 0)
        return np.flatnonzero(is_new), np.cumsum(is_new) - 1

    def mass(self) -> FloatArray:
        """The part of its person's records that each triple makes up."""
        starts, owner = self.owners()
        every = np.add.reduceat(self.records, starts) if len(starts) else self.records
        return self.records / every[owner]


@dataclass(frozen=True, slots=True, eq=False)
class HeldByPersons:
    """Persons have several records, of one class or of several: a person holds what any of them in a class says."""

    domain: SensitiveDomain
    n_classes: int
    triples: _Triples
    table: _Triples  # of the whole table as one class

    def recoded(self, codes: IntArray, domain: SensitiveDomain) -> Self:
        return replace(self, domain=domain, triples=self.triples.recoded(codes), table=self.table.recoded(codes))

    def holders(self) -> Histogram:
        n, domain = self.n_classes, self.domain
        counted = histogram_of(self.triples.classes, self.triples.codes, None, n, domain, self._totals(None))
        persons = np.bincount(self.triples.classes[self.triples.owners()[0]], minlength=n)
        return Histogram(
            domain, counted.indptr, counted.codes, counted.counts, counted.totals,
            crowd=persons.astype(np.int64), n_crowd=len(self.table.owners()[0]),
        )  # fmt: skip

    def masses(self) -> Histogram:
        holders, triples = self.holders(), self.triples
        width = max(1, self.domain.n_values)
        place = np.searchsorted(holders.entry_class() * width + holders.codes, triples.classes * width + triples.codes)
        mass = np.bincount(place, weights=triples.mass(), minlength=len(holders.codes))
        return Histogram(self.domain, holders.indptr, holders.codes, mass, self._totals(self.table.mass()))

    def _totals(self, weights: FloatArray | None) -> NDArray[Any]:
        return np.bincount(self.table.codes, weights=weights, minlength=self.domain.n_values)

    def different(self) -> IntArray:
        """The size of a maximum matching between persons and values of every class.

        Where the value that the i-th fewest hold has at least i holders, for all i, all values find one (each takes any
        holder that is left), and likewise for persons; only other classes are matched.
        """
        triples, n = self.triples, self.n_classes
        owner_starts, owner = triples.owners()
        of_owner = triples.classes[owner_starts]
        value, n_pairs = number_rows([triples.classes, triples.codes], len(triples.codes))
        of_value = np.zeros(n_pairs, np.int64)
        of_value[value] = triples.classes
        n_different = np.zeros(n, np.int64)
        is_open = np.ones(n, bool)
        for classes, holds in ((of_value, np.bincount(value, minlength=n_pairs)), (of_owner, np.bincount(owner))):
            count = np.bincount(classes, minlength=n)
            settled = is_open & _all_find_one(classes, holds, n)
            n_different[settled] = count[settled]
            is_open &= ~settled
        rest = is_open[triples.classes]
        if rest.any():
            n_different[is_open] = _matched(value[rest], owner[rest], triples.classes[rest], n)[is_open]
        return n_different

    def between(self, first: IntArray, last: IntArray) -> IntArray:
        """Holdings inside the range, less those whose holder has another one next to it inside, which is counted.

        Ranges must not move backwards as codes ascend: then two neighbouring holdings of a person lie together inside
        the ranges of consecutive entries, and these are counted by where they begin and end.
        """
        if (np.diff(first) < 0).any() or (np.diff(last) < 0).any():
            raise IncompatibleChoice(
                "numbers near a number, relative to it, cannot be counted in persons with an epsilon above 1",
                hint="epsilon: 1 or less, or relative: false",
            )
        holders, triples = self.holders(), self.triples
        inside = records_between(holders, first, last)
        is_next = np.diff(triples.owners()[1]) == 0
        classes, low, high = triples.classes[1:][is_next], triples.codes[:-1][is_next], triples.codes[1:][is_next]
        width = max(1, self.domain.n_values)
        keys = holders.entry_class() * width + holders.codes
        begin = np.searchsorted(keys, classes * width + np.searchsorted(last, high, side="left"), side="left")
        end = np.searchsorted(keys, classes * width + np.searchsorted(first, low, side="right"), side="left")
        begin, end = begin[begin < end], end[begin < end]
        changes = np.bincount(begin, minlength=len(keys) + 1) - np.bincount(end, minlength=len(keys) + 1)
        counted: IntArray = inside - np.cumsum(changes)[: len(keys)]
        return counted

    def least(self, weights: FloatArray) -> FloatArray:
        starts, _ = self.triples.owners()
        if len(starts) == 0:
            return np.zeros(self.n_classes)
        smallest = np.minimum.reduceat(weights[self.triples.codes], starts)
        return np.bincount(self.triples.classes[starts], weights=smallest, minlength=self.n_classes).astype(np.float64)

    def span(self, numbers: FloatArray) -> FloatArray:
        starts, _ = self.triples.owners()
        if len(starts) == 0:
            return np.zeros(self.n_classes)
        amounts = numbers[self.triples.codes]
        classes, persons = self.triples.classes[starts], self.triples.persons[starts]
        high, who_high, next_high = _two_largest(np.maximum.reduceat(amounts, starts), classes, persons, self.n_classes)
        low, who_low, next_low = _two_largest(-np.minimum.reduceat(amounts, starts), classes, persons, self.n_classes)
        both = np.where(who_high == who_low, np.maximum(high + next_low, next_high + low), high + low)
        return np.where(np.isfinite(both), np.maximum(both, 0.0), 0.0)


def _all_find_one(classes: IntArray, holds: IntArray, n: int) -> BoolArray:
    """Which classes have, of the things they hold, at least i on the i-th smallest list, for all i."""
    order = np.lexsort((holds, classes))
    classes = classes[order]
    rank = np.arange(len(order)) - np.searchsorted(classes, classes) + 1
    return np.asarray(np.bincount(classes[holds[order] < rank], minlength=n) == 0)


def _matched(values: IntArray, owners: IntArray, classes: IntArray, n: int) -> IntArray:
    """The size of a maximum matching by class; numbers of values and owners are different in different classes."""
    left, value = np.unique(values, return_inverse=True)
    right, owner = np.unique(owners, return_inverse=True)
    order = np.argsort(value, kind="stable")
    indptr = np.searchsorted(value[order], np.arange(len(left) + 1)).astype(np.int64)
    ones = (np.ones(len(side), np.int64) for side in (left, right))
    is_matched = transport.sized(len(order))(indptr, owner[order].astype(np.int64), *ones) > 0
    return np.bincount(classes[order][is_matched], minlength=n)


def _two_largest(
    numbers: FloatArray, classes: IntArray, persons: IntArray, n: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """The largest number of every class, whose it is, and the largest of anybody else; -inf where there is none."""
    order = np.lexsort((-numbers, classes))
    first = np.searchsorted(classes[order], np.arange(n + 1))
    largest, second, whose = np.full(n, -np.inf), np.full(n, -np.inf), np.full(n, -1, np.int64)
    has_one, has_two = np.diff(first) > 0, np.diff(first) > 1
    largest[has_one] = numbers[order[first[:-1][has_one]]]
    whose[has_one] = persons[order[first[:-1][has_one]]]
    second[has_two] = numbers[order[first[:-1][has_two] + 1]]
    return largest, whose, second


def is_by_person(stats: ClassStats) -> bool:
    """Persons have several records."""
    return bool(stats.hist_of(Counted.PERSON))


def mean_of_worst(stats: ClassStats, of_class: FloatArray) -> float:
    """The mean over persons of the largest number, given by class, over the classes that they are in."""
    counted = next(iter(stats.hist_of(Counted.PERSON).values()), None)
    if counted is None:
        return float((of_class * stats.size).sum() / max(1, stats.n_records))
    largest = np.full(counted.domain.n_values, -np.inf)
    np.maximum.at(largest, counted.codes, of_class[counted.entry_class()])
    finite = largest[np.isfinite(largest)]
    return float(finite.sum() / max(1, len(finite)))


def held(stats: ClassStats, name: str) -> Held:
    """The values of one sensitive attribute in every class."""
    if not is_by_person(stats):
        return HeldByRecords(stats.hist[name])
    return held_by_persons(stats, part_of_holdings(stats, name), stats.hist[name].domain)


def held_by_persons(
    stats: ClassStats, codes: IntArray, domain: SensitiveDomain, within: tuple[IntArray, int] | None = None
) -> HeldByPersons:
    """What persons hold, by class, of any domain that holdings can be read as.

    Args:
        codes: the value of that domain in each combination that `holdings_of` counts, -1: none.
        within: where classes are parted, the group of every entry of `holdings_of`, and how many there are.
    """
    holdings = holdings_of(stats)
    (person,) = stats.hist_of(Counted.PERSON)
    persons = part_of_holdings(stats, person)
    groups, n = (holdings.entry_class(), holdings.n_classes) if within is None else within
    own = codes[holdings.codes] >= 0
    occurring = np.flatnonzero((holdings.totals > 0) & (codes >= 0))
    holding, zeros = holdings.codes[own], np.zeros(len(occurring), np.int64)
    triples = _Triples.of(groups[own], persons[holding], codes[holding], holdings.counts[own])
    table = _Triples.of(zeros, persons[occurring], codes[occurring], holdings.totals[occurring])
    return HeldByPersons(domain, n, triples, table)


def part_of_holdings(stats: ClassStats, name: str) -> IntArray:
    """The code of a person, or of a sensitive attribute, in each combination that `holdings_of` counts."""
    parts = holdings_of(stats).domain.parts
    assert parts is not None
    return parts[name]


def as_published(
    holdings: SensitiveDomain, originals: Iterable[SensitiveDomain], published: Iterable[SensitiveDomain]
) -> SensitiveDomain:
    """Holdings of originals whose values are coded as a release codes them, -1 for a value that it does not show."""
    assert holdings.parts is not None
    parts = dict(holdings.parts)
    # persons have no labels, and keep their numbers
    shown = {d.name: d for d in published if d.kind is Counted.SENSITIVE}
    for domain in originals:
        if domain.name in parts and domain.name in shown:
            parts[domain.name] = domain.codes_in(shown[domain.name])[parts[domain.name]]
    return replace(holdings, parts=parts)


def in_table(published: Histogram, table: SensitiveDomain, totals: IntArray) -> Histogram:
    """Holdings of a release as some of those of its original, whose totals models compare with.

    Where one is not among them, as in a release that is not made from this original, they are left as they are.
    """
    assert published.domain.parts is not None
    assert table.parts is not None
    names = sorted(table.parts)
    if names != sorted(published.domain.parts):
        return published
    sides = [np.stack([parts[name] for name in names]) for parts in (table.parts, published.domain.parts)]
    both = np.concatenate(sides, axis=1) + 1  # -1: what the release does not show
    number, n = number_rows(list(both), both.shape[1])
    place = np.full(n, -1, np.int64)
    place[number[: table.n_values]] = np.arange(table.n_values)
    codes = place[number[table.n_values :]]
    if (codes[published.codes] < 0).any():
        return published
    return replace(published.recoded(codes, table), totals=totals)


def holdings_of(stats: ClassStats) -> Histogram:
    """Which person holds which combination of sensitive values, by class."""
    holdings = next(iter(stats.hist_of(Counted.HOLDING).values()), None)
    if holdings is None:
        raise IncompatibleChoice(
            "persons have several records, and which of them hold which values was not counted here",
            hint="use `tablecloak run`, or keep one record per person",
        )
    return holdings
