"""The generalisation lattice: columns have levels, one level for each makes a node, one level more makes an edge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """One level: its values are numbered from 0 in the order of the codes they hold."""

    rank_of_code: IntArray  # (n_codes,)
    lo: IntArray  # (n_values,) first code of each value
    hi: IntArray  # (n_values,) last code
    node: IntArray  # (n_values,) hierarchy node; -1 without a hierarchy
    losses: FloatArray  # (n_values,)

    @property
    def n_values(self) -> int:
        return len(self.lo)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of a column from exact values (0) to one value that stands for all."""

    domain: Domain
    rungs: tuple[Rung, ...]

    @property
    def height(self) -> int:
        return len(self.rungs) - 1

    def step(self, below: int, above: int) -> IntArray:
        """From values of one level to values of a level above it, (n_values at `below`,)."""
        return self.rungs[above].rank_of_code[self.rungs[below].lo]


def ladder_of(domain: Domain) -> Ladder:
    """The levels of a domain's hierarchy; without a hierarchy: exact, or anything."""
    hierarchy = domain.hierarchy
    if hierarchy is None:
        codes = np.arange(domain.n_codes)
        return Ladder(domain, (_free_rung(domain, codes), _free_rung(domain, np.zeros_like(codes))))
    rungs = []
    for level in range(hierarchy.height + 1):
        nodes, rank = _in_order(hierarchy.level_map(level))
        rungs.append(Rung(rank, hierarchy.first[nodes], hierarchy.last[nodes], nodes, hierarchy.losses[nodes]))
    return Ladder(domain, tuple(rungs))


def _free_rung(domain: Domain, rank: IntArray) -> Rung:
    lo = np.flatnonzero(np.diff(rank, prepend=-1))
    hi = np.append(lo[1:], len(rank)) - 1
    return Rung(rank, lo, hi, np.full(len(lo), -1), domain.loss(lo, hi))


def _in_order(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct nodes in the order of the codes, and the number of each code's node."""
    starts = np.flatnonzero(np.append(True, np.diff(nodes) != 0)[: len(nodes)])
    rank = np.zeros(len(nodes), np.int64)
    rank[starts[1:]] = 1
    return nodes[starts], np.cumsum(rank)


def heights_of(ladders: Sequence[Ladder]) -> tuple[int, ...]:
    """The top level of every column."""
    return tuple(ladder.height for ladder in ladders)


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
