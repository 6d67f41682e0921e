"""Top-down partitioning of a coded table: cut ranges of tuples until no cut is admitted by the goal.

Large nodes are cut one wave after the other; nodes that fit the cache become jobs, solved independently on threads.
What is cut depends only on the tuples of a node, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tablecloak.algorithms.base import CutTree, Problem, Solution
from tablecloak.algorithms.topdown._cut_costs import Chooser
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.register import Boxes, Register
from tablecloak.kernels.cutting import count_codes, descend, propose, sizes, split
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.packed_codes import ClassCost, unpack
from tablecloak.progress import Progress, silent, tell_groups
from tablecloak.stats.classes import ClassStats, Evidence, Histogram

# A job of this many tuples keeps its keys in the processor's cache.
JOB_TUPLES = 1 << 17
# Pricing cuts by the boxes of both sides gains about 1 % of the loss; on larger tables it costs half the search.
EXACT_PRICES_UP_TO = 1 << 18


@dataclass(frozen=True, slots=True)
class CutRule:
    """How a node is cut."""

    by_saving: bool  # the cut that saves most loss, instead of the widest dimension
    relaxed: bool  # rows that carry the cut value may be shared out between both sides
    cost: ClassCost = ClassCost.CELLS  # what cuts by saving minimise
    chooser: Chooser | None = None  # chooses cuts by a loss that kernels do not know
    min_size: int = 1  # least size of a class, beside that of the goal


@dataclass(slots=True)
class _Leaves:
    """Leaves and cuts, collected in pieces."""

    starts: list[IntArray] = field(default_factory=list)
    lo: list[IntArray] = field(default_factory=list)
    hi: list[IntArray] = field(default_factory=list)
    cuts: list[IntArray] = field(default_factory=list)  # rows of (start, middle, end, dimension, cut)

    def add(self, other: _Leaves) -> None:
        self.starts += other.starts
        self.lo += other.lo
        self.hi += other.hi
        self.cuts += other.cuts


class _PartitionSearch:
    """Tuples that are moved in place, and the questions asked about ranges of them."""

    def __init__(self, problem: Problem, rule: CutRule, compiled: bool | None) -> None:
        table = problem.table
        self.problem = problem
        self.rule = rule
        self.is_compiled = pays(table.n_tuples) if compiled is None else compiled
        is_large = table.n_tuples > EXACT_PRICES_UP_TO
        self.space = table.space._replace(exact_up_to=0) if is_large else table.space
        self.keys = table.keys.copy()
        self.weights = table.weights.copy()
        self.ids = np.arange(table.n_tuples, dtype=np.uint32)
        self.min_size = max(1, rule.min_size, problem.goal.min_size)
        self.only_size = problem.goal.is_only_size
        self.prunable, self.others = problem.goal.parts()
        counts_people = table.register is not None and Evidence.POPULATION in problem.goal.evidence
        self.people = _People(table.register, table.n_tuples) if table.register and counts_people else None

    @property
    def descends(self) -> bool:
        """Whether one call of a kernel goes down to the leaves."""
        return self.only_size and self.rule.chooser is None

    def propose(self, starts: IntArray, ends: IntArray, is_tried: BoolArray) -> tuple[IntArray, ...]:
        if self.rule.chooser is not None:
            return self.rule.chooser.propose(
                self.keys, self.weights, starts, ends, self.space, is_tried, min_size=self.min_size
            )
        return propose.form(compiled=self.is_compiled)(
            self.keys, self.weights, starts, ends, self.space, is_tried,
            min_size=self.min_size, by_saving=self.rule.by_saving, relaxed=self.rule.relaxed, cost=self.rule.cost,
        )  # fmt: skip

    def split(self, starts: IntArray, ends: IntArray, dims: IntArray, cuts: IntArray, ties: IntArray) -> IntArray:
        return split.form(compiled=self.is_compiled)(
            self.keys, self.ids, self.weights, starts, ends, self.space, dims, cuts, ties
        )

    def accepts(self, starts: IntArray, middles: IntArray, ends: IntArray) -> BoolArray:
        """Which cuts are carried out: both sides satisfy the goal.

        A model that is not monotone may hold below a node that violates it, so such a node is cut further whatever it
        says about the sides; once a node satisfies the model, everything below it does.
        """
        begins, stops = np.concatenate([starts, middles]), np.concatenate([middles, ends])
        if self.only_size:
            return _both(self._n_records(begins, stops) >= self.min_size)
        sides, moved = self.stats(begins, stops), None
        if self.people is not None:
            moved = self.people.shared(starts, self.boxes(begins, stops))
            sides = replace(sides, beyond=moved.counts)
        ok = _both(self.prunable.admits(sides))
        if self.others.models:
            whole = self.stats(starts, ends)
            whole = whole if self.people is None else replace(whole, beyond=self.people.counts(starts))
            ok &= _both(self.others.admits(sides)) | ~self.others.admits(whole)
        if self.people is not None and moved is not None:
            self.people.move(moved, ok, begins)
        return ok

    def boxes(self, starts: IntArray, ends: IntArray) -> Boxes:
        """What ranges publish as classes."""
        lengths = ends - starts
        before = np.cumsum(lengths) - lengths
        rows = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        keys = self.keys[:, rows]
        codes = [unpack(keys, self.space.layout, dim) for dim in range(self.space.n_dims)]
        assert self.people is not None
        domains = [column.domain for column in self.people.register.columns]
        return Boxes.of(codes, np.repeat(np.arange(len(starts)), lengths), len(starts), domains)

    def settle(self, starts: IntArray, ends: IntArray) -> None:
        """Give everybody of the register to the first of the nodes that a search begins with."""
        if self.people is not None:
            first = self.people.register.first_class(self.boxes(starts, ends))
            self.people.node_of[:] = np.where(first >= 0, starts[first], -1)

    def stats(self, starts: IntArray, ends: IntArray) -> ClassStats:
        """Statistics of ranges as classes."""
        size = self._n_records(starts, ends)
        table = self.problem.table
        hist = {}
        for i, domain in enumerate(table.sensitive):
            dim = self.space.n_dims + i
            indptr, codes, counts = count_codes.form(compiled=self.is_compiled)(
                self.keys, self.weights, starts, ends, self.space, dim, domain.n_values
            )
            hist[domain.name] = Histogram(domain, indptr, codes, counts, table.totals[domain.name])
        return ClassStats(size, hist)

    def job(self, begin: int, end: int) -> _Leaves:
        """Partition one range to its leaves."""
        if self.descends:
            starts, lo, hi, cuts = descend.form(compiled=self.is_compiled)(
                self.keys, self.ids, self.weights, begin, end, self.space,
                min_size=self.min_size, by_saving=self.rule.by_saving, relaxed=self.rule.relaxed, cost=self.rule.cost,
            )  # fmt: skip
            return _Leaves([starts], [lo], [hi], [cuts])
        leaves, _ = self.waves(np.array([begin]), np.array([end]), job_tuples=0)
        return leaves

    def sizes(self, starts: Sequence[IntArray]) -> IntArray:
        """Records of the ranges that begin at these places, each ending where the next begins."""
        begins = np.sort(np.concatenate(starts))
        return self._n_records(begins, np.append(begins[1:], len(self.ids)))

    def _n_records(self, starts: IntArray, ends: IntArray) -> IntArray:
        return sizes.form(compiled=self.is_compiled)(self.weights, starts, ends)

    def waves(
        self,
        starts: IntArray,
        ends: IntArray,
        *,
        job_tuples: int,
        pool: ThreadPoolExecutor | None = None,
        progress: Progress = silent,
    ) -> tuple[_Leaves, list[tuple[int, int]]]:
        """Cut all nodes once per wave until they are leaves, or small enough to be handed out as jobs."""
        leaves = _Leaves()
        jobs: list[tuple[int, int]] = []
        is_tried = np.zeros((len(starts), self.space.n_dims), bool)
        while len(starts):
            is_job = (ends - starts) <= job_tuples
            jobs += list(zip(starts[is_job].tolist(), ends[is_job].tolist(), strict=True))
            starts, ends, is_tried = starts[~is_job], ends[~is_job], is_tried[~is_job]
            starts, ends, is_tried = self._one_wave(starts, ends, is_tried, leaves, pool)
            tell_groups(progress, partial(self.sizes, [*leaves.starts, starts, _begins(jobs)]))
        return leaves, jobs

    def _one_wave(
        self, starts: IntArray, ends: IntArray, is_tried: BoolArray, leaves: _Leaves, pool: ThreadPoolExecutor | None
    ) -> tuple[IntArray, IntArray, BoolArray]:
        if len(starts) == 0:
            return starts, ends, is_tried
        dims, cuts, _, lo, hi, middles = self._cut(starts, ends, is_tried, pool)
        is_leaf = dims < 0
        leaves.starts.append(starts[is_leaf])
        leaves.lo.append(lo[is_leaf])
        leaves.hi.append(hi[is_leaf])
        at, to, dims, cuts, is_tried = (
            starts[~is_leaf],
            ends[~is_leaf],
            dims[~is_leaf],
            cuts[~is_leaf],
            is_tried[~is_leaf],
        )
        if len(at) == 0:
            return at, to, is_tried
        is_cut = self.accepts(at, middles, to)
        leaves.cuts.append(np.stack([at, middles, to, dims, cuts], axis=1)[is_cut])
        again = ~is_cut
        is_tried[again, dims[again]] = True
        fresh = np.zeros((2 * int(is_cut.sum()), is_tried.shape[1]), bool)
        return (
            np.concatenate([at[again], at[is_cut], middles[is_cut]]),
            np.concatenate([to[again], middles[is_cut], to[is_cut]]),
            np.concatenate([is_tried[again], fresh]),
        )

    def _cut(
        self, starts: IntArray, ends: IntArray, is_tried: BoolArray, pool: ThreadPoolExecutor | None
    ) -> tuple[IntArray, ...]:
        """Propose and carry out one cut of every node; large nodes are shared out between threads."""
        if pool is None or len(starts) == 1:
            return self._cut_some(starts, ends, is_tried)
        parts = pool.map(
            lambda i: self._cut_some(starts[i : i + 1], ends[i : i + 1], is_tried[i : i + 1]), range(len(starts))
        )
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def _cut_some(self, starts: IntArray, ends: IntArray, is_tried: BoolArray) -> tuple[IntArray, ...]:
        dims, cuts, ties, lo, hi = self.propose(starts, ends, is_tried)
        goes = dims >= 0
        middles = self.split(starts[goes], ends[goes], dims[goes], cuts[goes], ties[goes])
        return dims, cuts, ties, lo, hi, middles


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """Where the people of some nodes go if these are cut."""

    people: IntArray
    sides: IntArray  # of each: places in the sides of all cuts, left ones first; -1: neither side covers them
    nodes: IntArray  # of each: place of the node
    counts: IntArray  # (n_sides,)


class _People:
    """The people of a register, each in the node whose box covers them, or in none."""

    def __init__(self, register: Register, n_tuples: int) -> None:
        self.register = register
        self.n_tuples = n_tuples
        self.node_of = np.full(len(register.n_people), -1, np.int64)  # where it begins; jobs touch their own alone

    def _of_nodes(self, starts: IntArray) -> tuple[IntArray, IntArray]:
        """Who is in which of some nodes."""
        place = np.full(self.n_tuples + 1, -1, np.int64)  # the last is for those who are nowhere
        place[starts] = np.arange(len(starts))
        nodes = place[self.node_of]
        people = np.flatnonzero(nodes >= 0)
        return people, nodes[people]

    def counts(self, starts: IntArray) -> IntArray:
        """People of some nodes, (n_nodes,)."""
        people, nodes = self._of_nodes(starts)
        return np.bincount(nodes, self.register.n_people[people], minlength=len(starts)).astype(np.int64)

    def shared(self, starts: IntArray, sides: Boxes) -> _Move:
        """Who would go to which side of a cut; of those whom both sides cover every other one goes left."""
        people, nodes = self._of_nodes(starts)
        reaches, n = self.register.reaches(sides), len(starts)
        left, right = (self.register.holds(reaches, side, people) for side in (nodes, nodes + n))
        goes_left = left & (~right | (people % 2 == 0))
        to = np.where(goes_left, nodes, np.where(right, nodes + n, -1))
        is_in = to >= 0
        counts = np.bincount(to[is_in], self.register.n_people[people[is_in]], minlength=2 * n).astype(np.int64)
        return _Move(people, to, nodes, counts)

    def move(self, moved: _Move, is_cut: BoolArray, begins: IntArray) -> None:
        """Send the people of nodes that are cut to their sides, which begin at these places."""
        goes = is_cut[moved.nodes]
        sides = moved.sides[goes]
        self.node_of[moved.people[goes]] = np.where(sides >= 0, begins[sides], -1)


def _begins(jobs: Sequence[tuple[int, int]]) -> IntArray:
    return np.array([begin for begin, _ in jobs], np.int64)


def _both(ok: BoolArray) -> BoolArray:
    """Left sides come first, right sides after them."""
    half = len(ok) // 2
    return ok[:half] & ok[half:]


def partition(problem: Problem, rule: CutRule, progress: Progress, *, compiled: bool | None = None) -> Solution:
    """Cut the table top-down; every class satisfies the goal if the whole table does."""
    search = _PartitionSearch(problem, rule, compiled)
    n = problem.table.n_tuples
    progress.start("solve", n)
    search.settle(np.array([0]), np.array([n]))
    # a table that is one job is cut in waves all the same where a kernel cannot do it at once: they can be told of
    in_waves = n <= JOB_TUPLES and not search.descends
    with ThreadPoolExecutor(max(1, problem.threads)) as pool:
        leaves, jobs = search.waves(
            np.array([0]), np.array([n]), job_tuples=0 if in_waves else JOB_TUPLES, pool=None if in_waves else pool,
            progress=progress,
        )  # fmt: skip
        done = n - sum(end - begin for begin, end in jobs)
        running = [(pool.submit(search.job, begin, end), end - begin) for begin, end in jobs]
        try:
            for number, (future, size) in enumerate(running, start=1):
                leaves.add(future.result())
                done += size
                progress.advance(done)
                tell_groups(progress, partial(search.sizes, [*leaves.starts, _begins(jobs[number:])]))
        except BaseException:
            for future, _ in running:
                future.cancel()
            raise
    return _solution(search, leaves)


def partition_nodes(
    problem: Problem, rule: CutRule, node_of_tuple: IntArray, *, compiled: bool | None = False
) -> Solution:
    """Cut parts of a table, which lie one behind the other, each for itself."""
    search = _PartitionSearch(problem, rule, compiled)
    starts = np.flatnonzero(np.diff(node_of_tuple, prepend=-1))
    ends = np.append(starts[1:], len(node_of_tuple))
    search.settle(starts, ends)
    leaves, _ = search.waves(starts, ends, job_tuples=0)
    return replace(_solution(search, leaves), tree=None)  # no tree has several roots


def _solution(search: _PartitionSearch, leaves: _Leaves) -> Solution:
    """Classes numbered by where they begin, which no schedule of threads can change."""
    starts = np.concatenate(leaves.starts)
    order = np.argsort(starts)
    starts = starts[order]
    n = search.problem.table.n_tuples
    class_of_tuple = np.empty(n, np.int64)
    class_of_tuple[search.ids] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, n)))
    cuts = np.concatenate([*leaves.cuts, np.zeros((0, 5), np.int64)])
    return Solution(
        class_of_tuple,
        lo=np.concatenate(leaves.lo)[order],
        hi=np.concatenate(leaves.hi)[order],
        tree=_tree(cuts, starts, n),
    )


def _tree(cuts: IntArray, leaf_starts: IntArray, n: int) -> CutTree:
    """Link cuts by their ranges: the side [a, b) of a cut is the cut of the range [a, b), or else a class."""
    cuts = cuts[np.lexsort((-cuts[:, 2], cuts[:, 0]))]  # ascending starts, wider ranges first: the root comes first
    ranges = cuts[:, 0] * (n + 1) + cuts[:, 2]
    order = np.argsort(ranges)
    ascending = ranges[order]

    def child(begin: IntArray, end: IntArray) -> IntArray:
        keys = begin * (n + 1) + end
        place = np.minimum(np.searchsorted(ascending, keys), max(0, len(ranges) - 1))
        is_cut = ascending[place] == keys if len(ranges) else np.zeros(0, bool)
        return np.where(is_cut, order[place], ~np.searchsorted(leaf_starts, begin)) if len(ranges) else begin

    start, middle, end, dim, cut = cuts.T
    return CutTree(dim.copy(), cut.copy(), child(start, middle), child(middle, end))
