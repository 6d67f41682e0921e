"""Flash: paths through the lattice, bisected, with tags that spread over the whole lattice."""

from __future__ import annotations

import heapq

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._lattice import Node
from tablecloak.algorithms.fulldomain._searched_lattice import UNKNOWN, SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain

Rank = tuple[int, float, float, Node]


class _Order:
    """Nodes from special to general: total level, mean share of levels climbed, mean share of values lost."""

    def __init__(self, searched: SearchedLattice) -> None:
        judge, heights = searched.judge, searched.lattice.heights
        self.climbed = [[level / max(1, h) for level in range(h + 1)] for h in heights]
        distinct = [[judge.rollups.distinct(d, level) for level in range(h + 1)] for d, h in enumerate(heights)]
        self.lost = [[1 - n / max(1, column[0]) for n in column] for column in distinct]

    def __call__(self, node: Node) -> Rank:
        climbed = sum(c[level] for c, level in zip(self.climbed, node, strict=True)) / max(1, len(node))
        lost = sum(c[level] for c, level in zip(self.lost, node, strict=True)) / max(1, len(node))
        # rounded, because equal means may differ in their last bit
        return sum(node), round(climbed, 9), round(lost, 9), node


@algorithm("flash")
class Flash(FullDomain):
    """Full-domain optimum by bisecting paths through the lattice; one check tags all nodes above or below.

    Paths follow total level, then share of levels climbed, then share of values lost. Cost: few checks, each a roll-up.
    Reference: Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash, PASSAT 2012.
    """

    def visit(self, searched: SearchedLattice) -> None:
        order = _Order(searched)
        for level in range(searched.lattice.n_rows):
            for node in sorted(searched.untagged(list(searched.lattice.row(level))), key=order):
                if searched.tags[node] == UNKNOWN:
                    _paths_from(searched, node, order)


def _paths_from(searched: SearchedLattice, start: Node, order: _Order) -> None:
    heap: list[Rank] = []
    check_path(searched, find_path(searched, start, order), heap, order)
    while heap:
        node = heapq.heappop(heap)[-1]
        for successor in sorted(searched.untagged(searched.lattice.successors(node)), key=order):
            if searched.tags[successor] == UNKNOWN:
                check_path(searched, find_path(searched, successor, order), heap, order)


def find_path(searched: SearchedLattice, start: Node, order: _Order) -> list[Node]:
    """Untagged nodes from a start upwards, each the least general untagged successor of the one before."""
    path = [start]
    while successors := searched.untagged(searched.lattice.successors(path[-1])):
        path.append(min(successors, key=order))
    return path


def check_path(searched: SearchedLattice, path: list[Node], heap: list[Rank], order: _Order) -> None:
    """Bisect a path: below a safe node go down, above an unsafe one go up; unsafe nodes are put on the heap."""
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high + 1) // 2
        if searched.is_safe(path[middle]):
            high = middle - 1
        else:
            heapq.heappush(heap, order(path[middle]))
            low = middle + 1
