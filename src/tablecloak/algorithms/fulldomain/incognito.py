"""Incognito: breadth-first over ever larger sets of columns; what fails on a subset fails on the whole."""

from __future__ import annotations

import itertools

from tablecloak.algorithms.fulldomain.explore import UNKNOWN, Exploration
from tablecloak.algorithms.fulldomain.lattice import Lattice, Node

__all__ = ["incognito"]


def incognito(known: Exploration) -> None:
    """Tag every node.

    A subset of the columns is the part of the lattice where all others are at their top. Tagging everything below a
    failing node of a subset unsafe is the a-priori pruning: no candidate of a larger set contains it.
    """
    n_dims = len(known.lattice.heights)
    for size in range(1, n_dims + 1):
        for columns in itertools.combinations(range(n_dims), size):
            _breadth_first(known, columns)


def _breadth_first(known: Exploration, columns: tuple[int, ...]) -> None:
    part = Lattice(tuple(known.lattice.heights[d] for d in columns))
    for level in range(part.n_rows):
        for levels in part.row(level):
            node = _whole(known.lattice.top, columns, levels)
            if known.tags[node] == UNKNOWN:
                known.check(node)


def _whole(top: Node, columns: tuple[int, ...], levels: Node) -> Node:
    node = list(top)
    for d, level in zip(columns, levels, strict=True):
        node[d] = level
    return tuple(node)
