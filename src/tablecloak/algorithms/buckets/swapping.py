"""Swapping: blocks of columns exchanged between the rows of a group, forbidden combinations left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Bucketing, ColumnBlock, Problem, Solution, algorithm
from tablecloak.algorithms.buckets import base
from tablecloak.algorithms.merge_classes import renumbered
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import DataError, IncompatibleChoice, Infeasible, did_you_mean
from tablecloak.progress import Progress
from tablecloak.rng import Stream


@algorithm("swapping", minimizes="nothing, its cells are exact")
class Swapping(base.InGroups):
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
    groups: base.GroupsField = None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return [base.sensitive_names(table)]

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        rules = [_Rule(table, combination) for combination in self.forbidden]
        n_broken = int(np.logical_or.reduce([r.is_broken() for r in rules]).sum()) if rules else 0
        if n_broken:
            raise DataError(
                f"{n_broken:,} rows of the table hold a forbidden combination", hint="correct them, or allow it"
            )
        groups, notes = base.similar_groups(problem, progress)
        groups = _open_enough(problem, groups, rules)
        names = base.sensitive_names(table)
        block = base.shuffled(problem, groups, names)
        source = _repaired(block.source, groups, rules, problem.secret.stream("swapping"))
        return base.bucketed(problem, groups, Bucketing((ColumnBlock(names, source),)), notes)


class _Rule:
    """A forbidden combination: rows that match its quasi part must not show values that match its sensitive part."""

    def __init__(self, table: CodedTable, combination: Mapping[str, str]) -> None:
        labels = {d.name: _code_labels(table, i) for i, d in enumerate(table.domains)}
        labels |= {s.name: list(s.labels) for s, _ in table.attributes()}
        codes, quasi = base.columns_of(table), {d.name for d in table.domains}
        for name in combination:
            if name not in codes:
                raise IncompatibleChoice(
                    f"forbidden: '{name}' is neither quasi-identifier nor sensitive", hint=did_you_mean(name, codes)
                )
        self.row = np.ones(table.n_tuples, bool)  # rows that match the quasi part
        self.value = np.ones(table.n_tuples, bool)  # rows whose sensitive values match the other
        for name, forbidden in combination.items():
            matches = np.array([label == forbidden for label in labels[name]], bool)[codes[name]]
            if name in quasi:
                self.row &= matches
            else:
                self.value &= matches

    def is_broken(self, source: IntArray | None = None) -> BoolArray:
        """Which rows hold the combination when they show the sensitive values of others."""
        return self.row & (self.value if source is None else self.value[source])


def _code_labels(table: CodedTable, dim: int) -> list[str | None]:
    every = np.arange(table.domains[dim].n_codes)
    return table.domains[dim].labels(every, every)


def _allowed(rows: IntArray, rules: Sequence[_Rule]) -> BoolArray:
    """Which row may show the sensitive values of which, (n_rows, n_rows)."""
    allowed = np.ones((len(rows), len(rows)), bool)
    for rule in rules:
        allowed &= ~(rule.row[rows][:, None] & rule.value[rows][None, :])
    return allowed


def _open_enough(problem: Problem, groups: IntArray, rules: Sequence[_Rule]) -> IntArray:
    """Groups, united with the next while a row of one could show fewer different values than the goal asks for."""
    table, n_values = problem.table, problem.goal.min_size
    if not rules:
        return groups
    columns = [codes for _, codes in table.attributes()]
    is_ruled = np.logical_or.reduce([r.row for r in rules])
    while True:
        groups, n_groups = renumbered(groups)
        is_closed = np.zeros(n_groups, bool)
        for group in np.unique(groups[is_ruled]).tolist():
            is_closed[group] = _fewest_values(np.flatnonzero(groups == group), rules, columns) < n_values
        if not is_closed.any():
            return groups
        if n_groups == 1:
            raise Infeasible(
                f"infeasible  the forbidden combinations leave some rows fewer than {n_values} different values",
                best=[],
                relaxations=[],
            )
        groups = base.paired(is_closed)[groups]


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


def random_matching(allowed: BoolArray, stream: Stream) -> IntArray:
    """A value for every row, each value once, only allowed ones; rows and values are tried in random order.

    Raises: ValueError if there is no such assignment. Cost: O(rows * allowed pairs).
    """
    row_of = np.full(allowed.shape[1], -1)
    for row in stream.permutation(len(allowed)).tolist():
        if not _augment(allowed, row, row_of, stream.permutation(allowed.shape[1])):
            raise ValueError("there is no assignment without a forbidden pair")
    value_of = np.empty(len(allowed), np.int64)
    value_of[row_of[row_of >= 0]] = np.flatnonzero(row_of >= 0)
    return value_of


def _augment(allowed: BoolArray, start: int, row_of: IntArray, order: IntArray) -> bool:
    """Give a row a value, moving others along a path of values if need be (breadth first)."""
    came_from = np.full(len(row_of), -1)
    is_seen = np.zeros(len(row_of), bool)
    queue = [start]
    for row in queue:
        for value in order[allowed[row][order] & ~is_seen[order]].tolist():
            is_seen[value] = True
            came_from[value] = row
            if row_of[value] < 0:
                _shift(value, start, came_from, row_of)
                return True
            queue.append(int(row_of[value]))
    return False


def _shift(value: int, start: int, came_from: IntArray, row_of: IntArray) -> None:
    while True:
        row = int(came_from[value])
        previous = np.flatnonzero(row_of == row)
        row_of[value] = row
        if row == start:
            return
        value = int(previous[0])
