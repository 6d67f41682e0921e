"""Incognito: breadth-first over ever larger sets of columns; what fails on a subset fails on the whole."""

from __future__ import annotations

import itertools

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._lattice import Lattice, Node
from tablecloak.algorithms.fulldomain._searched_lattice import UNKNOWN, SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain


@algorithm("incognito")
class Incognito(FullDomain):
    """Full-domain optimum by breadth-first search over ever larger sets of columns.

    What fails on some columns fails on all, so few candidates are left for the larger sets. Cost: exponential in the
    number of columns.
    Reference: LeFevre, DeWitt, Ramakrishnan, Incognito, SIGMOD 2005.
    """

    def visit(self, searched: SearchedLattice) -> None:
        # A subset of the columns is the part of the lattice where all others are at their top. Tagging everything
        # below a failing node of a subset unsafe is the a-priori pruning: no candidate of a larger set contains it.
        n_dims = len(searched.lattice.heights)
        for size in range(1, n_dims + 1):
            for columns in itertools.combinations(range(n_dims), size):
                _breadth_first(searched, columns)


def _breadth_first(searched: SearchedLattice, columns: tuple[int, ...]) -> None:
    part = Lattice(tuple(searched.lattice.heights[d] for d in columns))
    for level in range(part.n_rows):
        for levels in part.row(level):
            node = _whole(searched.lattice.top, columns, levels)
            if searched.tags[node] == UNKNOWN:
                searched.check(node)


def _whole(top: Node, columns: tuple[int, ...], levels: Node) -> Node:
    node = list(top)
    for d, level in zip(columns, levels, strict=True):
        node[d] = level
    return tuple(node)
