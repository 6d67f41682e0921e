"""From a prepared table to an answer: classes, groups, or whatever its shape searches."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tablecloak.algorithms import among_people
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import Answer, Coding, Engine, OnDisk
from tablecloak.errors import CloakError, GoalNotMet, IncompatibleChoice
from tablecloak.kernels import dispatch
from tablecloak.kernels.compiling import compile_kernels, missing
from tablecloak.models.base import Goal
from tablecloak.progress import Progress, Timed, silent, tell_doing
from tablecloak.release.plan import Plan
from tablecloak.release.population import asks_for_everybody, solve_for_everybody
from tablecloak.release.prepare import Prepared
from tablecloak.release.shapes.base import Shape
from tablecloak.values.amounts import show_seconds

BEGINS_AT_ONCE = 50_000  # records up to which nobody asks how long a search will take
SAMPLES = (300, 1000, 3000)  # records whose search tells it: two samples, the larger ones where they are quick
QUICK_SAMPLE = 0.5  # seconds
READ_UP_TO = 1_000_000  # records of a table on disk that are read to draw samples
SAMPLED = 100_000  # of more records, those that are kept when all of them are read past


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A prepared table with the answer that a search came to."""

    prepared: Prepared[Any]
    answer: Any  # as its shape answers: `Answer` for classes and groups
    remarks: tuple[str, ...] = ()  # of the search
    detailed_loss: float | None = None  # what detailed labels would lose, where few were asked for

    @property
    def shape(self) -> Shape:
        return self.prepared.shape

    @property
    def coding(self) -> Any:
        return self.prepared.coding

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def engine(self) -> Engine:
        return self.prepared.engine

    @property
    def solution(self) -> Solution:
        solution: Solution = self.answer.solution
        return solution


def search(prepared: Prepared[Any], timed: Timed, threads: int | None) -> Solved:
    """An answer that satisfies the goal of a prepared table.

    Raises: Infeasible, GoalNotMet.
    """
    with dispatch.announced(lambda topic: tell_doing(timed.inner, f"compiling {topic}, once for this version")):
        return prepared.shape.search(prepared, timed, threads)


def search_classes(prepared: Prepared[Any], timed: Timed, threads: int | None) -> Solved:
    """Classes for a prepared table that satisfy the goal of its plan.

    Raises: Infeasible, GoalNotMet.
    """
    coding, plan = prepared.coding, prepared.plan
    with_time_for(prepared, timed)
    compile_for(plan, plan.algorithm, coding.n_tuples, timed)
    with timed.phase("solve", coding.n_tuples) as notes:
        whole = coding.n_tuples if len(coding.shards) > 1 else 0
        class_search = Search(plan, threads or os.cpu_count() or 1, prepared.groups, timed.inner, whole)
        answer = _answer(prepared.engine, coding, class_search)
        notes.append("; ".join([f"{answer.n_classes:,} classes", *answer.notes]))
    return Solved(prepared, answer, (*answer.notes, *plan.algorithm.remarks(coding.n_tuples)))


def with_time_for(prepared: Prepared[Any], timed: Timed) -> tuple[str, ...]:
    """What to say about the time that a search will take, where it compares records with each other and has many.

    Raises: IncompatibleChoice, if that is more than the policy allows.
    """
    plan = prepared.plan
    if plan.algorithm.comparisons(2, 1) is None or prepared.coding.n_tuples <= BEGINS_AT_ONCE:
        return ()
    with timed.phase("estimate") as notes:
        seconds = expected_seconds(prepared)
        if seconds is None:
            return ()
        expected = (
            f"{plan.algorithm.name} on {prepared.coding.n_tuples:,} records will take about {show_seconds(seconds)}"
        )
        notes.append(expected)
    most = plan.policy.search_limit
    if seconds > most:
        raise IncompatibleChoice(
            f"{expected}, more than the {show_seconds(most)} that the policy allows",
            hint=f"algorithm auto takes far less; or allow it with --set search_limit={2 * seconds:.0f} (in seconds)",
        )
    return (expected,)


def expected_seconds(prepared: Prepared[Any]) -> float | None:
    """How long a search will take, told by what it takes for two small samples; None where these have no answer.

    A part of the time grows with the records, another with the comparisons between them. Right within a factor of ten,
    because large tables are searched by compiled kernels and small ones are not.
    """
    algorithm, plan, coding = prepared.plan.algorithm, prepared.plan, prepared.coding
    size, n = max(1, plan.goal.min_size), coding.n_tuples
    if n > READ_UP_TO and coding.sample is not None:
        records = coding.sample(SAMPLED)
    elif n > READ_UP_TO and algorithm.dealing is not None and prepared.engine.name != "local":
        return None  # the one shard there is would have to fit memory
    else:
        records = coding.shards[0]
    took = [_sample_seconds(records, plan, m, times=times) for m, times in zip(SAMPLES[:2], (2, 1), strict=True)]
    if took[0] is None or (took[1] is not None and took[1] < QUICK_SAMPLE):
        took.append(_sample_seconds(records, plan, SAMPLES[2], times=2))  # of this size kernels are compiled
    took_few, took_many = took[-2:]
    if took_few is None or took_many is None:
        return None
    n_few, n_many = SAMPLES[len(took) - 2 : len(took)]
    few, many = (float(algorithm.comparisons(m, size) or m) for m in (n_few, n_many))
    each = max(0.0, (took_many - took_few * n_many / n_few) / (many - few * n_many / n_few))
    rest = max(0.0, (took_many - each * many) / n_many)
    return float(each * (algorithm.comparisons(n, size) or n) + rest * n)


def _sample_seconds(tuples: CodedTable, plan: Plan, n: int, *, times: int) -> float | None:
    """Seconds for some records spread over all of them, the last of several times: the first loads what is needed."""
    if tuples.n_tuples < n:
        return None
    few = tuples.reordered(np.linspace(0, tuples.n_tuples - 1, n).astype(np.int64))
    problem = Problem(few, plan.goal, 1, plan.policy.seed)  # with a secret of its own: nothing of it is published
    took = 0.0
    for _ in range(times):
        begin = time.perf_counter()
        try:
            plan.algorithm.solve(problem, silent)
        except CloakError:
            return None
        took = time.perf_counter() - begin
    return took


def compile_for(plan: Plan, algorithm: Algorithm, n_tuples: int, timed: Timed) -> None:
    """Compile what a search will need, and say what the first run of a version waits for."""
    steps = missing(algorithm.kernels(n_tuples, plan.goal))
    if steps:
        with timed.phase("compile", len(steps)) as notes:
            compile_kernels(steps, timed.inner)
            notes.append(f"{len(steps)} kernel{'s' if len(steps) > 1 else ''}, once for this version")


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
    groups: IntArray | None
    progress: Progress
    whole: int = 0  # tuples of a table that was cut apart

    @property
    def on_disk(self) -> OnDisk | None:
        dealing = self.plan.algorithm.dealing
        if dealing is None:
            return None
        return OnDisk(dealing, self.plan.goal, self.plan.secret, self.progress)

    @property
    def min_size(self) -> int:
        return self.plan.goal.min_size

    def __call__(self, tuples: CodedTable) -> Solution:
        plan = self.plan
        problem = Problem(tuples, plan.goal, self.threads, plan.policy.seed, self.groups, plan.secret, self.whole)
        solution = among_people.solve(plan.algorithm, problem, self.progress)
        _require_found(solution, tuples, plan.goal)
        return solution

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has no bar to draw, and one processor for each shard."""
        return Search, (self.plan, 1, self.groups, silent, self.whole)


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
