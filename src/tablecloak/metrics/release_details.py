"""Details of a release: what each class publishes in each column, the originals behind it, and the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coverage import Coverage
from tablecloak.data.domain import ANYTHING, Domain, DomainKind, distinct_intervals
from tablecloak.metrics.compared_records import ComparedRecords
from tablecloak.stats.classes import Histogram, SensitiveDomain


@dataclass(frozen=True, slots=True, eq=False)
class ColumnDetails:
    """One quasi-identifier: the different cells that are published, and which of them each class publishes."""

    name: str
    cell: IntArray  # (n_classes,) index of a published cell
    coverage: Coverage  # the codes that each published cell covers
    losses: FloatArray  # (n_cells,) NCP
    originals: IntArray  # (n_codes,) records of the original with each code
    has_missing: bool = False  # code 0 is the missing value
    is_ordered: bool = False  # numbers or dates
    levels: IntArray | None = None  # (n_cells,) steps from the leaves up; None: there is no hierarchy
    height: int = 0  # steps from the leaves to the root
    places: FloatArray | None = None  # (n_codes,) of numbers and dates on a line from 0 to 1, NaN for the missing value

    @property
    def n_codes(self) -> int:
        """Values of the column, the missing one included."""
        return len(self.originals)

    @property
    def n_values(self) -> int:
        """Values of the column, the missing one not counted."""
        return self.n_codes - self.has_missing

    def covered(self) -> IntArray:
        """Values that every cell may stand for, the missing one included, (n_cells,)."""
        return self.coverage.sizes()

    def values(self) -> IntArray:
        """The same without the missing value, but at least 1; all where a cell hides whether it is missing."""
        covered, hides = self.covered(), self.hides_missing()
        return np.where(hides, max(1, self.n_values), np.maximum(covered, 1))

    def hides_missing(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Cells that stand for the missing value and for others, (n_cells,)."""
        hides: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
            self.has_missing & (self.coverage.lo == 0) & (self.covered() > 1)
        )
        return hides

    def sums(self, per_code: FloatArray) -> FloatArray:
        """Sum of a quantity of codes over the codes of every cell, (n_cells,)."""
        running = np.concatenate([[0.0], np.cumsum(per_code)])
        sums = running[self.coverage.hi + 1] - running[self.coverage.lo]
        for cell, members in self.coverage.sets.items():
            sums[cell] = per_code[sorted(members)].sum()
        return np.asarray(sums)

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights of cells shared out evenly over the codes they cover, (n_codes,)."""
        share = weights / np.maximum(self.covered(), 1)
        steps = np.zeros(self.n_codes + 1)
        is_listed = np.isin(np.arange(len(share)), list(self.coverage.sets))
        np.add.at(steps, self.coverage.lo[~is_listed], share[~is_listed])
        np.add.at(steps, self.coverage.hi[~is_listed] + 1, -share[~is_listed])
        spread = np.maximum(np.cumsum(steps)[:-1], 0.0)
        for cell, members in self.coverage.sets.items():
            spread[sorted(members)] += share[cell]
        return spread


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A column that recipients want to predict: how often each value occurs in every class, and in the original."""

    name: str
    parts: Iterable[Histogram]  # of classes that are in one part each; read one by one where they are on disk
    originals: IntArray  # (n_values,) records of the original with each value

    @classmethod
    def matched(
        cls, parts: Iterable[Histogram], domain: SensitiveDomain, before: SensitiveDomain, counts: IntArray
    ) -> Target:
        """A column whose values are numbered as they were found in the release; those not published come last.

        Args:
            before: its values in the original, where `counts` says how often each occurs.
        """
        code_before = domain.codes_in(before)
        is_left = np.ones(before.n_values, np.bool_)
        is_left[code_before[code_before >= 0]] = False
        shown = np.append(counts, 0)[code_before]  # the last one for values that were not there
        return cls(domain.name, parts, np.concatenate([shown, counts[is_left]]).astype(np.int64))

    def suppressed(self) -> IntArray:
        """Records with each value that are not published, (n_values,)."""
        left = self.originals.copy()
        for hist in self.parts:
            left -= np.bincount(hist.codes, weights=hist.counts, minlength=len(left)).astype(np.int64)
        return np.maximum(left, 0)


@dataclass(frozen=True, slots=True, eq=False)
class OriginalTuples:
    """The originals, or a sample of them: combinations of codes with the number of records that have each."""

    codes: tuple[IntArray, ...]  # (n_tuples,) by column
    weights: IntArray  # (n_tuples,)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What the weights of a survey say of a release: how many people its records stand for."""

    people: FloatArray  # (n_classes,) those of the published records, added up
    total: float  # those of all originals
    before: tuple[IntArray, FloatArray]  # (n_combinations,) records and people of the original, by quasi-identifiers

    @classmethod
    def of_rows(
        cls, classes: IntArray, n_classes: int, weights: FloatArray, combinations: IntArray, n_equal: IntArray | None
    ) -> Weighed:
        """The same from originals.

        Args:
            classes: (n_rows,) the class of every original, -1: it is not published.
            weights: (n_rows,) how many people each stands for.
            combinations: (n_rows,) number of its combination of quasi-identifiers.
            n_equal: (n_rows,) how many originals each row stands for, with the weight of each; None: one.
        """
        n_equal = np.ones(len(weights), np.int64) if n_equal is None else n_equal
        people, shown = weights * n_equal, classes >= 0
        of_class = np.bincount(classes[shown], weights=people[shown], minlength=n_classes).astype(np.float64)
        records = np.bincount(combinations, weights=n_equal).astype(np.int64)
        of_combination = np.bincount(combinations, weights=people).astype(np.float64)
        return cls(of_class, float(people.sum()), (records, of_combination))


@dataclass(frozen=True, slots=True, eq=False)
class Details:
    """What metrics may ask beyond sizes and losses."""

    columns: tuple[ColumnDetails, ...]
    # the first is the one meant if none is named; None: classes and targets are not in memory together
    targets: Mapping[str, Target] | None = field(default_factory=dict)
    tuples: Callable[[], OriginalTuples] | None = None
    records: Callable[[], ComparedRecords] | None = None
    rows: Callable[[int], ComparedRecords] | None = (
        None  # at most so many records, each beside what was published of it
    )
    are_exact: bool = False  # records keep their own cells, so classes publish none


def column_of_boxes(
    domain: Domain, lo: IntArray, hi: IntArray, originals: IntArray, nodes: IntArray | None = None
) -> ColumnDetails:
    """The details of a column whose classes are intervals of codes, or hierarchy nodes where `nodes` is given."""
    if domain.hierarchy is None:
        begin, end, cell = distinct_intervals(*domain.covered(lo, hi), domain.n_codes)
        losses = domain.loss(begin, end)
        begin, end = _as_published(domain, begin, end)
        levels, height = None, 0
    else:
        tree = domain.hierarchy
        node, cell = _nodes(domain, lo, hi) if nodes is None else np.unique(nodes, return_inverse=True)
        begin, end, losses = tree.first[node], tree.last[node], tree.losses[node]
        levels, height = tree.heights[node], tree.height
    return ColumnDetails(
        domain.name, cell.astype(np.int64), Coverage(begin, end, {}), losses, originals,
        domain.has_missing, domain.type.is_ordered, levels, height, domain.line(),
    )  # fmt: skip


def column_of_sets(domain: Domain, sets: CodeSets, originals: IntArray) -> ColumnDetails:
    """The details of a column whose classes publish sets of codes."""
    distinct, cell = sets.distinct()
    members = distinct.lists()
    # what is published as * stands for every value, the missing one included
    every = list(range(domain.n_codes))
    texts = domain.set_labels(distinct)
    members = [every if text == ANYTHING else codes for text, codes in zip(texts, members, strict=True)]
    lo, hi = np.array([codes[0] for codes in members]), np.array([codes[-1] for codes in members])
    listed = {i: frozenset(codes) for i, codes in enumerate(members) if codes[-1] - codes[0] + 1 != len(codes)}
    tree = domain.hierarchy
    levels = None
    if tree is not None:
        levels = tree.heights[[tree.lca_range(a, b) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)]]
    return ColumnDetails(
        domain.name, cell.astype(np.int64), Coverage(lo, hi, listed), domain.set_loss(distinct), originals,
        domain.has_missing, domain.type.is_ordered, levels, tree.height if tree else 0, domain.line(),
    )  # fmt: skip


def _nodes(domain: Domain, lo: IntArray, hi: IntArray) -> tuple[IntArray, NDArray[np.integer[Any]]]:
    first, last, of_class = distinct_intervals(lo, hi, domain.n_codes)
    return domain.nodes(first, last), of_class


def _as_published(domain: Domain, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """What `*` stands for: every value, the missing one included."""
    is_any = (lo == 0) & (hi > 0) if domain.has_missing else np.zeros(len(lo), bool)
    if domain.kind is DomainKind.SET:
        is_any = is_any | ((hi - lo + 1 == len(domain.values)) & (hi > lo))
    return np.where(is_any, 0, lo), np.where(is_any, domain.n_codes - 1, hi)
