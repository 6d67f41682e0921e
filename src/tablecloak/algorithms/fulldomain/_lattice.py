"""The generalisation lattice: one level per quasi-identifier makes a node, one level more makes an edge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

Node = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lattice:
    """All combinations of levels, from `bottom` (everything exact) to `top` (everything one value)."""

    heights: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(h + 1 for h in self.heights)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.heights)

    @property
    def top(self) -> Node:
        return self.heights

    @property
    def n_rows(self) -> int:
        """Rows of the picture: nodes of row r have levels that sum to r."""
        return sum(self.heights) + 1

    def row_sizes(self) -> list[int]:
        """Nodes per row, from the bottom: coefficients of the product of 1 + x + ... + x^height."""
        sizes = [1]
        for h in self.heights:
            sizes = [sum(sizes[max(0, i - h) : i + 1]) for i in range(len(sizes) + h)]
        return sizes

    def row(self, level: int) -> Iterator[Node]:
        """Nodes whose levels sum to `level`, in lexicographic order."""
        yield from _compositions(self.heights, level)

    def nodes(self) -> Iterator[Node]:
        """All nodes in lexicographic order."""
        return itertools.product(*(range(h + 1) for h in self.heights))

    def successors(self, node: Node) -> list[Node]:
        """Direct generalisations: one column one level higher."""
        return [_moved(node, d, 1) for d, h in enumerate(self.heights) if node[d] < h]

    def predecessors(self, node: Node) -> list[Node]:
        """Direct specialisations: one column one level lower."""
        return [_moved(node, d, -1) for d in range(len(node)) if node[d] > 0]


def above(node: Node) -> tuple[slice, ...]:
    """Index of the node and all its generalisations in an array of the lattice's shape."""
    return tuple(slice(level, None) for level in node)


def below(node: Node) -> tuple[slice, ...]:
    """Index of the node and all its specialisations in an array of the lattice's shape."""
    return tuple(slice(None, level + 1) for level in node)


def _moved(node: Node, dim: int, by: int) -> Node:
    return (*node[:dim], node[dim] + by, *node[dim + 1 :])


def _compositions(heights: tuple[int, ...], total: int) -> Iterator[Node]:
    if not heights:
        if total == 0:
            yield ()
        return
    rest = sum(heights[1:])
    for first in range(max(0, total - rest), min(heights[0], total) + 1):
        for others in _compositions(heights[1:], total - first):
            yield (first, *others)
