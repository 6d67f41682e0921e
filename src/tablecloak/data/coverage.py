"""Does a published cell cover its original? The one definition, on labels and codes; engines bring the rows to it.

Works on any release that follows the grammar of published values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.domain import ANYTHING, Codes, Distinct, Domain
from tablecloak.data.table import ColumnType
from tablecloak.kernels.keys import covers as intervals_cover
from tablecloak.kernels.packed_codes import KeyLayout, Keys, unpack
from tablecloak.values.cell_grammar import Cell, bounds, covers, format_value, parse

# From this many labels on, intervals are read all at once.
VECTORS_FROM = 200
# Whole numbers, or one of them for all rows.
Numbers = NDArray[np.integer[Any]] | int
# A column of packed rows: their keys, how these are laid out, and which of their numbers it is.
PackedColumn = tuple[Keys, KeyLayout, int]


@dataclass(frozen=True, eq=False)
class Coverage:
    """The codes of the original that each distinct published label covers: an interval, or else a listed set."""

    lo: IntArray  # (n_labels,)
    hi: IntArray  # (n_labels,) below `lo` where a label covers nothing
    sets: dict[int, frozenset[int]]  # labels whose codes are not an interval, which `lo` and `hi` then only enclose

    def sizes(self) -> IntArray:
        """How many codes every label covers, (n_labels,)."""
        sizes: IntArray = np.maximum(self.hi - self.lo + 1, 0)
        for label, members in self.sets.items():
            sizes[label] = len(members)
        return sizes

    @property
    def is_empty(self) -> BoolArray:
        """Labels that cover nothing, (n_labels,)."""
        return np.asarray(self.hi < self.lo)

    def holds(self, labels: Numbers, codes: Numbers) -> BoolArray:
        """Whether labels, given by their places, cover codes: each its own, or as the two broadcast."""
        ok = np.asarray((codes >= self.lo[labels]) & (codes <= self.hi[labels]))
        return ok & self.lists(labels, codes) if self.sets else ok

    def holds_rows(self, labels: Distinct, codes: Codes) -> BoolArray:
        """The same for all rows of a table in memory."""
        # bounds in the type of the codes: a label that covers nothing becomes an empty interval all the same
        top = np.iinfo(codes.dtype).max
        lo = np.where(self.is_empty, top, self.lo).astype(codes.dtype)
        hi = np.where(self.is_empty, 0, self.hi).astype(codes.dtype)
        ok = np.asarray((codes >= labels.recoded(lo)) & (codes <= labels.recoded(hi)))
        if self.sets:
            rows = np.flatnonzero(ok & labels.recoded(self._bits[0] >= 0))
            ok[rows] = self.lists(labels.only(rows).index, codes[rows])
        return ok

    def holds_all(self, labels: PackedColumn, codes: PackedColumn) -> bool:
        """Whether every label covers the code of the same row, where rows are packed."""
        n_rows = labels[0].shape[1]
        if n_rows != codes[0].shape[1] or not intervals_cover.sized(n_rows)(*labels, self.lo, self.hi, *codes):
            return False
        return not self.sets or bool(self.lists(unpack(*labels), unpack(*codes)).all())

    def holds_boxes(self, labels: IntArray, lo: IntArray, hi: IntArray, listed: CodeSets | None) -> bool:
        """Whether every label covers all codes of a box of codes.

        Args:
            listed: the codes of boxes where they are sets; None: they are intervals.
        """
        if not ((lo >= self.lo[labels]) & (hi <= self.hi[labels])).all():
            return False
        rows = np.flatnonzero(np.isin(labels, list(self.sets)))
        if not len(rows) or listed is None:
            return not len(rows)
        boxes = listed.of_classes(rows)
        return bool(boxes.sizes.all() and self.lists(np.repeat(labels[rows], boxes.sizes), boxes.codes).all())

    def lists(self, labels: Numbers, codes: Numbers) -> BoolArray:
        """Whether the set of a label, where it has one, includes a code that its interval holds."""
        place, bits = self._bits
        listed = place[labels]
        byte = bits[listed, np.minimum(codes >> 3, bits.shape[1] - 1)]
        bit = np.asarray(codes & 7, np.uint8)
        return np.asarray((listed < 0) | ((byte >> bit) & 1).astype(bool))

    @cached_property
    def _bits(self) -> tuple[IntArray, NDArray[np.uint8]]:
        """Which row of the bits is the set of a label, -1 where it has none, and one bit for every code of a set."""
        place = np.full(len(self.lo), -1)
        place[list(self.sets)] = np.arange(len(self.sets))
        n_codes = 1 + max((code for members in self.sets.values() for code in members), default=0)
        bits = np.zeros((len(self.sets), (n_codes + 7) // 8), np.uint8)
        for row, members in enumerate(self.sets.values()):
            codes = np.fromiter(members, np.int64, len(members))
            np.bitwise_or.at(bits[row], codes >> 3, (1 << (codes & 7)).astype(np.uint8))
        return place, bits


def coverage_of(labels: pl.Series, domain: Domain) -> Coverage:
    """Read distinct published labels (null is the missing cell) as sets of codes of a domain."""
    lo = np.zeros(len(labels), np.int64)
    hi = np.full(len(labels), -1, np.int64)
    sets: dict[int, frozenset[int]] = {}
    reader = _Reader(domain)
    texts = labels.cast(pl.String)
    is_read = _read_intervals(texts, domain, lo, hi)
    for i, text in zip(np.flatnonzero(~is_read).tolist(), texts.filter(~is_read).to_list(), strict=True):
        codes = reader.codes(text)
        if len(codes) == 0:
            continue
        lo[i], hi[i] = codes[0], codes[-1]
        if codes[-1] - codes[0] + 1 != len(codes):
            sets[i] = frozenset(codes)
    return Coverage(lo, hi, sets)


def _read_intervals(texts: pl.Series, domain: Domain, lo: IntArray, hi: IntArray) -> BoolArray:
    """Fill in the codes of intervals as we write them, all at once; which labels were read so."""
    if not domain.type.is_ordered or domain.hierarchy is not None or len(texts) < VECTORS_FROM:
        return np.zeros(len(texts), bool)
    ends = texts.str.extract_groups(r"^\[([^,\[\]()]+), ([^,\[\]()]+)\]$").struct.unnest()
    first, last = (_typed(ends[name], domain.type) for name in ends.columns)
    is_interval = (first.is_not_null() & last.is_not_null()).to_numpy()
    values, offset = domain.values.to_physical().to_numpy(), int(domain.has_missing)
    lo[is_interval] = np.searchsorted(values, first.filter(is_interval).to_physical().to_numpy()) + offset
    hi[is_interval] = (
        np.searchsorted(values, last.filter(is_interval).to_physical().to_numpy(), side="right") - 1 + offset
    )
    is_empty = is_interval & (hi < lo)
    lo[is_empty], hi[is_empty] = 0, -1
    return np.asarray(is_interval)


def _typed(texts: pl.Series, column: ColumnType) -> pl.Series:
    """Texts as values of a type, null where they are none."""
    if column is ColumnType.DATE:
        return texts.str.to_date("%Y-%m-%d", strict=False)
    if column is ColumnType.DATETIME:
        return texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
    numbers = texts.cast(pl.Int64 if column is ColumnType.INTEGER else pl.Float64, strict=False)
    return numbers.fill_nan(None) if column is ColumnType.FLOAT else numbers


class _Reader:
    """Published text to ascending codes of a domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.offset = int(domain.has_missing)
        leaves = domain.hierarchy.leaf_labels[self.offset :] if domain.hierarchy else None
        values: Sequence[Any] = leaves if leaves is not None else domain.values.to_list()
        self.code = {str(format_value(value)): code for code, value in enumerate(values, start=self.offset)}
        self.places = places_of(domain) if domain.type.is_ordered else None
        is_mask = domain.hierarchy is not None and domain.hierarchy.kind == "mask"
        self.has_masks = is_mask or not any(ANYTHING in text for text in self.code)

    def codes(self, text: str | None) -> range | list[int]:
        if text is None:
            return range(self.offset)
        hierarchy = self.domain.hierarchy
        node = hierarchy.find(text) if hierarchy else None
        if hierarchy and node is not None:
            return hierarchy.leaves_under(node)
        cell = parse(text, self.domain.type.value, has_masks=self.has_masks)
        if cell.kind == "any":
            return range(self.domain.n_codes)
        if self.places is not None and cell.kind in ("exact", "interval") and not math.isnan(cell.lo):
            return self._between(self.places, cell)
        if cell.kind == "mask":
            return [code for value, code in self.code.items() if covers(cell, value)]
        members = [str(cell.text)] if cell.kind == "exact" else cell.members
        if cell.kind == "all but":
            members = frozenset(self.code.keys() - cell.members)
        return sorted(self.code[member] for member in members if member in self.code)

    def _between(self, places: NDArray[Any], cell: Cell) -> range | list[int]:
        """Codes inside an interval, found by bisection where values ascend."""
        if self.domain.hierarchy is None:
            begin = np.searchsorted(places, cell.lo, side="right" if cell.lo_open else "left")
            end = np.searchsorted(places, cell.hi, side="left" if cell.hi_open else "right")
            return range(int(begin) + self.offset, int(end) + self.offset)
        above = places > cell.lo if cell.lo_open else places >= cell.lo
        below = places < cell.hi if cell.hi_open else places <= cell.hi
        return (np.flatnonzero(above & below) + self.offset).tolist()


def places_of(domain: Domain) -> NDArray[Any]:
    """Where each value of an ordered domain lies on its line; the missing value has no place."""
    if domain.hierarchy is None:
        return domain.values.to_physical().to_numpy()
    leaves = domain.hierarchy.leaf_labels[int(domain.has_missing) :]
    return np.array([parse(leaf, domain.type.value).lo for leaf in leaves], dtype=np.float64)


# Labels read with good will -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LabelReading:
    """The codes that each distinct label is taken for by analysts, also where it covers no original."""

    coverage: Coverage
    is_unread: BoolArray  # (n_labels,) labels that say nothing about the column; taken for every value


def read_labels(labels: pl.Series, domain: Domain) -> LabelReading:
    """Labels as sets of codes; a number or interval between known values is taken for the nearest of them.

    So means of classes and noisy numbers, which cover no original, still count for what they are close to.
    """
    coverage = coverage_of(labels, domain)
    lo, hi = coverage.lo.copy(), coverage.hi.copy()
    is_unread = coverage.is_empty
    if is_unread.any() and domain.type.is_ordered and len(domain.values):
        places = places_of(domain).astype(np.float64)
        for label in np.flatnonzero(is_unread).tolist():
            code = _nearest(labels[label], places, domain)
            if code is not None:
                lo[label] = hi[label] = code
        is_unread = hi < lo
    lo[is_unread], hi[is_unread] = 0, domain.n_codes - 1
    return LabelReading(Coverage(lo, hi, coverage.sets), is_unread)


def _nearest(label: object, places: FloatArray, domain: Domain) -> int | None:
    """The code whose place is closest to the middle of a number or interval; None where the label is neither."""
    text = None if label is None else str(label)
    at = None if text is None else bounds(parse(text, domain.type.value), domain.type.value)
    if at is None or not np.isfinite(at[0] + at[1]):
        return None
    return int(np.argmin(np.abs(places - (at[0] + at[1]) / 2))) + int(domain.has_missing)
