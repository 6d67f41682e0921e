"""Hierarchies to look at and to edit: built from a column's values or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.coded_baskets import split_items
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import DataError
from tablecloak.hierarchy import edit
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.hierarchy_files import lint, read_hierarchy, write_hierarchy
from tablecloak.hierarchy.kinds.base import build
from tablecloak.io.cells import canonical_texts
from tablecloak.io.frames import DTYPES, column_type
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import hierarchy_from
from tablecloak.progress import Progress
from tablecloak.release.plan import source_of
from tablecloak.release.shapes.sets.plan import SEPARATOR
from tablecloak.server.tables import PolicyTable, counted_values, frame_of, is_large
from tablecloak.values.cell_grammar import format_value

# A larger tree is drawn from the top, as far as this many nodes go.
MOST_NODES = 400
MOST_VALUES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ColumnRequest:
    """A column of a table; with `spec` the hierarchy that these parameters build, else the one of the policy."""

    table: PolicyTable
    column: str
    spec: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value of a level."""

    label: str | None
    records: int


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level of a hierarchy on the records of a table."""

    level: int
    n_values: int
    smallest: int  # records of the rarest value
    shown: tuple[ShownValue, ...]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a hierarchy with what is below it."""

    label: str | None
    records: int
    leaf: bool
    children: tuple[TreeNode, ...] = ()
    hidden: int = 0  # children that are not listed, because there are too many


@dataclass(frozen=True, slots=True)
class HierarchyFlaw:
    """What is wrong with a hierarchy, or may be."""

    message: str
    hint: str | None
    severity: str


@dataclass(frozen=True, slots=True)
class HierarchyView:
    """How the values of a column become coarser: levels with counts, and the tree."""

    type: str
    distinct: int
    kind: str | None = None
    leaves: int = 0
    levels: tuple[LevelView, ...] = ()
    tree: TreeNode | None = None  # None where there is no hierarchy
    problems: tuple[HierarchyFlaw, ...] = ()


def view_hierarchy(request: ColumnRequest, _progress: Progress) -> HierarchyView:
    """Levels and tree of a column's hierarchy."""
    column = _column(request)
    tree = column.tree(hierarchy_from(request.spec) if request.spec else None)
    return HierarchyView(column.type, len(column.texts)) if tree is None else _described(tree, column)


@dataclass(frozen=True, slots=True)
class TreeEdit:
    """One change of a tree; which of the labels count depends on the action."""

    action: str  # add, group, rename, move or delete
    label: str
    parent: str = ""
    new_label: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A change of a column's tree and the file that the result goes to."""

    column: ColumnRequest
    edit: TreeEdit
    target: Path


def edit_hierarchy(request: EditRequest, _progress: Progress) -> None:
    """Change the hierarchy of a column by one edit, and write the result to a file."""
    column = _column(request.column)
    tree = column.tree() or Hierarchy.from_paths([[text, "*"] for text in column.texts])
    write_hierarchy(_edited(tree, request.edit, column.texts), request.target)


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """A hierarchy, of a column or in a file that somebody brought, and the file it goes to in our way."""

    source: ColumnRequest | Path
    target: Path


def save_hierarchy(request: SaveRequest, _progress: Progress) -> None:
    """Write a hierarchy to a file."""
    tree = read_hierarchy(request.source) if isinstance(request.source, Path) else _column(request.source).tree()
    if tree is None:
        raise DataError("this column has no hierarchy", hint="choose a kind first")
    write_hierarchy(tree, request.target)


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of a column and the hierarchy that its policy gives it."""

    chosen: Any  # parameters or a file; None where there is no hierarchy
    values: Sequence[Any]
    texts: Sequence[str]  # sorted
    counts: Mapping[str, int]  # records by text
    type: str

    def tree(self, instead: Any = None) -> Hierarchy | None:
        """The hierarchy, or the one that other parameters build."""
        chosen = self.chosen if instead is None else instead
        if chosen is None:
            return None
        if not isinstance(chosen, Path):
            return build(chosen, self.values, self.type)
        return read_hierarchy(chosen, as_column=lambda texts: canonical_texts(texts, ColumnType(self.type)))


def _column(request: ColumnRequest) -> _Column:
    policy, column = request.table.read_policy(), request.column
    source = source_of(policy)
    if column not in sniff(source).names:
        raise DataError(f"there is no column '{column}'")
    items = items_of(policy, column, source)
    if items is not None:
        counted = items.value_counts()
    else:
        is_whole = not is_large(source, request.table.means)
        counted = frame_of(source)[column].drop_nulls().value_counts() if is_whole else counted_values(source, column)
    cells = counted[column].cast(str) if str(counted[column].dtype).startswith("Categorical") else counted[column]
    values = cells.to_list()
    type_ = policy.columns[column].type or column_type(column, counted[column].dtype)
    if type_ is ColumnType.TEXT:
        values = [str(format_value(v)) for v in values]
    texts = [str(format_value(v)) for v in values]
    counts = dict(zip(texts, counted["count"].to_list(), strict=True))
    return _Column(policy.hierarchy_of(column), values, sorted(texts), counts, str(type_))


def _edited(tree: Hierarchy, change: TreeEdit, texts: Sequence[str]) -> Hierarchy:
    edits: dict[str, Callable[[], Hierarchy]] = {
        "add": lambda: edit.add(tree, change.parent, change.label),
        "group": lambda: edit.group(tree, change.label, list(change.members)),
        "rename": lambda: edit.rename(tree, change.label, change.new_label),
        "move": lambda: edit.move(tree, change.label, change.parent),
        "delete": lambda: edit.delete(tree, change.label, needed=texts),
    }
    return edits[change.action]()


def _described(tree: Hierarchy, column: _Column) -> HierarchyView:
    return HierarchyView(
        column.type,
        len(column.texts),
        tree.kind,
        tree.n_leaves,
        tuple(_level(tree, level, column.counts) for level in range(tree.height + 1)),
        _drawn(tree, column.counts),
        tuple(HierarchyFlaw(p.message, p.hint, p.severity) for p in lint(tree, column.texts)),
    )


def _level(tree: Hierarchy, level: int, counts: Mapping[str, int]) -> LevelView:
    nodes, of_leaf = np.unique(tree.level_map(level), return_inverse=True)
    n_records = np.zeros(len(nodes), np.int64)
    for leaf, at in enumerate(of_leaf.tolist()):
        n_records[at] += counts.get(str(tree.labels[leaf]), 0)
    used = int((n_records > 0).sum())
    order = np.argsort(-n_records, kind="stable")[:MOST_VALUES_SHOWN].tolist()
    smallest = int(n_records[n_records > 0].min()) if used else 0
    shown = tuple(ShownValue(tree.labels[int(nodes[i])], int(n_records[i])) for i in sorted(order))
    return LevelView(level, max(used, 1), smallest, shown)


def _drawn(tree: Hierarchy, counts: Mapping[str, int]) -> TreeNode:
    """The tree from the top; where it is too large, leaves are counted instead of listed."""
    budget = MOST_NODES

    def below(node: int) -> int:
        return sum(counts.get(str(tree.labels[leaf]), 0) for leaf in tree.leaves_under(node))

    def draw(node: int) -> TreeNode:
        nonlocal budget
        budget -= 1
        is_leaf = node < tree.n_leaves
        children = () if is_leaf else tuple(tree.children(node))
        fits = len(children) <= budget
        listed = tuple(draw(child) for child in children) if fits else ()
        return TreeNode(tree.labels[node], below(node), is_leaf, listed, 0 if fits else len(children))

    return draw(tree.root)


def items_of(policy: Policy, column: str, source: Source) -> pl.Series | None:
    """The items of all cells, where the column holds sets; None where it does not."""
    spec = policy.columns[column]
    if spec.role is not Role.ITEMS:
        return None
    delimiter = policy.input.delimiter if policy.input and policy.input.format == "sets" else None
    items = split_items(frame_of(source)[column], spec.separator or delimiter or SEPARATOR)[1].alias(column)
    return items if spec.type is None else items.cast(DTYPES[spec.type], strict=False).drop_nulls()
