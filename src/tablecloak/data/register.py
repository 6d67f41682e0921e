"""Register: people of a population beside a table, in their own codes, and which published boxes cover them.

People whose quasi-identifiers some record has, to the letter, are counted with its tuple. All others are here. Each is
counted for one class at most, so that the people of two classes together are people of their union.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import labels_of_column
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Domain, DomainKind

# Combinations that are looked up in a tree of boxes at once.
BLOCK = 1 << 16
# Pairs of combinations and boxes that are held at once: where many boxes overlap, fewer combinations are looked up.
PAIRS = 1 << 22
NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """What classes publish, as codes of the table: see `Solution`."""

    lo: IntArray  # (n_classes, n_dims)
    hi: IntArray  # (n_classes, n_dims)
    nodes: IntArray | None = None  # (n_classes, n_dims)
    sets: Mapping[int, CodeSets] = field(default_factory=dict)

    @classmethod
    def of(
        cls, codes: Sequence[IntArray], classes: NDArray[np.integer], n_classes: int, domains: Sequence[Domain]
    ) -> Boxes:
        """The least boxes of classes none of which is empty; columns of categories list the values that occur.

        Args:
            codes: of every tuple, by dimension.
            classes: of every tuple.
        """
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(n_classes))
        lo, hi = (
            np.stack([edge.reduceat(c[order].astype(np.int64), starts) for c in codes], axis=1)
            for edge in (np.minimum, np.maximum)
        )
        nominal = [i for i, d in enumerate(domains) if d.kind is DomainKind.SET]
        return cls(lo, hi, sets={i: CodeSets.of(classes, codes[i], n_classes) for i in nominal})


def top_boxes(domains: Sequence[Domain]) -> Boxes:
    """The most general class there is: the top of every hierarchy, or else all values of the table."""
    n = np.array([[d.n_codes for d in domains]], np.int64)
    nodes = np.array([[-1 if d.hierarchy is None else d.hierarchy.root for d in domains]], np.int64)
    nominal = [i for i, d in enumerate(domains) if d.kind is DomainKind.SET]
    sets = {i: CodeSets.of_boxes(np.zeros(1, np.int64), n[:, i] - 1) for i in nominal}
    return Boxes(np.zeros_like(n), n - 1, nodes, sets)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The codes of the register that the cells of some classes cover in one column."""

    place: IntArray  # (n_classes,) of the label of each class
    coverage: Coverage

    def holds(self, classes: IntArray, codes: IntArray) -> BoolArray:
        """Whether classes cover codes, one each."""
        return self.coverage.holds(self.place[classes], codes)


@dataclass(frozen=True, eq=False)
class RegisterColumn:
    """One quasi-identifier of a table, and of the register beside it."""

    domain: Domain  # of the table
    people: Domain  # of the register
    _read: dict[str | None, tuple[int, int, frozenset[int] | None]] = field(default_factory=dict, repr=False)

    def reach(self, boxes: Boxes, dim: int) -> Reach:
        """What classes cover in this column, which is dimension `dim` of their boxes: what a reader of labels sees."""
        lo, hi, listed = boxes.lo[:, dim], boxes.hi[:, dim], boxes.sets.get(dim)
        if listed is None and self.domain.hierarchy is not None:
            nodes = self.domain.nodes(lo, hi) if boxes.nodes is None else boxes.nodes[:, dim]
            return Reach(nodes, self._of_nodes)
        if listed is None and self._are_lines:
            return Reach(np.arange(len(lo)), self._between(lo, hi))
        labels = labels_of_column(self.domain, lo, hi, None, listed)
        return Reach(labels.of_class.astype(np.int64), self._of_labels([*labels.names, None]))

    @property
    def _are_lines(self) -> bool:
        return all(d.kind is DomainKind.ORDERED and d.hierarchy is None for d in (self.domain, self.people))

    @cached_property
    def _of_nodes(self) -> Coverage:
        assert self.domain.hierarchy is not None
        return coverage_of(pl.Series(self.domain.hierarchy.shown, dtype=pl.String), self.people)

    @cached_property
    def _ends(self) -> tuple[Coverage, IntArray, IntArray]:
        """What single codes cover; where intervals begin, and where they end, by their first and last code."""
        every, first = np.arange(self.domain.n_codes), int(self.domain.has_missing)
        low, high = np.minimum(every, first), np.full(len(every), len(every) - 1)
        exact, below, above = (
            coverage_of(pl.Series(self.domain.labels(lo, hi), dtype=pl.String), self.people)
            for lo, hi in ((every, every), (every, high), (np.where(every < first, every, low.max(initial=0)), every))
        )
        begins = np.where(below.is_empty, self.people.n_codes, below.lo)
        return exact, begins, np.where(above.is_empty, -1, above.hi)

    def _between(self, lo: IntArray, hi: IntArray) -> Coverage:
        """The codes that intervals cover; with the missing value they are published as anything."""
        exact, begins, ends = self._ends
        is_exact, is_any = lo == hi, (lo < int(self.domain.has_missing)) & (hi > lo)
        first = np.where(is_any, 0, np.where(is_exact, exact.lo[lo], begins[lo]))
        last = np.where(is_any, self.people.n_codes - 1, np.where(is_exact, exact.hi[lo], ends[hi]))
        return Coverage(first, last, {})

    def _of_labels(self, labels: Sequence[str | None]) -> Coverage:
        """What labels cover; each is read once."""
        unread = [label for label in labels if label not in self._read]
        if unread:
            fresh = coverage_of(pl.Series(unread, dtype=pl.String), self.people)
            for i, label in enumerate(unread):
                self._read[label] = int(fresh.lo[i]), int(fresh.hi[i]), fresh.sets.get(i)
        read = [self._read[label] for label in labels]
        lo, hi = (np.array([entry[side] for entry in read], np.int64) for side in (0, 1))
        return Coverage(lo, hi, {i: entry[2] for i, entry in enumerate(read) if entry[2] is not None})


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """Different combinations of quasi-identifiers of people whom no record equals, and how many have each."""

    columns: tuple[RegisterColumn, ...]
    codes: tuple[IntArray, ...]  # (n_combinations,) by dimension, of the register
    n_people: IntArray  # (n_combinations,)

    def reaches(self, boxes: Boxes) -> list[Reach]:
        return [column.reach(boxes, dim) for dim, column in enumerate(self.columns)]

    def holds(self, reaches: Sequence[Reach], classes: IntArray, people: IntArray) -> BoolArray:
        """Whether classes cover combinations, one each."""
        ok = np.ones(len(classes), bool)
        for reach, codes in zip(reaches, self.codes, strict=True):
            ok &= reach.holds(classes, codes[people])
        return ok

    def counted(self, boxes: Boxes) -> IntArray:
        """People of every class, (n_classes,), each counted for the first class that covers them."""
        n_classes = len(boxes.lo)
        first = self.first_class(boxes)
        is_in = first >= 0
        return np.bincount(first[is_in], self.n_people[is_in], minlength=n_classes).astype(np.int64)

    def covered(self, boxes: Boxes) -> IntArray:
        """People that every class covers, (n_classes,), whether or not others cover them, too."""
        counts = np.zeros(len(boxes.lo), np.int64)
        for people, classes in covering_pairs(self.reaches(boxes), self.codes):
            counts += np.bincount(classes, self.n_people[people], minlength=len(counts)).astype(np.int64)
        return counts

    def first_class(self, boxes: Boxes) -> IntArray:
        """The first class that covers every combination, -1 where none does, (n_combinations,)."""
        first = np.full(len(self.n_people), NOWHERE)
        for people, classes in covering_pairs(self.reaches(boxes), self.codes):
            np.minimum.at(first, people, classes)
        return np.where(first == NOWHERE, -1, first)


def covering_pairs(reaches: Sequence[Reach], codes: Sequence[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Every combination of codes with every class that covers it, some combinations at a time.

    Args:
        codes: (n_combinations,) by dimension.
    """
    tree = _BoxTree.of(reaches)
    begin, n = 0, BLOCK
    while begin < len(codes[0]):
        pairs = tree.pairs([column[begin : begin + n] for column in codes], PAIRS if n > 1 else NOWHERE)
        if pairs is None:
            n //= 2
            continue
        people, classes = pairs
        ok = np.ones(len(people), bool)
        for reach, column in zip(reaches, codes, strict=True):
            ok &= reach.holds(classes, column[people + begin])
        yield people[ok] + begin, classes[ok]
        begin += n


@dataclass(frozen=True, slots=True, eq=False)
class _BoxTree:
    """Boxes in a binary tree, each level halved along another dimension; an inner node holds the boxes below it."""

    order: IntArray  # (n_leaves,) class of every leaf
    levels: list[tuple[IntArray, IntArray]]  # (n_nodes, n_dims) first and last codes, the root first

    @classmethod
    def of(cls, reaches: Sequence[Reach]) -> _BoxTree:
        lo, hi = (np.stack([getattr(r.coverage, side)[r.place] for r in reaches], axis=1) for side in ("lo", "hi"))
        n, n_dims = lo.shape
        depth = max(0, int(n - 1).bit_length())
        # nobody is in the boxes that fill the last level
        lo = np.concatenate([lo, np.full(((1 << depth) - n, n_dims), NOWHERE >> 2)])
        hi = np.concatenate([hi, np.full(((1 << depth) - n, n_dims), -1)])
        order, middle = np.arange(1 << depth), lo + np.maximum(hi, lo)
        for level in range(depth):
            halves = order.reshape(1 << level, -1)
            ranks = np.argsort(middle[halves, level % n_dims], axis=1, kind="stable")
            order = np.take_along_axis(halves, ranks, axis=1).reshape(-1)
        lo, hi = lo[order], hi[order]
        levels = [
            (lo.reshape(1 << level, -1, n_dims).min(axis=1), hi.reshape(1 << level, -1, n_dims).max(axis=1))
            for level in range(depth + 1)
        ]
        return cls(order, levels)

    def pairs(self, codes: Sequence[IntArray], most: int) -> tuple[IntArray, IntArray] | None:
        """Who may be in which box: places of people, and classes; None where these are too many on the way."""
        people, nodes = np.arange(len(codes[0])), np.zeros(len(codes[0]), np.int64)
        for level, (lo, hi) in enumerate(self.levels):
            if level:
                people, nodes = np.repeat(people, 2), np.repeat(2 * nodes, 2)
                nodes[1::2] += 1
            for dim, column in enumerate(codes):
                at = column[people]
                is_in = (lo[nodes, dim] <= at) & (at <= hi[nodes, dim])
                people, nodes = people[is_in], nodes[is_in]
            if len(people) > most:
                return None
        return people, self.order[nodes]
