"""Exploration: many variants of a policy on one table, what each risks and what each keeps, and where the knee is."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, Unpack

import numpy as np

from tablecloak.engines.base import Engine, Table
from tablecloak.engines.choose import Demand, EngineOptions, bytes_in_memory, require_memory
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import CloakError, PolicyError, did_you_mean
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.measure.frontier import Knee, knee_of, on_frontier
from tablecloak.metrics.base import every, measure
from tablecloak.policy.schema import Policy
from tablecloak.policy.variations import Axis, Variant, axis_of, variants
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release import looks
from tablecloak.release.facts.collect import Before, Exposure, exposure
from tablecloak.release.outcome import counts_of, sentence
from tablecloak.release.plan import Plan, source_of
from tablecloak.release.prepare import Memo, Prepared, nothing, prepare, read
from tablecloak.release.publish import recounted
from tablecloak.release.search import Solved, search
from tablecloak.release.shapes.base import refuse_without_classes

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
        return looks.text(self)

    def _repr_html_(self) -> str:
        return looks.html(self)


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
    return _explore(LocalEngine(), Source.of(data), policy, axes, risk, utility, threads, Timed(progress))


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
    engine = require_memory("explore", demand, 0 if source.is_on_spark else bytes_in_memory(sniff(source)))
    return _explore(engine, source, policy, axes, risk, utility, demand.threads, Timed(progress))


def _explore(
    engine: Engine,
    source: Source,
    policy: Policy,
    axes: Sequence[Axis],
    risk: str,
    utility: str,
    threads: int | None,
    timed: Timed,
) -> Exploration:
    _require_known(risk, utility)
    refuse_without_classes("explore", policy)
    grid = variants(policy, axes)
    workshop = _Workshop(engine, source, utility)
    with timed.phase("read") as notes:
        _, table = workshop.read(policy)  # a policy that does not fit its table is refused, as it is everywhere
        plans = [workshop.read_variant(variant) for variant in grid]
        notes.append(f"{table.n_rows:,} rows")
    points = _solve_all(workshop, grid, plans, threads or os.cpu_count() or 1, timed)
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

    def __init__(self, engine: Engine, source: Source, utility: str) -> None:
        self.engine, self.source, self.utility = engine, source, utility
        self._memo = Memo()
        self._prepared: list[Prepared[None]] = []

    def read(self, policy: Policy) -> _Read:
        """The plan of a policy and the columns it asks for."""
        source = self.source if self.source.is_frame else source_of(policy)
        return read(self.engine, source, policy, Timed(), memo=self._memo)

    def read_variant(self, variant: Variant) -> _Read | CloakError:
        """The same for a variant, or why it has none."""
        try:
            return self.read(variant.policy)
        except CloakError as error:
            return error

    def before(self) -> Exposure:
        """The exposure of the original on the quasi-identifiers."""
        if not self._prepared:
            return Exposure(0, 0, 0.0, 0.0)
        return Before.of(self._prepared[0].coding).exposure

    def point(self, variant: Variant, plan: _Read | CloakError) -> Point:
        """What one variant comes to."""
        policy = variant.policy
        name = policy.algorithm.name if isinstance(plan, CloakError) else plan[0].algorithm.name
        about = Point(variant.changes, tuple(sentence(m) for m in policy.goals), name)
        if isinstance(plan, CloakError):
            return replace(about, reason=plan.message)
        begin = time.perf_counter()
        try:
            prepared = prepare(self.engine, plan[1], plan[0], timed=Timed(), look=nothing, memo=self._memo)
            self._prepared.append(prepared)
            solved = search(prepared, Timed(), 1)
            if prepared.shape.is_quick(prepared.coding):
                recounted(solved, Timed())
        except CloakError as error:
            return replace(about, reason=error.message)
        return self._measured(about, solved, time.perf_counter() - begin)

    def _measured(self, about: Point, solved: Solved, seconds: float) -> Point:
        counts = counts_of(solved.coding, solved.answer, solved.plan)
        # groups of exact values hide no one among others
        is_exact = solved.solution.bucketing is not None
        release_exposure = Before.of(solved.coding).exposure if is_exact else exposure(counts.sizes)
        hists = [hist for target in (counts.details.targets or {}).values() for hist in target.parts]
        tops = [hist.max_by_class(hist.shares()).max(initial=0.0) for hist in hists]
        metric_names = list(dict.fromkeys(["gcp", self.utility]))
        return replace(
            about,
            risks={
                "highest": release_exposure.highest,
                "average": release_exposure.average,
                "unique": release_exposure.unique_share,
                "guess": float(max(tops)) if tops else None,
            },
            metrics={m.name: float(m.value) if np.isfinite(m.value) else None for m in measure(counts, metric_names)},
            n_classes=len(counts.sizes),
            smallest=int(counts.sizes.min(initial=solved.coding.n_rows)),
            suppressed_share=counts.n_suppressed / max(1, counts.n_rows),
            seconds=seconds,
        )
