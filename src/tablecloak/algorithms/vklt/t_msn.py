"""T-MSN: exchange rows between buckets until the numbers of a bucket say little that the table does not."""

from __future__ import annotations

import heapq
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.vklt.buckets import Buckets, Swap, swap

__all__ = [
    "Distances",
    "Round",
    "corrected_distance",
    "exchange_minima",
    "lower_distances",
    "ordered_emd",
    "printed_distance",
]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Distance: TypeAlias = Callable[[Sequence[float], Sequence[float]], Fraction]
MAX_PARTNERS = 16  # buckets tried as partners of the worst one, nearest first
MAX_PAIRS = 32  # exchanges tried with one partner, best first
SWAPS_PER_BUCKET = 5
TINY = 1e-12
COMPILED_FROM = 3_000  # rows


def printed_distance(bucket: Sequence[float], table: Sequence[float]) -> Fraction:
    """|m sum(w) - sum(v)| / (n (n - 1)) of m bucket values w and n reference values v, as the source prints it.

    It is a distance of means only where n = m^2.
    """
    n = len(table)
    if n < 2:
        return Fraction(0)
    return abs(len(bucket) * _total(bucket) - _total(table)) / (n * (n - 1))


def corrected_distance(bucket: Sequence[float], table: Sequence[float]) -> Fraction:
    """|mean(w) - mean(v)| / (n - 1): what the printed distance means to be; it does not see how values spread."""
    n, m = len(table), len(bucket)
    if n < 2 or m == 0:
        return Fraction(0)
    return abs(n * _total(bucket) - m * _total(table)) / (m * n * (n - 1))


def ordered_emd(bucket: Sequence[float], table: Sequence[float]) -> Fraction:
    """Earth mover's distance of the shares, neighbouring different values of the table 1/(K - 1) apart."""
    values = sorted(set(table))
    if len(values) < 2 or not bucket:
        return Fraction(0)
    running, total = Fraction(0), Fraction(0)
    for value in values:
        running += Fraction(list(bucket).count(value), len(bucket)) - Fraction(list(table).count(value), len(table))
        total += abs(running)
    return total / (len(values) - 1)


def _total(values: Sequence[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the published method: distances of the buckets left, the one set aside, exchanges of the others."""

    distances: dict[int, Fraction]
    selected: int
    swaps: tuple[Swap, ...]


def exchange_minima(
    buckets: Buckets, values: Sequence[float], distance: Distance = printed_distance, *, passes_for_two: int = 2
) -> tuple[Buckets, list[Round]]:
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


def _pass_on(buckets: Buckets, labels: Sequence[int], values: Sequence[float]) -> list[Swap]:
    """Exchange the least rows of neighbouring buckets, left to right, on what they hold at that moment."""
    swaps = []
    for first, second in pairwise(labels):
        place, other = _least(buckets[first], values), _least(buckets[second], values)
        if place is not None and other is not None:
            swaps.append(swap(buckets, first, place, second, other))
    return swaps


def _least(rows: Sequence[int], values: Sequence[float]) -> int | None:
    places = [place for place, row in enumerate(rows) if values[row] == values[row]]
    return min(places, key=lambda place: values[rows[place]]) if places else None


class Distances:
    """Ordered distance of every bucket from the table, and the gaps between their cumulative shares."""

    def __init__(self, buckets: Buckets, codes: IntArray) -> None:
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
    buckets: Buckets,
    codes: IntArray,
    *,
    target: float,
    partners: Callable[[int], Sequence[int]],
    accepts: Callable[[list[int], list[int], int, int], bool],
    compiled: bool | None = None,
) -> tuple[Buckets, list[Swap]]:
    """The sound method: exchange rows of the bucket farthest from the table while that brings both below its distance.

    The distances, sorted downwards, shrink with every exchange, so the largest never grows.

    Args:
        codes: rank of every row's number among the different numbers of the table.
        target: buckets at this distance or nearer are left alone.
        partners: labels of other buckets to exchange with, most welcome first.
        accepts: whether the rows at two places of two buckets may change places.
    """
    buckets = {label: list(rows) for label, rows in buckets.items()}
    distances = Distances(buckets, codes)
    kernels = _kernels(len(codes), compiled)
    swaps: list[Swap] = []
    waiting = [(-distance, label) for label, distance in distances.of.items()]
    heapq.heapify(waiting)
    while waiting and len(swaps) < SWAPS_PER_BUCKET * len(buckets):
        distance, worst = heapq.heappop(waiting)
        if -distance != distances.of[worst]:  # it was exchanged since, and waits with its new distance too
            continue
        if -distance <= target + TINY:
            break
        done = _best_exchange(buckets, distances, worst, partners(worst), accepts, kernels)
        if done is None:
            continue
        swaps.append(done)
        for label in (done.first, done.second):
            distances.put(label, buckets[label])
            heapq.heappush(waiting, (-distances.of[label], label))
    return buckets, swaps


def _kernels(n: int, compiled: bool | None) -> ModuleType:
    if compiled is None:
        compiled = n >= COMPILED_FROM and importlib.util.find_spec("numba") is not None
    return importlib.import_module("tablecloak.kernels." + ("compiled.exchanges" if compiled else "exchanges"))


def _best_exchange(
    buckets: Buckets,
    distances: Distances,
    worst: int,
    partners: Sequence[int],
    accepts: Callable[[list[int], list[int], int, int], bool],
    kernels: ModuleType,
) -> Swap | None:
    """Carry out the best accepted exchange with the first partner that has one."""
    limit = (distances.of[worst] - TINY) * distances.scale
    for partner in partners[:MAX_PARTNERS]:
        rows, others = buckets[worst], buckets[partner]
        pairs = kernels.best_pairs(
            distances.gaps[worst], distances.codes[rows], distances.gaps[partner], distances.codes[others],
            limit=limit, most=MAX_PAIRS,
        )  # fmt: skip
        for place, other in pairs.tolist():
            if accepts(rows, others, place, other):
                return swap(buckets, worst, place, partner, other)
    return None
