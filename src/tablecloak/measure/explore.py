"""Exploration: many variants of a policy on one table, what each risks and what each keeps, and where the knee is."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, Unpack

from tablecloak import looks
from tablecloak.engines.base import Table
from tablecloak.engines.choose import Demand, EngineOptions, choose_memory
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import CloakError, IncompatibleChoice, PolicyError, did_you_mean
from tablecloak.io.sources import Source
from tablecloak.looks import ShowsItself
from tablecloak.measure.frontier import Knee, knee_of, on_frontier
from tablecloak.metrics.base import every
from tablecloak.policy.schema import Policy
from tablecloak.policy.variations import Axis, Variant, axis_of, variants
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release.facts.collect import Exposure
from tablecloak.release.finished import bytes_of
from tablecloak.release.handover import exposure_before
from tablecloak.release.outcome import sentence
from tablecloak.release.plan import Plan, source_of
from tablecloak.release.prepare import Memo, Prepared, prepare, read
from tablecloak.release.publish import recounted
from tablecloak.release.search import search
from tablecloak.release.shapes.base import Shape, shape_of

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
    smallest: int = 0  # records of the smallest class, or that hold the rarest itemset the goal speaks of
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


@dataclass(frozen=True, slots=True, repr=False)
class Exploration(ShowsItself):
    """Risk and utility of every variant, which of them no other one beats on both, and the knee among these."""

    risk: str
    utility: str
    before: Exposure | None  # of the original; None where it could not be counted
    points: tuple[Point, ...]
    frontier: tuple[int, ...]  # numbers of points, by falling risk
    knee: Knee | None
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Point | None:
        """The point at the knee."""
        return None if self.knee is None else self.points[self.knee.number]

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak explore --json`."""
        risk = self.before
        before = risk and {"highest": risk.highest, "average": risk.average, "unique": risk.unique_share}
        return {
            "risk": self.risk,
            "utility": self.utility,
            "original": before,
            "points": [{"number": i, **point.to_dict()} for i, point in enumerate(self.points)],
            "frontier": list(self.frontier),
            "knee": None if self.knee is None else self.knee.to_dict(),
            **({"notes": list(self.notes)} if self.notes else {}),
            "seconds": {phase: round(s, 4) for phase, s in self.seconds.items()},
        }

    def __str__(self) -> str:
        return looks.text(self)


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
    >>> exploration = tc.explore(tc.sample.patients(), policy, k=[2, 5, 10])
    >>> [point.smallest >= k for point, k in zip(exploration.points, [2, 5, 10])]
    [True, True, True]

    Args:
        risk: what counts as risk: highest, average, unique or guess.
        utility: the metric that counts as what is lost.
        vary: values by name, such as `k=range(2, 21)` or `algorithm=["mondrian", "auto"]`; a name with dots is passed
            as `**{"goals.1.l": [2, 3]}`.
    """
    axes = [axis_of(name, values) for name, values in vary.items()]
    data = shape_of(policy).frame_of(data, policy)
    return _explore(Source.of(data), policy, axes, risk, utility, threads, Timed(progress))


def explore_policy(
    policy: Policy,
    axes: Sequence[Axis],
    *,
    risk: str = "highest",
    utility: str = "gcp",
    progress: Progress = silent,
    **options: Unpack[EngineOptions],
) -> Exploration:
    """The same for a policy that names its input.

    Raises: IncompatibleChoice where an engine is asked for that does not work in memory.
    """
    source, demand = source_of(policy), Demand.of(**options)
    choose_memory(demand, bytes_of(source), verb="explore")
    return _explore(source, policy, axes, risk, utility, demand.threads, Timed(progress))


def _explore(
    source: Source, policy: Policy, axes: Sequence[Axis], risk: str, utility: str, threads: int | None, timed: Timed
) -> Exploration:
    shape = shape_of(policy)
    _require_known(shape, risk, utility)
    grid = variants(policy, axes)
    workshop = _Workshop(source, utility)
    with timed.phase("read") as notes:
        _, table = workshop.read(policy)  # a policy that does not fit its table is refused, as it is everywhere
        plans = [workshop.read_variant(variant) for variant in grid]
        notes.append(f"{table.n_rows:,} rows")
    points = _solve_all(workshop, grid, plans, threads or os.cpu_count() or 1, timed)
    values = [(p.risks.get(risk), p.metrics.get(utility)) for p in points]
    frontier = on_frontier(values)
    knee = knee_of(values, frontier, [p.label for p in points], RISKS_IN_WORDS[risk], utility)
    return Exploration(
        risk, utility, workshop.before(), tuple(points), tuple(frontier), knee, timed.seconds,
        shape.about_risk(workshop.plans),
    )  # fmt: skip


RISKS_IN_WORDS = {
    "highest": "the highest risk",
    "average": "the average risk",
    "unique": "the share of unique records",
    "guess": "the best guess of a sensitive value",
}


def _require_known(shape: Shape, risk: str, utility: str) -> None:
    if risk not in RISKS:
        raise PolicyError(f"unknown risk '{risk}'", hint=did_you_mean(risk, RISKS) or f"known: {', '.join(RISKS)}")
    if utility not in every():
        hint = did_you_mean(utility, every()) or f"known: {', '.join(every())}"
        raise PolicyError(f"unknown metric '{utility}'", hint=hint)
    for name, what, known in ((risk, "risk", shape.risks), (utility, "utility", shape.metrics)):
        if known is not None and name not in known:
            raise IncompatibleChoice(f"'{name}' is not measured on {shape.name}", hint=f"--{what} {' or '.join(known)}")


def _solve_all(
    workshop: _Workshop, grid: Sequence[Variant], plans: Sequence[_Read | CloakError], threads: int, timed: Timed
) -> list[Point]:
    """Every variant, several at a time; compiled kernels run beside each other."""
    points: list[Point | None] = [None] * len(grid)
    with timed.phase("explore", len(grid)) as notes:
        with ThreadPoolExecutor(max_workers=min(threads, len(grid))) as pool:
            jobs: dict[Future[Point], int] = {
                pool.submit(workshop.point, variant, plan): i
                for i, (variant, plan) in enumerate(zip(grid, plans, strict=True))
            }
            try:
                for n_done, job in enumerate(as_completed(jobs), 1):
                    points[jobs[job]] = job.result()
                    timed.inner.advance(n_done)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        n_failed = sum(point is not None and point.reason is not None for point in points)
        notes.append(f"{len(grid) - n_failed:,} of {len(grid):,} variants have a release")
    return [point for point in points if point is not None]


_Read: TypeAlias = tuple[Plan, Table]


class _Workshop:
    """A source that is read and coded once for every way in which plans want it."""

    def __init__(self, source: Source, utility: str) -> None:
        self.engine, self.source, self.utility = LocalEngine(), source, utility
        self.plans: list[Plan] = []  # of all variants that have one
        self._memo = Memo()
        self._prepared: list[Prepared[Exposure | None]] = []

    def read(self, policy: Policy) -> _Read:
        """The plan of a policy and the columns it asks for."""
        source = self.source if self.source.is_frame else source_of(policy)
        return read(self.engine, source, policy, Timed(), keeps_originals=True, memo=self._memo)

    def read_variant(self, variant: Variant) -> _Read | CloakError:
        """The same for a variant, or why it has none."""
        try:
            plan, table = self.read(variant.policy)
        except CloakError as error:
            return error
        self.plans.append(plan)
        return plan, table

    def before(self) -> Exposure | None:
        """The exposure of the original."""
        if not self._prepared:
            return Exposure(0, 0, 0.0, 0.0)
        prepared = self._prepared[0]
        return prepared.look_result or prepared.shape.exposure(prepared, self.plans)

    def point(self, variant: Variant, plan: _Read | CloakError) -> Point:
        """What one variant comes to."""
        policy = variant.policy
        name = policy.algorithm.name if isinstance(plan, CloakError) else plan[0].algorithm.name
        about = Point(variant.changes, tuple(sentence(m) for m in policy.goals), name)
        if isinstance(plan, CloakError):
            return replace(about, reason=plan.message)
        begin = time.perf_counter()
        try:
            prepared = prepare(self.engine, plan[1], plan[0], timed=Timed(), look=exposure_before, memo=self._memo)
            self._prepared.append(prepared)
            solved = search(prepared, Timed(), 1)
            if prepared.shape.is_quick(prepared.coding):
                recounted(solved, Timed())
        except CloakError as error:
            return replace(about, reason=error.message)
        seconds = time.perf_counter() - begin
        measured = prepared.shape.explored(solved, self.plans, self.utility)
        return replace(
            about,
            risks=measured.risks,
            metrics=measured.metrics,
            n_classes=measured.n_classes,
            smallest=measured.smallest,
            suppressed_share=measured.suppressed_share,
            seconds=seconds,
        )
