"""Exploration: many variants of a policy on one table, what each risks and what each keeps, and where the knee is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tablecloak import kernels
from tablecloak.algorithms import hiding
from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.feasibility import require_feasible
from tablecloak.engines.base import Answer, Coding, Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import CloakError, GoalNotMet, PolicyError, did_you_mean
from tablecloak.io.frames import from_frame
from tablecloak.io.sniff import sniff
from tablecloak.io.tabular import require_rows
from tablecloak.metrics.base import every, measure
from tablecloak.outcome import counts_of, sentence
from tablecloak.outside import with_population
from tablecloak.plan import Plan, given_groups, guards_of, make_plan, settle_persons, source_of, without_missing
from tablecloak.policy.schema import Policy
from tablecloak.policy.variations import Axis, Variant, axis_of, variants
from tablecloak.progress import Progress, Timed, silent
from tablecloak.report.facts import Before, Exposure, exposure
from tablecloak.report.frontier import Knee, knee_of, on_frontier

__all__ = ["Exploration", "Point", "explore", "explore_policy"]

RISKS = {
    "highest": "chance of singling out the most exposed record",
    "average": "chance of singling out a record, on average",
    "unique": "share of records that stand alone",
    "guess": "largest share that one sensitive value has in a class",
}


@dataclass(frozen=True, slots=True)
class Point:
    """What one variant of the policy comes to; a reason stands for the numbers where it has no release."""

    changes: Mapping[str, str]
    goals: tuple[str, ...]
    algorithm: str
    risks: Mapping[str, float | None] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    n_classes: int = 0
    smallest: int = 0  # records of the smallest class
    suppressed_share: float = 0.0
    seconds: float = 0.0
    reason: str | None = None

    @property
    def label(self) -> str:
        """What was changed, in short."""
        return ", ".join(f"{name}={value}" for name, value in self.changes.items()) or "as it is"

    def to_dict(self) -> dict[str, Any]:
        about = {"changes": dict(self.changes), "goals": list(self.goals), "algorithm": self.algorithm}
        if self.reason is not None:
            return {**about, "reason": self.reason}
        return {
            **about,
            "risk": dict(self.risks),
            "metrics": dict(self.metrics),
            "classes": self.n_classes,
            "smallest": self.smallest,
            "suppressed_share": self.suppressed_share,
            "seconds": round(self.seconds, 4),
        }


@dataclass(frozen=True, slots=True)
class Exploration:
    """Risk and utility of every variant, which of them no other one beats on both, and the knee among these."""

    risk: str
    utility: str
    before: Exposure  # of the original
    points: tuple[Point, ...]
    frontier: tuple[int, ...]  # numbers of points, by falling risk
    knee: Knee | None
    seconds: Mapping[str, float]

    @property
    def best(self) -> Point | None:
        """The point at the knee."""
        return None if self.knee is None else self.points[self.knee.number]

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak explore --json`."""
        before = self.before
        return {
            "risk": self.risk,
            "utility": self.utility,
            "original": {"highest": before.highest, "average": before.average, "unique": before.unique_share},
            "points": [{"number": i, **point.to_dict()} for i, point in enumerate(self.points)],
            "frontier": list(self.frontier),
            "knee": None if self.knee is None else self.knee.to_dict(),
            "seconds": {phase: round(s, 4) for phase, s in self.seconds.items()},
        }

    def __str__(self) -> str:
        from tablecloak.report.frontier import plain_lines

        return "\n".join(plain_lines(self.to_dict()))

    def _repr_html_(self) -> str:
        from tablecloak.report.frontier_page import figure

        return figure(self.to_dict())


def explore(
    data: Any,
    policy: Policy,
    *,
    risk: str = "highest",
    utility: str = "gcp",
    threads: int | None = None,
    progress: Progress = silent,
    **vary: Any,
) -> Exploration:
    """Risk and utility of every combination of the varied settings, on a frame that is read and coded once.

    >>> import tablecloak as tc
    >>> policy = tc.Policy(columns=tc.roles(quasi=["sex", "zip"]), goals=[tc.KAnonymity(k=2)])
    >>> found = tc.explore(tc.sample.patients(), policy, k=[2, 5, 10])
    >>> [point.smallest >= k for point, k in zip(found.points, [2, 5, 10])]
    [True, True, True]

    Args:
        risk: what counts as risk: highest, average, unique or guess.
        utility: the metric that counts as what is lost.
        vary: values by name, such as `k=range(2, 21)` or `algorithm=["mondrian", "auto"]`; a name with dots is passed
            as `**{"goals.1.l": [2, 3]}`.
    """
    frame = from_frame(data)
    axes = [axis_of(name, values) for name, values in vary.items()]
    return _explore(lambda _: table_of(frame), frame.columns, policy, axes, risk, utility, threads, Timed(progress))


def explore_policy(
    policy: Policy,
    axes: Sequence[Axis],
    *,
    risk: str = "highest",
    utility: str = "gcp",
    threads: int | None = None,
    progress: Progress = silent,
) -> Exploration:
    """The same for a policy that names its input."""
    engine, source = LocalEngine(), source_of(policy)

    def read(plan: Plan) -> Table:
        table = engine.read(source, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
        require_rows(table.frame, source.path)
        return table

    names = sniff(source).names
    return _explore(read, names, policy, axes, risk, utility, threads, Timed(progress), location=source.path)


def _explore(
    read: Callable[[Plan], Table],
    names: Sequence[str],
    policy: Policy,
    axes: Sequence[Axis],
    risk: str,
    utility: str,
    threads: int | None,
    timed: Timed,
    *,
    location: Path | None = None,
) -> Exploration:
    _require_known(risk, utility)
    tried = variants(policy, axes)
    place = None if location is None else str(location)
    plans = [_plan_of(variant, names, place) for variant in tried]
    with timed.phase("read") as notes:
        table = read(make_plan(policy, names, location=place))
        kernels.preload(table.n_rows)
        notes.append(f"{table.n_rows:,} rows")
    workshop = _Workshop(LocalEngine(), table, utility)
    points = _solve_all(workshop, tried, plans, threads or os.cpu_count() or 1, timed)
    values = [(p.risks.get(risk), p.metrics.get(utility)) for p in points]
    frontier = on_frontier(values)
    knee = knee_of(values, frontier, [p.label for p in points], RISKS_IN_WORDS[risk], utility)
    return Exploration(risk, utility, workshop.before(), tuple(points), tuple(frontier), knee, timed.seconds)


RISKS_IN_WORDS = {
    "highest": "the highest risk",
    "average": "the average risk",
    "unique": "the share of unique records",
    "guess": "the best guess of a sensitive value",
}


def _require_known(risk: str, utility: str) -> None:
    if risk not in RISKS:
        raise PolicyError(f"unknown risk '{risk}'", hint=did_you_mean(risk, RISKS) or f"known: {', '.join(RISKS)}")
    if utility not in every():
        hint = did_you_mean(utility, every()) or f"known: {', '.join(every())}"
        raise PolicyError(f"unknown metric '{utility}'", hint=hint)


def _plan_of(variant: Variant, names: Sequence[str], location: str | None) -> Plan | CloakError:
    try:
        return make_plan(variant.policy, names, location=location)
    except CloakError as error:
        return error


def _solve_all(
    workshop: _Workshop, tried: Sequence[Variant], plans: Sequence[Plan | CloakError], threads: int, timed: Timed
) -> list[Point]:
    """Every variant, several at a time; compiled kernels run beside each other."""
    points: list[Point | None] = [None] * len(tried)
    with timed.phase("explore", len(tried)) as notes:
        with ThreadPoolExecutor(max_workers=min(threads, len(tried))) as pool:
            jobs: dict[Future[Point], int] = {
                pool.submit(workshop.point, variant, plan): i
                for i, (variant, plan) in enumerate(zip(tried, plans, strict=True))
            }
            try:
                for n_done, job in enumerate(as_completed(jobs), 1):
                    points[jobs[job]] = job.result()
                    timed.inner.advance(n_done)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        n_failed = sum(point is not None and point.reason is not None for point in points)
        notes.append(f"{len(tried) - n_failed:,} of {len(tried):,} variants have a release")
    return [point for point in points if point is not None]


class _Workshop:
    """The table, and its codings: one for every way in which plans want it coded."""

    def __init__(self, engine: Engine, table: Table, utility: str) -> None:
        self.engine, self.table, self.utility = engine, table, utility
        self._codings: dict[Any, tuple[Plan, Table, Coding]] = {}
        self._lock = Lock()

    def before(self) -> Exposure:
        """The exposure of the original on the quasi-identifiers."""
        if not self._codings:
            return Exposure(self.table.n_rows, 0, 0.0, 0.0)
        _, _, coding = next(iter(self._codings.values()))
        return Before.of(coding).exposure

    def point(self, variant: Variant, plan: Plan | CloakError) -> Point:
        """What one variant comes to."""
        policy = variant.policy
        name = (policy if isinstance(plan, CloakError) else plan).algorithm.name
        about = Point(variant.changes, tuple(sentence(m) for m in policy.goals), name)
        if isinstance(plan, CloakError):
            return replace(about, reason=plan.message)
        begin = time.perf_counter()
        try:
            settled, table, coding = self._coded(plan)
            require_feasible(coding.whole(), settled.goal)
            given = given_groups(self.engine, table, settled)
            problem = Problem(coding.table, settled.goal, 1, policy.seed, given, settled.secret)
            solution = hiding.solve(settled.algorithm, problem, silent)
            _require_found(solution, coding, settled)
        except CloakError as error:
            return replace(about, reason=error.message)
        return self._measured(about, settled, coding, solution, time.perf_counter() - begin)

    def _coded(self, plan: Plan) -> tuple[Plan, Table, Coding]:
        needs = (plan.algorithm.needs_rows, plan.algorithm.needs_hierarchies, tuple(plan.counted))
        key = (*needs, plan.goal.needs, tuple(guards_of(plan.goal)))
        with self._lock:
            if key not in self._codings:
                table, _ = without_missing(self.engine, self.table, plan)
                table, settled = settle_persons(self.engine, table, plan)
                whole, counted = with_population(self.engine, table, settled)
                quasi = settled.quasi_columns(whole)
                coding = self.engine.contingency(whole, quasi, counted, by_row=plan.algorithm.needs_rows)
                self._codings[key] = settled, table, coding
        settled, table, coding = self._codings[key]
        return replace(plan, goal=replace(plan.goal, counts_persons=settled.goal.counts_persons)), table, coding

    def _measured(self, about: Point, plan: Plan, coding: Coding, solution: Solution, seconds: float) -> Point:
        counts = counts_of(coding, Answer(solution, solution.sizes(coding.table)), plan)
        # groups of exact values hide no one among others
        is_exact = solution.bucketing is not None
        found = Before.of(coding).exposure if is_exact else exposure(counts.sizes)
        hists = [hist for target in (counts.details.targets or {}).values() for hist in target.parts]
        tops = [hist.max_by_class(hist.shares()).max(initial=0.0) for hist in hists]
        wanted = list(dict.fromkeys(["gcp", self.utility]))
        return replace(
            about,
            risks={
                "highest": found.highest,
                "average": found.average,
                "unique": found.unique_share,
                "guess": float(max(tops)) if tops else None,
            },
            metrics={m.name: float(m.value) if np.isfinite(m.value) else None for m in measure(counts, wanted)},
            n_classes=len(counts.sizes),
            smallest=int(counts.sizes.min(initial=coding.table.n_rows)),
            suppressed_share=counts.n_suppressed / max(1, counts.n_rows),
            seconds=seconds,
        )


def _require_found(solution: Solution, coding: Coding, plan: Plan) -> None:
    """A search may miss a model that is not monotone."""
    stats = solution.stats(coding.table)
    if not plan.goal.admits(stats)[stats.size > 0].all():
        raise GoalNotMet("the search found no classes that all satisfy the goal", result={"holds": False})
