"""Nodes of a tree: read from paths or nested lists, as arrays of numbers, depths and intervals of leaves, checked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import DataError
from tablecloak.values.cell_grammar import Value, format_value

# A nested tree: a label is a leaf, a mapping holds groups, a list mixes both.
Tree: TypeAlias = "str | Mapping[str, Tree | None] | Sequence[Tree]"

ROOT_LABEL = "*"


def nodes_of_paths(paths: Iterable[Sequence[str]]) -> tuple[list[str], list[int]]:
    """Labels and parents of the nodes on paths, each from a leaf up to the one root."""
    labels: list[str] = []
    parent: list[int] = []
    number: dict[tuple[int, str, bool], int] = {}
    for path in paths:
        if len(path) < 2:
            raise DataError("a hierarchy path needs a value and a root", hint="end every path with '*'")
        above = -1
        for height in range(len(path) - 1, -1, -1):
            key = (above, path[height], height == 0)
            above = number.setdefault(key, len(labels))
            if above == len(labels):
                labels.append(key[1])
                parent.append(key[0])
    if parent.count(-1) > 1:
        roots = sorted(label for label, up in zip(labels, parent, strict=True) if up < 0)
        raise DataError(
            f"{len(roots)} different roots: {some_of(roots)}",
            hint="end every path with the same label, for example '*'",
        )
    if not labels:
        labels, parent = [ROOT_LABEL], [-1]
    return labels, parent


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
    widest = {label: node for node, label in enumerate(labels)}
    if len(widest) == len(labels):
        return
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
