"""Sets of items before and after: what is left of their items, and who is found by a few of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.items.cut_search import LEFT_OUT, Cut
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.base import every, run_attacks
from tablecloak.attacks.case import Attacker, Case, ItemSets
from tablecloak.data.coded_baskets import Baskets, split_items
from tablecloak.data.itemsets import ItemsetRisk, require_countable
from tablecloak.data.table import ColumnType
from tablecloak.engines.choose import Choice, Demand, bytes_in_memory, choose_memory
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows, wanted_columns
from tablecloak.looks import ShowsItself
from tablecloak.measure.attack.report import AttackReport
from tablecloak.measure.compare import EXACT, SPREAD, AxisValue, ColumnComparison, PairTable, kept_column
from tablecloak.metrics.base import Measurement
from tablecloak.policy.schema import Policy
from tablecloak.profile.distribution_distances import Distances, distances
from tablecloak.release.plan import starred_of
from tablecloak.release.shapes.sets.coding import Sets
from tablecloak.release.shapes.sets.finished import FinishedSets, finished_sets
from tablecloak.release.shapes.sets.matching import Beside, matched
from tablecloak.release.shapes.sets.plan import SEPARATOR
from tablecloak.release.shapes.sets.recount import code_texts, nodes_of
from tablecloak.release.shapes.sets.shape import LOSS, risks_of
from tablecloak.stats.classes import ClassStats

UNKNOWN = "{:,} published items are no labels of the hierarchy, and tell nothing of anybody"
OVERLAPPING = "items are published as labels that cover each other, so it is not known what each of them lost"
LEFT_OUT_SOMEWHERE = "some items were left out below labels that others are published as: one way that fits was taken"
UNMATCHED = "some items were left out below labels that others are published as, and it is not known which"
ADDED = "{:,} labels are published of more records than have an item below them"


# What a release says of the items of its original ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ItemLabels:
    """The published label of every item of the original, where each has one."""

    label_of: IntArray  # (n_leaves,) the narrowest label that covers an item; -1: none, or it was left out below one
    node_of: IntArray  # (n_leaves,) the node of that label
    below: list[IntArray]  # (n_labels) which labels are the narrowest of some item that a label covers
    is_cut: bool  # no label covers another one
    notes: tuple[str, ...] = ()


def _labels_of(finished: FinishedSets, originals: Sets) -> ItemLabels:
    published, hierarchy = finished.published, originals.hierarchy
    nodes = nodes_of(hierarchy, published.labels)
    label_of = np.full(hierarchy.n_leaves, -1)
    first, last = hierarchy.first[nodes], hierarchy.last[nodes]
    for label in np.argsort(first - last, kind="stable"):  # wide ones first
        if nodes[label] >= 0:
            label_of[first[label] : last[label] + 1] = label
    below = [
        np.unique(label_of[first[i] : last[i] + 1]) if node >= 0 else np.array([i]) for i, node in enumerate(nodes)
    ]
    is_cut = all(len(part) == 1 for part in below)
    notes = (UNKNOWN.format(int((nodes < 0).sum())),) if (nodes < 0).any() else ()
    if is_cut:
        label_of, more = _without_left_out(finished, originals, nodes, label_of)
        notes = (*notes, *more)
    node_of = np.append(nodes, LEFT_OUT)[label_of]  # the last one for items without a label
    return ItemLabels(label_of, node_of, below, is_cut, notes)


def _without_left_out(
    finished: FinishedSets, originals: Sets, nodes: IntArray, label_of: IntArray
) -> tuple[IntArray, tuple[str, ...]]:
    """Labels of items without those that were left out though a label covers them, because others are published so."""
    shown, goal = finished.published.baskets, finished.plan.km
    n_labels = shown.n_items
    n_shown = shown.recoded(np.arange(n_labels), n_labels).occurrences()
    n_holding = originals.baskets.recoded(label_of, n_labels).occurrences()
    notes = (ADDED.format(int((n_shown > n_holding).sum())),) if (n_shown > n_holding).any() else ()
    if (n_shown >= n_holding).all():
        return label_of, notes
    row_of = None
    if shown.n_baskets == originals.n_rows and (nodes >= 0).all():
        row_of = matched(
            shown, nodes, originals.baskets, originals.hierarchy, Beside.nothing(shown.n_baskets),
            copies=goal.multiset, most=len(originals.baskets.items),
        ).row_of  # fmt: skip
    if row_of is None:
        return label_of, (*notes, UNMATCHED)
    there = originals.baskets.take(row_of)
    labels = label_of[there.items]
    is_shown = np.isin(there.rows * n_labels + labels, shown.rows * n_labels + shown.items)
    without = label_of.copy()
    without[there.items[~is_shown & (labels >= 0)]] = -1
    return without, (*notes, LEFT_OUT_SOMEWHERE)


# Compare --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetFigures:
    """Sets of a table: how many there are, what is in them, and who is found by a few items."""

    n_records: int
    n_different: int
    n_empty: int
    n_items: int  # different ones
    n_occurrences: int
    longest: int
    risks: tuple[ItemsetRisk, ...] | None  # by number of items known; None: too many to count

    @classmethod
    def of(cls, baskets: Baskets, m: int, k: int) -> SetFigures:
        merged, lengths = baskets.distinct()[0], baskets.lengths
        return cls(
            baskets.n_baskets, merged.n_baskets, int((lengths == 0).sum()), len(np.unique(baskets.items)),
            len(baskets.items), int(lengths.max(initial=0)), risks_of(merged, m, k=k),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "records": self.n_records,
            "different": self.n_different,
            "empty": self.n_empty,
            "items": self.n_items,
            "occurrences": self.n_occurrences,
            "average_size": self.n_occurrences / max(1, self.n_records),
            "longest": self.longest,
            "risk": None if self.risks is None else [risk.to_dict() for risk in self.risks],
        }


@dataclass(frozen=True, slots=True)
class BecameOf:
    """What became of the occurrences of items."""

    n_as_they_are: int
    n_generalised: int
    n_left_out: int

    def to_dict(self) -> dict[str, int]:
        return {"as_they_are": self.n_as_they_are, "generalised": self.n_generalised, "left_out": self.n_left_out}


@dataclass(frozen=True, slots=True, repr=False)
class SetComparison(ShowsItself):
    """Published sets beside their originals."""

    column: str
    k: int
    before: SetFigures
    after: SetFigures
    loss: float | None  # as runs measure it; None where it is not known what items are published as
    became: BecameOf | None  # the same
    distances: Distances | None  # of the items of all sets; labels spread over the items below them
    method: str | None
    columns: tuple[ColumnComparison, ...] = ()  # beside the sets
    notes: tuple[str, ...] = ()

    @property
    def quasi(self) -> tuple[str, ...]:
        return ()

    @property
    def pairs(self) -> tuple[PairTable, ...]:
        return ()

    def axes(self) -> Iterator[AxisValue]:
        for name, key in (("unique records", "unique_share"), ("highest risk", "highest"), ("average risk", "average")):
            before, after = (getattr(side.risks[-1], key) if side.risks else None for side in (self.before, self.after))
            yield AxisValue("risk", name, before, after)
        yield AxisValue("utility", "detail lost in items", None, self.loss)
        left_out = self.became.n_left_out / max(1, self.before.n_occurrences) if self.became else None
        yield AxisValue("utility", "items left out", None, left_out)
        hellinger = self.distances.hellinger if self.distances else None
        yield AxisValue("utility", "Hellinger distance of items", None, hellinger)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak compare --json`."""
        gcp = [] if self.loss is None else [Measurement("gcp", self.loss, LOSS, {self.column: self.loss})]
        return {
            "quasi": list(self.quasi),
            "itemsets": {"column": self.column, "k": self.k},
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "loss": self.loss,
            "occurrences": self.became and self.became.to_dict(),
            "distances": self.distances and self.distances.to_dict(),
            "method": self.method,
            "columns": [column.to_dict() for column in self.columns],
            "metrics": {m.name: m.to_dict() for m in gcp},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class MeasuredSets:
    """A finished release of sets, to be compared and attacked."""

    sets: FinishedSets

    def compare(self) -> SetComparison:
        """Published sets beside their originals: items, sizes, loss, and who is found by up to m items.

        Raises: DataError if the hierarchy does not know an item of the original.
        """
        plan, originals, published = self.sets.plan, self.sets.originals, self.sets.published
        assert originals is not None
        goal, labels = plan.km, _labels_of(self.sets, originals)
        notes, cut = labels.notes, Cut(originals.hierarchy, labels.node_of) if labels.is_cut else None
        if cut is None:
            notes = (*notes, OVERLAPPING)
        n_shown, n_before = self.sets.release.height, originals.n_rows
        if n_shown != n_before:
            notes = (*notes, f"the release has {n_shown:,} records and the original {n_before:,}")
        nodes = nodes_of(originals.hierarchy, published.labels)
        column_distances, method = _distances(published.baskets, nodes, originals)
        return SetComparison(
            plan.column, goal.k, SetFigures.of(originals.baskets, goal.m, goal.k),
            SetFigures.of(published.baskets, goal.m, goal.k), cut.loss(originals.occurrences) if cut else None,
            _became(cut, originals.occurrences) if cut else None, column_distances, method,
            tuple(_beside(self.sets)), notes,
        )  # fmt: skip

    def attack(
        self, *, kinds: Iterable[str] | None = None, attacker: Attacker | None = None, with_before: bool = True
    ) -> AttackReport:
        """What attackers reach who know a few items of somebody, on published sets and on the original itself."""
        goal, originals, shown = self.sets.plan.km, self.sets.originals, self.sets.published.baskets
        attacker = attacker or Attacker(k=goal.k, items=goal.m, seed=self.sets.plan.policy.seed)
        wanted = every(of_items=True) if kinds is None else list(kinds)
        if originals is None:
            case = _case(ItemSets(shown), attacker)
            return AttackReport((), (), tuple(run_attacks(case, wanted)), None, items=attacker.items)
        labels = _labels_of(self.sets, originals)
        people = originals.baskets.recoded(labels.label_of, shown.n_items, copies=goal.multiset and labels.is_cut)
        case = _case(ItemSets(_possible(shown, labels), people, labels.notes), attacker, n_originals=originals.n_rows)
        before = run_attacks(_case(ItemSets(originals.baskets), attacker), wanted) if with_before else None
        return AttackReport(
            (), (), tuple(run_attacks(case, wanted)), None if before is None else tuple(before),
            items=attacker.items,
        )  # fmt: skip


def finished(release: Any, policy: Policy, *, original: Any) -> MeasuredSets:
    """A release of sets and its original, each a place or a frame."""
    return MeasuredSets(finished_sets(release, policy, original=original))


def _became(cut: Cut, occurrences: IntArray) -> BecameOf:
    n_all, n_left_out = int(occurrences.sum()), cut.left_out(occurrences)
    n_same = int(occurrences[cut.node_of == np.arange(len(cut.node_of))].sum())
    return BecameOf(n_same, n_all - n_same - n_left_out, n_left_out)


def _distances(shown: Baskets, nodes: IntArray, originals: Sets) -> tuple[Distances | None, str | None]:
    """Distances of the shares of items, where every label is spread over the items of the original below it."""
    hierarchy, before = originals.hierarchy, originals.occurrences.astype(np.float64)
    is_used = before > 0
    n_before = np.concatenate([[0], np.cumsum(is_used)])
    n_below = n_before[hierarchy.last[nodes] + 1] - n_before[hierarchy.first[nodes]]
    counts = shown.occurrences()
    is_read = (nodes >= 0) & (n_below > 0) & (counts > 0)
    if not is_read.any():
        return None, None
    after: FloatArray = np.zeros(hierarchy.n_leaves + 1)
    each = counts[is_read] / n_below[is_read]
    np.add.at(after, hierarchy.first[nodes[is_read]], each)
    np.add.at(after, hierarchy.last[nodes[is_read]] + 1, -each)
    spread = np.maximum(np.cumsum(after)[:-1], 0.0)
    return distances(before[is_used], spread[is_used]), EXACT if (n_below[is_read] == 1).all() else SPREAD


def _beside(finished: FinishedSets) -> Iterator[ColumnComparison]:
    """Columns beside the sets that both tables show."""
    before, after = finished.original, finished.release
    assert before is not None
    others = {finished.plan.column, *starred_of(finished.policy)}
    for name in after.columns:
        if name in before.columns and name not in others:
            left, right = before[name], after[name]
            is_same = left.dtype == right.dtype
            yield kept_column(left if is_same else left.cast(pl.String), right if is_same else right.cast(pl.String))


# Attack ---------------------------------------------------------------------------------------------------------------


def _possible(shown: Baskets, labels: ItemLabels) -> Baskets:
    """What every record can hold: whoever publishes a label may mean any item below it.

    Where labels cover each other, copies of an item are not told apart.
    """
    if labels.is_cut:
        return shown
    lengths = np.array([len(part) for part in labels.below], np.int64)
    starts = np.cumsum(lengths) - lengths
    n_each = lengths[shown.items]
    of = np.repeat(np.arange(len(shown.items)), n_each)
    within = np.arange(len(of)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    items = np.concatenate(labels.below)[starts[shown.items[of]] + within]
    return Baskets.of(shown.rows[of], items, shown.n_baskets, shown.n_items)


def _case(items: ItemSets, attacker: Attacker, *, n_originals: int | None = None) -> Case:
    classes = items.records.distinct()[1]
    sizes = ClassStats(np.bincount(classes))
    return Case((), (), classes, sizes, classes, sizes, n_originals=n_originals, items=items, attacker=attacker)


# Risk -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemExposure:
    """How exposed sets are to someone who knows a few of their items."""

    column: str
    figures: SetFigures
    choice: Choice  # the engine that counted

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak risk --items --json`."""
        return {"items_column": self.column, **self.figures.to_dict(), **self.choice.to_dict()}


def expose_sets(
    source: Source,
    column: str,
    *,
    separator: str | None = None,
    n_known: int = 2,
    demand: Demand | None = None,
) -> ItemExposure:
    """The exposure of the sets in a file or a column, original or release, as they stand.

    Args:
        separator: between the items of a cell; None: that of a file of sets, `;` in a table.
        n_known: items that others may know of a person.

    Raises: IncompatibleChoice if there are too many itemsets to count.
    """
    layout = sniff(source)
    choice = choose_memory(demand or Demand(), bytes_in_memory(layout), verb="risk of sets of items")
    wanted_columns(layout, [column], source.location)
    is_of_sets = layout.format == "sets"
    between = separator or (layout.delimiter if is_of_sets else SEPARATOR)
    source = replace(source, delimiter=between if is_of_sets else None, types={column: ColumnType.TEXT})
    cells = require_rows(read_frame(source, columns=[column]), source.location)[column]
    baskets = code_texts(*split_items(cells, between), n_rows=len(cells)).baskets
    require_countable(baskets.distinct()[0], n_known)
    return ItemExposure(column, SetFigures.of(baskets, n_known, k=2), choice)
