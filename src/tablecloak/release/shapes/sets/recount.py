"""Recounting published sets from their own cells, and holding every item against the set it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets, split_items
from tablecloak.data.itemsets import MOST_ITEMSETS, ItemsetStats, cost_of, count_itemsets
from tablecloak.data.table import Order
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.release.recount import Verification
from tablecloak.release.shapes.sets.coding import Sets, label_index, places_among
from tablecloak.release.shapes.sets.matching import Beside, matched
from tablecloak.release.shapes.sets.plan import SetPlan
from tablecloak.values.amounts import most_of

UNMATCHED = "records are not those of the original in any order; compared as they are:"
OPEN = (
    "sets could not be held against the original: too many fit to tell whether each record has an original of its own"
)


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSets:
    """Published sets, coded by the labels found in them."""

    baskets: Baskets
    labels: list[str]  # by code


def recount(
    cells: pl.Series,
    plan: SetPlan,
    originals: Sets | None,
    row_of: IntArray | None = None,
    *,
    beside: Beside | None = None,
) -> Verification:
    """What published cells say: supports of all itemsets and, beside the originals, whether items cover them.

    Args:
        row_of: the original of every published row; None: unknown.
        beside: what stands beside the sets, where the originals are unknown.
    """
    published = code_published(cells, plan)
    stats = count_itemsets(published.baskets, plan.km.m, k=plan.km.k)
    verdict = plan.km.verdict(stats)
    n_sets = published.baskets.distinct()[0].n_baskets
    itemsets: dict[str, Any] = {"column": plan.column, "published_items": len(published.labels), "after": _said(stats)}
    covers: bool | None = None
    notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    if originals is not None:
        itemsets |= _of_originals(originals, plan)
        held = _held_against(published, originals, plan, row_of, beside)
        covers, notes = held.covers, held.notes
        unchecked = (OPEN,) if covers is None else ()
        itemsets |= {} if held.left_out is None else {"left_out": held.left_out}
    return Verification([verdict], n_sets, len(cells), 0, covers, notes, itemsets=itemsets, unchecked=unchecked)


def code_published(cells: pl.Series, plan: SetPlan) -> PublishedSets:
    """The sets in published cells."""
    return code_texts(*split_items(cells, plan.published_separator), n_rows=len(cells), copies=plan.km.multiset)


def code_texts(rows: IntArray, texts: pl.Series, *, n_rows: int, copies: bool = False) -> PublishedSets:
    """Sets of texts, (row, text) one after the other."""
    labels = texts.unique().sort()
    baskets = Baskets.of(rows, places_among(texts, labels), n_rows, len(labels), copies=copies)
    return PublishedSets(baskets, labels.to_list())


def _said(stats: ItemsetStats) -> dict[str, list[int]]:
    return {"itemsets": list(stats.n_itemsets), "lowest": list(stats.lowest), "rare": list(stats.n_rare)}


def _of_originals(originals: Sets, plan: SetPlan) -> dict[str, Any]:
    merged = originals.merged[0]
    can_count = cost_of(merged, plan.km.m) <= MOST_ITEMSETS
    before = count_itemsets(merged, plan.km.m, k=plan.km.k) if can_count else None
    return {
        "items": originals.n_items,
        "occurrences": len(originals.baskets.items),
        "longest": int(originals.baskets.lengths.max(initial=0)),
        "empty": int((originals.baskets.lengths == 0).sum()),
        "repeated": originals.n_repeated,
        "before": None if before is None else _said(before),
    }


@dataclass(frozen=True, slots=True)
class SetCoverage:
    """What the originals say; `covers` is None where nobody can tell which records are whose."""

    covers: bool | None
    notes: tuple[str, ...] = ()
    left_out: int | None = None


def _held_against(
    published: PublishedSets, originals: Sets, plan: SetPlan, row_of: IntArray | None, beside: Beside | None
) -> SetCoverage:
    n_rows, n_before = published.baskets.n_baskets, originals.baskets.n_baskets
    if row_of is None and n_rows != n_before:
        note = f"the release has {n_rows:,} records and the original {n_before:,}, so they cannot be compared"
        return SetCoverage(False, (note,))
    nodes = nodes_of(originals.hierarchy, published.labels)
    if (nodes < 0).any():
        return SetCoverage(False, (f"{int((nodes < 0).sum()):,} published items are no labels of the hierarchy",))
    limit = most_of(len(originals.baskets.items), plan.apriori.suppression_limit)
    if row_of is not None:
        return _compared_rows(published, nodes, originals, row_of, limit)
    return _in_any_order(published, nodes, originals, plan, beside or Beside.nothing(n_rows), limit)


def _in_any_order(
    published: PublishedSets, nodes: IntArray, originals: Sets, plan: SetPlan, beside: Beside, limit: int
) -> SetCoverage:
    as_they_are = _compared_rows(published, nodes, originals, np.arange(len(beside.published)), limit)
    is_in_order = plan.publication.order is Order.KEEP and np.array_equal(beside.published, beside.originals)
    if is_in_order and as_they_are.covers:
        return as_they_are
    matching = matched(
        published.baskets, nodes, originals.baskets, originals.hierarchy, beside,
        copies=plan.km.multiset, most=limit,
    )  # fmt: skip
    if matching.is_impossible:
        return replace(as_they_are, covers=False, notes=(UNMATCHED, *as_they_are.notes))
    held = None if matching.row_of is None else _compared_rows(published, nodes, originals, matching.row_of, limit)
    if held is None or not (held.covers or _n_hidden(nodes, originals) > limit):
        return SetCoverage(None)  # another choice might leave out fewer items
    return held


def _n_hidden(nodes: IntArray, originals: Sets) -> int:
    """Items that no published label covers, whosever they are."""
    is_shown = np.zeros(originals.hierarchy.n_leaves, bool)
    for node in nodes.tolist():
        is_shown[originals.hierarchy.first[node] : originals.hierarchy.last[node] + 1] = True
    return int((~is_shown[originals.baskets.items]).sum())


def _compared_rows(
    published: PublishedSets, nodes: IntArray, originals: Sets, row_of: IntArray, limit: int
) -> SetCoverage:
    before = originals.baskets.take(row_of)
    n_wrong, n_lost = _compared(published.baskets, nodes, before, originals.hierarchy)
    notes: tuple[str, ...] = () if not n_wrong else (f"{n_wrong:,} published items cover no item of their record",)
    if n_lost > limit:
        notes = (*notes, f"{n_lost:,} items of the original are missing, and {limit:,} may be left out")
    return SetCoverage(not n_wrong and n_lost <= limit, notes, n_lost)


def nodes_of(hierarchy: Hierarchy, labels: list[str]) -> IntArray:
    """The node that each label stands for, the widest of nested ones; -1 where there is none."""
    leaves = label_index(hierarchy)
    widest = {str(label).strip(): node for node, label in enumerate(hierarchy.labels)}
    return np.array([widest.get(label, leaves.get(label, -1)) for label in labels], np.int64)


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
