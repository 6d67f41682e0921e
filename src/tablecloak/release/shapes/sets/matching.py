"""Which original each published set can come from, where the order of records says nothing.

A set fits an original if each of its labels covers one of the original's items, and the columns beside it are equal. A
release is honest if every record can have an original of its own, and no more items are left out than may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded_baskets import Baskets
from tablecloak.data.row_origins import transported
from tablecloak.hierarchy.hierarchy import Hierarchy

FloatArray = NDArray[np.float32]
MOST_CELLS = 50_000_000  # of a matrix of sets and items
MOST_PAIRS = 20_000_000  # of different published sets and originals


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """The columns beside the sets as numbers: equal numbers are equal cells."""

    published: IntArray  # (n_rows,)
    originals: IntArray  # (n_originals,)

    @classmethod
    def nothing(cls, n_rows: int) -> Beside:
        return cls(np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """An original for every published set; or none, for there is no such choice, or because that is unknown."""

    row_of: IntArray | None = None
    is_impossible: bool = False


def matched(
    shown: Baskets,
    nodes: IntArray,
    originals: Baskets,
    hierarchy: Hierarchy,
    beside: Beside,
    *,
    copies: bool,
    most: int,
) -> Matched:
    """An original of its own for every published set.

    Args:
        nodes: of the hierarchy, for every published label.
        copies: equal items of a set are counted.
        most: how many items may be left out.
    """
    label_of = _labels_of_items(nodes, hierarchy)
    if label_of is not None:
        row_of = _by_labels(shown, label_of, originals, beside, copies=copies)
        if row_of is not None or (most == 0 and not copies):
            return Matched(row_of, is_impossible=row_of is None)
    published, row_kind = _kinds(shown, beside.published)
    there, original_kind = _kinds(originals, beside.originals)
    n_published, n_there = len(published), len(there)
    n_cells = (n_published + n_there) * max(hierarchy.n_leaves, len(nodes))
    if n_cells > MOST_CELLS or n_published * n_there > MOST_PAIRS:
        return Matched()
    covers, keeps_all = _fits(shown.take(published), nodes, originals.take(there), hierarchy)
    is_beside = beside.published[published][:, None] == beside.originals[there][None, :]
    counts = np.bincount(row_kind, minlength=n_published), np.bincount(original_kind, minlength=n_there)
    amounts = _flow(covers & keeps_all & is_beside, *counts)
    if amounts is None:
        amounts = _flow(covers & is_beside, *counts)
        if amounts is None or most == 0:
            return Matched(is_impossible=True)
    # whether copies of items fit was not looked at
    return Matched() if copies else Matched(_rows(amounts, row_kind, original_kind))


def _labels_of_items(nodes: IntArray, hierarchy: Hierarchy) -> IntArray | None:
    """The published label of every item, -1 where it has none; None if a label covers another one."""
    label_of = np.full(hierarchy.n_leaves, -1)
    for label, node in enumerate(nodes.tolist()):
        leaves = slice(int(hierarchy.first[node]), int(hierarchy.last[node]) + 1)
        if (label_of[leaves] >= 0).any():
            return None
        label_of[leaves] = label
    return label_of


def _by_labels(
    shown: Baskets, label_of: IntArray, originals: Baskets, beside: Beside, *, copies: bool
) -> IntArray | None:
    """Originals that the published labels make the same sets of; None if they are not the same.

    Every item is published as one label at most, whatever record it is in: where none is left out, no other sets fit.
    """
    baskets = originals.recoded(label_of, shown.n_items, copies=copies)
    keys = np.concatenate([beside.originals, beside.published])
    kind = baskets.joined(shown).distinct()[1] * (int(keys.max(initial=0)) + 1) + keys
    kinds = kind[: baskets.n_baskets], kind[baskets.n_baskets :]
    orders = [np.argsort(side, kind="stable") for side in kinds]
    if not np.array_equal(kinds[0][orders[0]], kinds[1][orders[1]]):
        return None
    row_of = np.empty(shown.n_baskets, np.int64)
    row_of[orders[1]] = orders[0]
    return row_of


def _kinds(baskets: Baskets, keys: IntArray) -> tuple[IntArray, IntArray]:
    """The first of every kind of record, and the kind of every record: equal sets with equal cells beside them."""
    names = baskets.distinct()[1] * (int(keys.max(initial=0)) + 1) + keys
    _, first, kind = np.unique(names, return_index=True, return_inverse=True)
    return first.astype(np.int64), kind.reshape(-1).astype(np.int64)


def _fits(shown: Baskets, nodes: IntArray, originals: Baskets, hierarchy: Hierarchy) -> tuple[BoolArray, BoolArray]:
    """Whether all labels of a set cover an item of an original, and whether all items of the original are covered."""
    has_item = _matrix(originals)
    before = np.concatenate([np.zeros((len(has_item), 1), np.float32), has_item.cumsum(axis=1)], axis=1)
    has_label = before[:, hierarchy.last[nodes] + 1] > before[:, hierarchy.first[nodes]]
    labels = _matrix(shown)
    covers = labels @ has_label.astype(np.float32).T == labels.sum(axis=1)[:, None]
    leaves = np.arange(hierarchy.n_leaves)
    under = (leaves >= hierarchy.first[nodes][:, None]) & (leaves <= hierarchy.last[nodes][:, None])
    reaches = (labels @ under.astype(np.float32) > 0).astype(np.float32)
    return covers, reaches @ has_item.T == has_item.sum(axis=1)[None, :]


def _matrix(baskets: Baskets) -> FloatArray:
    """1 where a set has an item."""
    cells = np.zeros((baskets.n_baskets, max(1, baskets.n_items)), np.float32)
    cells[baskets.rows, baskets.items] = 1
    return cells


Flow = tuple[IntArray, IntArray, IntArray]


def _flow(fits: BoolArray, n_rows: IntArray, n_originals: IntArray) -> Flow | None:
    """How many records of each kind come from originals of which kind; None if some cannot have one."""
    of_row, of_original = (part.astype(np.int64) for part in np.nonzero(fits))
    amounts = transported(of_row, of_original, n_rows.astype(np.int64), n_originals.astype(np.int64))
    return (of_row, of_original, amounts) if int(amounts.sum()) == int(n_rows.sum()) else None


def _rows(flow: Flow, row_kind: IntArray, original_kind: IntArray) -> IntArray:
    """The original of every record."""
    of_row, of_original, amounts = flow
    by_row, by_original = np.argsort(row_kind, kind="stable"), np.argsort(original_kind, kind="stable")
    for_rows = np.repeat(of_original, amounts)[np.argsort(np.repeat(of_row, amounts), kind="stable")]
    row_of = np.empty(len(row_kind), np.int64)
    # the originals that records want, kind by kind, are as many as there are of the kind
    row_of[by_row[np.argsort(for_rows, kind="stable")]] = by_original
    return row_of
