"""Records: the originals and what was published of them, over the same columns, as weighted codes and cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coverage import Coverage
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import pack, plan_layout

Codes = NDArray[np.unsignedinteger[Any]]
# Originals beyond this many different ones are sampled.
MOST_ORIGINALS = 1 << 20
# A sample is looked at again with each of so many parts left out, to see how far it may be off.
PARTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumn:
    """One column of the originals and of the release."""

    name: str
    before: Codes  # (n_before,) code of every original
    cells: IntArray  # (n_after,) what every published record shows: an index into the coverage
    coverage: Coverage  # the codes that each cell is taken for
    n_codes: int
    places: FloatArray | None = None  # (n_codes,) of numbers and dates on a line from 0 to 1, NaN for the missing value
    is_quasi: bool = True

    def overlap(self, first: int, last: int) -> FloatArray:
        """Share of the codes of every cell that lie in a range, (n_cells,)."""
        coverage = self.coverage
        inside = np.minimum(coverage.hi, last) - np.maximum(coverage.lo, first) + 1
        shares = np.maximum(inside, 0) / np.maximum(coverage.sizes(), 1)
        for cell, members in coverage.sets.items():
            shares[cell] = sum(first <= code <= last for code in members) / len(members)
        return np.asarray(shares)

    def over_bins(self, bin_of_code: IntArray, n_bins: int) -> FloatArray:
        """Share of the codes of every cell that fall in each bin, (n_cells, n_bins)."""
        is_in = np.zeros((self.n_codes + 1, n_bins))
        is_in[np.arange(1, self.n_codes + 1), bin_of_code] = 1
        running = np.cumsum(is_in, axis=0)
        coverage = self.coverage
        counts = running[coverage.hi + 1] - running[coverage.lo]
        for cell, members in coverage.sets.items():
            counts[cell] = np.bincount(bin_of_code[sorted(members)], minlength=n_bins)
        shares: FloatArray = counts / np.maximum(coverage.sizes(), 1)[:, None]
        return shares

    def drawn(self, cells: IntArray, random: np.random.Generator) -> IntArray:
        """One code for each given cell, any that it covers being as likely as another."""
        coverage = self.coverage
        place = random.random(len(cells))
        codes: IntArray = coverage.lo[cells] + (place * (coverage.hi - coverage.lo + 1)[cells]).astype(np.int64)
        for cell, members in coverage.sets.items():
            rows = np.flatnonzero(cells == cell)
            codes[rows] = np.array(sorted(members))[(place[rows] * len(members)).astype(np.int64)]
        return codes

    def ranks(self) -> IntArray:
        """A number for the cell of every published record that depends only on what it covers, (n_after,)."""
        coverage = self.coverage
        used = np.flatnonzero(np.bincount(self.cells, minlength=len(coverage.lo))).tolist()
        keys = {c: (int(coverage.lo[c]), int(coverage.hi[c]), tuple(sorted(coverage.sets.get(c, ())))) for c in used}
        rank = {key: number for number, key in enumerate(sorted(set(keys.values())))}
        of_cell = np.zeros(len(coverage.lo), np.int64)
        of_cell[used] = [rank[keys[c]] for c in used]
        return of_cell[self.cells]


@dataclass(frozen=True, slots=True, eq=False)
class RecordGroups:
    """Published records grouped by the columns whose cells may stand for several values."""

    spread: tuple[int, ...]  # numbers of these columns
    exact: tuple[int, ...]  # numbers of the others, in which every record shows one value
    of_record: IntArray  # (n_after,)
    firsts: IntArray  # (n_groups,) a record of every group
    weights: FloatArray  # (n_groups,) records


@dataclass(frozen=True, eq=False)
class ComparedRecords:
    """Originals and published records as weighted tuples; a suppressed record is one that may have any value."""

    columns: tuple[RecordColumn, ...]
    weights_before: IntArray  # (n_before,)
    weights_after: IntArray  # (n_after,)
    n_sampled_from: int | None = None  # originals that these stand for, where they are a sample
    is_paired: bool = False  # published record i is that of original i, so a sample is one of both

    @property
    def n_before(self) -> int:
        """Original records."""
        return int(self.weights_before.sum())

    @property
    def n_after(self) -> int:
        """Published records, suppressed ones included."""
        return int(self.weights_after.sum())

    @cached_property
    def groups(self) -> RecordGroups:
        """Groups of published records; there are far fewer of them than records where few columns are exact."""
        is_exact = [bool((c.coverage.lo == c.coverage.hi)[c.cells].all()) for c in self.columns]
        spread = tuple(i for i, exact in enumerate(is_exact) if not exact)
        exact = tuple(i for i, exact in enumerate(is_exact) if exact)
        n = len(self.weights_after)
        if spread:
            firsts, of_record = _grouped([self.columns[i] for i in spread], n)
        else:
            firsts, of_record = np.zeros(min(n, 1), np.int64), np.zeros(n, np.int64)
        weights = np.bincount(of_record, weights=self.weights_after, minlength=len(firsts)).astype(np.float64)
        return RecordGroups(spread, exact, of_record, firsts, weights)

    @property
    def scale(self) -> float:
        """Originals that one of these stands for, where only originals were sampled."""
        if self.n_sampled_from is None or self.is_paired:
            return 1.0
        return self.n_sampled_from / max(1, self.n_before)

    @property
    def note(self) -> str | None:
        """What was sampled, if anything."""
        if self.n_sampled_from is None:
            return None
        of_what = "records" if self.is_paired else "originals"
        return f"{of_what}: a sample of {self.n_before:,} of {self.n_sampled_from:,}"

    @cached_property
    def parts(self) -> list[ComparedRecords]:
        """The same with each of some parts of the sample left out in turn; none where nothing was sampled."""
        if self.n_sampled_from is None:
            return []
        number = np.arange(len(self.weights_before)) % PARTS
        return [self._chosen(np.flatnonzero(number != part)) for part in range(PARTS)]

    def spread(self, n: int) -> ComparedRecords:
        """At most so many, at equal distances, of records that stand beside what was published of them."""
        assert self.is_paired
        n_all = len(self.weights_before)
        return self if n_all <= n else self._chosen(np.linspace(0, n_all - 1, n).astype(np.int64))

    def _chosen(self, chosen: IntArray) -> ComparedRecords:
        columns = tuple(replace(column, before=column.before[chosen]) for column in self.columns)
        records = replace(self, columns=columns, weights_before=self.weights_before[chosen])
        if not self.is_paired:
            return records
        columns = tuple(replace(column, cells=column.cells[chosen]) for column in columns)
        return replace(records, columns=columns, weights_after=self.weights_after[chosen])

    @cached_property
    def counted_before(self) -> FloatArray | None:
        """Weights of the originals as floats; None where each counts 1."""
        return None if (self.weights_before == 1).all() else self.weights_before.astype(np.float64)

    def column(self, name: str) -> RecordColumn | None:
        """The column of a name, if there is one."""
        return next((c for c in self.columns if c.name == name), None)

    def with_suppressed(self, n_suppressed: int) -> ComparedRecords:
        """The same with records that say nothing in any column."""
        if n_suppressed <= 0:
            return self
        columns = tuple(_with_star(column) for column in self.columns)
        return replace(self, columns=columns, weights_after=np.append(self.weights_after, n_suppressed))

    def grouped(self) -> ComparedRecords:
        """The same with equal published records united."""
        if not self.columns or len(self.weights_after) < 2:
            return self
        firsts, group = _grouped(self.columns, len(self.weights_after))
        weights = np.bincount(group, weights=self.weights_after, minlength=len(firsts)).astype(np.int64)
        columns = tuple(replace(column, cells=column.cells[firsts]) for column in self.columns)
        return replace(self, columns=columns, weights_after=weights)

    def drawn(self, n: int, random: np.random.Generator) -> list[IntArray]:
        """Codes of n originals, then of n published records, by column; a cell gives any value that it covers.

        Neither the order of the records nor how equal ones are united makes a difference.
        """
        before = _drawn([c.before for c in self.columns], self.weights_before, n, random)
        after = _drawn([c.ranks() for c in self.columns], self.weights_after, n, random)
        return [
            np.concatenate([c.before[before].astype(np.int64), c.drawn(c.cells[after], random)]) for c in self.columns
        ]

    def sampled(self, random: np.random.Generator, most: int = MOST_ORIGINALS) -> ComparedRecords:
        """The same with at most so many different originals, drawn without replacement."""
        n = len(self.weights_before)
        if n <= most:
            return self
        chosen = np.sort(random.choice(n, most, replace=False))
        return replace(self._chosen(np.asarray(chosen)), n_sampled_from=self.n_before)


def _grouped(columns: Sequence[RecordColumn], n_records: int) -> tuple[IntArray, IntArray]:
    """A record of every group with equal cells, and the group of every record."""
    layout = plan_layout([len(column.coverage.lo) for column in columns])
    cells = [smallest_codes(column.cells, len(column.coverage.lo)) for column in columns]
    firsts, group = group_keys.sized(n_records)(pack(cells, layout))
    return np.asarray(firsts, np.int64), np.asarray(group, np.int64)


def _drawn(
    codes: Sequence[NDArray[np.integer[Any]]], weights: IntArray, n: int, random: np.random.Generator
) -> IntArray:
    """Numbers of n records, drawn by weight from the records in the order of their codes."""
    sizes = [int(column.max(initial=0)) + 1 for column in codes]
    keys = pack([smallest_codes(c, size) for c, size in zip(codes, sizes, strict=True)], plan_layout(sizes))
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys)
    running = np.cumsum(weights[order])
    places = (np.arange(n) + random.random(n)) / n * running[-1]
    return np.asarray(order[np.minimum(np.searchsorted(running, places, side="right"), len(order) - 1)])


def _with_star(column: RecordColumn) -> RecordColumn:
    star = len(column.coverage.lo)
    return replace(column, cells=np.append(column.cells, star), coverage=with_star(column.coverage, column.n_codes))


def with_star(coverage: Coverage, n_codes: int) -> Coverage:
    """Cells and one more, which may stand for any code."""
    return Coverage(np.append(coverage.lo, 0), np.append(coverage.hi, n_codes - 1), coverage.sets)


def exact_cells(n_codes: int) -> Coverage:
    """Cells that each stand for the code of their own number."""
    codes = np.arange(n_codes)
    return Coverage(codes, codes, {})


def smallest_codes(codes: NDArray[np.integer[Any]], n_codes: int) -> Codes:
    """Codes in the smallest type that holds them."""
    return codes.astype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)


def bins_of(weights: FloatArray, most: int) -> tuple[IntArray, int]:
    """Neighboring codes joined to at most so many bins of about equal weight: the bin of every code, and their number.

    Codes stay apart where there are few of them.
    """
    if len(weights) <= most:
        return np.arange(len(weights)), len(weights)
    middle = np.cumsum(weights) - weights / 2
    raw = np.minimum((middle / max(1.0, float(weights.sum())) * most).astype(np.int64), most - 1)
    _, bins = np.unique(raw, return_inverse=True)
    return bins.astype(np.int64), int(bins.max()) + 1


def unit_line(numbers: FloatArray | None) -> FloatArray | None:
    """Numbers moved and scaled to lie between 0 and 1, NaN where they are NaN; None stays None."""
    if numbers is None or np.isnan(numbers).all():
        return None
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if not high > low:
        return numbers * 0.0
    if high / 2 - low / 2 > np.finfo(np.float64).max / 2:  # they are further apart than a float can say
        numbers, low, high = numbers / 2, low / 2, high / 2
    return (numbers - low) / (high - low)


def weighted_counts(codes: Codes, weights: IntArray, n_codes: int) -> FloatArray:
    """Records with each code, (n_codes,)."""
    return np.bincount(codes, weights=weights, minlength=n_codes).astype(np.float64)


def pairs_of(columns: Sequence[RecordColumn]) -> list[tuple[int, int]]:
    """Every two columns, by number."""
    return [(i, j) for i in range(len(columns)) for j in range(i + 1, len(columns))]
