"""k-Optimize: of all sets of cuts of all columns the best one, whole families of sets ruled out by what they must cost.

Every column is cut into pieces that are the same for all records. A cut is an item, so a generalisation is a set of
items, and all sets form a tree: a node has a head (the cuts made) and a tail (those that nodes below it may add).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.base import FailingLimit, Problem, Solution, algorithm
from tablecloak.algorithms.fulldomain._judge import why_no_pruning
from tablecloak.algorithms.merge_classes import released
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.domain import Domain
from tablecloak.models.base import Goal
from tablecloak.progress import Progress, tell_better
from tablecloak.stats.classes import ClassStats, number_rows
from tablecloak.values.amounts import most_of

Loss = Literal["discernibility", "ncp"]
ALWAYS = -1  # the item of what needs none: every set of items ends with it
ROUNDING = 1e-12


@algorithm("k-optimize")
class KOptimize:
    """Cut every column, for all records alike, where the loss of the release is least of all sets of cuts.

    Columns of numbers, dates and categories without a hierarchy are cut between values in their order, columns with
    one by opening nodes of it. Sets of cuts are enumerated depth first. What must be suppressed after some cuts must
    be after more of them, and what all cuts that may still follow would leave is the least that a record can cost: the
    bound that rules out families of sets, and cuts that lead to nothing better.

    Guarantee: if `checks` suffice, no set of cuts has less loss; otherwise a note says what the least could be.
    Reference: Bayardo, Agrawal, Data privacy through optimal k-anonymization, ICDE 2005. The source suppresses as many
    records as pays; here at most `suppression_limit`.
    Cost: exponential in the number of cuts; every check groups what is different after all cuts.
    """

    reaches_whole: ClassVar[bool] = True
    loss: Annotated[
        Loss,
        Field(description="a record pays the size of its class, or the share of the columns' ranges that it shows"),
    ] = "discernibility"
    suppression_limit: FailingLimit = 0.0
    cuts: Annotated[
        int, Field(ge=1, description="cuts of a column without a hierarchy; of more values those at quantiles")
    ] = 30
    checks: Annotated[int, Field(ge=1, description="sets of cuts counted before the best so far is published")] = 5000

    def refuses(self, goal: Goal) -> str | None:
        return why_no_pruning(goal, suppresses=self.suppression_limit > 0)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        search = Enumeration(problem, self.loss, most_of(problem.table.n_rows, self.suppression_limit), self.cuts)
        search.run(self.checks, progress)
        solution = search.solution()
        return solution if search.is_optimal else replace(solution, notes=(search.remark(),))


@dataclass(frozen=True, slots=True, eq=False)
class _CutColumn:
    """A column, the items that cut it, and what each item needs."""

    domain: Domain
    weight: float
    items: range  # their numbers
    at: IntArray  # (n_items,) the code that a piece begins with, or the node that is opened
    parents: IntArray  # (n_items,) item without which this one does nothing; ALWAYS: none
    opens: IntArray  # (n_nodes,) the item that opens each node of a hierarchy; ALWAYS: open anyway

    def pieces(self, chosen: BoolArray) -> IntArray:
        """The first code of the piece that each code lies in, or its node, after some items, (n_codes,)."""
        tree = self.domain.hierarchy
        if tree is None:
            begins = np.zeros(self.domain.n_codes, np.int64)
            cuts = self.at[chosen[self.items.start : self.items.stop]]
            begins[cuts] = cuts
            return np.maximum.accumulate(begins)
        above = tree.ancestors_by_depth()  # (n_leaves, depth) root first
        is_open = (above >= tree.n_leaves) & chosen[self.opens[above]]
        return np.asarray(above[np.arange(len(above)), np.argmin(is_open, axis=1)])

    def prices(self, pieces: IntArray) -> FloatArray:
        """What a record of every code loses, by the pieces of all codes, (n_codes,)."""
        tree = self.domain.hierarchy
        if tree is not None:
            return np.asarray(self.weight * tree.losses[pieces])
        return self.weight * self.domain.loss(pieces, self.last(pieces))

    def last(self, pieces: IntArray) -> IntArray:
        """The last code of the piece that each code lies in, (n_codes,)."""
        starts = np.unique(pieces)
        return np.append(starts[1:], self.domain.n_codes)[np.searchsorted(starts, pieces)] - 1


def _column(domain: Domain, weight: float, counts: IntArray, first: int, most: int) -> _CutColumn:
    tree = domain.hierarchy
    if tree is None:
        at = _cuts(counts, int(domain.has_missing), most)
        nothing = np.zeros(0, np.int64)
        return _CutColumn(domain, weight, range(first, first + len(at)), at, np.full(len(at), ALWAYS), nothing)
    opens = np.full(tree.n_nodes, ALWAYS, np.int64)
    nodes: list[int] = []
    parents: list[int] = []
    waiting = [(tree.root, ALWAYS)]
    for node, parent in waiting:  # grows meanwhile, from the root downwards
        children = tree.children(node) if node >= tree.n_leaves else []
        opens[node] = parent
        if len(children) > 1:
            opens[node] = first + len(nodes)
            nodes.append(node)
            parents.append(parent)
        waiting += [(child, int(opens[node])) for child in children]
    at = np.array(nodes, np.int64)
    return _CutColumn(domain, weight, range(first, first + len(at)), at, np.array(parents, np.int64), opens)


def _cuts(counts: IntArray, n_missing: int, most: int) -> IntArray:
    """Codes that a piece may begin with: all but the first, or those at quantiles of the records."""
    every = np.arange(1, len(counts))
    if len(every) <= most:
        return every
    below = np.cumsum(counts)[:-1]
    places = np.searchsorted(below, np.arange(1, most + 1) * counts.sum() / (most + 1))
    at = every[np.minimum(places, len(every) - 1)]
    return np.unique(np.append(at, 1) if n_missing else at)  # records without a value can be parted


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """What some cuts make of the cells of the finest table."""

    chosen: BoolArray  # (n_items + 1,)
    pieces: IntArray  # (n_dims, n_cells)
    classes: IntArray  # (n_cells,)
    n_classes: int
    fails: BoolArray  # (n_cells,) in a class that does not satisfy the goal
    n_failing: int  # records there
    price: FloatArray  # (n_cells,) of a published record
    loss: float

    def brief(self) -> _TriedCuts:
        return _TriedCuts(self.chosen, self.n_classes, np.packbits(self.fails), self.n_failing)


@dataclass(frozen=True, slots=True, eq=False)
class _TriedCuts:
    """What is remembered of cuts beside the best ones: there are as many of them as items, each about all cells."""

    chosen: BoolArray
    n_classes: int
    packed_fails: NDArray[np.uint8]  # eight cells a byte
    n_failing: int


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """All sets of cuts that have a head and any cuts of a tail."""

    bound: float  # none of them loses less
    head: BoolArray
    tail: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Enumeration:
    """A search under way: the best cuts so far, and the families of sets that were not looked at."""

    problem: Problem
    loss: Loss
    budget: int  # records that may be suppressed
    most_cuts: int
    n_checked: int = 0
    waiting: list[_Family] = field(default_factory=list)
    best: _Counted = field(init=False)
    columns: list[_CutColumn] = field(init=False)
    parents: IntArray = field(init=False)  # (n_items,)
    codes: IntArray = field(init=False)  # (n_dims, n_cells) of one of the tuples of each cell
    stats: ClassStats = field(init=False)  # of the cells as classes

    def __post_init__(self) -> None:
        table = self.problem.table
        self.columns, n_items = [], 0
        for d, domain in enumerate(table.domains):
            weight = float(table.space.weight[d])
            self.columns.append(_column(domain, weight, table.originals(d), n_items, self.most_cuts))
            n_items += len(self.columns[-1].at)
        self.parents = np.concatenate([np.zeros(0, np.int64), *(column.parents for column in self.columns)])
        codes = np.stack([table.quasi_codes(d) for d in range(len(self.columns))])
        finest = np.ones(n_items + 1, np.bool_)
        cell_of_tuple, n_cells = number_rows(
            [c.pieces(finest)[own] for c, own in zip(self.columns, codes, strict=True)], table.n_tuples
        )
        firsts = np.zeros(n_cells, np.int64)
        firsts[cell_of_tuple[::-1]] = np.arange(table.n_tuples)[::-1]
        self.codes = codes[:, firsts]
        self.stats = table.class_stats(cell_of_tuple, n_cells)
        self.best = self._count(self._no_cuts())

    def _no_cuts(self) -> BoolArray:
        chosen = np.zeros(len(self.parents) + 1, np.bool_)
        chosen[ALWAYS] = True
        return chosen

    @property
    def bound(self) -> float:
        """No set of cuts loses less than this, as far as is known."""
        return min([self.best.loss, *(family.bound for family in self.waiting)])

    @property
    def is_optimal(self) -> bool:
        return not self._may_be_better(self.bound)

    def remark(self) -> str:
        """How good the best cuts are."""
        return (
            f"best of {self.n_checked:,} sets of cuts, {self.loss} {self.best.loss:.4g}; "
            f"none has less than {self.bound:.4g}"
        )

    def run(self, checks: int, progress: Progress) -> None:
        """Search until nothing better is left, or so many sets of cuts were counted."""
        progress.start("solve", None)
        items = tuple(range(len(self.parents)))
        self._descend(checks, items, progress)
        self.waiting = [_Family(0.0, self._no_cuts(), items)]
        while self.waiting and self.n_checked < checks:
            family = self.waiting.pop()
            if self._may_be_better(family.bound):
                self.waiting += reversed(self._parts(family, progress))

    def _descend(self, checks: int, items: Sequence[int], progress: Progress) -> None:
        """A good start: always the cut that saves most, while one does."""
        while self.n_checked < checks:
            before = self.best
            self._tried(before, [v for v in items if self._may_follow(before.chosen, v)], progress)
            if self.best is before:
                return

    def _parts(self, family: _Family, progress: Progress) -> list[_Family]:
        """A family cut apart by the first cut that follows its head; those that must lose more are left out.

        Cuts that split most classes come first: they are the ones that later parts then have to do without.
        """
        head, tail = self._count(family.head), family.tail
        tried = self._tried(head, [v for v in tail if self._may_follow(family.head, v)], progress)
        untried = head.brief()
        bounds: dict[int, float] = {}
        while True:
            least = self._least_prices(family.head, tail)
            bounds = {v: self._bound(least, tried.get(v, untried)) for v in tail}
            kept = self._reachable(family.head, [v for v in tail if self._may_be_better(bounds[v])])
            if len(kept) == len(tail):
                break
            tail = kept
        first = sorted((v for v in tail if v in tried), key=lambda v: (-tried[v].n_classes, v))
        later = [v for v in tail if v not in tried]  # wait for the cut that opens the node above
        parts = []
        for i, v in enumerate(first):
            chosen = tried[v].chosen
            parts.append(_Family(bounds[v], chosen, self._reachable(chosen, [*first[i + 1 :], *later])))
        return parts

    def _may_follow(self, chosen: BoolArray, item: int) -> bool:
        return bool(chosen[self.parents[item]] & ~chosen[item])

    def _reachable(self, chosen: BoolArray, items: Sequence[int]) -> tuple[int, ...]:
        """Items without those whose parent is neither chosen nor among them; parents have smaller numbers."""
        may_be = chosen.copy()
        for v in sorted(items):
            may_be[v] = may_be[self.parents[v]]
        return tuple(v for v in items if may_be[v])

    def _may_be_better(self, bound: float) -> bool:
        return bound < self.best.loss * (1 - ROUNDING)

    def _tried(self, head: _Counted, items: Sequence[int], progress: Progress) -> dict[int, _TriedCuts]:
        """What each of some cuts makes of a head; the best of all is remembered."""
        tried = {}
        for v in items:
            counted = self._count_with(head, v)
            tried[v] = counted.brief()
            self.n_checked += 1
            progress.advance(self.n_checked)
            if counted.n_failing <= self.budget and self._may_be_better(counted.loss):
                self.best = counted
                tell_better(progress, counted.loss)
        return tried

    def _count(self, chosen: BoolArray) -> _Counted:
        pieces = np.stack([c.pieces(chosen)[own] for c, own in zip(self.columns, self.codes, strict=True)])
        return self._judged(chosen, pieces, *number_rows(list(pieces), pieces.shape[1]))

    def _count_with(self, head: _Counted, item: int) -> _Counted:
        """The same with one more cut: only its column changes."""
        chosen = head.chosen.copy()
        chosen[item] = True
        d = next(d for d, column in enumerate(self.columns) if item in column.items)
        pieces = head.pieces.copy()
        pieces[d] = self.columns[d].pieces(chosen)[self.codes[d]]
        return self._judged(chosen, pieces, *number_rows([head.classes, pieces[d]], pieces.shape[1]))

    def _judged(self, chosen: BoolArray, pieces: IntArray, classes: IntArray, n_classes: int) -> _Counted:
        goal, size = self.problem.goal, self.stats.size
        records = np.bincount(classes, weights=size, minlength=n_classes)
        is_quick = goal.is_only_size
        admitted = records >= goal.min_size if is_quick else goal.admits(self.stats.rollup(classes, n_classes))
        fails = ~admitted[classes]
        price = records.astype(np.float64)[classes] if self.loss == "discernibility" else self._cell_prices(chosen)
        loss = float((size * np.where(fails, self._suppressed, price)).sum())
        return _Counted(chosen, pieces, classes, n_classes, fails, int(size[fails].sum()), price, loss)

    @property
    def _suppressed(self) -> float:
        """The price of a suppressed record."""
        return float(self.problem.table.n_rows if self.loss == "discernibility" else self.problem.table.space.n_dims)

    def _cell_prices(self, chosen: BoolArray) -> FloatArray:
        prices = np.zeros(self.codes.shape[1])
        for column, own in zip(self.columns, self.codes, strict=True):
            prices += column.prices(column.pieces(chosen))[own]
        return prices

    def _least_prices(self, head: BoolArray, tail: Sequence[int]) -> FloatArray:
        """What a published record of each cell costs at least, whichever cuts of a tail follow, (n_cells,)."""
        chosen = head.copy()
        chosen[list(tail)] = True
        if self.loss == "ncp":
            return self._cell_prices(chosen)
        pieces = [c.pieces(chosen)[own] for c, own in zip(self.columns, self.codes, strict=True)]
        classes, n_classes = number_rows(pieces, self.codes.shape[1])
        records = np.bincount(classes, weights=self.stats.size, minlength=n_classes)
        return np.maximum(records, self.problem.goal.min_size)[classes]

    def _bound(self, least: FloatArray, tried: _TriedCuts) -> float:
        """What a set of cuts and all that add cuts of the tail cost at least: failing classes fail in all of them."""
        if tried.n_failing > self.budget:
            return float("inf")
        fails = np.unpackbits(tried.packed_fails, count=len(least)).astype(np.bool_)
        return float((self.stats.size * np.where(fails, self._suppressed, least)).sum())

    def solution(self) -> Solution:
        """The classes of the best cuts; what fails is suppressed."""
        table, chosen = self.problem.table, self.best.chosen
        pieces = [column.pieces(chosen) for column in self.columns]
        of_tuple = [own[table.quasi_codes(d)] for d, own in enumerate(pieces)]
        classes, n_classes = number_rows(of_tuple, table.n_tuples)
        admitted = self.problem.goal.admits(table.class_stats(classes, n_classes))
        numbers, firsts = released(np.where(admitted[classes], classes, -1))
        lo, hi, nodes = (np.full((len(firsts), len(self.columns)), -1, np.int64) for _ in range(3))
        for d, (column, own) in enumerate(zip(self.columns, pieces, strict=True)):
            at, tree = of_tuple[d][firsts], column.domain.hierarchy
            if tree is not None:
                lo[:, d], hi[:, d], nodes[:, d] = tree.first[at], tree.last[at], at
            else:
                lo[:, d], hi[:, d] = at, column.last(own)[at]
        return Solution(numbers, lo, hi, nodes=nodes)
