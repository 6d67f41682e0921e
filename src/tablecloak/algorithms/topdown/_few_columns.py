"""Cells one by one, for goals that ask only what few columns show together: LKC-privacy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.merge_classes import renumbered
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.models.base import TOLERANCE, Goal
from tablecloak.models.fields import is_named
from tablecloak.models.lkc_privacy import LKCPrivacy
from tablecloak.progress import CELLS, Progress
from tablecloak.stats.classes import Counted

# Tuples that a search may look at, once for every set of columns; beyond, classes are asked instead.
MOST_WORK = 2_000_000_000
# Codes that published sets may list together.
MOST_LISTED = 50_000_000
# A round that lowers the loss by less than this share is the last.
WORTH = 0.001


def speaks_of_few_columns(goal: Goal) -> bool:
    """All that the goal asks is asked of groups that few columns form, which are counted in records."""
    return not goal.counts_persons and all(isinstance(m, LKCPrivacy) for m in goal.models)


def by_few_columns(problem: Problem, is_over: Callable[[], bool], progress: Progress) -> Solution | None:
    """Every cell of a record as exact as the groups that few columns form allow; None where that takes too long.

    All cells begin exact. Where the records that agree on `l` columns are too few, or share a value too often, each of
    them gives up one step of the cell that helps most for its loss, until no group fails. Then cells of one column
    become more exact together, column by column, but for those that would leave or enter a group that fails.
    """
    table = problem.table
    models = [m for m in problem.goal.models if isinstance(m, LKCPrivacy)]
    search = _CellSearch(table, [_Crowd.of(m, table) for m in models])
    if search.work > MOST_WORK or search.listed > MOST_LISTED:
        return None
    progress.start(CELLS, table.n_tuples)
    if not search.climb(is_over):
        return None
    search.lower_while_it_pays(is_over)
    return search.solution()


@dataclass(frozen=True, slots=True, eq=False)
class _Crowd:
    """What one model asks of the records that agree on so many columns."""

    n_columns: int
    least: int  # records
    share: float  # of one value, at most
    values: tuple[tuple[IntArray, BoolArray], ...]  # the value of every tuple, and which values are protected

    @classmethod
    def of(cls, model: LKCPrivacy, table: CodedTable) -> _Crowd:
        names = model.sensitive_columns
        told = [
            (table.sensitive_codes(i), is_named(domain, model.values))
            for i, domain in enumerate(table.sensitive)
            if domain.kind is Counted.SENSITIVE and (names is None or domain.name in names)
        ]
        n_columns = min(model.l, table.space.n_dims)
        return cls(n_columns, model.k, model.c, tuple(told) if model.c < 1 else ())

    def fails(self, group: IntArray, n_groups: int, weights: IntArray) -> BoolArray:
        """Which groups hold too few records, or too many with one value, (n_groups,); a group without any does not."""
        sizes = np.bincount(group, weights, n_groups)
        fails: BoolArray = (sizes > 0) & (sizes < self.least)
        for codes, is_protected in self.values:
            chosen = is_protected[codes]
            cell, room = _numbered([group[chosen], codes[chosen]])
            held = np.bincount(cell, weights[chosen], room)[cell]  # records with the value of each
            fails[group[chosen][held > (self.share + TOLERANCE) * sizes[group[chosen]]]] = True
        return fails


@dataclass(frozen=True, slots=True, eq=False)
class _Ladder:
    """What a cell of one column may publish, from its code up to anything; each step is strictly wider."""

    up: IntArray  # (n_nodes,) the next step, the last its own
    loss: FloatArray  # (n_nodes,)
    lo: IntArray  # (n_nodes,) ranks of codes
    hi: IntArray
    leaf: IntArray  # (n_codes,) node of every code
    by_rank: IntArray  # (n_codes,) code of every rank
    paths: IntArray  # (n_codes, height + 1) nodes from the top down to the code, which is repeated

    @classmethod
    def of(cls, domain: Domain, records: IntArray) -> _Ladder:
        if domain.hierarchy is not None:
            tree = domain.hierarchy
            up, first, last = np.maximum(tree.parent, 0), tree.first, tree.last
            up[tree.root] = tree.root
            for node in range(tree.n_nodes - 2, -1, -1):  # a parent has a larger number
                if first[up[node]] == first[node] and last[up[node]] == last[node]:
                    up[node] = up[up[node]]
            every = np.arange(domain.n_codes)
            return cls._with_paths(up, np.asarray(tree.losses, np.float64), first, last, every, every)
        by_rank = np.arange(domain.n_codes)
        if domain.kind is DomainKind.SET:  # rare values come last, and next to each other
            by_rank = np.lexsort((by_rank, -records))
        lo, hi, up = _halved(records[by_rank], domain, by_rank)
        sizes = hi - lo + 1
        if domain.kind is DomainKind.SET:
            listed = CodeSets.of(np.repeat(np.arange(len(lo)), sizes), by_rank[_ranges(lo, sizes)], len(lo))
            loss = domain.set_loss(listed)
        else:
            loss = domain.loss(lo, hi)
        leaf = np.empty(domain.n_codes, np.int64)
        is_leaf = np.flatnonzero(sizes == 1)
        leaf[by_rank[lo[is_leaf]]] = is_leaf
        return cls._with_paths(up, loss, lo, hi, leaf, by_rank)

    @classmethod
    def _with_paths(
        cls, up: IntArray, loss: FloatArray, lo: IntArray, hi: IntArray, leaf: IntArray, by_rank: IntArray
    ) -> _Ladder:
        upwards = [leaf]
        while (up[upwards[-1]] != upwards[-1]).any():
            upwards.append(up[upwards[-1]])
        depth = np.zeros(len(up), np.int64)
        at = np.arange(len(up))
        while (up[at] != at).any():
            depth += up[at] != at
            at = up[at]
        paths = np.repeat(leaf[:, None], len(upwards), axis=1)
        for nodes in upwards:
            paths[np.arange(len(leaf)), depth[nodes]] = nodes
        return cls(up, loss, lo, hi, leaf, by_rank, paths)

    @property
    def top(self) -> int:
        """The step that holds every code."""
        return int(self.paths[0, 0])

    def down(self, nodes: IntArray, codes: IntArray) -> IntArray:
        """The next step from nodes towards codes inside them."""
        widths = self.hi - self.lo
        below, path = self.leaf[codes], self.paths[codes]
        for step in reversed(range(path.shape[1])):
            node = path[:, step]
            is_inside = (self.lo[node] >= self.lo[nodes]) & (self.hi[node] <= self.hi[nodes])
            below = np.where(is_inside & (widths[node] < widths[nodes]), node, below)
        return below


def _halved(records: IntArray, domain: Domain, by_rank: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Ranges of ranks, each halved by its records, and the number of the range that each comes from.

    The missing value stands apart: together with others it is published as anything.
    """
    missing = int(np.flatnonzero(by_rank == 0)[0]) if domain.has_missing else -1
    sums = np.concatenate([[0], np.cumsum(records)])
    lo, hi, up = [0], [len(records) - 1], [0]
    waiting = [0]
    while waiting:
        node = waiting.pop()
        first, last = lo[node], hi[node]
        if first == last:
            continue
        if first <= missing <= last:
            parts = [(first, missing - 1), (missing, missing), (missing + 1, last)]
        else:
            middle = int(np.searchsorted(sums, (sums[first] + sums[last + 1]) / 2))
            middle = min(max(middle, first + 1), last)
            parts = [(first, middle - 1), (middle, last)]
        for a, b in parts:
            if a <= b:
                waiting.append(len(lo))
                lo.append(a)
                hi.append(b)
                up.append(node)
    return np.array(lo), np.array(hi), np.array(up)


def _ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """The whole numbers from each start on, one range after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes - starts, sizes)


class _CellSearch:
    """The node that every cell publishes, while it changes."""

    def __init__(self, table: CodedTable, crowds: list[_Crowd]) -> None:
        self.table, self.crowds = table, crowds
        self.n, self.dims = table.n_tuples, range(table.space.n_dims)
        self.n_joins = 0
        self.weights = table.weights if len(table.weights) else np.ones(self.n, np.int64)
        self.ladders = [_Ladder.of(domain, table.originals(d)) for d, domain in enumerate(table.domains)]
        self.codes = [table.quasi_codes(d).astype(np.int64) for d in self.dims]
        self.nodes = [ladder.leaf[codes] for ladder, codes in zip(self.ladders, self.codes, strict=True)]

    @property
    def work(self) -> int:
        """Tuples that are looked at when every set of columns is."""
        steps: int = sum(ladder.paths.shape[1] for ladder in self.ladders)
        return self.n * steps * sum(comb(len(self.dims), crowd.n_columns) for crowd in self.crowds)

    @property
    def listed(self) -> int:
        """Codes in published sets, at most."""
        return sum(self.n * d.n_codes for d in self.table.domains if d.kind is DomainKind.SET)

    def climb(self, is_over: Callable[[], bool]) -> bool:
        """Whether no group fails after cells gave up one step after the other; no, if that takes too long."""
        steps = [ladder.loss[ladder.up] - ladder.loss for ladder in self.ladders]
        weight = self.table.space.weight
        while not is_over():
            votes = np.zeros((len(self.dims), self.n))
            for columns, fails in self._failing(None):
                for d in columns:
                    votes[d] += fails
            is_failing = votes.any(axis=0)
            if not is_failing.any():
                return True
            for d, (ladder, nodes) in enumerate(zip(self.ladders, self.nodes, strict=True)):
                votes[d] /= weight[d] * steps[d][nodes] + 0.01
                votes[d][ladder.up[nodes] == nodes] = 0.0
            best = np.argmax(votes, axis=0)
            can = is_failing & (votes.max(axis=0) > 0)
            if not can.any():
                if not self._join():
                    return False
                continue
            for d, ladder in enumerate(self.ladders):
                here = can & (best == d)
                self.nodes[d] = np.where(here, ladder.up[self.nodes[d]], self.nodes[d])
        return False

    def _join(self) -> bool:
        """Whether others joined records that fail though they show nothing, more every time, where most are."""
        least = max(crowd.least for crowd in self.crowds) << self.n_joins
        self.n_joins += 1
        for columns, fails in self._failing(None):
            if not fails.any():
                continue
            hidden = [self.ladders[d].up[self.nodes[d]] == self.nodes[d] for d in columns]
            for i, d in enumerate(columns):
                here = ~hidden[i]
                near = here & np.logical_and.reduce([h for j, h in enumerate(hidden) if j != i] or [here])
                joins = near if near.any() else here
                if not joins.any():
                    continue
                records = np.bincount(self.nodes[d][joins], self.weights[joins], len(self.ladders[d].up))
                joining = np.flatnonzero(joins & (self.nodes[d] == np.argmax(records)))
                enough = int(np.searchsorted(np.cumsum(self.weights[joining]), least)) + 1
                self.nodes[d][joining[:enough]] = self.ladders[d].top
                return True
        return False

    def lower_while_it_pays(self, is_over: Callable[[], bool]) -> None:
        """Columns become more exact, again and again, those first that may save most."""
        before = self.loss()
        while True:
            for d in sorted(self.dims, key=lambda d: -float(self._losses(d).sum())):
                while not is_over() and self._lower(d):
                    pass
            after = self.loss()
            if is_over() or before - after <= WORTH * before:
                return
            before = after

    def _lower(self, d: int) -> bool:
        """Whether cells of a column went down one step, all that can."""
        ladder, old = self.ladders[d], self.nodes[d]
        down = ladder.down(old, self.codes[d])
        goes = down != old
        while goes.any():
            self.nodes[d] = np.where(goes, down, old)
            n_going = int(goes.sum())
            for columns, fails in self._failing(d):
                if not fails.any():
                    continue
                # those who came to a failing group go back, and so do those who left one
                goes &= ~fails
                others = [self.nodes[c] for c in columns if c != d]
                before, n_groups = _numbered([old, *others])
                was_left = np.zeros(n_groups, bool)
                was_left[before[fails & (self.nodes[d] == old)]] = True
                goes &= ~was_left[before]
            if int(goes.sum()) == n_going:
                return True
        self.nodes[d] = old
        return False

    def _failing(self, d: int | None) -> Iterator[tuple[tuple[int, ...], BoolArray]]:
        """Sets of columns, those with one of them where it is given, and the tuples whose group on them fails."""
        for crowd in self.crowds:
            for columns in combinations(self.dims, crowd.n_columns):
                if d is None or d in columns:
                    group, n_groups = _numbered([self.nodes[c] for c in columns])
                    yield columns, crowd.fails(group, n_groups, self.weights)[group]

    def _losses(self, d: int) -> FloatArray:
        losses: FloatArray = self.table.space.weight[d] * self.ladders[d].loss[self.nodes[d]] * self.weights
        return losses

    def loss(self) -> float:
        """Loss of all records."""
        return sum(float(self._losses(d).sum()) for d in self.dims)

    def _classes(self) -> tuple[IntArray, IntArray]:
        group, _ = _numbered(self.nodes)
        classes, _ = renumbered(group)
        return classes, np.unique(classes, return_index=True)[1]

    def solution(self) -> Solution:
        """Records with equal cells as classes."""
        classes, firsts = self._classes()
        lo, hi, nodes = (np.zeros((len(firsts), len(self.dims)), np.int64) for _ in range(3))
        sets = {}
        for d, (domain, ladder) in enumerate(zip(self.table.domains, self.ladders, strict=True)):
            node = self.nodes[d][firsts]
            lo[:, d], hi[:, d] = ladder.lo[node], ladder.hi[node]
            nodes[:, d] = node if domain.hierarchy is not None else -1
            if domain.kind is DomainKind.SET:
                sizes = hi[:, d] - lo[:, d] + 1
                codes = ladder.by_rank[_ranges(lo[:, d], sizes)]
                sets[d] = CodeSets.of(np.repeat(np.arange(len(node)), sizes), codes, len(node))
                lo[:, d] = sets[d].first
                hi[:, d] = np.maximum.reduceat(sets[d].codes, sets[d].starts[:-1])
        return Solution(classes, lo, hi, nodes=nodes, sets=sets)


def _numbered(columns: list[IntArray]) -> tuple[IntArray, int]:
    """A number for every tuple, equal where all columns are, and one more than the largest."""
    number, room = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if room > (1 << 62) // width:
            values, number = np.unique(number, return_inverse=True)
            room = len(values)
        number, room = number.reshape(-1) * width + column, room * width
    if room > 4 * len(number) + (1 << 16):
        values, number = np.unique(number, return_inverse=True)
        room = len(values)
    return number.reshape(-1), room
