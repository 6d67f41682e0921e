"""bins: every column has one set of labels that do not overlap, as few and as telling as the goal allows."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

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
from tablecloak.stats.classes import ClassStats, number_rows
from tablecloak.values.amounts import most_of

CUTS = 8  # places where a bin of numbers may be cut in two, about
ROUND_CUTS = 4  # the same before round numbers, at least
STEPS = tuple(unit * 10**power for power in range(17, -1, -1) for unit in (5, 2, 1))  # of round whole numbers
WORTH = 0.0005  # of the loss of a table that is one class: a split that lowers it less is not worth a label
LOOKS = 30_000_000  # tuples that are looked at, in all splits that are tried
LEAST_TRIALS = 40
KEYS_PER_TUPLE = 4  # numbers are looked up in a table of all keys up to so many, else sorted
JOINS = 8  # classes that a record may join which fits into none, at most so many are tried
STAR, GONE = -1, -2  # labels of classes beside the numbers of bins
SUBSETS = 1 << 9  # of columns that failing records may show * in, looked at in the end
SUBSETS_OF_TRIALS = 1 << 5  # of more, one or two columns are hidden, or one or two shown


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
    satisfies it, or join the class where that costs least, which then shows * where both differ; they are left out only
    up to `suppression_limit`. Labels of a column do not overlap, which makes tables easy to analyse and costs more loss
    than classes of their own shape.
    Cost: linear in the number of different rows, for each of at most some hundred cuts tried.
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
class _Cells:
    """Tuples united that agree in the bins of all columns."""

    of_tuple: IntArray  # (n_tuples,)
    bins: IntArray  # (n_dims, n_cells) the number of the bin in its column
    stats: ClassStats  # of the cells as classes: their sizes, and whatever else the goal looks at

    @property
    def size(self) -> IntArray:
        return self.stats.size


@dataclass(frozen=True, slots=True, eq=False)
class _Binning:
    """Bins of all columns, the classes that they make, and what these lose."""

    bins: tuple[tuple[_Bin, ...], ...]  # by dimension, in their order
    cells: _Cells
    loss: float  # of all records and columns together
    classes: IntArray  # (n_cells,) -1: left out
    starred: BoolArray  # (n_dims, n_cells)


class _Candidate(NamedTuple):
    """A split that waits for its turn: first comes the one that may gain most."""

    minus_gain: float  # it gains at most so much
    number: int
    parts: tuple[_Bin, ...]
    piece: _Bin
    became: tuple[_Binning, _Binning] | None = None  # a state, and what it made of that, if it was tried there


@dataclass(slots=True, eq=False)
class _BinSearch:
    """A search under way."""

    problem: Problem
    most: int
    budget: int  # records that may be left out
    table: CodedTable = field(init=False)
    axes: list[_Axis] = field(init=False)
    state: _Binning = field(init=False)
    earlier: list[tuple[tuple[_Bin, ...], ...]] = field(init=False)  # the bins of all states before this one

    def __post_init__(self) -> None:
        table, goal = self.problem.table, self.problem.goal
        self.table = replace(table, sensitive=()) if goal.is_only_size else table
        self.axes = [_Axis.of(table, dim, domain) for dim, domain in enumerate(table.domains)]
        self.earlier = []
        self.state = self._made(tuple((axis.whole(),) for axis in self.axes))

    def run(self, progress: Progress) -> None:
        """Try cuts, those first that may lower the loss most, and keep those that do."""
        numbers, n_tried = itertools.count(), 0
        queue: list[_Candidate] = []
        aside: list[_Candidate] = []  # splits that leave records without a class: with more columns cut they may fit
        most_trials = max(LEAST_TRIALS, LOOKS // max(1, self.table.n_tuples))
        worth = WORTH * float(self.table.n_rows) * float(sum(axis.weight for axis in self.axes))

        def offer(piece: _Bin) -> None:
            axis = self.axes[piece.dim]
            for parts in axis.splits(piece):
                gain = axis.loss(piece) - sum(axis.loss(part) for part in parts)
                heapq.heappush(queue, _Candidate(-gain, next(numbers), parts, piece))

        for bins in self.state.bins:
            offer(bins[0])
        while queue and n_tried < most_trials:
            candidate = heapq.heappop(queue)
            gain, _, parts, piece, became = candidate
            if -gain <= worth:
                break
            bins = self.state.bins[piece.dim]
            if piece not in bins or (piece.node < 0 and len(bins) - 1 + len(parts) > self.most):
                continue
            # what gains less than others may is put off, so it need not be known by how much less
            enough = max(worth, -queue[0].minus_gain) if queue else worth
            trial: _Binning | None
            if became is not None and became[0] is self.state:
                trial, least_loss = became[1], became[1].loss
            else:
                trial, least_loss = self._split(piece, parts, self.state.loss - enough)
                n_tried += 1
                progress.advance(n_tried)
            if np.isinf(least_loss):
                aside.append(candidate)
                continue
            most_gain = self.state.loss - least_loss
            if most_gain <= worth:
                continue
            if trial is None or most_gain < enough:
                became = (self.state, trial) if trial is not None else None
                heapq.heappush(queue, _Candidate(-most_gain, next(numbers), parts, piece, became))
                continue
            self.earlier.append(self.state.bins)
            self.state = trial
            for part in parts:
                offer(part)
            if len(bins) == 1:
                queue.extend(aside)
                heapq.heapify(queue)
                aside.clear()

    def _made(self, bins: tuple[tuple[_Bin, ...], ...]) -> _Binning:
        """The state of some bins; one class of all records where these satisfy the goal nowhere."""
        columns = [
            axis.numbers(own)[self.table.quasi_codes(axis.dim)] for axis, own in zip(self.axes, bins, strict=True)
        ]
        of_tuple, n_cells = number_rows(columns, self.table.n_tuples)
        of_cell = np.zeros((len(columns), n_cells), np.int64)
        for dim, column in enumerate(columns):
            of_cell[dim, of_tuple] = column
        cells = _Cells(of_tuple, of_cell, self.table.class_stats(of_tuple, n_cells))
        state, _ = self._judged(bins, cells)
        # where even the table as one class fails, the recount says so
        return state or _Binning(bins, cells, np.inf, np.zeros(n_cells, np.int64), np.zeros(of_cell.shape, np.bool_))

    def _split(self, piece: _Bin, parts: tuple[_Bin, ...], limit: float) -> tuple[_Binning | None, float]:
        """What becomes of the state if a bin is split, judged as `_judged` does."""
        dim, cells = piece.dim, self.state.cells
        bins = self.state.bins[dim]
        at = bins.index(piece)
        part = self.axes[dim].parts(parts)[self.table.quasi_codes(dim)]
        keys, of_tuple = _renumbered(cells.of_tuple * len(parts) + part, cells.bins.shape[1] * len(parts))
        before, part_of_cell = np.divmod(keys, len(parts))
        of_cell = cells.bins[:, before]
        of_cell[dim] += np.where(of_cell[dim] > at, len(parts) - 1, part_of_cell)
        split = _Cells(of_tuple, of_cell, self.table.class_stats(of_tuple, len(keys)))
        own = (*bins[:at], *parts, *bins[at + 1 :])
        return self._judged((*self.state.bins[:dim], own, *self.state.bins[dim + 1 :]), split, limit)

    def _judged(
        self, bins: tuple[tuple[_Bin, ...], ...], cells: _Cells, limit: float | None = None
    ) -> tuple[_Binning | None, float]:
        """The state of some bins and its loss; no state where too many records satisfy the goal nowhere.

        With a limit it is a trial: none where it would lose more, then with a bound of its loss from below.
        """
        lost = np.stack(
            [axis.weight * axis.prices(own)[at] for axis, own, at in zip(self.axes, bins, cells.bins, strict=True)]
        )
        weights = np.array([axis.weight for axis in self.axes])
        stars = weights[:, None] - lost  # (n_dims, n_cells) what it costs to show * in place of a bin
        dealing = _Dealing.of(self.problem.goal, cells)
        # summed by numpy itself: products of vectors wake all threads of its algebra library, which then spin
        cost = {d: float((cells.size * lost[d]).sum()) for d, own in enumerate(bins) if len(own) > 1}
        patterns = _subsets(cost, SUBSETS if limit is None else SUBSETS_OF_TRIALS)
        cheapest = np.cumsum(np.sort(stars[[len(own) > 1 for own in bins]], axis=0), axis=0)
        dealing.deal([()])
        for size, group in itertools.groupby(patterns, len):
            added = np.where(dealing.starred, stars, 0.0).sum(axis=0)
            added[dealing.pending] = cheapest[size - 1, dealing.pending]
            bound = float((cells.size * (lost.sum(axis=0) + added)).sum())
            if limit is not None and bound > limit:
                return None, bound
            dealing.deal(group)
        if dealing.n_out > self.budget:
            dealing.join(stars)
        if dealing.n_out > self.budget:
            return None, np.inf
        is_star = dealing.starred | (dealing.classes < 0)
        loss = float((cells.size * np.where(is_star, weights[:, None], lost)).sum())
        return _Binning(bins, cells, loss, dealing.classes, dealing.starred), loss

    def solution(self) -> Solution:
        """The last classes that satisfy the goal as readers count them, without what is left out."""
        last = min(self._made(self.state.bins), self.state, key=lambda state: state.loss)
        states = itertools.chain([last], map(self._made, reversed(self.earlier)))
        for state in states:
            solution = self._solution(state)
            if self.problem.goal.admits(solution.stats(self.problem.table)).all():
                return solution
        return solution

    def _solution(self, state: _Binning) -> Solution:
        of_tuple = state.cells.of_tuple
        numbers, firsts = released(state.classes[of_tuple])
        lo, hi, nodes = (np.full((len(firsts), len(self.axes)), -1, np.int64) for _ in range(3))
        sets: dict[int, CodeSets] = {}
        centers: dict[str, ClassLabels] = {}
        for axis, bins in zip(self.axes, state.bins, strict=True):
            d, domain = axis.dim, axis.domain
            place = state.cells.bins[d, of_tuple[firsts]]
            is_star = state.starred[d, of_tuple[firsts]]
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


def _subsets(cost: dict[int, float], most: int) -> list[tuple[int, ...]]:
    """Columns that a failing record may show * in, the cheapest first; never all, which would suppress it."""
    n = len(cost)
    sizes = range(1, n) if 1 << n <= most else (1, 2, n - 2, n - 1)
    subsets = [s for size in sizes for s in itertools.combinations(cost, size)]
    return sorted(subsets, key=lambda s: (len(s), -sum(cost[d] for d in s), s))


def _renumbered(keys: IntArray, room: int) -> tuple[IntArray, IntArray]:
    """The different keys below `room` in their order, and which of them each one is."""
    if room > KEYS_PER_TUPLE * len(keys):
        values, numbers = np.unique(keys, return_inverse=True)
        return values, numbers.reshape(-1)
    occurs = np.zeros(room, np.bool_)
    occurs[keys] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys]


@dataclass(slots=True, eq=False)
class _Dealing:
    """Cells that are put in classes, pattern by pattern of columns that they show * in."""

    goal: Goal
    cells: _Cells
    classes: IntArray  # (n_cells,) -1: in none yet
    starred: BoolArray  # (n_dims, n_cells)
    pending: IntArray  # cells in no class
    n_classes: int = 0

    @classmethod
    def of(cls, goal: Goal, cells: _Cells) -> _Dealing:
        n_dims, n_cells = cells.bins.shape
        classes, starred = np.full(n_cells, -1, np.int64), np.zeros((n_dims, n_cells), np.bool_)
        return cls(goal, cells, classes, starred, np.arange(n_cells))

    @property
    def n_out(self) -> int:
        """Records in no class."""
        return int(self.cells.size[self.pending].sum())

    def deal(self, patterns: Iterable[tuple[int, ...]]) -> None:
        """Put pending cells in classes that hide some columns, one pattern after the other."""
        for stars in patterns:
            if not len(self.pending):
                return
            shown = [column[self.pending] for d, column in enumerate(self.cells.bins) if d not in stars]
            classes, n_classes = number_rows(shown, len(self.pending))
            passes = self._admitted(classes, n_classes)[classes]
            if not passes.any():
                continue
            dealt = self.pending[passes]
            self.classes[dealt] = self.n_classes + classes[passes]
            self.starred[np.array(stars, np.int64)[:, None], dealt] = True
            self.n_classes += n_classes
            self.pending = self.pending[~passes]

    def join(self, stars: FloatArray) -> None:
        """Put pending cells in the classes where that costs least, which then show * where both differ.

        Args:
            stars: what it costs a record of every cell to show * in place of a bin, (n_dims, n_cells).
        """
        old, firsts, of_cell = np.unique(self.classes, return_index=True, return_inverse=True)
        n_out = int(np.count_nonzero(old < 0))
        of_cell, firsts = of_cell.reshape(-1) - n_out, firsts[n_out:]
        labels = np.where(self.starred[:, firsts], STAR, self.cells.bins[:, firsts])  # (n_dims, n_classes)
        size = np.bincount(of_cell[of_cell >= 0], weights=self.cells.size[of_cell >= 0], minlength=len(firsts))
        cost = np.where(labels == STAR, 0.0, stars[:, firsts])
        is_cut = self.cells.bins.max(axis=1) > 0
        for cell in self.pending:
            differs = labels != self.cells.bins[:, cell, None]
            price = (cost * differs).sum(axis=0) * size
            price += self.cells.size[cell] * (stars[:, cell, None] * differs).sum(axis=0)
            price[differs[is_cut].all(axis=0)] = np.inf  # a record that shows nothing is suppressed
            for _ in range(JOINS):
                at = int(np.argmin(price)) if len(price) else -1
                if at < 0 or price[at] == np.inf:
                    break
                label = np.where(differs[:, at], STAR, labels[:, at])
                # readers see one class where labels agree
                alike = np.flatnonzero((labels == label[:, None]).all(axis=0))
                members = np.isin(of_cell, [at, *alike])
                members[cell] = True
                if self._admits_as_one(members):
                    gone = alike[alike != at]
                    of_cell[members], size[at] = at, size[at] + size[gone].sum() + self.cells.size[cell]
                    labels[:, at], labels[:, gone] = label, GONE
                    cost[label == STAR, at] = 0.0
                    break
                price[at] = np.inf
        is_in = of_cell >= 0
        self.classes = of_cell
        self.starred[:, is_in] = labels[:, of_cell[is_in]] == STAR
        self.pending = np.flatnonzero(~is_in)

    def _admits_as_one(self, members: BoolArray) -> bool:
        """Whether some cells together satisfy the goal; they have records enough."""
        if self.goal.is_only_size:
            return True
        return bool(self.goal.admits(self.cells.stats.rollup(members.astype(np.int64) - 1, 1))[0])

    def _admitted(self, classes: IntArray, n_classes: int) -> BoolArray:
        """Which classes of pending cells satisfy the goal, (n_classes,)."""
        size = np.bincount(classes, weights=self.cells.size[self.pending], minlength=n_classes)
        is_admitted = size >= self.goal.min_size
        if self.goal.is_only_size or not is_admitted.any():
            return is_admitted
        number = np.where(is_admitted, np.cumsum(is_admitted) - 1, -1)  # the rest need not be counted
        of_cell = np.full(len(self.classes), -1)
        of_cell[self.pending] = number[classes]
        stats = self.cells.stats.rollup(of_cell, int(np.count_nonzero(is_admitted)))
        is_admitted[is_admitted] = self.goal.admits(stats)
        return is_admitted


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
    parted: BoolArray  # (n_codes,) of numbers and dates: may a bin begin here that has nothing in common with the last
    known: dict[_Bin, float] = field(default_factory=dict)  # prices

    @classmethod
    def of(cls, table: CodedTable, dim: int, domain: Domain) -> _Axis:
        counts = table.originals(dim)
        order = np.arange(domain.n_codes)
        if domain.kind is DomainKind.SET:  # the missing value comes first, so that it can be parted
            is_missing = (order == 0) & domain.has_missing
            order = np.lexsort((order, -counts, ~is_missing))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        parted = domain.parted() if domain.kind is DomainKind.ORDERED else np.zeros(0, np.bool_)
        return cls(dim, domain, float(table.space.weight[dim]), order, place, counts[order], parted)

    def whole(self) -> _Bin:
        """All values of the column."""
        tree = self.domain.hierarchy
        return _Bin(self.dim, 0, self.domain.n_codes - 1, tree.root if tree else -1)

    def numbers(self, bins: tuple[_Bin, ...]) -> IntArray:
        """The bin of every code, (n_codes,)."""
        starts = np.array([each.lo for each in bins])
        return np.searchsorted(starts, self.place, side="right") - 1

    def parts(self, parts: tuple[_Bin, ...]) -> IntArray:
        """The part of a bin for every code, 0 for those outside, (n_codes,)."""
        is_inside = (self.place >= parts[0].lo) & (self.place <= parts[-1].hi)
        return np.where(is_inside, self.numbers(parts), 0)

    def prices(self, bins: tuple[_Bin, ...]) -> FloatArray:
        """What a record loses whose value is published as one of some bins."""
        return np.array([self.price(each) for each in bins])

    def price(self, piece: _Bin) -> float:
        if piece not in self.known:
            self.known[piece] = self._price(piece)
        return self.known[piece]

    def _price(self, piece: _Bin) -> float:
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
        # rounded bounds of neighbours may overlap: the nearest places where they do not
        free = piece.lo + 1 + np.flatnonzero(self.parted[piece.lo + 1 : piece.hi + 1])
        if not len(free):
            return []
        after = np.minimum(np.searchsorted(free, places), len(free) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(places - free[before] < free[after] - places, before, after)
        return [int(at) for at in free[np.unique(nearest)]]
