"""T-MSN: exchange rows between buckets until the numbers of a bucket say little that the table does not."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.buckets import _v_klt_shared as shared
from tablecloak.algorithms.buckets.base import GivenGroups, GroupsField
from tablecloak.algorithms.buckets.v_cold import pearson
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.exchanges import best_pairs
from tablecloak.progress import Progress

CORRELATED = 0.7


@algorithm("t-msn", minimizes="distances from the table")
class TMsn(GivenGroups, shared.ByRow):
    """Exchange rows between buckets until the numbers in a bucket are spread like those of the table.

    Sound: the bucket farthest from the table by the ordered earth mover's distance exchanges rows with a near one
    while that brings both below its distance and no bucket loses different values; then all rows of a bucket get
    common quasi-identifiers. Published: rows are exchanged by their means and keep their quasi-identifiers.
    Cost: O(buckets^2). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    variant: shared.VariantField = "sound"
    t: shared.TField = 0.0
    groups: GroupsField = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        columns = [c for c in shared.sensitive_columns(problem.table) if c.is_ordered]
        if not columns:
            raise IncompatibleChoice(
                "t-msn exchanges rows by a sensitive column of numbers or dates and there is none",
                hint="use pm-hca for a column with a hierarchy",
            )
        classes = shared.start_classes(problem, progress, by_distance=False)
        spans = shared.own_spans(problem.table)
        if self.variant == "published":
            _, notes = exchanged_as_published(problem.table, classes)
            return spans.united(classes).solution(tuple(notes))
        classes, notes = closer_to_table(problem, spans, classes, self.t)
        return shared.finished(problem, spans, classes, notes)


def closer_to_table(problem: Problem, spans: shared.Spans, classes: IntArray, t: float) -> tuple[IntArray, list[str]]:
    """T-MSN, sound: buckets after exchanges for every column of numbers, and what was done."""
    columns = shared.sensitive_columns(problem.table)
    notes: list[str] = []
    kept_close: list[shared.Accepts] = []
    for column in (c for c in columns if c.is_ordered):
        others = [c for c in columns if c is not column]
        nearest = shared.nearest_first(problem, spans, classes)
        start = shared.buckets_of(classes)
        buckets, swaps = lower_distances(
            start,
            column.codes,
            target=t,
            partners=cache(partial(nearest, others=np.array(list(start)), most=MAX_PARTNERS)),
            accepts=shared.both(shared.keeps_diversity(others), *kept_close),
        )
        kept_close.append(shared.keeps_closeness(column.codes))
        before, after = (_largest_distance(column, b) for b in (start, buckets))
        notes.append(f"'{column.name}': {len(swaps):,} exchanges, largest distance {before:.4f} → {after:.4f}")
        classes = shared.classes_of(buckets, len(classes))
    return classes, notes


def _largest_distance(column: shared.Categories, buckets: shared.Buckets) -> float:
    distances = BucketDistances(buckets, column.codes).of
    return max(distances.values(), default=0.0)


def exchanged_as_published(table: CodedTable, classes: IntArray) -> tuple[IntArray, list[str]]:
    """T-MSN as published: columns one after the other, one alone where all are highly correlated."""
    columns = [c for c in shared.sensitive_columns(table) if c.is_ordered]
    ordered = [c.domain.numbers[c.codes] for c in columns if c.domain.numbers is not None]
    if len(ordered) > 1 and all(abs(pearson(a, b)) >= CORRELATED for a in ordered for b in ordered):
        ordered = ordered[:1]
    buckets, n_swaps = shared.buckets_of(classes), 0
    for values in ordered:
        buckets, rounds = exchange_minima(buckets, values.tolist())
        n_swaps += sum(len(r.swaps) for r in rounds)
    note = (
        f"published variant: {n_swaps:,} exchanges leave quasi-identifiers as they were, so grouping by these "
        "restores the old buckets: nothing more is protected than before"
    )
    return shared.classes_of(buckets, len(classes)), [note] if ordered else []


Distance: TypeAlias = Callable[[Sequence[float], Sequence[float]], Fraction]
MAX_PARTNERS = 16  # buckets tried as partners of the worst one, nearest first
MAX_PAIRS = 32  # exchanges tried with one partner, best first
SWAPS_PER_BUCKET = 5
TINY = 1e-12


def printed_distance(bucket: Sequence[float], table: Sequence[float]) -> Fraction:
    """|m sum(w) - sum(v)| / (n (n - 1)) of m bucket values w and n reference values v, as the source prints it.

    It is a distance of means only where n = m^2.
    """
    n = len(table)
    if n < 2:
        return Fraction(0)
    return abs(len(bucket) * _total(bucket) - _total(table)) / (n * (n - 1))


def _total(values: Sequence[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the published method: distances of the buckets left, the one set aside, exchanges of the others."""

    distances: dict[int, Fraction]
    selected: int
    swaps: tuple[shared.Swap, ...]


def exchange_minima(
    buckets: shared.Buckets, values: Sequence[float], distance: Distance = printed_distance, *, passes_for_two: int = 2
) -> tuple[shared.Buckets, list[Round]]:
    """The published method: set the bucket nearest to the rest aside, pass the least rows of the others on, repeat.

    Args:
        values: number of every row; NaN is missing, counts nowhere and is never exchanged.
        passes_for_two: how often rows are passed on when two buckets are left; the source's tables need 2, its
            pseudo-code says 1.
    """
    buckets = {label: list(rows) for label, rows in buckets.items()}
    rest, rounds = list(buckets), []
    while rest:
        reference = _known(values, [row for label in rest for row in buckets[label]])
        distances = {label: distance(_known(values, buckets[label]), reference) for label in rest}
        nearest = min(rest, key=lambda label: (distances[label], label))
        rest.remove(nearest)
        passes = passes_for_two if len(rest) == 2 else 1
        swaps = [s for _ in range(passes) for s in _pass_on(buckets, rest, values)]
        rounds.append(Round(distances, nearest, tuple(swaps)))
    return buckets, rounds


def _known(values: Sequence[float], rows: Sequence[int]) -> list[float]:
    return [values[row] for row in rows if values[row] == values[row]]


def _pass_on(buckets: shared.Buckets, labels: Sequence[int], values: Sequence[float]) -> list[shared.Swap]:
    """Exchange the least rows of neighbouring buckets, left to right, on what they hold at that moment."""
    swaps = []
    for first, second in pairwise(labels):
        place, other = _least(buckets[first], values), _least(buckets[second], values)
        if place is not None and other is not None:
            swaps.append(shared.swap(buckets, first, place, second, other))
    return swaps


def _least(rows: Sequence[int], values: Sequence[float]) -> int | None:
    places = [place for place, row in enumerate(rows) if values[row] == values[row]]
    return min(places, key=lambda place: values[rows[place]]) if places else None


class BucketDistances:
    """Ordered distance of every bucket from the table, and the gaps between their cumulative shares."""

    def __init__(self, buckets: shared.Buckets, codes: IntArray) -> None:
        self.codes = codes
        n_values = int(codes.max()) + 1
        self.table = np.cumsum(np.bincount(codes, minlength=n_values)) / len(codes)
        self.scale = max(1, n_values - 1)
        self.gaps: dict[int, FloatArray] = {}  # cumulative shares of a bucket minus those of the table, (n_values,)
        self.of: dict[int, float] = {}
        for label, rows in buckets.items():
            self.put(label, rows)

    def put(self, label: int, rows: Sequence[int]) -> None:
        """Measure a bucket that is new or was changed."""
        counts = np.bincount(self.codes[rows], minlength=len(self.table))
        self.gaps[label] = np.cumsum(counts) / len(rows) - self.table
        self.of[label] = float(np.abs(self.gaps[label]).sum() / self.scale)


def lower_distances(
    buckets: shared.Buckets,
    codes: IntArray,
    *,
    target: float,
    partners: Callable[[int], Sequence[int]],
    accepts: shared.Accepts,
    compiled: bool | None = None,
) -> tuple[shared.Buckets, list[shared.Swap]]:
    """The sound method: exchange rows of the bucket farthest from the table while that brings both below its distance.

    The distances, sorted downwards, shrink with every exchange, so the largest never grows.

    Args:
        codes: rank of every row's number among the different numbers of the table.
        target: buckets at this distance or nearer are left alone.
        partners: labels of other buckets to exchange with, most welcome first.
        accepts: whether the rows at two places of two buckets may change places.
    """
    buckets = {label: list(rows) for label, rows in buckets.items()}
    distances = BucketDistances(buckets, codes)
    best = best_pairs.sized(len(codes)) if compiled is None else best_pairs.form(compiled=compiled)
    swaps: list[shared.Swap] = []
    waiting = [(-distance, label) for label, distance in distances.of.items()]
    heapq.heapify(waiting)
    while waiting and len(swaps) < SWAPS_PER_BUCKET * len(buckets):
        distance, worst = heapq.heappop(waiting)
        if -distance != distances.of[worst]:  # it was exchanged since, and waits with its new distance too
            continue
        if -distance <= target + TINY:
            break
        done = _best_exchange(buckets, distances, worst, partners(worst), accepts, best)
        if done is None:
            continue
        swaps.append(done)
        for label in (done.first, done.second):
            distances.put(label, buckets[label])
            heapq.heappush(waiting, (-distances.of[label], label))
    return buckets, swaps


def _best_exchange(
    buckets: shared.Buckets,
    distances: BucketDistances,
    worst: int,
    partners: Sequence[int],
    accepts: shared.Accepts,
    best: Callable[..., IntArray],
) -> shared.Swap | None:
    """Carry out the best accepted exchange with the first partner that has one."""
    limit = (distances.of[worst] - TINY) * distances.scale
    for partner in partners[:MAX_PARTNERS]:
        rows, others = buckets[worst], buckets[partner]
        pairs = best(
            distances.gaps[worst], distances.codes[rows], distances.gaps[partner], distances.codes[others],
            limit=limit, most=MAX_PAIRS,
        )  # fmt: skip
        for place, other in pairs.tolist():
            if accepts(rows, others, place, other):
                return shared.swap(buckets, worst, place, partner, other)
    return None
