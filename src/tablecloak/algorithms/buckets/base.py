"""What algorithms share that publish exact values: diverse groups, inside which the link to sensitive values is cut."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Bucketing, ColumnBlock, Problem, Publishes, Solution, if_not_monotone
from tablecloak.algorithms.merge_classes import boxes_of, renumbered
from tablecloak.algorithms.secret_order import renamed
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import GoalNotMet, Infeasible
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress
from tablecloak.rng import Stream

GroupsField = Annotated[
    str | None, Field(description="column that names the group of every row; groups are searched for if left out")
]


class GivenGroups:
    """Groups may be given by a column of the table."""

    groups: str | None

    @property
    def group_column(self) -> str | None:
        return self.groups


class ExactValues:
    """What algorithms share that publish exact values in groups."""

    needs_rows: ClassVar[bool] = True

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:  # noqa: ARG002
        return []

    def refuses(self, goal: Goal) -> str | None:
        linked = [m.name for m in goal.models if not m.holds_in_groups]
        if linked:
            return f"exact quasi-identifiers are published, so {', '.join(linked)} cannot hold; ask for l-diversity"
        return if_not_monotone(goal, "groups that fail it are united, and uniting groups can break {models}")


class Separating(ExactValues):
    """The same, with the sensitive columns in a table of their own."""

    publishes: ClassVar[Publishes] = Publishes.SEPARATED


def bucketed(problem: Problem, groups: IntArray, bucketing: Bucketing, notes: tuple[str, ...] = ()) -> Solution:
    """Groups as the solution they are, under numbers that say nothing."""
    groups, n_groups = renumbered(groups)
    groups = renamed(groups, n_groups, problem.secret)
    lo, hi = boxes_of(problem.table, groups, n_groups)
    return Solution(groups, lo, hi, bucketing=bucketing, notes=notes)


def sensitive_names(table: CodedTable) -> tuple[str, ...]:
    """The sensitive columns that the goal looks at."""
    return tuple(domain.name for domain, _ in table.attributes())


def columns_of(table: CodedTable) -> dict[str, IntArray]:
    """The codes of every quasi-identifier and counted sensitive column, by name."""
    quasi = {d.name: table.quasi_codes(i) for i, d in enumerate(table.domains)}
    return {**quasi, **{domain.name: codes for domain, codes in table.attributes()}}


def shuffled(problem: Problem, groups: IntArray, columns: tuple[str, ...]) -> ColumnBlock:
    """A block in an order drawn from the secret inside every group, each order equally likely.

    The rows of a group are first put in the order of their values, which forgets their old order: even with the secret
    one can only undo the shuffle and finds the values sorted.
    """
    codes = columns_of(problem.table)
    values = np.lexsort([*(codes[name] for name in reversed(columns)), groups])
    stream = problem.secret.stream(f"shuffle/{'/'.join(columns)}")
    places = np.lexsort([stream.words(len(groups)), groups])
    source = np.empty(len(groups), np.int64)
    source[places] = values
    return ColumnBlock(columns, source)


def groups_for(problem: Problem) -> IntArray:
    """The given groups if there are any, else diverse ones; all satisfy the goal.

    Raises: GoalNotMet if a given group does not, Infeasible if a value is too frequent for any groups.
    """
    if problem.given is None:
        return unite_failing(problem, diverse_groups(problem))
    groups, n_groups = renumbered(problem.given)
    weak = ~problem.goal.admits(problem.table.class_stats(groups, n_groups))
    if weak.any():
        raise GoalNotMet(
            f"{int(weak.sum()):,} of the {n_groups:,} given groups do not satisfy the goal",
            result={"holds": False, "groups": n_groups, "weak_groups": int(weak.sum())},
            hint="let groups be searched for, or weaken the goal; nothing was written",
        )
    return groups


def diverse_groups(problem: Problem) -> IntArray:
    """Groups whose records all differ in the most skewed sensitive column, at least `min_size` records each."""
    table, size = problem.table, problem.goal.min_size
    domain, codes = max(table.attributes(), key=lambda attribute: int(np.bincount(attribute[1]).max()))
    require_spread(problem, domain.name, codes)
    return _drawn(codes, size, problem.secret.stream("groups"))


def groups_inside(problem: Problem, near: IntArray) -> IntArray | None:
    """Diverse groups, each among the rows of one neighbourhood; None where a neighbourhood cannot satisfy the goal.

    Args:
        near: (n_rows,) the neighbourhood of every row, numbered from 0.
    """
    size = problem.goal.min_size
    attributes = [codes for _, codes in problem.table.attributes()]
    stream = problem.secret.stream("groups")
    groups, n_groups = np.empty(len(near), np.int64), 0
    for rows in _rows_by_code(near):
        codes = max((codes[rows] for codes in attributes), key=lambda c: int(np.bincount(c).max()))
        if int(np.bincount(codes).max()) * size > len(rows):
            return None
        groups[rows] = n_groups + _drawn(codes, size, stream)
        n_groups = int(groups[rows].max()) + 1
    return _united_inside(problem, groups, near)


def _united_inside(problem: Problem, groups: IntArray, near: IntArray) -> IntArray | None:
    """Groups, those that fail the goal united with the next of the same neighbourhood; None if one fails alone."""
    while True:
        groups, n_groups = renumbered(groups)
        is_failing = ~problem.goal.admits(problem.table.class_stats(groups, n_groups))
        if not is_failing.any():
            return groups
        home = np.empty(n_groups, np.int64)
        home[groups] = near
        becomes, is_free = np.arange(n_groups), np.ones(n_groups, bool)
        for one in np.flatnonzero(is_failing).tolist():
            beside = [g for g in (one + 1, one - 1) if 0 <= g < n_groups and home[g] == home[one]]
            if not beside:
                return None
            other = next((g for g in beside if is_free[g]), None)
            if is_free[one] and other is not None:
                becomes[one] = other
                is_free[[one, other]] = False
        groups = becomes[groups]


def _drawn(codes: IntArray, size: int, stream: Stream) -> IntArray:
    """Groups of `size` rows or more whose codes all differ, drawn at random."""
    stacks = [rows[stream.permutation(len(rows))].tolist() for rows in _rows_by_code(codes)]
    groups = _draw(stacks, size, len(codes))
    return _place_rest(stacks, groups, codes, stream)


def require_spread(problem: Problem, column: str, codes: IntArray) -> int:
    """How often the most frequent value occurs, seldom enough for groups of `min_size` different values.

    Raises: Infeasible.
    """
    n_rows, size = len(codes), problem.goal.min_size
    most = int(np.bincount(codes).max())
    if most * size <= n_rows:
        return most
    best = n_rows // most
    raise Infeasible(
        f"infeasible  one value of '{column}' is carried by {most:,} of {n_rows:,} records, more than 1 in {size}: "
        f"it cannot be spread over groups of {size} different values",
        best=[{"model": "groups of different values", "achieved": best, "required": size}],
        relaxations=[{"change": f"l: {best}  → feasible", "feasible": True}] if best >= 2 else [],
    )


def _rows_by_code(codes: IntArray) -> list[IntArray]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _draw(stacks: list[list[int]], size: int, n_rows: int) -> IntArray:
    """Take one record of each of the `size` largest stacks for a group, while there are so many stacks."""
    groups = np.full(n_rows, -1)
    heap = [(-len(stack), i) for i, stack in enumerate(stacks)]
    heapq.heapify(heap)
    n_groups = 0
    while len(heap) >= size:
        taken = [heapq.heappop(heap) for _ in range(size)]
        for left, i in taken:
            groups[stacks[i].pop()] = n_groups
            if left < -1:
                heapq.heappush(heap, (left + 1, i))
        n_groups += 1
    return groups


def _place_rest(stacks: list[list[int]], groups: IntArray, codes: IntArray, stream: Stream) -> IntArray:
    """Every record that is left joins a group without its value; there is one, for no value is too frequent."""
    n_groups = int(groups.max()) + 1
    for stack in stacks:
        for row in stack:
            has_it = np.zeros(n_groups, bool)
            has_it[groups[(codes == codes[row]) & (groups >= 0)]] = True
            free = np.flatnonzero(~has_it)
            groups[row] = free[stream.integers(0, len(free), 1)[0]]
    return groups


def unite_failing(problem: Problem, groups: IntArray) -> IntArray:
    """Groups after every one that fails the goal was united with the next, again until none fails."""
    groups, n_groups = renumbered(groups)
    while n_groups > 1:
        is_failing = ~problem.goal.admits(problem.table.class_stats(groups, n_groups))
        if not is_failing.any():
            break
        groups, n_groups = renumbered(paired(is_failing)[groups])
    return groups


def paired(is_failing: BoolArray) -> IntArray:
    """What each group becomes when failing ones join a neighbour; a group takes part in one union only."""
    n_groups = len(is_failing)
    becomes, is_free = np.arange(n_groups), np.ones(n_groups, bool)
    for one in np.flatnonzero(is_failing).tolist():
        other = one + 1 if one + 1 < n_groups and is_free[one + 1] else one - 1
        if is_free[one] and other >= 0 and is_free[other]:
            becomes[one] = other
            is_free[[one, other]] = False
    return becomes


NEIGHBOURS = 16  # groups that can be made of neighbours, at least


BY_VALUES = (
    "a value is too frequent to be spread over groups, so sensitive values decided where groups part: whoever runs the "
    "program again may learn from it why a group is not smaller"
)


class InGroups(GivenGroups, ExactValues):
    """What both share: rows that are alike, and diverse together, form a group."""

    publishes: ClassVar[Publishes] = Publishes.GROUPED


def similar_groups(problem: Problem, progress: Progress) -> tuple[IntArray, tuple[str, ...]]:
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
