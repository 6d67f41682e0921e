"""Baskets: sets of items as integer codes in compressed rows, equal ones merged into one with a weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """Sets of item codes; the codes of a basket ascend, and those that are equal are copies of one item."""

    items: IntArray  # (n_occurrences,) basket after basket
    offsets: IntArray  # (n_baskets + 1,) basket i holds items[offsets[i] : offsets[i + 1]]
    weights: IntArray  # (n_baskets,) records that have this basket
    n_items: int  # codes are below this

    @classmethod
    def of(cls, rows: IntArray, items: IntArray, n_rows: int, n_items: int, *, copies: bool = False) -> Baskets:
        """Baskets of (row, item) pairs in any order; without `copies`, a pair that is there twice counts once."""
        keys = np.sort(np.asarray(rows, np.int64) * max(1, n_items) + items)
        if not copies and len(keys):  # np.unique would hash, which takes longer
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
        of_row, codes = np.divmod(keys, max(1, n_items))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=n_rows))])
        return cls(codes, offsets, np.ones(n_rows, np.int64), n_items)

    @classmethod
    def from_lists(cls, baskets: Iterable[Iterable[int]], n_items: int, *, copies: bool = False) -> Baskets:
        """Baskets of lists of codes."""
        listed = [list(basket) for basket in baskets]
        rows = np.repeat(np.arange(len(listed)), [len(basket) for basket in listed])
        items = np.array([item for basket in listed for item in basket], np.int64)
        return cls.of(rows, items, len(listed), n_items, copies=copies)

    @property
    def n_baskets(self) -> int:
        return len(self.weights)

    @property
    def n_records(self) -> int:
        return int(self.weights.sum())

    @property
    def lengths(self) -> IntArray:
        """Occurrences in every basket, (n_baskets,)."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> IntArray:
        """The basket of every occurrence, (n_occurrences,)."""
        return np.repeat(np.arange(self.n_baskets), self.lengths)

    def occurrences(self) -> IntArray:
        """In how many records, copies counted, every item occurs, (n_items,)."""
        counts = np.bincount(self.items, weights=self.weights[self.rows], minlength=self.n_items)
        return counts.astype(np.int64)

    def recoded(self, code_of: IntArray, n_codes: int, *, copies: bool = False) -> Baskets:
        """The same baskets with other codes, one for each item; -1 leaves an item out."""
        new, rows = code_of[self.items], self.rows
        is_kept = new >= 0
        made = Baskets.of(rows[is_kept], new[is_kept], self.n_baskets, n_codes, copies=copies)
        return Baskets(made.items, made.offsets, self.weights, n_codes)

    def take(self, baskets: IntArray) -> Baskets:
        """Some of the baskets, in the order given."""
        starts, lengths = self.offsets[baskets], self.lengths[baskets]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(starts - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
        return Baskets(self.items[places], offsets, self.weights[baskets], self.n_items)

    def weightless(self) -> Baskets:
        """The same baskets, which no record has."""
        return Baskets(self.items, self.offsets, np.zeros_like(self.weights), self.n_items)

    def joined(self, others: Baskets) -> Baskets:
        """These baskets, then others over the same codes."""
        offsets = np.concatenate([self.offsets, others.offsets[1:] + self.offsets[-1]])
        weights = np.concatenate([self.weights, others.weights])
        return Baskets(np.concatenate([self.items, others.items]), offsets, weights, self.n_items)

    def distinct(self) -> tuple[Baskets, IntArray]:
        """Equal baskets merged, and which of them every basket became, (n_baskets,)."""
        group, n_groups = self._groups()
        first = np.full(n_groups, self.n_baskets, np.int64)
        np.minimum.at(first, group, np.arange(self.n_baskets))
        merged = self.take(first)
        weights = np.bincount(group, weights=self.weights, minlength=n_groups).astype(np.int64)
        return Baskets(merged.items, merged.offsets, weights, self.n_items), group

    def _groups(self) -> tuple[IntArray, int]:
        """A number for every basket, the same for equal ones, and how many there are: prefixes are told apart first."""
        group = np.zeros(self.n_baskets, np.int64)
        lengths, final = self.lengths, np.empty(self.n_baskets, np.int64)
        open_, place, n_final = np.arange(self.n_baskets), 0, 0
        while len(open_):
            ends = lengths[open_] == place
            kinds, number = np.unique(group[open_[ends]], return_inverse=True)
            final[open_[ends]] = n_final + number
            n_final += len(kinds)
            open_ = open_[~ends]
            keys = group[open_] * max(1, self.n_items) + self.items[self.offsets[open_] + place]
            group[open_] = np.unique(keys, return_inverse=True)[1]
            place += 1
        return final, n_final

    def lists(self) -> list[list[int]]:
        """Every basket as a list of codes."""
        return [part.tolist() for part in np.split(self.items, self.offsets[1:-1])] if self.n_baskets else []


def split_items(cells: pl.Series, separator: str) -> tuple[IntArray, pl.Series]:
    """The items of text cells, (row, item) one after the other; space around items and empty ones are left out."""
    frame = pl.DataFrame({"row": pl.int_range(len(cells), eager=True), "item": cells.cast(pl.String).fill_null("")})
    parts = frame.with_columns(pl.col("item").str.split(separator)).explode("item")
    parts = (
        parts.with_columns(pl.col("item").str.strip_chars())
        .filter(pl.col("item") != "")
        .sort("row", maintain_order=True)
    )
    return parts["row"].to_numpy().astype(np.int64), parts["item"]


def join_items(baskets: Baskets, labels: Sequence[str], separator: str) -> pl.Series:
    """Every basket as the text of one cell; an empty basket is an empty text."""
    return pl.Series(
        "items", [separator.join([labels[code] for code in basket]) for basket in baskets.lists()], pl.String
    )
