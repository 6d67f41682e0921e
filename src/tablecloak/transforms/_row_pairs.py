"""Rows in pairs: as many as possible of those that go together, each in one pair at most."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

ALONE = -1


class Matching:
    """A largest matching in a graph, found by augmenting paths through odd cycles that are shrunk to one vertex.

    Reference: Edmonds, Paths, trees, and flowers, Canad. J. Math. 1965.
    Cost: n^3 steps, so graphs must be small.
    """

    def __init__(self, neighbours: Sequence[Sequence[int]], partner: Sequence[int]) -> None:
        self.neighbours, self.partner = neighbours, list(partner)
        self.n = len(neighbours)

    def grow(self) -> None:
        """Add pairs, and change others, until there is no larger matching."""
        for root in range(self.n):
            if self.partner[root] == ALONE:
                self._augment(root)

    def _augment(self, root: int) -> None:
        """Exchange pairs along a path from a vertex without partner to another one, if there is one."""
        self.parent = [ALONE] * self.n
        self.base = list(range(self.n))
        self.is_even = [False] * self.n
        self.is_even[root] = True
        self.queue = deque([root])
        while self.queue:
            vertex = self.queue.popleft()
            for other in self.neighbours[vertex]:
                end = self._step(root, vertex, other)
                if end != ALONE:
                    self._exchange(end)
                    return

    def _step(self, root: int, vertex: int, other: int) -> int:
        """Look along one edge; the end of an augmenting path, or ALONE."""
        if self.base[vertex] == self.base[other] or self.partner[vertex] == other:
            return ALONE
        mate = self.partner[other]
        if other == root or (mate != ALONE and self.parent[mate] != ALONE):
            self._shrink(vertex, other)
        elif self.parent[other] == ALONE:
            self.parent[other] = vertex
            if mate == ALONE:
                return other
            self.is_even[mate] = True
            self.queue.append(mate)
        return ALONE

    def _shrink(self, one: int, other: int) -> None:
        """Take an odd cycle as one vertex."""
        top = self._common_base(one, other)
        in_cycle = [False] * self.n
        self._mark(one, top, other, in_cycle)
        self._mark(other, top, one, in_cycle)
        for vertex in range(self.n):
            if in_cycle[self.base[vertex]]:
                self.base[vertex] = top
                if not self.is_even[vertex]:
                    self.is_even[vertex] = True
                    self.queue.append(vertex)

    def _common_base(self, one: int, other: int) -> int:
        above = set()
        while True:
            one = self.base[one]
            above.add(one)
            if self.partner[one] == ALONE:
                break
            one = self.parent[self.partner[one]]
        while self.base[other] not in above:
            other = self.parent[self.partner[self.base[other]]]
        return self.base[other]

    def _mark(self, vertex: int, top: int, child: int, in_cycle: list[bool]) -> None:
        while self.base[vertex] != top:
            mate = self.partner[vertex]
            in_cycle[self.base[vertex]] = in_cycle[self.base[mate]] = True
            self.parent[vertex] = child
            child = mate
            vertex = self.parent[mate]

    def _exchange(self, end: int) -> None:
        while end != ALONE:
            before = self.parent[end]
            following = self.partner[before]
            self.partner[end], self.partner[before] = before, end
            end = following
