"""Hilbert: records in a line that keeps neighbours together, and the best way to cut the line into runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Points, points_of
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.kernels.clustering import FAR
from tablecloak.models.base import Goal, Monotone
from tablecloak.progress import Progress

BITS = 16  # of the place of a value in its column
WORD = 62  # bits of a number of the curve that are compared at once
BAND = 1 << 22  # costs of runs that are held at once
JUDGED = 1 << 19  # records of runs that are judged at once: counts of their sensitive values take many times as much
NONE = -1


@algorithm("hilbert", minimizes="NCP")
class Hilbert(Clustering):
    """Put records in the order of a Hilbert curve through all columns, and cut it into runs where that loses least.

    Records near each other on the curve are near in every column. Numbers have their place in the range of their
    column, categories that of their order in the hierarchy. The cuts are found exactly: a run that can be parted in two
    that both satisfy the goal need not be looked at, so for k-anonymity runs have k to 2 k - 1 records. Models that a
    larger class can break are reached by uniting runs afterwards. The source forms classes of l different values from
    one line for each value; here they are runs like all others.

    Guarantee: no other cuts of the line into classes lose less (k-anonymity, l-diversity and whatever else holds in
    every class that contains one where it holds).
    Reference: Ghinita, Karras, Kalnis, Mamoulis, Fast data anonymization with low information loss, VLDB 2007.
    Cost: O(n (log n + r)), r the records of the longest run that cannot be parted.
    """

    def comparisons(self, n_records: int, size: int) -> float | None:  # noqa: ARG002
        return None  # records stand in a line

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        size, points = cluster_size(problem), points_of(problem.table)
        progress.start("solve", points.n)
        order = along_curve(problem.table.domains, points)
        begins = latest_begins(problem.table.reordered(order), _lasting(problem.goal), size)
        starts = best_runs(points, order, begins, progress)
        labels = np.empty(points.n, np.int64)
        labels[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, points.n]))
        return solution_of(problem, points, labels)


def _lasting(goal: Goal) -> Goal:
    """The models that stay satisfied whatever joins a class."""
    return replace(goal, models=tuple(m for m in goal.models if Monotone.BOTH in goal.monotone(m.in_search)))


def along_curve(domains: Sequence[Domain], points: Points) -> IntArray:
    """Records in the order of the curve; of those in one place by their values, equal ones as they come."""
    places = [_places(domain)[present][own] for domain, present, own in zip(
        domains, points.present, points.codes, strict=True
    )]  # fmt: skip
    cells = np.stack([np.minimum(p * (1 << BITS), (1 << BITS) - 1) for p in places]).astype(np.uint64)
    return np.lexsort([*points.codes[::-1], *hilbert_numbers(cells, BITS)[::-1]])


def _places(domain: Domain) -> FloatArray:
    """Place of every code from 0 to 1; the missing value has that of the least number."""
    if domain.kind is DomainKind.ORDERED:
        return domain.positions()
    return (np.arange(domain.n_codes) + 0.5) / max(1, domain.n_codes)


def hilbert_numbers(cells: NDArray[np.uint64], bits: int) -> list[NDArray[np.uint64]]:
    """How far along the curve each cell of a grid lies, as words, the highest first.

    Args:
        cells: (n_dims, n) coordinates of so many bits.

    Reference: Skilling, Programming the Hilbert curve, AIP Conference Proceedings 707, 2004.
    """
    axes, one = cells.copy(), np.uint64(1)
    for bit in range(bits - 1, 0, -1):
        below = (one << np.uint64(bit)) - one
        for d in range(len(axes)):
            is_set = (axes[d] >> np.uint64(bit) & one).astype(np.bool_)
            swapped = np.where(is_set, 0, (axes[0] ^ axes[d]) & below)
            axes[0] ^= np.where(is_set, below, swapped)
            axes[d] ^= swapped
    axes = np.bitwise_xor.accumulate(axes, axis=0)
    turned = np.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        turned ^= np.where(axes[-1] >> np.uint64(bit) & one, (one << np.uint64(bit)) - one, 0)
    axes ^= turned
    digits = [(np.uint64(place), axis) for place in range(bits - 1, -1, -1) for axis in axes]
    words = []
    for begin in range(0, len(digits), WORD):
        word = np.zeros_like(axes[0])
        for place, axis in digits[begin : begin + WORD]:  # held together, a gigabyte for a million cells
            word = word << one | axis >> place & one
        words.append(word)
    return words


def latest_begins(line: CodedTable, goal: Goal, size: int) -> IntArray:
    """Where the shortest run that ends before each place and satisfies the goal begins, (n + 1,); NONE: there is none.

    Args:
        line: records in the order of the line.
        goal: models that stay satisfied whatever joins a class.
        size: records that a run needs at least.
    """
    ends = np.arange(line.n_tuples + 1)
    if goal.is_only_size:
        return np.maximum(ends - size, NONE)
    fails, passes = np.full(len(ends), size - 1), np.full(len(ends), len(ends))  # lengths
    tried = np.full(len(ends), size)
    while len(open_ends := np.flatnonzero((passes - fails > 1) & (fails < ends))):
        length = np.minimum(tried[open_ends], open_ends)
        ok = _admitted(line, goal, open_ends, length)
        passes[open_ends[ok]], fails[open_ends[~ok]] = length[ok], length[~ok]
        is_found = passes[open_ends] < len(ends)  # a run that passes is known: halve the lengths between
        between = (passes[open_ends] + fails[open_ends]) // 2
        tried[open_ends] = np.where(is_found, between, 2 * length)
    return np.where(passes <= ends, ends - passes, NONE)


def _admitted(line: CodedTable, goal: Goal, ends: IntArray, length: IntArray) -> BoolArray:
    """Whether runs of these lengths satisfy the goal; a record may be in several of them."""
    ok = np.zeros(len(ends), np.bool_)
    for part in _blocks(length, JUDGED):
        n_records = length[part]
        run = np.repeat(np.arange(len(n_records)), n_records)
        place = np.arange(len(run)) - np.repeat(np.cumsum(n_records) - n_records, n_records)
        rows = np.repeat(ends[part] - n_records, n_records) + place
        ok[part] = goal.admits(line.reordered(rows).class_stats(run, len(n_records)))
    return ok


def _blocks(widths: IntArray, most: int) -> list[slice]:
    """Parts of a list whose widths add up to not much more than what is held at once."""
    number = np.cumsum(widths) // most
    starts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(widths)]
    return [slice(a, b) for a, b in itertools.pairwise(starts) if b > a]


def best_runs(points: Points, order: IntArray, begins: IntArray, progress: Progress) -> list[int]:
    """The places where the runs begin that lose least together, by dynamic programming along the line.

    Args:
        begins: of the shortest run that ends before each place, as `latest_begins` gives them.
    """
    codes, n = points.codes[:, order], len(order)
    # a run that begins no later than this can be parted where its shortest end begins
    parted = np.where(begins >= 0, begins[begins], np.arange(n + 1))
    cost, start = np.full(n + 1, FAR), np.zeros(n + 1, np.int64)
    cost[0] = 0
    for part in _blocks(np.arange(n + 1) - parted, BAND):
        ends = np.arange(n + 1)[part]
        prices = _prices(points, codes, ends, int((ends - parted[ends]).max()))
        for end, price in zip(ends.tolist(), prices, strict=True):
            first, last = int(parted[end]) + 1, int(begins[end])
            if last < first:
                continue
            through = cost[first : last + 1] + price[end - first - 1 :: -1][: last - first + 1]
            best = int(np.argmin(through))
            cost[end], start[end] = through[best], first + best
        progress.advance(int(ends[-1]))
    starts, at = [], n
    while at > 0:
        at = int(start[at])
        starts.append(at)
    return starts[::-1]


def _prices(points: Points, codes: NDArray[np.int32], ends: IntArray, longest: int) -> IntArray:
    """What runs of 1, 2, .. records cost that end before each place, (n_ends, longest); FAR where the line begins."""
    prices = np.full((len(ends), longest), FAR)
    lo = hi = codes[:, np.maximum(ends - 1, 0)]
    for length in range(1, longest + 1):
        fits = ends >= length
        row = codes[:, np.maximum(ends - length, 0)]
        lo, hi = np.minimum(lo, row), np.maximum(hi, row)
        prices[fits, length - 1] = length * points.box_costs(lo, hi)[fits]
    return prices
