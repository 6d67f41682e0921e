"""An exploration: what is known about every node while a lattice is searched, and the best safe node in the end."""

from __future__ import annotations

import numpy as np

from tablecloak.algorithms.fulldomain.judge import Judge, Verdict
from tablecloak.algorithms.fulldomain.lattice import Node, above, below
from tablecloak.errors import IncompatibleChoice
from tablecloak.progress import Progress, tell_better, tell_nodes

__all__ = ["Exploration"]

UNKNOWN, SAFE, UNSAFE = 0, 1, -1
# Tags and bounds of all nodes are arrays; larger lattices are searched by best-first, which needs none.
MOST_NODES = 4_000_000
ROUNDING = 1e-12


class Exploration:
    """Tags, bounds and verdicts of the nodes of one lattice."""

    def __init__(self, judge: Judge, progress: Progress) -> None:
        self.judge = judge
        self.lattice = judge.lattice
        if self.lattice.size > MOST_NODES:
            raise IncompatibleChoice(
                f"the lattice has {self.lattice.size:,} nodes, too many to tag each of them",
                hint="algorithm: best-first searches it within a time limit; or use fewer levels",
            )
        shape = self.lattice.shape
        self.tags = np.zeros(shape, np.int8)
        self.verdicts: dict[Node, Verdict] = {}  # in the order of the checks
        self.base = judge.loss.least(shape)
        self.penalty = np.zeros(shape)
        self.best: Verdict | None = None
        self.progress = progress
        progress.start("solve", self.lattice.size)

    def check(self, node: Node) -> Verdict:
        """Judge a node unless that was done before, and note what follows for others."""
        if node in self.verdicts:
            return self.verdicts[node]
        found = self.judge.verdict(node)
        self.verdicts[node] = found
        self._note(found)
        self.progress.advance(int(np.count_nonzero(self.tags)))
        tell_nodes(self.progress, self.rows)
        return found

    def rows(self) -> list[list[int]]:
        """Safe, unsafe and unknown nodes of every row, from exact values to everything hidden."""
        levels = sum(np.ogrid[tuple(slice(n) for n in self.tags.shape)], start=np.zeros((), np.int64))
        n_rows = self.lattice.n_rows
        counts = [np.bincount(levels[self.tags == tag], minlength=n_rows) for tag in (SAFE, UNSAFE, UNKNOWN)]
        return [[int(n) for n in row] for row in zip(*counts, strict=True)]

    def is_safe(self, node: Node) -> bool:
        """The tag of a node, which is checked if it has none."""
        if self.tags[node] == UNKNOWN:
            self.check(node)
        return bool(self.tags[node] == SAFE)

    def untagged(self, nodes: list[Node]) -> list[Node]:
        return [n for n in nodes if self.tags[n] == UNKNOWN]

    def choose(self) -> Verdict:
        """The safe node that loses least; raises Infeasible if none is safe.

        The node with the least bound is either ruled out by a node above it, or counted. The highest node that rules
        it out rules out most others too, so a path of open nodes above it is bisected.
        """
        while True:
            bounds = self.base + self.penalty
            node = _node_of(int(np.argmin(bounds)), bounds.shape)
            if self.is_beaten(float(bounds[node])):
                break
            self._bisect(node, self._open_path(node))
        if self.best is None:
            raise self.judge.infeasible()
        return self.best

    def _open_path(self, start: Node) -> list[Node]:
        """Open nodes from a start upwards, each the successor with the least bound."""
        path = [start]
        while True:
            bounds = {n: self.bound(n) for n in self.lattice.successors(path[-1])}
            open_nodes = [n for n, bound in bounds.items() if not self.is_beaten(bound)]
            if not open_nodes:
                return path
            path.append(min(open_nodes, key=lambda n: (bounds[n], n)))

    def _bisect(self, start: Node, path: list[Node]) -> None:
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high + 1) // 2
            self.check(path[middle])
            if self.is_beaten(self.bound(start)):
                low = middle + 1
            else:
                high = middle - 1

    def bound(self, node: Node) -> float:
        """The least that a node can lose; infinite where it is unsafe or was counted."""
        return float(self.base[node] + self.penalty[node])

    def is_beaten(self, bound: float) -> bool:
        """No node with this bound can improve on the best so far."""
        return bound == np.inf or (self.best is not None and bound >= self.best.loss - ROUNDING)

    def _note(self, found: Verdict) -> None:
        node = found.node
        self.tags[node] = SAFE if found.is_safe else UNSAFE
        if found.proves_above:
            self.tags[above(node)] = SAFE
        if found.penalty == np.inf:
            self.tags[below(node)] = UNSAFE
        part = self.penalty[below(node)]
        np.maximum(part, found.penalty, out=part)
        part = self.base[above(node)]
        np.maximum(part, found.base, out=part)
        self.penalty[node] = np.inf
        if found.is_safe and (self.best is None or _key(found) < _key(self.best)):
            self.best = found
            tell_better(self.progress, found.loss)


def _key(found: Verdict) -> tuple[float, int, Node]:
    return found.loss, sum(found.node), found.node


def _node_of(index: int, shape: tuple[int, ...]) -> Node:
    return tuple(int(i) for i in np.unravel_index(index, shape))
