"""V-COLD: pair correlated sensitive columns, and cut rows into buckets in which no value repeats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Bucketing, Problem, Solution, algorithm
from tablecloak.algorithms.buckets._v_klt_shared import Categories, VariantField, Variants, sensitive_columns
from tablecloak.algorithms.buckets.base import Separating, bucketed, require_spread, shuffled, unite_failing
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.progress import Progress


@algorithm("v-cold", minimizes="nothing, its cells are exact")
class VCold(Variants, Separating):
    """Cut rows into buckets in which no sensitive value repeats, and sensitive columns into slices of related ones.

    Quasi-identifiers are published exactly with the number of their bucket; the slices stand in a table beside them,
    each shuffled inside its bucket. Sound: as few and as even buckets as can be, so the smallest is as large as
    possible. Published: buckets are filled in the order of the rows, which often leaves single rows.
    Cost: O(n^2) at worst. Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    chooses_blocks: ClassVar[bool] = True
    variant: VariantField = "sound"

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return _slices(sensitive_columns(table), is_sound=self.variant == "sound")

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        progress.start("solve", table.n_tuples)
        columns = sensitive_columns(table)
        is_sound = self.variant == "sound"
        groups = unite_failing(problem, _even(problem, columns)) if is_sound else greedy([c.codes for c in columns])
        blocks = tuple(shuffled(problem, groups, names) for names in self.moving(table))
        notes = (
            ()
            if is_sound
            else ("published variant: buckets and slices follow the order of rows, and buckets may be single rows",)
        )
        return bucketed(problem, groups, Bucketing(blocks, side=tuple(c.name for c in columns)), notes)


def _even(problem: Problem, columns: Sequence[Categories]) -> IntArray:
    """Even buckets without repeated values in the two most skewed columns."""
    skewed = sorted(columns, key=lambda c: -int(np.bincount(c.codes).max()))[:2]
    most = require_spread(problem, skewed[0].name, skewed[0].codes)
    if len(skewed) == 2:
        return equitable(skewed[0].codes, skewed[1].codes)
    groups = np.empty(len(skewed[0].codes), np.int64)
    groups[np.argsort(skewed[0].codes, kind="stable")] = np.arange(len(groups)) % most
    return groups


def _slices(columns: Sequence[Categories], *, is_sound: bool) -> list[tuple[str, ...]]:
    n = len(columns)
    strength = np.zeros((n, n))
    coded = first_seen_codes([c.codes.tolist() for c in columns])
    for a in range(n):
        for b in range(a + 1, n):
            one, two = columns[a], columns[b]
            strength[a, b] = (
                association(one.codes, two.codes, x_is_number=one.is_ordered, y_is_number=two.is_ordered)
                if is_sound
                else abs(pearson(np.array(coded[a]), np.array(coded[b])))
            )
    return [tuple(columns[i].name for i in pair) for pair in pair_columns(strength)]


def first_seen_codes(columns: Sequence[Sequence[object]]) -> list[list[int]]:
    """The published conversion: each unseen value gets the next integer, column after column, row after row."""
    coded, counter = [], 0
    for column in columns:
        numbers: dict[object, int] = {}
        for value in column:
            if value not in numbers:
                counter += 1
                numbers[value] = counter
        coded.append([numbers[value] for value in column])
    return coded


def pearson(x: NDArray[np.generic], y: NDArray[np.generic]) -> float:
    """Linear correlation, 0 where a column is constant."""
    a, b = (np.asarray(v, np.float64) - np.asarray(v, np.float64).mean() for v in (x, y))
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else 0.0


def association(x: IntArray, y: IntArray, *, x_is_number: bool = False, y_is_number: bool = False) -> float:
    """How much two coded columns tell of each other, 0 to 1, whatever the order of rows.

    Numbers (given as ranks): absolute correlation; categories: Cramer's V; one of each: correlation ratio.
    """
    if x_is_number and y_is_number:
        return abs(pearson(x, y))
    if x_is_number or y_is_number:
        return _correlation_ratio(y, x) if x_is_number else _correlation_ratio(x, y)
    return _cramers_v(x, y)


def _correlation_ratio(category: IntArray, numbers: IntArray) -> float:
    _, group = np.unique(category, return_inverse=True)
    values = numbers.astype(np.float64)
    means = np.bincount(group, weights=values) / np.bincount(group)
    total = ((values - values.mean()) ** 2).sum()
    return float(np.sqrt(((means[group] - values.mean()) ** 2).sum() / total)) if total > 0 else 0.0


def _cramers_v(x: IntArray, y: IntArray) -> float:
    _, a = np.unique(x, return_inverse=True)
    _, b = np.unique(y, return_inverse=True)
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    if min(rows, columns) < 2:
        return 0.0
    cells, joint = np.unique(a * columns + b, return_counts=True)
    n_a, n_b = np.bincount(a), np.bincount(b)
    # sum of (f - f_i f_j)^2 / (f_i f_j) over all cells is the sum of f^2 / (f_i f_j) over those that occur, minus 1
    square = float((joint**2 / (n_a[cells // columns] * n_b[cells % columns])).sum()) - 1
    return float(np.sqrt(max(0.0, square) / (min(rows, columns) - 1)))


def pair_columns(strength: FloatArray) -> list[tuple[int, ...]]:
    """Pairs of columns, the strongest first among those still free; an odd column stays alone."""
    n = len(strength)
    pairs = sorted(combinations(range(n), 2), key=lambda pair: (-strength[pair], pair))
    free, chosen = set(range(n)), []
    for pair in pairs:
        if free.issuperset(pair):
            chosen.append(pair)
            free -= set(pair)
    return sorted([*chosen, *((i,) for i in free)])


def greedy(columns: Sequence[IntArray]) -> IntArray:
    """The bucket of every row: in each scan, take the rows none of whose values the bucket holds already."""
    bucket_of = np.full(len(columns[0]), -1)
    rest, n_buckets = list(range(len(bucket_of))), 0
    while rest:
        bucket_values: list[set[int]] = [set() for _ in columns]
        later = []
        for row in rest:
            values = [int(column[row]) for column in columns]
            if any(v in s for v, s in zip(values, bucket_values, strict=True)):
                later.append(row)
                continue
            bucket_of[row] = n_buckets
            for v, s in zip(values, bucket_values, strict=True):
                s.add(v)
        rest, n_buckets = later, n_buckets + 1
    return bucket_of


def equitable(first: IntArray, second: IntArray) -> IntArray:
    """The bucket of every row: all values of a bucket differ in both columns, and sizes differ by one at most.

    A row is an edge between its two values and a bucket a matching. Edges split into as many matchings as the most
    frequent value has rows (Koenig), and alternating paths even them out, so the smallest bucket is as large as any
    method can make it. Cost: O(n (n + values)) at worst.
    """
    n_buckets = int(max(np.bincount(first).max(), np.bincount(second).max()))
    edges = _Matchings(first, second, n_buckets)
    for row in range(len(first)):
        edges.add(row)
    edges.even_out()
    return edges.bucket_of


class _Matchings:
    """Edges coloured by bucket; `at[vertex]` finds the row of each bucket at a value."""

    def __init__(self, first: IntArray, second: IntArray, n_buckets: int) -> None:
        offset = int(first.max()) + 1
        self.ends = np.stack([first, second + offset], axis=1).tolist()
        self.at: list[dict[int, int]] = [{} for _ in range(offset + int(second.max()) + 1)]
        self.n_buckets = n_buckets
        self.bucket_of = np.full(len(first), -1)

    def add(self, row: int) -> None:
        """Give a row a bucket, exchanging two buckets along a path if no bucket is free at both its values."""
        u, v = self.ends[row]
        start = row % self.n_buckets  # spreads rows evenly from the beginning
        one, two = self._free(u, start), self._free(v, start)
        if one not in self.at[v]:
            two = one
        if one != two:
            self._exchange(self._path(v, one, two), one, two)
        self._put(row, one)

    def _free(self, vertex: int, start: int) -> int:
        used = self.at[vertex]
        return next(b % self.n_buckets for b in range(start, start + self.n_buckets) if b % self.n_buckets not in used)

    def _put(self, row: int, bucket: int) -> None:
        self.bucket_of[row] = bucket
        for vertex in self.ends[row]:
            self.at[vertex][bucket] = row

    def _path(self, vertex: int, one: int, two: int) -> list[int]:
        """Rows of the alternating path of two buckets that starts at a value with the first of them."""
        path = []
        while (row := self.at[vertex].get(one)) is not None:
            path.append(row)
            u, v = self.ends[row]
            vertex = v if vertex == u else u
            one, two = two, one
        return path

    def _exchange(self, path: Sequence[int], one: int, two: int) -> None:
        for row in path:
            for vertex in self.ends[row]:
                if self.at[vertex].get(int(self.bucket_of[row])) == row:
                    del self.at[vertex][int(self.bucket_of[row])]
        for row in path:
            self._put(row, two if self.bucket_of[row] == one else one)

    def even_out(self) -> None:
        """Move one row net from the largest to the smallest bucket until they differ by one at most."""
        sizes = np.bincount(self.bucket_of, minlength=self.n_buckets)
        while sizes.max() - sizes.min() > 1:
            large, small = int(np.argmax(sizes)), int(np.argmin(sizes))
            self._exchange(self._odd_path(large, small), large, small)
            sizes[large] -= 1
            sizes[small] += 1

    def _odd_path(self, large: int, small: int) -> list[int]:
        """A path of two buckets with one more row of the larger; there is one, for the larger has more rows."""
        seen: set[int] = set()
        for row in np.flatnonzero(self.bucket_of == large).tolist():
            if row in seen:
                continue
            for vertex in self.ends[row]:
                if small not in self.at[vertex]:  # the path ends here
                    path = self._path(vertex, large, small)
                    seen.update(path)
                    if self.bucket_of[path[-1]] == large:
                        return path
        raise AssertionError("two matchings of different sizes have such a path")
