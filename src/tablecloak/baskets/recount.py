"""Recounting published sets from their own cells, and holding every item against the set it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.amounts import most_of
from tablecloak.baskets.coding import Sets, label_index
from tablecloak.baskets.plan import SetPlan
from tablecloak.data.baskets import Baskets, split_items
from tablecloak.data.table import Order
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.stats.itemsets import MOST_ITEMSETS, ItemsetStats, cost_of, count_itemsets
from tablecloak.verification import Verification

__all__ = ["recount"]

IntArray = NDArray[np.int64]
UNMATCHED = "records are not those of the original in any order, so they were compared as they are"


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """Published sets, coded by the labels found in them."""

    baskets: Baskets
    labels: list[str]  # by code


def recount(cells: pl.Series, plan: SetPlan, originals: Sets | None, row_of: IntArray | None = None) -> Verification:
    """What published cells say: supports of all itemsets and, beside the originals, whether items cover them.

    Args:
        row_of: the original of every published row; None: the same row if the policy keeps the order, else unknown.
    """
    published = _published(cells, plan)
    stats = count_itemsets(published.baskets, plan.goal.m, k=plan.goal.k)
    verdict = plan.goal.verdict(stats)
    n_sets = published.baskets.distinct()[0].n_baskets
    found: dict[str, Any] = {
        "column": plan.column,
        "published_items": len(published.labels),
        "after": _said(stats),
    }
    covers: bool | None = None
    notes: tuple[str, ...] = ()
    if originals is not None:
        found |= _of_originals(originals, plan)
        covers, notes, more = _held_against(published, originals, plan, row_of)
        found |= more
    return Verification([verdict], n_sets, len(cells), 0, covers, notes, itemsets=found)


def _published(cells: pl.Series, plan: SetPlan) -> Published:
    rows, texts = split_items(cells, plan.published_separator)
    labels = texts.unique().sort()
    codes = texts.cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64) if len(labels) else np.empty(0, int)
    baskets = Baskets.of(rows, codes, len(cells), len(labels), copies=plan.goal.multiset)
    return Published(baskets, labels.to_list())


def _said(stats: ItemsetStats) -> dict[str, list[int]]:
    return {"itemsets": list(stats.n_itemsets), "lowest": list(stats.lowest), "rare": list(stats.n_rare)}


def _of_originals(originals: Sets, plan: SetPlan) -> dict[str, Any]:
    merged = originals.merged[0]
    can_count = cost_of(merged, plan.goal.m) <= MOST_ITEMSETS
    before = count_itemsets(merged, plan.goal.m, k=plan.goal.k) if can_count else None
    return {
        "items": originals.n_items,
        "occurrences": len(originals.baskets.items),
        "longest": int(originals.baskets.lengths.max(initial=0)),
        "empty": int((originals.baskets.lengths == 0).sum()),
        "repeated": originals.n_repeated,
        "before": None if before is None else _said(before),
    }


Held = tuple[bool | None, tuple[str, ...], Mapping[str, Any]]


def _held_against(published: Published, originals: Sets, plan: SetPlan, row_of: IntArray | None) -> Held:
    n_rows, n_before = published.baskets.n_baskets, originals.baskets.n_baskets
    if row_of is None and n_rows != n_before:
        note = f"the release has {n_rows:,} records and the original {n_before:,}, so they cannot be compared"
        return False, (note,), {}
    nodes, unmatched = _nodes(originals.hierarchy, published.labels), tuple[str, ...]()
    if (nodes < 0).any():
        return False, (f"{int((nodes < 0).sum()):,} published items are no labels of the hierarchy",), {}
    if row_of is None and plan.order is not Order.KEEP:
        for read in (nodes, _nodes(originals.hierarchy, published.labels, widest=False)):
            row_of = _matched(published, read, originals, copies=plan.goal.multiset)
            if row_of is not None:
                nodes = read
                break
        unmatched = (UNMATCHED,) if row_of is None else ()
    before = originals.baskets if row_of is None else originals.baskets.take(row_of)
    n_wrong, n_lost = _compared(published.baskets, nodes, before, originals.hierarchy)
    notes: tuple[str, ...] = () if not n_wrong else (f"{n_wrong:,} published items cover no item of their record",)
    limit = most_of(len(before.items), plan.algorithm.suppression_limit)
    if n_lost > limit:
        notes = (*notes, f"{n_lost:,} items of the original are missing, and {limit:,} may be left out")
    if notes:
        notes = (*unmatched, *notes)
    return not n_wrong and n_lost <= limit, notes, {"left_out": n_lost}


def _matched(published: Published, nodes: IntArray, originals: Sets, *, copies: bool) -> IntArray | None:
    """An original for every published record, one each, that the published labels make the same set of; else None.

    Where no label covers another one, every item is published as one label at most, whatever record it is in.
    """
    hierarchy = originals.hierarchy
    label_of = np.full(hierarchy.n_leaves, -1)
    for label, node in enumerate(nodes.tolist()):
        leaves = slice(int(hierarchy.first[node]), int(hierarchy.last[node]) + 1)
        if (label_of[leaves] >= 0).any():
            return None
        label_of[leaves] = label
    meant = originals.baskets.recoded(label_of, len(nodes), copies=copies)
    shown = published.baskets
    both = Baskets(
        np.concatenate([meant.items, shown.items]),
        np.concatenate([meant.offsets, shown.offsets[1:] + meant.offsets[-1]]),
        np.ones(meant.n_baskets + shown.n_baskets, np.int64), len(nodes),
    )  # fmt: skip
    kind = both.distinct()[1]
    kinds = kind[: meant.n_baskets], kind[meant.n_baskets :]
    orders = [np.argsort(side, kind="stable") for side in kinds]
    if not np.array_equal(kinds[0][orders[0]], kinds[1][orders[1]]):
        return None
    row_of = np.empty(shown.n_baskets, np.int64)
    row_of[orders[1]] = orders[0]
    return row_of


def _nodes(hierarchy: Hierarchy, labels: list[str], *, widest: bool = True) -> IntArray:
    """The node that each label stands for; -1 where there is none.

    Args:
        widest: of an item and a node that are called the same, such as an item `*`, the label stands for the node.
    """
    leaves = label_index(hierarchy)
    nodes = {str(label).strip(): node for node, label in enumerate(hierarchy.labels)}
    by_label = {**leaves, **nodes} if widest else {**nodes, **leaves}
    return np.array([by_label.get(label, -1) for label in labels], np.int64)


def _compared(published: Baskets, nodes: IntArray, before: Baskets, hierarchy: Hierarchy) -> tuple[int, int]:
    """Published items that cover no item of their record, and items of the originals that none covers.

    Rows are put side by side on one line, each in a stretch of its own as long as the hierarchy has leaves.
    """
    width = hierarchy.n_leaves
    places = before.rows * width + before.items  # ascending
    stretch = published.rows * width
    first = stretch + hierarchy.first[nodes[published.items]]
    last = stretch + hierarchy.last[nodes[published.items]]
    n_wrong = int((np.searchsorted(places, first) == np.searchsorted(places, last, "right")).sum())
    order = np.argsort(first, kind="stable")
    reach = np.maximum.accumulate(last[order]) if len(order) else last  # how far the items that begin earlier go
    at = np.searchsorted(first[order], places, "right") - 1
    is_covered = (at >= 0) & (reach[np.maximum(at, 0)] >= places) if len(order) else np.zeros(len(places), bool)
    return n_wrong, int((~is_covered).sum())
