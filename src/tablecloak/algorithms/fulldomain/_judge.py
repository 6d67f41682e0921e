"""Judge nodes: which classes must be suppressed, whether that is allowed, what it loses, what follows for others; and
publish one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.fulldomain._lattice import Lattice, Node, heights_of, ladder_of
from tablecloak.algorithms.fulldomain._losses import at_node, make_loss
from tablecloak.algorithms.fulldomain._rollup import NodeGroups, Rollups, group_ranks
from tablecloak.algorithms.merge_classes import released
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.register import Boxes
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
    beyond = None if stats.beyond is None else stats.beyond[is_kept]
    hist = {name: _only_entries(h, is_kept) for name, h in stats.hist.items()}
    return ClassStats(stats.size[is_kept], hist, beyond=beyond)


def _only_entries(hist: Histogram, is_kept: BoolArray) -> Histogram:
    entries = is_kept[hist.entry_class()]
    codes, counts = hist.codes[entries], hist.counts[entries]
    indptr = np.concatenate([[0], np.cumsum(hist.distinct()[is_kept])]).astype(np.int64)
    totals = np.bincount(codes, weights=counts, minlength=hist.domain.n_values).astype(np.int64)
    return Histogram(hist.domain, indptr, codes, counts, totals)


# With more columns to choose from, only few cells or all of a record are suppressed.
ALL_SUBSETS_UP_TO = 10


def publish(judge: Judge, node: Node, *, cells: bool = False) -> Solution:
    """The classes of a node; records of classes that fail the goal are suppressed, or with `cells` only some cells."""
    table = judge.problem.table
    levels = np.tile(np.array(node, np.int64)[:, None], table.n_tuples)  # (n_dims, n_tuples)
    classes, n_classes = _grouped(judge, node)
    every = _solution(judge, levels, classes)
    stats = table.class_stats(classes, n_classes, boxes=Boxes(every.lo, every.hi, every.nodes))
    released = released_classes(judge.goal, stats, judge.goal.admits(stats), judge.budget)
    if released is None:
        raise judge.infeasible()
    keeps = released[classes]
    plain = _solution(judge, levels, np.where(keeps, classes, -1))
    if not cells or keeps.all():
        return plain
    rescued = _rescue(judge, node, levels, classes, keeps)
    is_sound = judge.goal.admits(rescued.stats(table)).all()  # what is published now is another table
    return rescued if is_sound else plain


def _grouped(judge: Judge, node: Node, tuples: IntArray | None = None) -> tuple[IntArray, int]:
    """Class of every tuple at a node, or of some of them."""
    table, part = judge.problem.table, slice(None) if tuples is None else tuples
    rungs = [ladder.rungs[level] for ladder, level in zip(judge.ladders, node, strict=True)]
    ranks = np.stack([r.rank_of_code[table.quasi_codes(d)[part]] for d, r in enumerate(rungs)]).astype(np.int32)
    ids, n_groups, _ = group_ranks(ranks, [r.n_values for r in rungs])
    return ids, n_groups


def _solution(judge: Judge, levels: IntArray, classes: IntArray) -> Solution:
    """Number the classes that occur and name what each publishes."""
    table = judge.problem.table
    numbers, firsts = released(classes)
    lo, hi, nodes = (np.zeros((len(firsts), len(judge.ladders)), np.int64) for _ in range(3))
    for d, ladder in enumerate(judge.ladders):
        codes, level = table.quasi_codes(d)[firsts], levels[d, firsts]
        for at in np.unique(level).tolist():
            rows, rung = level == at, ladder.rungs[at]
            rank = rung.rank_of_code[codes[rows]]
            lo[rows, d], hi[rows, d], nodes[rows, d] = rung.lo[rank], rung.hi[rank], rung.node[rank]
    return Solution(numbers, lo, hi, nodes=nodes)


def _rescue(judge: Judge, node: Node, levels: IntArray, classes: IntArray, keeps: BoolArray) -> Solution:
    """Put failing records in classes of their own by suppressing as few of their cells as satisfies the goal."""
    table, levels = judge.problem.table, levels.copy()
    result = np.where(keeps, classes, -1)
    for starred in _by_loss(judge, node):
        pending = np.flatnonzero(result < 0)
        if len(pending) == 0:
            break
        at = tuple(judge.lattice.top[d] if d in starred else level for d, level in enumerate(node))
        ids, n_groups = _grouped(judge, at, pending)
        everywhere = np.full(table.n_tuples, -1, np.int64)
        everywhere[pending] = ids
        passes = judge.goal.admits(table.class_stats(everywhere, n_groups))
        goes = pending[passes[ids]]
        result[goes] = everywhere[goes] + result.max() + 1
        levels[:, goes] = np.array(at)[:, None]
    return _solution(judge, levels, result)


def _by_loss(judge: Judge, node: Node) -> list[tuple[int, ...]]:
    """Sets of columns whose cells might be suppressed, cheapest first; never all, which would suppress the record."""
    free = [d for d, level in enumerate(node) if level < judge.lattice.top[d]]
    most = len(free) if len(free) <= ALL_SUBSETS_UP_TO else 2
    sets = [s for n in range(1, most + 1) for s in itertools.combinations(free, n) if len(s) < len(free)]
    per_level = judge.loss.per_level
    cost = {d: float(per_level[d][-1] - per_level[d][node[d]]) for d in free}
    return sorted(sets, key=lambda s: (sum(cost[d] for d in s), len(s), s))
