"""Slicing and swapping: columns cut into blocks, and blocks exchanged between the rows of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.base import Block, Bucketing, Problem, Publishes, Solution, algorithm
from tablecloak.algorithms.buckets import (
    ExactValues,
    GivenGroups,
    GroupsField,
    bucketed,
    columns_of,
    groups_for,
    groups_inside,
    paired,
    sensitive_names,
    shuffled,
)
from tablecloak.algorithms.matching import random_matching
from tablecloak.algorithms.merging import renumbered
from tablecloak.algorithms.partition import CutRule, partition
from tablecloak.algorithms.vklt.v_cold import association
from tablecloak.data.coded import CodedTable
from tablecloak.errors import DataError, IncompatibleChoice, Infeasible, did_you_mean
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress
from tablecloak.rng import Stream

__all__ = ["Slicing", "Swapping", "blocks_of"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
NEIGHBOURS = 16  # groups that can be made of neighbours, at least
BY_VALUES = (
    "a value is too frequent to be spread over groups, so sensitive values decided where groups part: whoever runs the "
    "program again may learn from it why a group is not smaller"
)
BINS = 10  # intervals of equal frequency that a column of numbers has when it is compared with others


class _InGroups(GivenGroups, ExactValues):
    """What both share: rows that are alike, and diverse together, form a group."""

    @property
    def publishes(self) -> Publishes:
        return Publishes.GROUPED


def _similar_groups(problem: Problem, progress: Progress) -> tuple[IntArray, tuple[str, ...]]:
    """Given groups, or groups of rows that are near each other and satisfy the goal, with a remark.

    Rows that differ little are neighbours, whatever their sensitive values; who forms a group among neighbours is drawn
    from the secret. If the values decided where neighbours part, a reader who runs the program again would learn them:
    why a group was not cut. So where some neighbours cannot be spread over groups, all neighbourhoods are made larger.
    """
    if problem.given is not None:
        return groups_for(problem), ()
    rule = CutRule(by_saving=True, relaxed=False)
    size = NEIGHBOURS * problem.goal.min_size
    while True:
        is_whole = 2 * size > problem.table.n_rows
        blind = replace(problem, goal=Goal((KAnonymity(k=size),)))
        near = np.zeros(problem.table.n_rows, np.int64) if is_whole else partition(blind, rule, progress).class_of_tuple
        groups = groups_inside(problem, near)
        if groups is not None:
            return groups, ()
        if is_whole:
            break
        size *= 2
    return partition(problem, rule, progress).class_of_tuple, (BY_VALUES,)


@algorithm("slicing", minimizes="nothing, its cells are exact")
class Slicing(_InGroups):
    """Cut columns into blocks of related ones and shuffle every block independently inside groups of similar rows.

    Columns are related by their mean-square contingency and put into blocks by k-medoids; sensitive columns form
    blocks of their own, so knowing a quasi-identifier never points at one of the values of a group.
    Cost: O(n log n + n columns^2). Reference: Li, Li, Zhang, Molloy, Slicing, IEEE TKDE 24, 2012.
    """

    block_size: Annotated[int, Field(ge=1, description="columns in a block, on average")] = 2
    groups: GroupsField = None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return blocks_of(table, self.block_size)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        groups, notes = _similar_groups(problem, progress)
        blocks = tuple(shuffled(problem, groups, names) for names in self.moving(problem.table))
        shown = "; ".join(" + ".join(block.columns) for block in blocks)
        return bucketed(problem, groups, Bucketing(blocks), (f"blocks: {shown}", *notes))


def blocks_of(table: CodedTable, block_size: int) -> list[tuple[str, ...]]:
    """Related columns together; quasi-identifiers and sensitive columns never share a block."""
    codes = columns_of(table)
    ordered = {d.name for d in table.domains if d.type.is_ordered and d.hierarchy is None}
    ordered |= {s.name for s, _ in table.attributes() if s.is_ordered and s.hierarchy is None}
    binned = {name: _binned(column) if name in ordered else column for name, column in codes.items()}
    parts = ([d.name for d in table.domains], list(sensitive_names(table)))
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


@algorithm("swapping", minimizes="nothing, its cells are exact")
class Swapping(_InGroups):
    """Exchange the sensitive values of the rows of a group at random, never into a combination that cannot be.

    Every row keeps its quasi-identifiers; every group keeps its sensitive values. A forbidden combination tells a
    reader which values a row cannot have, so a group must offer each of its rows as many different values as the goal
    asks for. Cost: O(n log n), O(group size^3) for groups with forbidden combinations.
    Reference: Dalenius, Reiss, Data-swapping, Journal of Statistical Planning and Inference 6, 1982.
    """

    forbidden: Annotated[
        tuple[dict[str, str], ...],
        Field(description="combinations that must not arise, as in {sex: female, illness: prostate cancer}"),
    ] = field(default=())
    groups: GroupsField = None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return [sensitive_names(table)]

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        rules = [_Rule(table, combination) for combination in self.forbidden]
        n_broken = int(np.logical_or.reduce([r.is_broken() for r in rules]).sum()) if rules else 0
        if n_broken:
            raise DataError(
                f"{n_broken:,} rows of the table hold a forbidden combination", hint="correct them, or allow it"
            )
        groups, notes = _similar_groups(problem, progress)
        groups = _open_enough(problem, groups, rules)
        names = sensitive_names(table)
        block = shuffled(problem, groups, names)
        source = _repaired(block.source, groups, rules, problem.secret.stream("swapping"))
        return bucketed(problem, groups, Bucketing((Block(names, source),)), notes)


class _Rule:
    """A forbidden combination: rows that match its quasi part must not show values that match its sensitive part."""

    def __init__(self, table: CodedTable, combination: Mapping[str, str]) -> None:
        labels = {d.name: _code_labels(table, i) for i, d in enumerate(table.domains)}
        labels |= {s.name: list(s.labels) for s, _ in table.attributes()}
        codes, quasi = columns_of(table), {d.name for d in table.domains}
        for name in combination:
            if name not in codes:
                raise IncompatibleChoice(
                    f"forbidden: '{name}' is neither quasi-identifier nor sensitive", hint=did_you_mean(name, codes)
                )
        self.row = np.ones(table.n_tuples, bool)  # rows that match the quasi part
        self.value = np.ones(table.n_tuples, bool)  # rows whose sensitive values match the other
        for name, wanted in combination.items():
            matches = np.array([label == wanted for label in labels[name]], bool)[codes[name]]
            if name in quasi:
                self.row &= matches
            else:
                self.value &= matches

    def is_broken(self, source: IntArray | None = None) -> NDArray[np.bool_]:
        """Which rows hold the combination when they show the sensitive values of others."""
        return self.row & (self.value if source is None else self.value[source])


def _code_labels(table: CodedTable, dim: int) -> list[str | None]:
    every = np.arange(table.domains[dim].n_codes)
    return table.domains[dim].labels(every, every)


def _allowed(rows: IntArray, rules: Sequence[_Rule]) -> NDArray[np.bool_]:
    """Which row may show the sensitive values of which, (n_rows, n_rows)."""
    allowed = np.ones((len(rows), len(rows)), bool)
    for rule in rules:
        allowed &= ~(rule.row[rows][:, None] & rule.value[rows][None, :])
    return allowed


def _open_enough(problem: Problem, groups: IntArray, rules: Sequence[_Rule]) -> IntArray:
    """Groups, united with the next while a row of one could show fewer different values than the goal asks for."""
    table, wanted = problem.table, problem.goal.min_size
    if not rules:
        return groups
    columns = [codes for _, codes in table.attributes()]
    is_ruled = np.logical_or.reduce([r.row for r in rules])
    while True:
        groups, n_groups = renumbered(groups)
        is_closed = np.zeros(n_groups, bool)
        for group in np.unique(groups[is_ruled]).tolist():
            is_closed[group] = _fewest_values(np.flatnonzero(groups == group), rules, columns) < wanted
        if not is_closed.any():
            return groups
        if n_groups == 1:
            raise Infeasible(
                f"infeasible  the forbidden combinations leave some rows fewer than {wanted} different values",
                best=[],
                relaxations=[],
            )
        groups = paired(is_closed)[groups]


def _fewest_values(rows: IntArray, rules: Sequence[_Rule], columns: Sequence[IntArray]) -> int:
    """The smallest number of different values that a row of a group may show, over rows and columns."""
    allowed = np.unique(_allowed(rows, rules), axis=0)
    return min(len(np.unique(codes[rows][may])) for may in allowed for codes in columns)


def _repaired(source: IntArray, groups: IntArray, rules: Sequence[_Rule], stream: Stream) -> IntArray:
    """The same exchange with another random one in every group where it would make a forbidden combination."""
    if not rules:
        return source
    broken = np.logical_or.reduce([r.is_broken(source) for r in rules])
    source = source.copy()
    for group in np.unique(groups[broken]).tolist():
        rows = np.flatnonzero(groups == group)
        values = source[rows]  # shuffled already, so which of them a row gets first is random
        allowed = np.ones((len(rows), len(rows)), bool)
        for rule in rules:
            allowed &= ~(rule.row[rows][:, None] & rule.value[values][None, :])
        source[rows] = values[random_matching(allowed, stream)]
    return source
