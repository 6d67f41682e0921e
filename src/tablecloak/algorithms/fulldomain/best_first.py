"""Best-first search of sublattices under a time limit, for lattices too large to tag."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.fulldomain.explore import ROUNDING
from tablecloak.algorithms.fulldomain.judge import Judge, Verdict
from tablecloak.algorithms.fulldomain.lattice import Node
from tablecloak.progress import Progress, tell_better

__all__ = ["Found", "best_first"]


@dataclass(frozen=True, slots=True)
class Found:
    """The best node, and how much better any node that was not looked at could be."""

    best: Verdict
    bound: float  # no node loses less than this
    verdicts: dict[Node, Verdict]  # of all nodes that were counted

    @property
    def is_optimal(self) -> bool:
        return self.bound >= self.best.loss - ROUNDING

    def remark(self, loss: str) -> str:
        """How good the best node is."""
        return f"best of {len(self.verdicts):,} nodes, {loss} {self.best.loss:.4g}; none has less than {self.bound:.4g}"


class _Search:
    """Counted nodes, the best of them, and what they say about sublattices."""

    def __init__(self, judge: Judge, seconds: float, checks: int | None, progress: Progress) -> None:
        self.judge = judge
        self.ends = time.monotonic() + seconds
        self.checks = checks
        self.progress = progress
        self.verdicts: dict[Node, Verdict] = {}
        self.nodes = np.zeros((0, len(judge.lattice.heights)), np.int64)
        self.penalties = np.zeros(0)
        self.best: Verdict | None = None

    def check(self, node: Node) -> Verdict:
        if node not in self.verdicts:
            found = self.judge.verdict(node)
            self.verdicts[node] = found
            self._remember(found)
            if found.is_safe and (self.best is None or found.loss < self.best.loss - ROUNDING):
                self.best = found
                tell_better(self.progress, found.loss)
            self.progress.advance(len(self.verdicts))
        return self.verdicts[node]

    def is_over(self) -> bool:
        return time.monotonic() > self.ends or (self.checks is not None and len(self.verdicts) >= self.checks)

    def bound(self, low: Node, high: Node) -> float:
        """No node between two loses less than this, as far as is known."""
        covers = (self.nodes >= np.array(high)).all(axis=1)
        return self.judge.base(low) + float(self.penalties[covers].max(initial=0.0))

    def is_beaten(self, bound: float) -> bool:
        return bound == np.inf or (self.best is not None and bound >= self.best.loss - ROUNDING)

    def _remember(self, found: Verdict) -> None:
        if found.penalty > 0:
            self.nodes = np.vstack([self.nodes, found.node])
            self.penalties = np.append(self.penalties, found.penalty)


def best_first(judge: Judge, seconds: float, checks: int | None, progress: Progress) -> Found:
    """The best node found in the given time, and a bound on what was missed.

    A greedy walk down from the top gives a first answer. Then the sublattice that could hold the best node is taken:
    its top is counted, which bounds every node in it, and it is cut in two.
    """
    progress.start("solve", None)
    search = _Search(judge, seconds, checks, progress)
    _walk_down(search)
    lattice = judge.lattice
    heap = [(search.bound(lattice.bottom, lattice.top), lattice.bottom, lattice.top)]
    while heap and not search.is_beaten(heap[0][0]) and not search.is_over():
        _, low, high = heapq.heappop(heap)
        search.check(high)
        bound = search.bound(low, high)
        for part in _halves(judge, low, high):
            if not search.is_beaten(max(bound, search.bound(*part))):
                heapq.heappush(heap, (max(bound, search.bound(*part)), *part))
    if search.best is None:
        raise judge.infeasible()
    bound = min([search.best.loss, *(b for b, _, _ in heap[:1])])
    return Found(search.best, bound, search.verdicts)


def _walk_down(search: _Search) -> None:
    """From the top, always to the safe specialisation that loses least, while that improves."""
    at = search.check(search.judge.lattice.top)
    while at.is_safe and not search.is_over():
        below = [search.check(n) for n in search.judge.lattice.predecessors(at.node)]
        better = [v for v in below if v.is_safe and v.loss < at.loss]
        if not better:
            return
        at = min(better, key=lambda v: (v.loss, v.node))


def _halves(judge: Judge, low: Node, high: Node) -> list[tuple[Node, Node]]:
    """A sublattice cut across the column whose levels differ most in loss; none for a single node."""
    gains = [
        (float(values[b] - values[a]), (b - a) / max(1, len(values) - 1), -d)
        for d, (values, a, b) in enumerate(zip(judge.loss.per_level, low, high, strict=True))
        if b > a
    ]
    if not gains:
        return []
    d = -max(gains)[2]
    middle = (low[d] + high[d]) // 2
    return [
        (low, (*high[:d], middle, *high[d + 1 :])),
        ((*low[:d], middle + 1, *low[d + 1 :]), high),
    ]
