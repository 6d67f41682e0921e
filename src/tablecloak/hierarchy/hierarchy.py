"""Hierarchy: a generalisation tree on integer codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.hierarchy import tree_nodes
from tablecloak.values.cell_grammar import quoted, reads_like_label


@dataclass(frozen=True, slots=True)
class Level:
    """One level above the leaves: `groups[c]` is the group of leaf `c`, named `labels[groups[c]]`."""

    groups: IntArray  # (n_leaves,)
    labels: Sequence[str]
    losses: FloatArray | None = None  # (n_groups,)


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A generalisation tree on integer codes.

    Leaves are numbered depth first, so every node covers an interval of leaf codes. Nodes `0..n_leaves-1` are the
    leaves; inner nodes follow by height, so a parent always has a larger number than its children and the root is last.
    A label on several nested nodes stands for the widest; on unrelated nodes it is refused.
    """

    labels: tuple[str | None, ...]  # (n_nodes,) None only for the missing leaf
    parent: IntArray  # (n_nodes,) -1 for the root
    first: IntArray  # (n_nodes,) first leaf code of the node
    last: IntArray  # (n_nodes,) last leaf code of the node, inclusive
    losses: FloatArray  # (n_nodes,) NCP of publishing the node
    kind: str = "tree"  # tree | intervals | quantiles | mask | dates | order
    inside: Mapping[str, int] = field(default_factory=dict)  # values that no node shows, with the leaf they belong to
    coarse: frozenset[int] = frozenset()  # leaves that stand for values inside them
    n_leaves: int = field(init=False)
    depths: IntArray = field(init=False, repr=False)  # (n_nodes,) edges up to the root
    heights: IntArray = field(init=False, repr=False)  # (n_nodes,) edges down to the deepest leaf
    _memo: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_leaves", int(self.last[-1]) + 1)
        object.__setattr__(self, "depths", tree_nodes.depths_of(self.parent))
        object.__setattr__(self, "heights", tree_nodes.heights_of(self.parent))
        object.__setattr__(self, "_memo", {})

    @classmethod
    def from_nodes(
        cls,
        labels: Sequence[str | None],
        parent: Sequence[int] | IntArray,
        *,
        losses: FloatArray | None = None,
        kind: str = "tree",
        coarse: Iterable[int] = (),
    ) -> Hierarchy:
        """The tree of nodes numbered in any way; siblings keep the order of their numbers.

        Args:
            parent: number of each node's parent, -1 for the one root.
            losses: loss of publishing each node; None means leaves below / all leaves, 0 for one leaf.
            coarse: leaves that are no values, but stand for some.
        """
        up = np.asarray(parent, dtype=np.int64)
        tree_nodes.check_tree(up)
        order = tree_nodes.numbering(up)  # new number -> old number
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        new_parent = np.where(up[order] >= 0, rank[up[order]], -1)
        first, last = tree_nodes.intervals_of(new_parent, tree_nodes.n_leaves_of(up))
        names = tuple(labels[i] for i in order.tolist())
        cost = tree_nodes.leaf_shares(first, last) if losses is None else np.asarray(losses, dtype=np.float64)[order]
        tree = cls(names, new_parent, first, last, cost, kind, coarse=frozenset(int(rank[leaf]) for leaf in coarse))
        tree_nodes.check_labels(tree.shown, first, last)
        return tree

    @classmethod
    def from_paths(
        cls,
        paths: tree_nodes.Paths | Iterable[Sequence[str]],
        *,
        losses: Mapping[str, float] | None = None,
        kind: str = "tree",
    ) -> Hierarchy:
        """The tree of paths, each from a leaf up to the root; children in order of first appearance.

        Repeated labels on consecutive levels ("Other", "Other", "*") are a chain of nodes.

        Args:
            losses: loss of publishing an inner label; None means by leaf counts.
        """
        columns = paths if isinstance(paths, tree_nodes.Paths) else tree_nodes.Paths.of(paths)
        labels, parent = tree_nodes.nodes_of_paths(columns)
        cost = None if losses is None else np.array([losses.get(label, 0.0) for label in labels])
        return cls.from_nodes(labels, parent, losses=cost, kind=kind)

    @classmethod
    def from_levels(cls, leaves: Sequence[str], levels: Sequence[Level], *, kind: str = "tree") -> Hierarchy:
        """The tree of groupings from fine to coarse; the last level has one group. Vectorised over leaves."""
        if not leaves:
            return cls.from_nodes([levels[-1].labels[0] if levels else tree_nodes.ROOT_LABEL], [-1], kind=kind)
        labels: list[str] = list(leaves)
        parents: list[IntArray] = []
        costs: list[FloatArray] = [np.zeros(len(leaves))]
        inside = np.arange(len(leaves))  # one leaf of every group of the level below
        for level in levels:
            parents.append(len(labels) + level.groups[inside])
            labels.extend(level.labels)
            inside = np.unique(level.groups, return_index=True)[1]
            costs.append(_level_losses(level, len(leaves)))
        parents.append(np.full(1, -1))
        return cls.from_nodes(labels, np.concatenate(parents), losses=np.concatenate(costs), kind=kind)

    @classmethod
    def from_tree(cls, tree: tree_nodes.Tree, *, kind: str = "tree") -> Hierarchy:
        """The tree written as nested mappings and lists; without a single top label the root is '*'."""
        labels, parent = tree_nodes.nodes_of_tree(tree)
        return cls.from_nodes(labels, parent, kind=kind)

    @property
    def n_nodes(self) -> int:
        return len(self.labels)

    @property
    def root(self) -> int:
        return self.n_nodes - 1

    @property
    def height(self) -> int:
        """Edges from the root down to its deepest leaf."""
        return int(self.heights[-1])

    @property
    def has_missing(self) -> bool:
        """Leaf 0 stands for the missing value."""
        return self.n_leaves > 0 and self.labels[0] is None

    @property
    def leaf_labels(self) -> tuple[str | None, ...]:
        return self.labels[: self.n_leaves]

    @property
    def shown(self) -> tuple[str | None, ...]:
        """What a release shows of every node, (n_nodes,): a label, verbatim, or the text of an original value.

        Values stand in quotes where they could be taken for a label. In a tree that somebody wrote they are labels
        themselves, unless they consist of stars.
        """
        if "shown" not in self._memo:
            values = enumerate(self.leaf_labels)
            if self.kind == "tree":
                odd = {leaf: quoted(text) for leaf, text in values if text and not text.strip(tree_nodes.ROOT_LABEL)}
            else:
                odd = {leaf: quoted(text) for leaf, text in values if text is not None and reads_like_label(text)}
            odd = {leaf: text for leaf, text in odd.items() if leaf not in self.coarse}
            labels = (odd.get(node, label) for node, label in enumerate(self.labels)) if odd else self.labels
            self._memo["shown"] = tuple(labels)
        shown: tuple[str | None, ...] = self._memo["shown"]
        return shown

    def node_height(self, node: int) -> int:
        """Edges from the node down to its deepest leaf: 0 for a leaf."""
        return int(self.heights[node])

    level = node_height

    def children(self, node: int) -> list[int]:
        """Child nodes from left to right."""
        if "children" not in self._memo:
            order = np.lexsort((self.first, self.parent))
            self._memo["children"] = order, np.searchsorted(self.parent[order], np.arange(self.n_nodes + 1))
        order, start = self._memo["children"]
        return [int(child) for child in order[start[node] : start[node + 1]]]

    def leaf_count(self, node: int) -> int:
        return int(self.last[node] - self.first[node]) + 1

    def leaves_under(self, node: int) -> range:
        """Leaf codes the node covers."""
        return range(int(self.first[node]), int(self.last[node]) + 1)

    def code(self, label: str | None) -> int | None:
        """The leaf with this label, or None."""
        return self._leaf_index().get(label)

    def codes(self, labels: Iterable[str | None]) -> IntArray:
        """The leaf of every label, -1 where there is none."""
        index = self._leaf_index()
        return np.array([index.get(label, -1) for label in labels], dtype=np.int64)

    def find(self, label: str | None) -> int | None:
        """The widest node that is shown so, or else has this label; None if there is none."""
        if "nodes" not in self._memo:
            # parents come later, so the widest of nested nodes overwrites the others
            by_label = {label: node for node, label in enumerate(self.labels)}
            self._memo["nodes"] = by_label | {label: node for node, label in enumerate(self.shown)}
        match: int | None = self._memo["nodes"].get(label)
        return match

    def leaves_of_label(self, label: str) -> frozenset[str] | None:
        """Labels of the leaves that a published label stands for, or None if it is no label of this tree."""
        node = self.find(label)
        if node is None:
            return None
        return frozenset(leaf for leaf in self.labels[self.first[node] : self.last[node] + 1] if leaf is not None)

    def is_root_label(self, label: str) -> bool:
        """The label is the root's, so it stands for every value, the missing one included."""
        return label == self.labels[-1]

    def ancestors(self, node: int) -> list[int]:
        """The node and everything above it, up to the root."""
        path = [node]
        while (above := int(self.parent[path[-1]])) >= 0:
            path.append(above)
        return path

    def lca(self, u: int, v: int) -> int:
        """The lowest node that is, or lies above, both nodes."""
        while u != v:  # the smaller number cannot be an ancestor of the larger
            if u < v:
                u = int(self.parent[u])
            else:
                v = int(self.parent[v])
        return u

    def lca_range(self, lo: int, hi: int) -> int:
        """The lowest node that covers the leaf codes `lo..hi`. Cost: O(height)."""
        node = lo
        while self.last[node] < hi:
            node = int(self.parent[node])
        return node

    def lca_ranges(self, lo: IntArray, hi: IntArray) -> IntArray:
        """`lca_range` of many intervals, (n,). Cost: O(height) passes over them."""
        nodes = np.array(lo, np.int64)
        while len(low := np.flatnonzero(self.last[nodes] < hi)):
            nodes[low] = self.parent[nodes[low]]
        return nodes

    def generalize(self, code: int, level: int) -> int:
        """The highest node above leaf `code` whose height is at most `level`."""
        node = code
        while (above := int(self.parent[node])) >= 0 and self.heights[above] <= level:
            node = above
        return node

    def level_map(self, level: int) -> IntArray:
        """`generalize(code, level)` of every leaf, (n_leaves,)."""
        nodes = np.arange(self.n_leaves)
        for _ in range(level):
            above = self.parent[nodes]
            nodes = np.where((above >= 0) & (self.heights[above] <= level), above, nodes)
        return nodes

    def ancestors_by_depth(self) -> IntArray:
        """The ancestor of leaf `c` at depth `d`, (n_leaves, height + 1); a leaf repeats itself below its own depth."""
        return tree_nodes.by_depth(np.arange(self.n_leaves), self.parent, self.depths, self.height)

    def ends(self) -> NDArray[np.int32]:
        """Last leaf code of the ancestor of leaf `c` at depth `d`, (n_leaves, height + 1); column 0 is the root."""
        return self.last[self.ancestors_by_depth()].astype(np.int32)

    def end_losses(self) -> FloatArray:
        """Loss of the ancestor of leaf `c` at depth `d`, (n_leaves, height + 1)."""
        return self.losses[self.ancestors_by_depth()]

    def distance(self, u: int, v: int) -> float:
        """Height of the lowest common ancestor over the height of the tree; 0 for equal nodes."""
        if u == v:
            return 0.0
        return self.node_height(self.lca(u, v)) / self.height

    def with_missing(self) -> Hierarchy:
        """The tree with a leaf for the missing value as first child of the root: code 0."""
        if self.has_missing:
            return self
        parent = np.concatenate([[self.root + 1], np.where(self.parent >= 0, self.parent + 1, -1)])
        first = np.concatenate([[0], self.first + 1])
        first[-1] = 0
        losses = np.concatenate([[0.0], self.losses])
        losses[-1] = float(self.n_leaves > 0)  # publishing the root now hides whether the value is missing
        return Hierarchy(
            labels=(None, *self.labels),
            parent=parent,
            first=first,
            last=np.concatenate([[0], self.last + 1]),
            losses=losses,
            kind=self.kind,
            inside={text: leaf + 1 for text, leaf in self.inside.items()},
            coarse=frozenset(leaf + 1 for leaf in self.coarse),
        )

    def cut_off(self, floor: Sequence[int] | IntArray) -> Hierarchy:
        """The tree without anything below the given nodes, one above or at each leaf: these become the leaves.

        The old leaves are known as values inside the new ones. A node that is also above another given one gets a leaf
        of its own label.
        """
        nodes = sorted(set(map(int, floor)))
        above = {up for node in nodes for up in self.ancestors(node)[1:]} | {self.root}
        number = {node: i for i, node in enumerate(nodes)}
        inner = {node: len(nodes) + i for i, node in enumerate(sorted(above))}
        parent = [inner[node] if node in above else inner.get(int(self.parent[node]), -1) for node in nodes]
        parent += [inner.get(int(self.parent[node]), -1) for node in sorted(above)]
        nodes_left = [*nodes, *sorted(above)]
        order = tree_nodes.numbering(np.array(parent, np.int64))
        rank = {int(old): new for new, old in enumerate(order)}
        coarse = [i for i, node in enumerate(nodes) if node >= self.n_leaves or node in self.coarse]
        losses, labels = self.losses[nodes_left], [self.labels[n] for n in nodes_left]
        cut = Hierarchy.from_nodes(labels, parent, losses=losses, kind=self.kind, coarse=coarse)
        inside = {str(self.labels[leaf]): rank[number[int(node)]] for leaf, node in enumerate(floor)}
        return replace(cut, inside=inside)

    def with_losses(self, losses: FloatArray) -> Hierarchy:
        """The same tree with other losses, (n_nodes,)."""
        return replace(self, losses=np.asarray(losses, dtype=np.float64))

    def to_paths(self) -> list[list[str]]:
        """One path per leaf, from the leaf up to the root; the missing leaf is left out."""
        return [
            [str(self.labels[node]) for node in self.ancestors(leaf)]
            for leaf in range(int(self.has_missing), self.n_leaves)
        ]

    def to_tree(self) -> dict[str, Any]:
        """Nested mappings and lists that `from_tree` reads back; the missing leaf is left out."""
        return {str(self.labels[self.root]): self._subtree(self.root)}

    def _subtree(self, node: int) -> list[Any] | dict[str, Any]:
        children = [child for child in self.children(node) if self.labels[child] is not None]
        parts = [
            (str(self.labels[child]), self._subtree(child) if child >= self.n_leaves else None) for child in children
        ]
        if parts and all(below is not None for _, below in parts):
            return dict(parts)  # sibling groups never share a label
        return [label if below is None else {label: below} for label, below in parts]

    def _leaf_index(self) -> dict[str | None, int]:
        if "leaves" not in self._memo:
            self._memo["leaves"] = {label: code for code, label in enumerate(self.leaf_labels)} | dict(self.inside)
        index: dict[str | None, int] = self._memo["leaves"]
        return index


def _level_losses(level: Level, n_leaves: int) -> FloatArray:
    if level.losses is not None:
        return np.asarray(level.losses, dtype=np.float64)
    counts = np.bincount(level.groups, minlength=len(level.labels))
    return np.where(counts > 1, counts / n_leaves, 0.0)
