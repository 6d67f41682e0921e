"""bins: every column has one set of labels that do not overlap, as few and as telling as the goal allows."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import FailingLimit, Problem, Solution, algorithm
from tablecloak.algorithms.merge_classes import released
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.class_labels import ClassLabels, labels_of_column, united_labels
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import ANYTHING, Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.values.amounts import most_of

CUTS = 8  # places where a bin of numbers may be cut in two, about
ROUND_CUTS = 4  # the same before round numbers, at least
STEPS = tuple(unit * 10**power for power in range(17, -1, -1) for unit in (5, 2, 1))  # of round whole numbers
WORTH = 0.0005  # of the loss of a table that is one class: a split that lowers it less is not worth a label
LOOKS = 30_000_000  # tuples that are looked at, in all splits that are tried
LEAST_TRIALS = 40
LARGEST = 1 << 62
ALL_SUBSETS_UP_TO = 5  # columns; of more, a failing record hides one or two, or shows one or two


@dataclass(frozen=True, slots=True)
class _Bin:
    """A part of a column: the places `lo..hi` in its order of codes, published together."""

    dim: int
    lo: int
    hi: int
    node: int = -1  # of a hierarchy


@algorithm("bins", minimizes="NCP")
class Bins:
    """Cut every column into bins that are the same for all records, always where that lowers the loss most.

    A column of numbers or dates is cut into intervals, one with a hierarchy into its nodes, one of categories into its
    most frequent values and sets of the others. Records whose class then fails the goal show * in as few columns as
    satisfies it; they are left out only up to `suppression_limit`. Labels of a column do not overlap, which makes
    tables easy to analyse and costs more loss than classes of their own shape.
    Cost: near-linear in the number of different rows, for each of at most some hundred cuts tried.
    """

    most: Annotated[int, Field(ge=2, description="labels of a column without a hierarchy, at most")] = 12
    suppression_limit: FailingLimit = 0.0

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        search = _BinSearch(problem, self.most, most_of(problem.table.n_rows, self.suppression_limit))
        progress.start("solve", None)
        search.run(progress)
        return search.solution()


@dataclass(frozen=True, slots=True, eq=False)
class _Binning:
    """Bins of all columns, the classes that they make, and what these lose."""

    bins: tuple[tuple[_Bin, ...], ...]  # by dimension, in their order
    loss: float = np.inf  # of all records and columns together
    classes: IntArray | None = None  # (n_tuples,) -1: left out
    starred: BoolArray | None = None  # (n_dims, n_tuples)


@dataclass(slots=True, eq=False)
class _BinSearch:
    """A search under way."""

    problem: Problem
    most: int
    budget: int  # records that may be left out
    state: _Binning = field(init=False)
    axes: list[_Axis] = field(init=False)
    history: list[_Binning] = field(init=False)

    def __post_init__(self) -> None:
        table = self.problem.table
        self.axes = [_Axis.of(table, dim, domain) for dim, domain in enumerate(table.domains)]
        whole = _Binning(tuple((axis.whole(),) for axis in self.axes))
        self.state = self._judged(whole) or whole
        self.history = [self.state]

    @property
    def table(self) -> CodedTable:
        return self.problem.table

    def run(self, progress: Progress) -> None:
        """Try cuts, those first that may lower the loss most, and keep those that do."""
        order, n_tried = itertools.count(), 0
        queue: list[tuple[float, int, tuple[_Bin, ...], _Bin]] = []
        most_trials = max(LEAST_TRIALS, LOOKS // max(1, self.table.n_tuples))
        worth = WORTH * float(self.table.n_rows) * float(sum(axis.weight for axis in self.axes))

        def offer(piece: _Bin) -> None:
            axis = self.axes[piece.dim]
            for parts in axis.splits(piece):
                gain = axis.loss(piece) - sum(axis.loss(part) for part in parts)
                heapq.heappush(queue, (-gain, next(order), parts, piece))

        for bins in self.state.bins:
            offer(bins[0])
        while queue and n_tried < most_trials:
            gain, _, parts, piece = heapq.heappop(queue)
            if -gain <= worth:
                break
            dim, bins = piece.dim, self.state.bins[piece.dim]
            if piece not in bins or (piece.node < 0 and len(bins) - 1 + len(parts) > self.most):
                continue
            at = bins.index(piece)
            split = (*bins[:at], *parts, *bins[at + 1 :])
            n_tried += 1
            progress.advance(n_tried)
            trial = self._judged(_Binning((*self.state.bins[:dim], split, *self.state.bins[dim + 1 :])))
            true_gain = -np.inf if trial is None else self.state.loss - trial.loss
            if trial is None or true_gain <= worth:
                continue
            if queue and true_gain < -queue[0][0]:  # others may gain more: look at them first
                heapq.heappush(queue, (-true_gain, next(order), parts, piece))
                continue
            self.state = trial
            self.history.append(trial)
            for part in parts:
                offer(part)

    def _judged(self, state: _Binning) -> _Binning | None:
        """A state with its classes and its loss; None where too many records satisfy the goal nowhere."""
        numbers = [
            axis.numbers(bins)[self.table.quasi_codes(axis.dim)]
            for axis, bins in zip(self.axes, state.bins, strict=True)
        ]
        classes, starred = self._admitted(numbers, state.bins)
        is_out = classes < 0
        if self._n_rows(is_out) > self.budget:
            return None
        records = self._records()
        loss = 0.0
        for axis, bins, number, star in zip(self.axes, state.bins, numbers, starred, strict=True):
            lost = np.array([axis.price(each) for each in bins])[number]
            loss += axis.weight * float(records @ np.where(star | is_out, 1.0, lost))
        return replace(state, loss=loss, classes=classes, starred=starred)

    def _admitted(self, numbers: list[IntArray], bins: tuple[tuple[_Bin, ...], ...]) -> tuple[IntArray, BoolArray]:
        """The class of every tuple, -1 where none admits it, and where it shows * for that."""
        n_tuples = self.table.n_tuples
        starred = np.zeros((len(numbers), n_tuples), np.bool_)
        classes = np.full(n_tuples, -1, np.int64)
        pending = np.arange(n_tuples)
        cost = {d: sum(self.axes[d].loss(each) for each in own) for d, own in enumerate(bins) if len(own) > 1}
        subsets = _subsets(cost)
        pending = self._dealt(pending, [(), *subsets], numbers, classes, starred)
        if self._n_rows(classes < 0) > self.budget and len(cost) > 1:
            # too few are left to be a class of their own: whoever shows * anywhere joins them and shows one column
            again = np.union1d(pending, np.flatnonzero(starred.any(axis=0)))
            classes[again], starred[:, again] = -1, False
            self._dealt(again, [s for s in subsets if len(s) == len(cost) - 1], numbers, classes, starred)
        return classes, starred

    def _dealt(
        self, pending: IntArray, patterns: list[tuple[int, ...]], numbers: list[IntArray], classes: IntArray,
        starred: BoolArray,
    ) -> IntArray:  # fmt: skip
        """Put pending tuples in classes that hide some columns, one pattern after the other; those left over."""
        for stars in patterns:
            shown = [number[pending] for d, number in enumerate(numbers) if d not in stars]
            ids = _numbered(shown, len(pending))
            part = self.table if len(pending) == self.table.n_tuples else self.table.reordered(pending)
            stats = part.class_stats(ids, int(ids.max(initial=-1)) + 1)
            passes = self.problem.goal.admits(stats)[ids]
            goes = pending[passes]
            classes[goes] = ids[passes] + int(classes.max(initial=-1)) + 1
            for dim in stars:
                starred[dim, goes] = True
            pending = pending[~passes]
            if not len(pending):
                break
        return pending

    def _records(self) -> FloatArray:
        weights = self.table.weights
        return weights.astype(np.float64) if len(weights) else np.ones(self.table.n_tuples)

    def _n_rows(self, part: BoolArray) -> int:
        return int(self._records()[part].sum())

    def solution(self) -> Solution:
        """The last classes that satisfy the goal as readers count them, without what is left out."""
        for state in reversed(self.history):
            solution = self._solution(state)
            if self.problem.goal.admits(solution.stats(self.table)).all():
                return solution
        return solution

    def _solution(self, state: _Binning) -> Solution:
        table = self.table
        if state.classes is None or state.starred is None:  # even the table as one class fails: the recount says so
            state = replace(
                state,
                classes=np.zeros(table.n_tuples, np.int64),
                starred=np.zeros((len(self.axes), table.n_tuples), bool),
            )
        assert state.classes is not None
        assert state.starred is not None
        numbers, firsts = released(state.classes)
        lo, hi, nodes = (np.full((len(firsts), len(self.axes)), -1, np.int64) for _ in range(3))
        sets: dict[int, CodeSets] = {}
        centers: dict[str, ClassLabels] = {}
        for axis, bins in zip(self.axes, state.bins, strict=True):
            d, domain = axis.dim, axis.domain
            place = axis.numbers(bins)[table.quasi_codes(d)[firsts]]
            is_star = state.starred[d, firsts]
            whole = axis.whole()
            chosen = [whole if star else bins[at] for at, star in zip(place.tolist(), is_star.tolist(), strict=True)]
            if domain.kind is DomainKind.SET:
                members = [np.sort(axis.order[each.lo : each.hi + 1]) for each in chosen]
                sizes = np.array([len(each) for each in members], np.int64)
                sets[d] = CodeSets(np.append(0, np.cumsum(sizes)), np.concatenate([np.zeros(0, np.int64), *members]))
                lo[:, d], hi[:, d] = [each[0] for each in members], [each[-1] for each in members]
                continue
            lo[:, d], hi[:, d] = [each.lo for each in chosen], [each.hi for each in chosen]
            nodes[:, d] = [each.node for each in chosen]
            if domain.kind is DomainKind.ORDERED and is_star.any():
                centers[domain.name] = _with_stars(domain, lo[:, d], hi[:, d], is_star)
        return Solution(numbers, lo, hi, nodes=nodes, sets=sets, centers=centers or None)


def _subsets(cost: dict[int, float]) -> list[tuple[int, ...]]:
    """Columns that a failing record may show * in, the cheapest first; never all, which would suppress it."""
    n = len(cost)
    sizes = range(1, n) if n <= ALL_SUBSETS_UP_TO else (1, 2, n - 2, n - 1)
    subsets = [s for size in sizes for s in itertools.combinations(cost, size)]
    return sorted(subsets, key=lambda s: (len(s), -sum(cost[d] for d in s), s))


def _numbered(columns: list[IntArray], n: int) -> IntArray:
    """Equal rows get equal numbers."""
    numbers, n_numbers = np.zeros(n, np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if n_numbers * width > LARGEST:
            numbers = np.unique(numbers, return_inverse=True)[1]
            n_numbers = n
        numbers, n_numbers = numbers * width + column, n_numbers * width
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _with_stars(domain: Domain, lo: IntArray, hi: IntArray, is_star: BoolArray) -> ClassLabels:
    labels = labels_of_column(domain, lo, hi, None, None)
    names = [*labels.names, None]
    shown = [
        ANYTHING if star else names[at] for at, star in zip(labels.of_class.tolist(), is_star.tolist(), strict=True)
    ]
    return united_labels(shown, np.arange(len(shown)))


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """A column and how it may be cut: its codes in an order of places, and the records of each."""

    dim: int
    domain: Domain
    weight: float
    order: IntArray  # (n_codes,) code by place: categories without a hierarchy come by their frequency
    place: IntArray  # (n_codes,) place by code
    records: IntArray  # (n_codes,) by place

    @classmethod
    def of(cls, table: CodedTable, dim: int, domain: Domain) -> _Axis:
        counts = table.originals(dim)
        order = np.arange(domain.n_codes)
        if domain.kind is DomainKind.SET:  # the missing value comes first, so that it can be parted
            is_missing = (order == 0) & domain.has_missing
            order = np.lexsort((order, -counts, ~is_missing))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(dim, domain, float(table.space.weight[dim]), order, place, counts[order])

    def whole(self) -> _Bin:
        """All values of the column."""
        tree = self.domain.hierarchy
        return _Bin(self.dim, 0, self.domain.n_codes - 1, tree.root if tree else -1)

    def numbers(self, bins: tuple[_Bin, ...]) -> IntArray:
        """The bin of every code, (n_codes,)."""
        starts = np.array([each.lo for each in bins])
        return np.searchsorted(starts, self.place, side="right") - 1

    def price(self, piece: _Bin) -> float:
        """What a record loses whose value is published as a bin."""
        domain = self.domain
        if domain.hierarchy is not None:
            return float(domain.hierarchy.losses[piece.node])
        if domain.kind is DomainKind.SET:
            first = 0 if domain.has_missing and piece.lo == 0 else int(domain.has_missing)
            return float(domain.loss(np.array([first]), np.array([first + piece.hi - piece.lo]))[0])
        return float(domain.loss(np.array([piece.lo]), np.array([piece.hi]))[0])

    def loss(self, piece: _Bin) -> float:
        """What all records of a bin lose."""
        return self.weight * self.price(piece) * float(self.records[piece.lo : piece.hi + 1].sum())

    def splits(self, piece: _Bin) -> list[tuple[_Bin, ...]]:
        """What a bin may become."""
        if piece.lo == piece.hi:
            return []
        tree = self.domain.hierarchy
        if tree is not None:
            children = tree.children(piece.node) if piece.node >= tree.n_leaves else []
            parts = [_Bin(self.dim, int(tree.first[c]), int(tree.last[c]), c) for c in children]
            return [tuple(sorted(parts, key=lambda part: part.lo))] if len(parts) > 1 else self._below(parts)
        if self.domain.has_missing and piece.lo == 0:
            return [self._cut(piece, 1)]
        if self.domain.kind is DomainKind.SET:
            return [self._cut(piece, at) for at in dict.fromkeys((piece.lo + 1, self._half(piece)))]
        return [self._cut(piece, at) for at in self._places(piece)]

    def _below(self, only: list[_Bin]) -> list[tuple[_Bin, ...]]:
        """What becomes of a node with a single child: what becomes of that."""
        return self.splits(only[0]) if only else []

    def _cut(self, piece: _Bin, at: int) -> tuple[_Bin, _Bin]:
        return _Bin(self.dim, piece.lo, at - 1), _Bin(self.dim, at, piece.hi)

    def _half(self, piece: _Bin) -> int:
        """Where a bin is cut into halves of about as many records."""
        below = np.cumsum(self.records[piece.lo : piece.hi + 1])
        return piece.lo + 1 + min(int(np.searchsorted(below, below[-1] / 2)), piece.hi - piece.lo - 1)

    def _places(self, piece: _Bin) -> list[int]:
        """Where a bin of numbers or dates may be cut: before round numbers, or into equal shares of its records."""
        if self.domain.type is ColumnType.INTEGER and not self.domain.is_continuous:
            offset = int(self.domain.has_missing)
            values = self.domain.values.to_numpy()[piece.lo - offset : piece.hi + 1 - offset]
            for step in STEPS:
                groups = values // step
                starts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
                if len(starts) >= min(ROUND_CUTS, len(values) - 1):
                    chosen = starts if len(starts) <= 2 * CUTS else starts[:: -(-len(starts) // (2 * CUTS))]
                    return [piece.lo + int(at) for at in chosen]
        below = np.cumsum(self.records[piece.lo : piece.hi + 1])
        shares = below[-1] * np.arange(1, CUTS) / CUTS
        places = piece.lo + 1 + np.searchsorted(below, shares)
        return [int(at) for at in np.unique(np.minimum(places, piece.hi))]
