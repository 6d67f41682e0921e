"""Nodes of trees that are written as paths or as nested mappings and lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tablecloak.errors import DataError
from tablecloak.hierarchy.tree_nodes import some_of
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
