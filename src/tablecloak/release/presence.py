"""Presence: classes that leave everybody of a population in doubt about who is in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak.attacks.row_classes import classes_of
from tablecloak.data.domain import Distinct
from tablecloak.engines.base import Answer, Coding, Recount
from tablecloak.errors import Infeasible
from tablecloak.models.base import Condition, Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.release.plan import Plan
from tablecloak.release.population import with_people
from tablecloak.stats.classes import ClassStats


def asks_for_everybody(goal: Goal) -> bool:
    """Whether somebody whom no class covers breaks the goal."""
    return any(m.asks_for_everybody for m in goal.models)


def solve_for_everybody(coding: Coding, plan: Plan, solve: Callable[[Goal], Answer]) -> Answer:
    """Search for larger and larger classes until everybody's chance of being in the table is large enough.

    Raises: Infeasible, with the chance that one class of all records gives, or with the people whom even that one does
        not cover.
    """
    models, size = [m for m in plan.goal.models if m.asks_for_everybody], max(2, plan.goal.min_size)
    while True:
        answer = solve(_with_size(plan.goal, size))
        reached = _reached(coding, answer, plan)
        broken = [c for m in models for c in m.conditions(reached.stats) if (c.margin() < 0).any()]
        if not broken:
            return answer
        if size >= coding.n_rows or answer.solution.n_classes <= 1:
            raise _infeasible(broken[-1], reached, coding.n_rows)
        size = min(2 * size, coding.n_rows)


def _with_size(goal: Goal, size: int) -> Goal:
    return replace(goal, models=(*goal.models, KAnonymity(k=size)))


@dataclass(frozen=True, slots=True)
class _Reached:
    stats: ClassStats  # classes of equal labels, with the people that each covers
    n_people: int
    n_outside: int


def _reached(coding: Coding, answer: Answer, plan: Plan) -> _Reached:
    """The classes as a recount would find them: those with equal labels are one."""
    released = np.flatnonzero(answer.sizes > 0)
    cells = {}
    for name, labels in answer.solution.published(coding.domains).items():
        values = pl.Series(name, [*labels.names, None], dtype=pl.String)
        cells[name] = Distinct(values, np.arange(len(values)), labels.of_class[released].astype(np.int64))
    classes, n_classes = classes_of([cell.index.astype(np.int64) for cell in cells.values()], len(released))
    sizes = np.bincount(classes, weights=answer.sizes[released], minlength=n_classes).astype(np.int64)
    recount = Recount((ClassStats(sizes),), int(sizes.sum()), 0, {}, cells=cells, classes=classes)
    stats = with_people(recount, plan).stats
    assert stats.population is not None
    return _Reached(stats, stats.population.domain.n_people, stats.population.domain.n_outside)


def _infeasible(broken: Condition, reached: _Reached, n_rows: int) -> Infeasible:
    if reached.n_outside:
        reason = (
            f"{reached.n_outside:,} of {reached.n_people:,} people of the population are covered by no class, even "
            "with all records in one, so it is certain that they are not in the table"
        )
        change = f"give every quasi-identifier a hierarchy whose top stands for any value, or {broken.name}: 0"
    else:
        share = n_rows / max(1, reached.n_people)
        reason = (
            f"no release reaches {broken.name} {broken.required:g}: with all records in one class, {n_rows:,} of "
            f"{reached.n_people:,} people are in the table, a chance of {share:.4g}"
        )
        change = f"{broken.name}: {np.floor(share * 1000) / 1000:g}, or a smaller population"
    return Infeasible(f"infeasible  {reason}", best=[], relaxations=[{"change": change}])
