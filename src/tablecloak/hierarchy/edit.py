"""Edits of a hierarchy: every edit returns a new tree, or says why it cannot be.

A label on several nested nodes means the widest. Losses of the new tree are counted by leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.errors import DataError, did_you_mean
from tablecloak.hierarchy.hierarchy import Hierarchy


@dataclass(slots=True)
class _Draft:
    """Nodes in reading order, so that siblings keep their order; a removed node has no entry in `parent`."""

    labels: dict[int, str | None]
    parent: dict[int, int]

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> _Draft:
        # a parent starts where its first child starts, and has the larger number
        order = [int(node) for node in np.lexsort((-np.arange(hierarchy.n_nodes), hierarchy.first))]
        return cls(
            {node: hierarchy.labels[node] for node in order}, {node: int(hierarchy.parent[node]) for node in order}
        )

    def finish(self) -> Hierarchy:
        number = {node: i for i, node in enumerate(self.parent)}
        return Hierarchy.from_nodes(
            [self.labels[node] for node in self.parent], [number.get(above, -1) for above in self.parent.values()]
        )

    def new(self, label: str, parent: int) -> int:
        node = max(self.labels) + 1
        self.labels[node], self.parent[node] = label, parent
        return node

    def put(self, node: int, parent: int) -> None:
        """Make the node the last child of a parent; groups left empty go away."""
        before = self.parent.pop(node)
        self.parent[node] = parent
        self.prune(before)

    def remove(self, node: int) -> None:
        before = self.parent.pop(node)
        self.prune(before)

    def prune(self, node: int) -> None:
        while self.parent.get(node, -1) >= 0 and node not in self.parent.values():
            node = self.parent.pop(node)


def add(hierarchy: Hierarchy, parent: str, label: str) -> Hierarchy:
    """The tree with a new leaf as last child of a group."""
    above = _find_group(hierarchy, parent)
    _check_new(hierarchy, label, above)
    draft = _Draft.of(hierarchy)
    draft.new(label, above)
    return draft.finish()


def group(hierarchy: Hierarchy, label: str, members: Sequence[str]) -> Hierarchy:
    """The tree with a new group around nodes that have the same parent."""
    nodes = [_find(hierarchy, member) for member in members]
    parents = {int(hierarchy.parent[node]) for node in nodes}
    if len(parents) != 1 or parents == {-1}:
        raise DataError("a new group needs members that have the same parent", hint="move them together first")
    above = parents.pop()
    _check_new(hierarchy, label, above)
    draft = _Draft.of(hierarchy)
    new = draft.new(label, above)
    for node in nodes:
        draft.put(node, new)
    return draft.finish()


def rename(hierarchy: Hierarchy, label: str, new_label: str) -> Hierarchy:
    """The tree with another label on one node."""
    node = _find(hierarchy, label)
    if label == new_label:
        return hierarchy
    _check_new(hierarchy, new_label, int(hierarchy.parent[node]))
    draft = _Draft.of(hierarchy)
    draft.labels[node] = new_label
    return draft.finish()


def move(hierarchy: Hierarchy, label: str, parent: str) -> Hierarchy:
    """The tree with a node and all below it as last child of another group; a group left empty goes away."""
    node, above = _find(hierarchy, label), _find_group(hierarchy, parent)
    if node in hierarchy.ancestors(above):
        raise DataError(f"'{label}' cannot be moved below itself", hint="choose a group outside it")
    draft = _Draft.of(hierarchy)
    if draft.parent[node] != above:
        draft.put(node, above)
    return draft.finish()


def delete(hierarchy: Hierarchy, label: str, *, needed: Collection[str] = ()) -> Hierarchy:
    """The tree without a node: members of a deleted group go to its parent, groups left empty go away.

    Args:
        needed: leaves that must stay, because the data has them.
    """
    node = _find(hierarchy, label)
    if node == hierarchy.root:
        raise DataError(f"the root '{label}' cannot be deleted", hint="rename it instead")
    if node < hierarchy.n_leaves and label in needed:
        raise DataError(f"'{label}' cannot be deleted: the data has this value", hint="move it to another group")
    if hierarchy.n_leaves == 1 and node < hierarchy.n_leaves:
        raise DataError(f"'{label}' is the only value", hint="add another value first")
    draft = _Draft.of(hierarchy)
    for child in hierarchy.children(node) if node >= hierarchy.n_leaves else []:
        draft.parent[child] = draft.parent[node]
    draft.remove(node)
    return draft.finish()


def _find(hierarchy: Hierarchy, label: str) -> int:
    node = hierarchy.find(label)
    if node is None:
        names = [name for name in hierarchy.labels if name is not None]
        raise DataError(f"the hierarchy has no '{label}'", hint=did_you_mean(label, names))
    return node


def _find_group(hierarchy: Hierarchy, label: str) -> int:
    node = _find(hierarchy, label)
    if node < hierarchy.n_leaves:
        raise DataError(f"'{label}' is a value, not a group", hint="make a group of it and its neighbours first")
    return node


def _check_new(hierarchy: Hierarchy, label: str, parent: int) -> None:
    """A new label may repeat only that of a group around it."""
    if not label:
        raise DataError("a label cannot be empty", hint="name the node")
    node = hierarchy.find(label)
    around = hierarchy.ancestors(parent) if parent >= 0 else []
    if (node is not None and node not in around) or hierarchy.code(label) is not None:
        raise DataError(f"the hierarchy already has '{label}'", hint="choose another label")
