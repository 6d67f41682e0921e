"""Sets as codes: cells are cut into items, and items become leaves of their hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets, split_items
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.tree_nodes import ROOT_LABEL
from tablecloak.release.shapes.sets.plan import SetPlan


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of a table, coded by the leaves of a hierarchy."""

    hierarchy: Hierarchy
    baskets: Baskets  # one for each record
    n_items: int  # different ones that occur
    n_repeated: int  # occurrences of an item that its set has already, where sets are no multisets

    @cached_property
    def merged(self) -> tuple[Baskets, IntArray]:
        """Different sets with their weights, and which of them every record has."""
        return self.baskets.distinct()

    @property
    def n_rows(self) -> int:
        return self.baskets.n_baskets

    @property
    def n_tuples(self) -> int:
        """Different sets."""
        return self.merged[0].n_baskets

    @cached_property
    def occurrences(self) -> IntArray:
        """How often each leaf occurs, (n_leaves,)."""
        return self.baskets.occurrences()


def code_sets(cells: pl.Series, plan: SetPlan) -> Sets:
    """The sets in the cells of a column.

    Raises: DataError if items are missing in the hierarchy, or its labels cannot be told apart in a published cell.
    """
    rows, texts = split_items(cells, plan.separator)
    labels = texts.unique().sort()
    hierarchy = _hierarchy(plan, labels)
    index = label_index(hierarchy)
    leaf = np.array([index.get(label, -1) for label in labels], np.int64)
    items = leaf[places_among(texts, labels)]
    _refuse_unknown(plan, int((leaf < 0).sum()), int((items < 0).sum()), len(items))
    _refuse_unreadable(plan, hierarchy)
    copies = plan.km.multiset
    baskets = Baskets.of(rows, items, len(cells), hierarchy.n_leaves, copies=copies)
    return Sets(hierarchy, baskets, len(labels), len(items) - len(baskets.items))


def places_among(texts: pl.Series, labels: pl.Series) -> IntArray:
    """The place of every text among sorted labels."""
    if not len(labels):
        return np.empty(0, np.int64)
    return texts.cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int64)


def label_index(hierarchy: Hierarchy) -> dict[str, int]:
    """The leaf of every label, also without the space around it, as items are read."""
    leaf_of = {str(label): code for code, label in enumerate(hierarchy.leaf_labels)} | dict(hierarchy.inside)
    return {label.strip(): code for label, code in leaf_of.items()} | leaf_of


def _hierarchy(plan: SetPlan, labels: pl.Series) -> Hierarchy:
    from tablecloak.hierarchy.hierarchy_files import read_hierarchy
    from tablecloak.hierarchy.kinds.base import build

    chosen = plan.policy.hierarchy_of(plan.column)
    if isinstance(chosen, Path):
        return read_hierarchy(chosen)
    if chosen is None:
        return Hierarchy.from_paths([[label, ROOT_LABEL] for label in labels])
    type_ = plan.policy.columns[plan.column].type or ColumnType.TEXT
    return build(chosen, _typed(labels, type_, plan), str(type_.value))


def _typed(labels: pl.Series, type_: ColumnType, plan: SetPlan) -> list[Any]:
    """Items as what they are, where the policy says that they are numbers or dates."""
    kinds: dict[ColumnType, Any] = {
        ColumnType.INTEGER: pl.Int64, ColumnType.FLOAT: pl.Float64, ColumnType.DATE: pl.Date,
        ColumnType.DATETIME: pl.Datetime("us"),
    }  # fmt: skip
    if type_ not in kinds:
        return labels.to_list()
    typed = labels.cast(kinds[type_], strict=False)
    if typed.null_count():
        raise DataError(
            f"{typed.null_count():,} items of column '{plan.column}' are not of the type {type_}",
            hint=f"columns.{plan.column}.type: text",
        )
    return typed.to_list()


def _refuse_unknown(plan: SetPlan, n_labels: int, n_cells: int, n_all: int) -> None:
    if not n_labels:
        return
    chosen = plan.policy.hierarchy_of(plan.column)
    raise DataError(
        f"{n_labels:,} different items of column '{plan.column}', {n_cells:,} of {n_all:,} in its sets, "
        "are not in the hierarchy",
        hint="add a line for each of them; if they look glued together, name the separator",
        location=str(chosen) if isinstance(chosen, Path) else None,
    )


def _refuse_unreadable(plan: SetPlan, hierarchy: Hierarchy) -> None:
    """Labels that hold the separator would be read back as several items, and empty ones as none."""
    split = [label for label in hierarchy.labels if label is not None and plan.published_separator in label]
    if split or any(label is not None and not label.strip() for label in hierarchy.labels):
        what = f"{len(split):,} labels of the hierarchy hold the separator of items" if split else "a label is empty"
        hint = f"columns.{plan.column}.separator: another mark, for which the data must be written so; or other labels"
        raise DataError(f"{what}, so a release could not be read back", hint=hint)
