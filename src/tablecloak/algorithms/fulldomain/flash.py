"""Flash: paths through the lattice, bisected, with tags that spread over the whole lattice."""

from __future__ import annotations

import heapq

from tablecloak.algorithms.fulldomain.explore import UNKNOWN, Exploration
from tablecloak.algorithms.fulldomain.lattice import Node

__all__ = ["flash"]

Rank = tuple[int, float, float, Node]


class _Order:
    """Nodes from special to general: total level, mean share of levels climbed, mean share of values lost."""

    def __init__(self, known: Exploration) -> None:
        judge, heights = known.judge, known.lattice.heights
        self.climbed = [[level / max(1, h) for level in range(h + 1)] for h in heights]
        distinct = [[judge.rollups.distinct(d, level) for level in range(h + 1)] for d, h in enumerate(heights)]
        self.lost = [[1 - n / max(1, column[0]) for n in column] for column in distinct]

    def __call__(self, node: Node) -> Rank:
        climbed = sum(c[level] for c, level in zip(self.climbed, node, strict=True)) / max(1, len(node))
        lost = sum(c[level] for c, level in zip(self.lost, node, strict=True)) / max(1, len(node))
        # rounded, because equal means may differ in their last bit
        return sum(node), round(climbed, 9), round(lost, 9), node


def flash(known: Exploration) -> None:
    """Tag every node."""
    order = _Order(known)
    for level in range(known.lattice.n_rows):
        for node in sorted(known.untagged(list(known.lattice.row(level))), key=order):
            if known.tags[node] == UNKNOWN:
                _paths_from(known, node, order)


def _paths_from(known: Exploration, start: Node, order: _Order) -> None:
    heap: list[Rank] = []
    check_path(known, find_path(known, start, order), heap, order)
    while heap:
        node = heapq.heappop(heap)[-1]
        for successor in sorted(known.untagged(known.lattice.successors(node)), key=order):
            if known.tags[successor] == UNKNOWN:
                check_path(known, find_path(known, successor, order), heap, order)


def find_path(known: Exploration, start: Node, order: _Order) -> list[Node]:
    """Untagged nodes from a start upwards, each the least general untagged successor of the one before."""
    path = [start]
    while successors := known.untagged(known.lattice.successors(path[-1])):
        path.append(min(successors, key=order))
    return path


def check_path(known: Exploration, path: list[Node], heap: list[Rank], order: _Order) -> None:
    """Bisect a path: below a safe node go down, above an unsafe one go up; unsafe nodes are put on the heap."""
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high + 1) // 2
        if known.is_safe(path[middle]):
            high = middle - 1
        else:
            heapq.heappush(heap, order(path[middle]))
            low = middle + 1
