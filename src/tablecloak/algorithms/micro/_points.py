"""Records as points, numbers on standardised axes and categories with a distance between their codes, and those of them
that belong to no cluster yet.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.squares import COMPILED_FROM, Trees, nearest_outside, squared_distances


@dataclass(frozen=True, slots=True, eq=False)
class Category:
    """A column of categories; two differ by the share of levels, from the values up to below the root, that differ."""

    codes: IntArray  # (n_records,)
    levels: IntArray  # (n_codes, n_levels) what each code belongs to; one level where there is no hierarchy
    scale: float  # of the distance, so that columns of all kinds weigh alike

    def table(self, code: int) -> FloatArray:
        """Scaled distance of one code from every code, (n_codes,)."""
        return np.asarray(self.scale * (self.levels != self.levels[code]).mean(axis=1))

    def center(self, counts: IntArray) -> int:
        """The code with the least total distance from codes that occur so often, the mode if there is one level only.

        Args:
            counts: (n_codes,) how often each code occurs.
        """
        score = np.zeros(len(self.levels))
        for of_code in self.levels.T:
            score += np.bincount(of_code, weights=counts)[of_code]
        return int(np.argmax(np.where(counts > 0, score, -1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class NumberGrid:
    """Numbers rounded to whole steps so fine that they lose nothing, and so coarse that any sum of them fits."""

    points: IntArray  # (n_records, n_numbers)
    per_unit: float  # a power of two


@dataclass(frozen=True, slots=True, eq=False)
class RecordPoint:
    """A record, or the center of several."""

    numbers: FloatArray  # (n_numbers,)
    codes: tuple[int, ...]  # one per category


@dataclass(frozen=True, slots=True, eq=False)
class PointRecords:
    """The records to be clustered."""

    numbers: FloatArray  # (n_records, n_numbers)
    categories: tuple[Category, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def point(self, row: int) -> RecordPoint:
        """One record."""
        return RecordPoint(self.numbers[row], tuple(int(c.codes[row]) for c in self.categories))

    def center(self, rows: IntArray) -> RecordPoint:
        """Means of numbers, medians in the tree of categories."""
        counts = [np.bincount(c.codes[rows], minlength=len(c.levels)) for c in self.categories]
        centers = (c.center(n) for c, n in zip(self.categories, counts, strict=True))
        return RecordPoint(self.numbers[rows].mean(axis=0), tuple(centers))

    def codes(self) -> IntArray:
        """(n_categories, n_records)"""
        empty = np.zeros((0, len(self)), np.int64)
        return np.stack([c.codes for c in self.categories]) if self.categories else empty

    def tables(self, point: RecordPoint) -> FloatArray:
        """Distance of a point from every code, (n_categories, most codes of a category)."""
        tables = np.zeros((len(self.categories), max((len(c.levels) for c in self.categories), default=0)))
        for row, category, code in zip(tables, self.categories, point.codes, strict=True):
            row[: len(category.levels)] = category.table(code)
        return tables

    def grid(self) -> NumberGrid:
        """The numbers as whole ones."""
        largest = float(np.abs(self.numbers).max(initial=0.0)) * max(1, len(self))
        per_unit = 2.0 ** (61 - int(np.frexp(largest)[1])) if largest else 1.0
        return NumberGrid(np.rint(self.numbers * per_unit).astype(np.int64), per_unit)

    def distances(self, point: RecordPoint, rows: IntArray) -> FloatArray:
        """Squared distance of a point from some records."""
        numbers = np.ascontiguousarray(self.numbers[rows].T)
        codes = np.ascontiguousarray(self.codes()[:, rows])
        return squared_distances.plain(numbers, codes.astype(np.int32), point.numbers, self.tables(point))

    def trees(self) -> Trees:
        """The levels of all categories, for kernels."""
        sizes = [len(c.levels) for c in self.categories]
        n_levels = np.array([c.levels.shape[1] for c in self.categories], np.int64)
        levels = np.zeros((sum(sizes), int(n_levels.max(initial=0))), np.int64)
        start = np.cumsum([0, *sizes])[:-1].astype(np.int64)
        for at, category in zip(start.tolist(), self.categories, strict=True):
            levels[at : at + len(category.levels), : category.levels.shape[1]] = category.levels
        return Trees(start, levels, n_levels, np.array([c.scale for c in self.categories], np.float64))


def is_number(domain: Domain) -> bool:
    """Numbers and dates without a hierarchy are averaged; everything else is a category, numbers that are codes too."""
    return domain.kind is DomainKind.ORDERED


def numbers_of(domain: Domain) -> FloatArray:
    """The number each code stands for (dates as their distance from the epoch), NaN for the missing value."""
    numbers = domain.values.to_physical().cast(pl.Float64).to_numpy()
    return np.concatenate([np.full(int(domain.has_missing), np.nan), numbers])


def records_of(table: CodedTable, *, standardize: bool, without: Collection[str] = ()) -> PointRecords:
    """The records of a table that was coded row by row.

    A missing number lies at the mean of its column and apart from all others on an axis of its own.

    Args:
        standardize: give every column the same spread, instead of its own unit.
        without: columns that do not decide who is similar.
    """
    axes: list[FloatArray] = []
    categories: list[Category] = []
    for dim, domain in enumerate(table.domains):
        if domain.name in without:
            continue
        codes = table.quasi_codes(dim)
        if is_number(domain):
            axes += _axes(numbers_of(domain)[codes], np.sqrt(domain.weight), standardize=standardize)
        else:
            categories.append(_category(domain, codes, standardize=standardize))
    numbers = np.stack(axes, axis=1) if axes else np.zeros((table.n_tuples, 0))
    return PointRecords(numbers, tuple(categories))


def _axes(values: FloatArray, weight: float, *, standardize: bool) -> list[FloatArray]:
    is_missing = np.isnan(values)
    present = values[~is_missing]
    mean = float(present.mean()) if len(present) else 0.0
    spread = float(present.std()) if standardize and len(present) else 1.0
    axis = (np.where(is_missing, mean, values) - (mean if standardize else 0.0)) / (spread or 1.0) * weight
    if not is_missing.any():
        return [axis]
    unit = 1.0 if standardize else float(present.std() if len(present) else 1.0)
    return [axis, np.where(is_missing, unit * weight, 0.0)]


def _category(domain: Domain, codes: IntArray, *, standardize: bool) -> Category:
    if domain.hierarchy is None:
        levels = np.arange(domain.n_codes)[:, None]
    else:
        levels = domain.hierarchy.ancestors_by_depth()[:, 1:]  # the root parts nothing
    shares = [np.bincount(levels[codes, i]) / len(codes) for i in range(levels.shape[1])]
    expected = float(np.mean([1 - (s**2).sum() for s in shares])) if shares else 0.0
    # two records drawn at random lie 2 apart on a standardised axis of numbers
    scale = 2.0 / expected if standardize and expected > 0 else 1.0
    return Category(codes, levels, scale * domain.weight)


class Unclustered:
    """Records that belong to no cluster yet, in the order of the table, and the clusters made so far.

    Records that were taken are swept out now and then. The center follows what is taken without looking at the rest
    again: its sums are whole numbers of a fine grid, so they are exact whatever the order.
    """

    def __init__(self, records: PointRecords, compiled: bool | None = None) -> None:
        self.records = records
        self.is_compiled = pays(len(records), COMPILED_FROM) if compiled is None else compiled
        self.rows = np.arange(len(records))
        self.is_gone = np.zeros(len(records), np.bool_)
        self.size = len(records)
        self.cluster_of = np.full(len(records), -1)
        self.n_clusters = 0
        self.numbers = np.ascontiguousarray(records.numbers.T)
        self.codes = np.ascontiguousarray(records.codes().astype(np.int32))
        self.trees = records.trees()
        self.grid = records.grid()
        self.sums = self.grid.points.sum(axis=0)
        self.counts = [np.bincount(c.codes, minlength=len(c.levels)) for c in records.categories]

    def left(self) -> IntArray:
        """The records that are still here."""
        return self.rows[~self.is_gone]

    def center(self) -> RecordPoint:
        """Means of numbers, medians in the tree of categories."""
        centers = [c.center(counts) for c, counts in zip(self.records.categories, self.counts, strict=True)]
        return RecordPoint(self.sums / self.grid.per_unit / self.size, tuple(centers))

    def distances(self, point: RecordPoint) -> FloatArray:
        """Squared distance of a point from every record that was not swept out."""
        tables = self.records.tables(point)
        measure = squared_distances.form(compiled=self.is_compiled)
        return measure(self.numbers, self.codes, point.numbers, tables)

    def nearest_outside(self, members: IntArray, from_extreme: FloatArray) -> tuple[int, float]:
        """The place of the free record nearest to any member, and its squared distance."""
        return nearest_outside.form(compiled=self.is_compiled)(
            self.numbers, self.codes, self.is_gone, members, from_extreme, self.trees
        )

    def farthest(self, distances: FloatArray) -> RecordPoint:
        """The record at the largest distance; the first of several."""
        place = int(np.argmax(np.where(self.is_gone, -1.0, distances)))
        return self.records.point(int(self.rows[place]))

    def take_nearest(self, distances: FloatArray, k: int) -> IntArray:
        """Make a cluster of the k records at the least distances; the first of several at the same distance."""
        apart = np.where(self.is_gone, np.inf, distances)
        limit = np.partition(apart, k - 1)[k - 1]
        close = np.flatnonzero(apart <= limit)
        border = np.flatnonzero(apart[close] == limit)
        n_too_many = len(close) - k
        return self.take(np.delete(close, border[len(border) - n_too_many :]))

    def take(self, places: IntArray) -> IntArray:
        """Make a cluster of the records at these places."""
        self.n_clusters += 1
        return self.join(places)

    def join(self, places: IntArray) -> IntArray:
        """Put the records at these places into the newest cluster."""
        taken = self.rows[places]
        self.cluster_of[taken] = self.n_clusters - 1
        self.is_gone[places] = True
        self.size -= len(taken)
        self.sums -= self.grid.points[taken].sum(axis=0)
        for counts, category in zip(self.counts, self.records.categories, strict=True):
            np.subtract.at(counts, category.codes[taken], 1)
        return taken

    def sweep(self) -> None:
        """Forget the places of records that were taken, if there are many."""
        if self.size > 0.9 * len(self.rows):
            return
        left = np.flatnonzero(~self.is_gone)
        self.rows = self.rows[left]
        self.numbers = np.ascontiguousarray(self.numbers[:, left])
        self.codes = np.ascontiguousarray(self.codes[:, left])
        self.is_gone = np.zeros(len(left), np.bool_)
