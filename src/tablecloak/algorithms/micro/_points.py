"""Records as points: numbers on standardised axes, categories with a distance between their codes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.kernels.squares import Trees, squared_distances


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
    """Numbers and dates without a hierarchy are averaged; everything else is a category."""
    return domain.hierarchy is None and domain.type.is_ordered


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
