"""Best-first search of sublattices under a time limit, for lattices too large to tag."""

from __future__ import annotations

import heapq
import time
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.fulldomain._judge import Judge, NodeVerdict, publish
from tablecloak.algorithms.fulldomain._lattice import Node
from tablecloak.algorithms.fulldomain._searched_lattice import ROUNDING, BestNode
from tablecloak.algorithms.fulldomain.base import ForAnyGoal
from tablecloak.algorithms.fulldomain.lattice_view import LatticeView, view_of_best
from tablecloak.progress import Progress, tell_better


@algorithm("best-first")
class BestFirst(ForAnyGoal):
    """Best full-domain node within a time limit, for lattices of any size, with a bound on what was missed.

    Sublattices that could hold the best node are cut in two until time is up or nothing better is left.
    Reference: Prasser, Bild, Eicher, Spengler, Kuhn, Lightning, Transactions on Data Privacy 2016 (the same purpose).
    """

    time_limit: Annotated[float, Field(gt=0, description="seconds after which the best node so far is published")] = (
        30.0
    )
    checks: Annotated[int | None, Field(ge=1, description="nodes counted at most; the same on every machine")] = None

    def find(self, problem: Problem, progress: Progress) -> tuple[Judge, BestNode]:
        """Search, and say how good the best node is."""
        judge = self.judge(problem)
        return judge, best_node(judge, self.time_limit, self.checks, progress)

    def view(self, problem: Problem, progress: Progress) -> LatticeView:
        return view_of_best(*self.find(problem, progress))

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        judge, best = self.find(problem, progress)
        solution = publish(judge, best.verdict.node, cells=self.suppress == "cells")
        return solution if best.is_optimal else replace(solution, notes=(best.remark(self.loss),))


class _BestFirstSearch:
    """Counted nodes, the best of them, and what they say about sublattices."""

    def __init__(self, judge: Judge, seconds: float, checks: int | None, progress: Progress) -> None:
        self.judge = judge
        self.ends = time.monotonic() + seconds
        self.checks = checks
        self.progress = progress
        self.verdicts: dict[Node, NodeVerdict] = {}
        self.nodes = np.zeros((0, len(judge.lattice.heights)), np.int64)
        self.penalties = np.zeros(0)
        self.best: NodeVerdict | None = None

    def check(self, node: Node) -> NodeVerdict:
        if node not in self.verdicts:
            verdict = self.judge.verdict(node)
            self.verdicts[node] = verdict
            self._remember(verdict)
            if verdict.is_safe and (self.best is None or verdict.loss < self.best.loss - ROUNDING):
                self.best = verdict
                tell_better(self.progress, verdict.loss)
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

    def _remember(self, verdict: NodeVerdict) -> None:
        if verdict.penalty > 0:
            self.nodes = np.vstack([self.nodes, verdict.node])
            self.penalties = np.append(self.penalties, verdict.penalty)


def best_node(judge: Judge, seconds: float, checks: int | None, progress: Progress) -> BestNode:
    """The best node found in the given time, and a bound on what was missed.

    A greedy walk down from the top gives a first answer. Then the sublattice that could hold the best node is taken:
    its top is counted, which bounds every node in it, and it is cut in two.
    """
    progress.start("solve", None)
    search = _BestFirstSearch(judge, seconds, checks, progress)
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
    return BestNode(search.best, bound, search.verdicts)


def _walk_down(search: _BestFirstSearch) -> None:
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
    return [(low, (*high[:d], middle, *high[d + 1 :])), ((*low[:d], middle + 1, *low[d + 1 :]), high)]
