"""Slicing: columns cut into blocks of related ones, and blocks shuffled inside the rows of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Bucketing, Problem, Solution, algorithm
from tablecloak.algorithms.buckets import base
from tablecloak.algorithms.buckets.v_cold import association
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.progress import Progress

BINS = 10  # intervals of equal frequency that a column of numbers has when it is compared with others


@algorithm("slicing", minimizes="nothing, its cells are exact")
class Slicing(base.InGroups):
    """Cut columns into blocks of related ones and shuffle every block independently inside groups of similar rows.

    Columns are related by their mean-square contingency and put into blocks by k-medoids; sensitive columns form
    blocks of their own, so knowing a quasi-identifier never points at one of the values of a group.
    Cost: O(n log n + n columns^2). Reference: Li, Li, Zhang, Molloy, Slicing, IEEE TKDE 24, 2012.
    """

    chooses_blocks: ClassVar[bool] = True
    block_size: Annotated[int, Field(ge=1, description="columns in a block, on average")] = 2
    groups: base.GroupsField = None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return blocks_of(table, self.block_size)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        groups, notes = base.similar_groups(problem, progress)
        blocks = tuple(base.shuffled(problem, groups, names) for names in self.moving(problem.table))
        shown = "; ".join(" + ".join(block.columns) for block in blocks)
        return base.bucketed(problem, groups, Bucketing(blocks), (f"blocks: {shown}", *notes))


def blocks_of(table: CodedTable, block_size: int) -> list[tuple[str, ...]]:
    """Related columns together; quasi-identifiers and sensitive columns never share a block."""
    codes = base.columns_of(table)
    ordered = {d.name for d in table.domains if d.type.is_ordered and d.hierarchy is None}
    ordered |= {s.name for s, _ in table.attributes() if s.is_ordered and s.hierarchy is None}
    binned = {name: _binned(column) if name in ordered else column for name, column in codes.items()}
    parts = ([d.name for d in table.domains], list(base.sensitive_names(table)))
    return [block for names in parts for block in _related(names, binned, block_size)]


def _binned(codes: IntArray) -> IntArray:
    """Intervals of about equal frequency; equal codes stay together."""
    below = np.cumsum(np.bincount(codes)) - np.bincount(codes)
    return np.asarray(below[codes] * BINS // len(codes))


def _related(names: Sequence[str], codes: Mapping[str, IntArray], block_size: int) -> list[tuple[str, ...]]:
    n_blocks = -(-len(names) // block_size)
    apart = np.zeros((len(names), len(names)))
    for a, one in enumerate(names):
        for b, two in enumerate(names[:a]):
            apart[a, b] = apart[b, a] = 1 - association(codes[one], codes[two]) ** 2
    block_of = _medoid_of(apart, n_blocks)
    return [tuple(n for n, m in zip(names, block_of, strict=True) if m == medoid) for medoid in dict.fromkeys(block_of)]


def _medoid_of(apart: FloatArray, n_medoids: int) -> list[int]:
    """The medoid of every point: chosen one by one for the least total distance, then exchanged while that helps."""
    points = range(len(apart))
    medoids: list[int] = []
    while len(medoids) < n_medoids:
        medoids.append(min((p for p in points if p not in medoids), key=lambda p: _cost(apart, [*medoids, p])))
    best = _cost(apart, medoids)
    while True:
        trials = [[p if m == old else m for m in medoids] for old in medoids for p in points if p not in medoids]
        better = min(trials, key=lambda trial: _cost(apart, trial), default=medoids)
        if _cost(apart, better) >= best - 1e-12:
            break
        medoids, best = better, _cost(apart, better)
    return [medoids[int(np.argmin(apart[p, medoids]))] for p in points]


def _cost(apart: FloatArray, medoids: Sequence[int]) -> float:
    return float(apart[:, medoids].min(axis=1).sum())
