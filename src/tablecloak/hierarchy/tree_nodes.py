"""Nodes of a tree: read from paths or nested lists, as arrays of numbers, depths and intervals of leaves, checked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import DataError
from tablecloak.values.cell_grammar import Value, format_value

# A nested tree: a label is a leaf, a mapping holds groups, a list mixes both.
Tree: TypeAlias = "str | Mapping[str, Tree | None] | Sequence[Tree]"

ROOT_LABEL = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Paths from values up to the root, as one column of labels per level."""

    levels: tuple[pl.Series, ...]  # texts, (n_paths,) each; null above the root of a shorter path
    codes: IntArray  # (n_levels, n_paths); equal labels have equal codes, -1 above the root

    @classmethod
    def of_levels(cls, levels: Sequence[pl.Series]) -> Paths:
        """Paths whose labels stand in columns, null above the root of a shorter path."""
        codes = pl.concat(levels).cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1)
        return cls(tuple(levels), codes.to_numpy().reshape(len(levels), -1))

    @classmethod
    def of(cls, paths: Iterable[Sequence[str]]) -> Paths:
        """Paths written as lists of labels."""
        return cls.of_levels(columns_of(pl.Series([list(path) for path in paths], dtype=pl.List(pl.String))))

    def __len__(self) -> int:
        return len(self.codes[0])

    @property
    def lengths(self) -> IntArray:
        """How many labels every path has, (n_paths,)."""
        return np.asarray((self.codes >= 0).sum(axis=0))

    @property
    def roots(self) -> IntArray:
        """Code of the last label of every path, (n_paths,)."""
        return self.codes[self.lengths - 1, np.arange(len(self))]

    def path(self, row: int) -> tuple[str, ...]:
        """The labels of one path, from its value up to its root."""
        return tuple(labels[row] for labels in self.levels if labels[row] is not None)

    def kept(self, is_kept: BoolArray) -> Paths:
        """Some of the paths, (n_paths,)."""
        return Paths(tuple(labels.filter(pl.Series(is_kept)) for labels in self.levels), self.codes[:, is_kept])


def columns_of(rows: pl.Series) -> list[pl.Series]:
    """Lists of cells as columns, null beyond the end of a shorter row; at least one column."""
    width = int(rows.list.len().max() or 1)  # type: ignore[arg-type]
    return [rows.list.get(i, null_on_oob=True) for i in range(width)]


def nodes_of_paths(paths: Paths) -> tuple[list[str], IntArray]:
    """Labels and parents of the nodes on paths that all end in one root; siblings in order of first appearance.

    Cost: one pass over the paths per level.
    """
    if not len(paths):
        return [ROOT_LABEL], np.array([-1])
    lengths = paths.lengths
    if lengths.min() < 2:
        raise DataError("a hierarchy path needs a value and a root", hint="end every path with '*'")
    labels: list[str] = []
    parents: list[IntArray] = []
    n_codes = int(paths.codes.max()) + 1
    rows = np.arange(len(paths))  # paths that reach down to this depth
    nodes = np.full(len(paths), -1)  # where each of them stands, one depth above
    for depth in range(int(lengths.max())):
        level = lengths[rows] - 1 - depth
        # a value is another node than a group of its name
        key = (nodes * n_codes + paths.codes[level, rows]) * 2 + (level == 0)
        first = first_places(key)
        is_new = first == np.arange(len(rows))
        parents.append(nodes[is_new])
        nodes = (len(labels) + np.cumsum(is_new) - 1)[first]
        labels += _labels_at(paths, level[is_new], rows[is_new])
        rows, nodes = rows[level > 0], nodes[level > 0]
    parent = np.concatenate(parents)
    if (n_roots := int((parent < 0).sum())) > 1:
        raise DataError(
            f"{n_roots} different roots: {some_of(sorted(labels[:n_roots]))}",
            hint="end every path with the same label, for example '*'",
        )
    return labels, parent


def first_places(keys: IntArray) -> IntArray:
    """Where every key stands first, (n,)."""
    frame = pl.DataFrame({"key": keys, "place": np.arange(len(keys))})
    return frame.select(pl.col("place").first().over("key")).to_series().to_numpy()


def _labels_at(paths: Paths, levels: IntArray, rows: IntArray) -> list[str]:
    """The label on a level of a path, for several of them."""
    labels = np.empty(len(rows), dtype=object)
    for level in np.unique(levels):
        is_here = levels == level
        labels[is_here] = paths.levels[level].gather(rows[is_here]).to_list()
    return list(labels)


def nodes_of_tree(tree: Tree) -> tuple[list[str], list[int]]:
    """Labels and parents of the nodes of a nested tree; without a single top label the root is '*'."""
    if isinstance(tree, Mapping) and len(tree) == 1:
        [(root, below)] = tree.items()
    else:
        root, below = ROOT_LABEL, tree
    labels, parent = [_text(root)], [-1]
    open_: deque[tuple[int, Tree | None]] = deque([(0, below)])
    while open_:
        node, children = open_.popleft()
        for label, grandchildren in _children_of(children):
            labels.append(label)
            parent.append(node)
            if grandchildren:
                open_.append((len(labels) - 1, grandchildren))
    return labels, parent


def _children_of(tree: Tree | None) -> Iterable[tuple[str, Tree | None]]:
    if tree is None:
        return
    if isinstance(tree, Mapping):
        yield from ((_text(label), below) for label, below in tree.items())
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for part in tree:
            if isinstance(part, Mapping):
                yield from _children_of(part)
            elif isinstance(part, Sequence) and not isinstance(part, str):
                raise DataError("a list inside a list has no name", hint="write {name: [..]} for every group")
            else:
                yield _text(part), None
    else:
        yield _text(tree), None


def _text(label: Value) -> str:
    """YAML and JSON read unquoted labels as numbers, booleans or dates."""
    return str(format_value(label))


def check_tree(parent: IntArray) -> None:
    """DataError unless parents make one tree."""
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        raise DataError(f"a hierarchy needs exactly one root, found {len(roots)}", hint="end every path with '*'")
    reach = np.where(parent < 0, roots[0], parent)
    for _ in range(len(parent).bit_length()):  # pointer doubling: 2**i steps up
        reach = reach[reach]
    if (reach != roots[0]).any():
        raise DataError("a group of the hierarchy contains itself", hint="remove the cycle")


def depths_of(parent: IntArray) -> IntArray:
    """Edges from every node up to the root, (n_nodes,)."""
    depths = np.zeros(len(parent), dtype=np.int64)
    above = parent
    while (inside := above >= 0).any():
        depths += inside
        above = np.where(inside, parent[above], -1)
    return depths


def heights_of(parent: IntArray) -> IntArray:
    """Edges from every node down to its deepest leaf, (n_nodes,)."""
    heights = np.zeros(len(parent), dtype=np.int64)
    nodes = np.flatnonzero(_is_leaf(parent))
    height = 0
    while len(nodes := np.unique(parent[nodes])) and nodes[-1] >= 0:
        nodes = nodes[nodes >= 0]
        height += 1
        heights[nodes] = height
    return heights


def _is_leaf(parent: IntArray) -> BoolArray:
    leaf = np.ones(len(parent), dtype=bool)
    leaf[parent] = False  # the root's -1 marks the last node, corrected below
    leaf[-1] = not (parent == len(parent) - 1).any()
    leaf[parent < 0] = False  # a root alone is a tree without leaves
    return leaf


def n_leaves_of(parent: IntArray) -> int:
    """How many nodes have no children."""
    return int(_is_leaf(parent).sum())


def by_depth(leaves: IntArray, parent: IntArray, depths: IntArray, height: int) -> IntArray:
    """The ancestor of every leaf at every depth, (n_leaves, height + 1)."""
    nodes = leaves
    table = np.empty((len(leaves), height + 1), dtype=np.int64)
    for depth in range(height, -1, -1):
        nodes = np.where(depths[nodes] > depth, parent[nodes], nodes)
        table[:, depth] = nodes
    return table


def numbering(parent: IntArray) -> IntArray:
    """Old numbers in the new order: leaves depth first, then inner nodes by height and position."""
    is_leaf = _is_leaf(parent)
    depths, heights = depths_of(parent), heights_of(parent)
    leaves = np.flatnonzero(is_leaf)
    table = by_depth(leaves, parent, depths, int(depths.max()))  # siblings are ordered by number, so rows sort by it
    leaves = leaves[np.lexsort(table.T[::-1])]
    begin = np.full(len(parent), len(leaves))
    position, above = np.arange(len(leaves)), leaves
    while len(above):
        np.minimum.at(begin, above, position)
        inside = parent[above] >= 0
        above, position = parent[above[inside]], position[inside]
    inner = np.flatnonzero(~is_leaf)
    return np.concatenate([leaves, inner[np.lexsort((begin[inner], heights[inner]))]])


def intervals_of(parent: IntArray, n_leaves: int) -> tuple[IntArray, IntArray]:
    """First and last leaf code of every node, given the final numbering."""
    first = np.full(len(parent), n_leaves, dtype=np.int64)
    last = np.full(len(parent), -1, dtype=np.int64)
    codes = np.arange(n_leaves)
    nodes = codes
    while len(nodes):
        np.minimum.at(first, nodes, codes)
        np.maximum.at(last, nodes, codes)
        inside = parent[nodes] >= 0
        nodes, codes = parent[nodes[inside]], codes[inside]
    return first, last


def leaf_shares(first: IntArray, last: IntArray) -> FloatArray:
    """Loss of publishing a node, where nothing else is said: its share of all leaves, 0 for one leaf."""
    counts = last - first + 1
    return np.where(counts > 1, counts / max(1, int(counts[-1])), 0.0)


def check_labels(labels: tuple[str | None, ...], first: IntArray, last: IntArray) -> None:
    """Refuse a label on nodes of which none contains the others."""
    if len(set(labels)) == len(labels):
        return
    widest = {label: node for node, label in enumerate(labels)}
    nodes = np.array([widest[label] for label in labels])
    outside = np.flatnonzero((first < first[nodes]) | (last > last[nodes]))
    n_leaves = int(last[-1]) + 1
    leaf_code = {label: code for code, label in enumerate(labels[:n_leaves])}
    twice = [code for code, label in enumerate(labels[:n_leaves]) if leaf_code[label] != code]
    if len(outside) == 0 and not twice:
        return
    names = sorted({str(labels[node]) for node in [*outside, *twice]})
    raise DataError(
        f"{some_of(names)} stands for unrelated groups"
        if len(names) == 1
        else f"labels of unrelated groups: {some_of(names)}",
        hint="give every group its own label; a value may share the label only of a group that contains it",
    )


def some_of(names: Sequence[str], limit: int = 3) -> str:
    """A few names for a message."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown}, .."
