"""Judge nodes: which classes must be suppressed, whether that is allowed, what it loses, what follows for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain._lattice import Lattice, Node, heights_of, ladder_of
from tablecloak.algorithms.fulldomain._losses import at_node, make_loss
from tablecloak.algorithms.fulldomain._rollup import NodeGroups, Rollups
from tablecloak.arrays import BoolArray
from tablecloak.errors import Infeasible
from tablecloak.models.base import Goal, Monotone
from tablecloak.stats.classes import ClassStats, Histogram
from tablecloak.values.amounts import most_of


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What was found out about one node."""

    node: Node
    is_safe: bool
    n_classes: int  # published classes of a safe node, all classes otherwise
    n_suppressed: int  # records of classes that do not satisfy the goal
    loss: float  # with these records suppressed
    base: float  # nodes above lose at least this
    penalty: float  # nodes below lose at least this beyond their own base; infinite: none of them is safe
    proves_above: bool  # all nodes above are safe too


class Judge:
    """Everything that does not change while a lattice is searched."""

    def __init__(self, problem: Problem, loss: str, suppression_limit: float, target: str | None = None) -> None:
        self.problem = problem
        self.goal = problem.goal
        self.n_rows = problem.table.n_rows
        self.budget = most_of(self.n_rows, suppression_limit)
        self.ladders = tuple(ladder_of(d) for d in problem.table.domains)
        self.lattice = Lattice(heights_of(self.ladders))
        self.rollups = Rollups(problem.table, self.ladders)
        self.loss = make_loss(loss, problem, self.ladders, self.rollups.bottom, budget=self.budget, target=target)
        self.prunes = prunes(self.goal, self.budget)

    def verdict(self, node: Node) -> NodeVerdict:
        """Group the node and judge it."""
        groups = self.rollups.at(node)
        admitted = self.goal.admits(groups.stats)
        released = released_classes(self.goal, groups.stats, admitted, self.budget)
        left_out = ~admitted if released is None else ~released
        return NodeVerdict(
            node=node,
            is_safe=released is not None,
            n_classes=groups.n_groups if released is None else int(released.sum()),
            n_suppressed=int(groups.stats.size[left_out].sum()),
            loss=self.loss.value(groups, left_out),
            base=self.loss.base(groups),
            penalty=self._penalty(groups, admitted, is_safe=released is not None),
            proves_above=released is not None and (self.prunes or (self.goal.is_monotone and bool(admitted.all()))),
        )

    def base(self, node: Node) -> float:
        """What a node and all above it lose at least; counted where no closed form is known."""
        if self.loss.is_closed:
            return at_node(self.loss.per_level, node)
        return self.loss.base(self.rollups.at(node))

    def _penalty(self, groups: NodeGroups, admitted: BoolArray, *, is_safe: bool) -> float:
        """Small classes stay too small below; other failures only do so for models that say it."""
        size = groups.stats.size
        lost = ~admitted if self.prunes else size < self.goal.min_size
        if (self.prunes and not is_safe) or int(size[lost].sum()) > self.budget:
            return float("inf")
        return self.loss.penalty(groups, lost)

    def infeasible(self) -> Infeasible:
        """What to raise when no node is safe."""
        return Infeasible(
            f"infeasible  no full-domain generalisation of {self.n_rows:,} records satisfies the goal "
            f"with at most {self.budget:,} suppressed",
            best=[],
            relaxations=[],
        )


def prunes(goal: Goal, budget: int) -> bool:
    """Whether an unsafe node proves all nodes below it unsafe, and a safe one all nodes above it safe."""
    if budget == 0:
        return goal.is_monotone
    return all(Monotone.BOTH in m.in_search.monotone for m in goal.models)


def why_no_pruning(goal: Goal, *, suppresses: bool) -> str | None:
    """Why levels that fail or pass prove nothing about others, or None if they do."""
    unsafe = goal.not_monotone
    if unsafe:
        return (
            f"a finer table can satisfy {', '.join(unsafe)} where a coarser one does not, so checked nodes prove "
            "nothing about others; use optimal"
        )
    grows = [m.name for m in goal.models if Monotone.BOTH not in m.in_search.monotone]
    if suppresses and grows:
        return (
            f"a coarser table may have to suppress more records under {', '.join(grows)}, so checked nodes prove "
            "nothing about others; use optimal, or suppression_limit: 0"
        )
    return None


def released_classes(goal: Goal, stats: ClassStats, admitted: BoolArray, budget: int) -> BoolArray | None:
    """Classes that can be published together if the others are suppressed; None if those are too many records.

    Leaving classes out changes the table's own distribution, which some models compare with, so what remains is judged
    again until nothing more has to go.
    """
    released = admitted.copy()
    while True:
        n_out = int(stats.size[~released].sum())
        if n_out > budget:
            return None
        if n_out == 0 or goal.is_only_size:
            return released
        again = goal.admits(_only(stats, released))
        if again.all():
            return released
        released[np.flatnonzero(released)[~again]] = False


def _only(stats: ClassStats, is_kept: BoolArray) -> ClassStats:
    """Statistics of some classes as if they were the table."""
    return ClassStats(stats.size[is_kept], {name: _only_entries(h, is_kept) for name, h in stats.hist.items()})


def _only_entries(hist: Histogram, is_kept: BoolArray) -> Histogram:
    entries = is_kept[hist.entry_class()]
    codes, counts = hist.codes[entries], hist.counts[entries]
    indptr = np.concatenate([[0], np.cumsum(hist.distinct()[is_kept])]).astype(np.int64)
    totals = np.bincount(codes, weights=counts, minlength=hist.domain.n_values).astype(np.int64)
    return Histogram(hist.domain, indptr, codes, counts, totals)
