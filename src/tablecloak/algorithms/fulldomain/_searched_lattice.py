"""A lattice under search: what is known about every node meanwhile, and the best safe node in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.fulldomain._judge import Judge, NodeVerdict
from tablecloak.algorithms.fulldomain._lattice import Node, above, below
from tablecloak.errors import IncompatibleChoice
from tablecloak.progress import Progress, tell_better, tell_nodes

UNKNOWN, SAFE, UNSAFE = 0, 1, -1
# Tags and bounds of all nodes are arrays; larger lattices are searched by best-first, which needs none.
MOST_NODES = 4_000_000
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class BestNode:
    """The best node, and how much better any node that was not looked at could be."""

    verdict: NodeVerdict
    bound: float  # no node loses less than this
    verdicts: dict[Node, NodeVerdict]  # of all nodes that were counted

    @property
    def is_optimal(self) -> bool:
        return self.bound >= self.verdict.loss - ROUNDING

    def remark(self, loss: str) -> str:
        """How good the best node is."""
        return (
            f"best of {len(self.verdicts):,} nodes, {loss} {self.verdict.loss:.4g}; none has less than {self.bound:.4g}"
        )


class SearchedLattice:
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
        self.verdicts: dict[Node, NodeVerdict] = {}  # in the order of the checks
        self.base = judge.loss.least(shape)
        self.penalty = np.zeros(shape)
        self.best: NodeVerdict | None = None
        self.progress = progress
        progress.start("solve", self.lattice.size)

    def check(self, node: Node) -> NodeVerdict:
        """Judge a node unless that was done before, and note what follows for others."""
        if node in self.verdicts:
            return self.verdicts[node]
        verdict = self.judge.verdict(node)
        self.verdicts[node] = verdict
        self._note(verdict)
        self.progress.advance(int(np.count_nonzero(self.tags)))
        tell_nodes(self.progress, self.rows)
        return verdict

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

    def choose(self) -> NodeVerdict:
        """The safe node that loses least; raises Infeasible if none is safe.

        The node with the least bound is either ruled out by a node above it, or counted. The highest node that rules
        it out rules out most others too, so a path of open nodes above it is bisected.
        """
        while True:
            bounds = self.base + self.penalty
            node = tuple(int(i) for i in np.unravel_index(int(np.argmin(bounds)), bounds.shape))
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

    def least_loss(self) -> float:
        """No node loses less than this, as far as is known."""
        least = float((self.base + self.penalty).min())
        return self.best.loss if self.best is not None and self.is_beaten(least) else least

    def is_beaten(self, bound: float) -> bool:
        """No node with this bound can improve on the best so far."""
        return bound == np.inf or (self.best is not None and bound >= self.best.loss - ROUNDING)

    def _note(self, verdict: NodeVerdict) -> None:
        node = verdict.node
        self.tags[node] = SAFE if verdict.is_safe else UNSAFE
        if verdict.proves_above:
            self.tags[above(node)] = SAFE
        if verdict.penalty == np.inf:
            self.tags[below(node)] = UNSAFE
        part = self.penalty[below(node)]
        np.maximum(part, verdict.penalty, out=part)
        part = self.base[above(node)]
        np.maximum(part, verdict.base, out=part)
        self.penalty[node] = np.inf
        if verdict.is_safe and (self.best is None or _key(verdict) < _key(self.best)):
            self.best = verdict
            tell_better(self.progress, verdict.loss)


def _key(verdict: NodeVerdict) -> tuple[float, int, Node]:
    return verdict.loss, sum(verdict.node), verdict.node
