"""From a source to classes: read it, code it, search."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.algorithms import hiding
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.algorithms.dealing import Dealing
from tablecloak.algorithms.feasibility import TRY_LOSS_UP_TO, require_feasible
from tablecloak.data.coded import CodedTable
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import Answer, Coding, Engine, OnDisk, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import GoalNotMet
from tablecloak.handover import Attackers, risk_before
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.models.base import Goal
from tablecloak.outcome import loss_of
from tablecloak.outside import with_population
from tablecloak.plan import Plan, given_groups, guards_of, make_plan, settle_persons, without_missing
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.presence import asks_for_everybody, solve_for_everybody
from tablecloak.progress import Progress, Timed, silent
from tablecloak.separation import (
    refuse_persons,
)
from tablecloak.stats.classes import Needs

__all__ = ["Solved", "code", "in_memory", "read", "solve", "try_plan"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A table with the classes found for it."""

    table: Table
    coding: Coding
    answer: Answer
    n_missing_dropped: int
    before: Attackers | None = None  # what attackers could do with the original

    @property
    def solution(self) -> Solution:
        return self.answer.solution


def read(engine: Engine, source: Source, policy: Policy, timed: Timed) -> tuple[Plan, Table]:
    """The columns of a source that a policy asks for, and the plan for them."""
    with timed.phase("read") as notes:
        layout = engine.layout(source)
        secret = engine.remembered(secret_of(policy), is_new=policy.secret is None)
        plan = make_plan(policy, layout.names, location=source.location, secret=secret)
        kernels.preload(layout.n_rows_hint or 0, refines=plan.algorithm.name == "auto")
        source = _letter_by_letter(source, layout, plan)
        table = engine.read(source, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
        refuse_empty(table.n_rows, source.location)
        notes.append(f"{table.n_rows:,} rows")
    return plan, table


def _letter_by_letter(source: Source, layout: Layout, plan: Plan) -> Source:
    """The source with columns that are only kept read as text, if they go from a text file to another.

    Other columns are typed; how they were written is found out when the release is written. Suppressed rows show an
    empty cell in place of a number, so there kept numbers stay numbers.
    """
    if layout.format not in ("csv", "tsv") or not plan.policy.writes_text or plan.publication.keeps_suppressed:
        return source
    used = {*plan.quasi, *plan.sensitive, *plan.publication.starred, plan.person, plan.target}
    kept = {name for name in plan.publication.columns if name not in used | {plan.algorithm.group_column}}
    formats = {name: f for name, f in source.date_formats.items() if name not in kept}
    return replace(source, types={**source.types, **dict.fromkeys(kept, ColumnType.TEXT)}, date_formats=formats)


def in_memory(engine: Engine, table: Table, plan: Plan) -> tuple[Engine, Table]:
    """Methods that move rows about, guards and a population need all rows at hand; else this is refused."""
    needs_rows = plan.algorithm.publishes.is_bucketing
    if not needs_rows and Needs.POPULATION not in plan.goal.needs and not guards_of(plan.goal):
        return engine, table
    return LocalEngine(), table_of(engine.frame(table), table.name)


def code(engine: Engine, table: Table, plan: Plan, progress: Progress = silent) -> Coding:
    """The distinct tuples of a table, with what the goal counts in them."""
    table, counted = with_population(engine, table, plan)
    return engine.contingency(
        table, plan.quasi_columns(table), counted, by_row=plan.algorithm.needs_rows, progress=progress,
        stands_alone=plan.goal.admits if plan.algorithm.may_shard else None,
    )  # fmt: skip


def solve(engine: Engine, table: Table, plan: Plan, timed: Timed, threads: int | None) -> Solved:
    """Classes for a table that satisfy the goal of a plan.

    Raises: Infeasible, GoalNotMet, DataError.
    """
    with timed.phase("code", table.n_rows) as notes:
        table, n_dropped = without_missing(engine, table, plan)
        table, plan = settle_persons(engine, table, plan)
        refuse_persons(plan)
        if plan.algorithm.needs_rows and plan.publication.order is not Order.KEEP:
            table = engine.sorted(table)  # such a method may end otherwise where it meets rows in another order
        coding, given = code(engine, table, plan, timed.inner), given_groups(engine, table, plan)
        in_shards = f" in {len(coding.shards):,} shards" if len(coding.shards) > 1 else ""
        notes.append(f"{coding.n_tuples:,} distinct tuples{in_shards}")
        before = risk_before(engine, table, plan)
        # what remains to be published; generalised quasi-identifiers live on as codes
        coded = () if plan.algorithm.publishes.is_bucketing else plan.quasi
        rest = [c for c in plan.publication.columns if c not in coded and c not in plan.publication.starred]
        table = engine.select(table, rest)

    def loss_for(goal: Goal) -> float:
        return loss_of(coding, plan, _try(coding, plan, goal, given))

    require_feasible(coding.whole(), plan.goal, loss_for if coding.n_tuples <= TRY_LOSS_UP_TO else None)
    _compile(plan.algorithm, coding.n_tuples, timed)
    search = Search(plan, threads or os.cpu_count() or 1, given, timed.inner)
    with timed.phase("solve", coding.n_tuples) as notes:
        answer = _answer(engine, coding, search)
        notes.append("; ".join([f"{answer.solution.n_classes:,} classes", *answer.solution.notes]))
    return Solved(table, coding, answer, n_dropped, before)


def _compile(algorithm: Algorithm, n_tuples: int, timed: Timed) -> None:
    """Say what the first run of a version waits for."""
    if algorithm.must_compile(n_tuples):
        with timed.phase("compile") as notes:
            algorithm.compile(n_tuples)
            notes.append("kernels, once for this version")


def _answer(engine: Engine, coding: Coding, search: Search) -> Answer:
    plan = search.plan
    if not asks_for_everybody(plan.goal):
        return engine.solve(coding, search)
    return solve_for_everybody(
        coding, plan, lambda goal: engine.solve(coding, replace(search, plan=replace(plan, goal=goal)))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The search that a plan asks for, on the tuples of a table or of a shard."""

    plan: Plan
    threads: int
    given: IntArray | None
    progress: Progress

    @property
    def on_disk(self) -> OnDisk | None:
        algorithm = self.plan.algorithm
        if not isinstance(algorithm, Dealing):
            return None
        return OnDisk(algorithm, self.plan.goal, self.plan.secret, self.progress)

    def __call__(self, tuples: CodedTable) -> Solution:
        plan = self.plan
        problem = Problem(tuples, plan.goal, self.threads, plan.policy.seed, self.given, plan.secret)
        solution = hiding.solve(plan.algorithm, problem, self.progress)
        _require_found(solution, tuples, plan.goal)
        return solution

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has no bar to draw, and one processor for each shard."""
        return Search, (self.plan, 1, self.given, silent)


def _require_found(solution: Solution, tuples: CodedTable, goal: Goal) -> None:
    """Fail early where the search could not satisfy a model that is not monotone; the recount would fail anyway."""
    if goal.is_monotone:
        return
    stats = solution.stats(tuples)
    _, others = goal.parts()
    weak = ~others.admits(stats) & (stats.size > 0)
    if weak.any():
        n_weak = int(stats.size[weak].sum())
        names = ", ".join(m.name for m in others.models)
        enough = np.ceil(1000 * n_weak / tuples.n_rows) / 1000
        raise GoalNotMet(
            f"the search found no classes that all satisfy {names}: {int(weak.sum()):,} of {stats.n_classes:,}, "
            f"with {n_weak:,} records, do not",
            result={"holds": False, "rows": tuples.n_rows, "weak_rows": n_weak},
            hint=f"algorithm.suppression_limit: {enough:g} may leave them out; or relax {names}. Nothing was written",
        )


def _try(coding: Coding, plan: Plan, goal: Goal, given: IntArray | None) -> Solution:
    """What the algorithm of a plan finds for a goal, without progress and on one processor."""
    problem = Problem(coding.table, goal, 1, plan.policy.seed, given, plan.secret)
    return hiding.solve(plan.algorithm, problem, silent)


def try_plan(coding: Coding, plan: Plan, given: IntArray | None) -> Solution:
    """What a run would find, on one thread and without a word.

    Raises: Infeasible where nobody of a population may be known to be absent, and no release sees to that.
    """
    if not asks_for_everybody(plan.goal):
        return _try(coding, plan, plan.goal, given)

    def solve(goal: Goal) -> Answer:
        solution = _try(coding, plan, goal, given)
        return Answer(solution, solution.sizes(coding.table))

    return solve_for_everybody(coding, plan, solve).solution
