"""Attacks on frames: which columns are meant, what is known beside the release, and what attackers then achieve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tablecloak.attacks.base import every, rows_of_persons, run_attacks
from tablecloak.attacks.case import Attacker, Case, Fact
from tablecloak.attacks.replay import MOST_PEOPLE
from tablecloak.data.table import Role
from tablecloak.io.frames import from_frame
from tablecloak.measure.attack.cases import build_case
from tablecloak.measure.attack.judged_columns import meant_quasi, meant_sensitive
from tablecloak.measure.attack.program import program_of
from tablecloak.measure.attack.report import AttackReport
from tablecloak.measure.other_shapes import finished_of
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy

IN_ORDER = "cells do not cover the original; rows are in its order, so that says whose they are"
SEVERAL_WAYS = (
    "which row is whose is not certain, since cells of several classes cover some people: one way that fits was taken{}"
)


def attack_frames(
    original: Any,
    release: Any,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    side: Any = None,
    population: Any = None,
    others: Sequence[Any] = (),
    facts: Sequence[Fact] = (),
    control: Any = None,
    kinds: Iterable[str] | None = None,
    attacker: Attacker | None = None,
    with_before: bool = True,
) -> AttackReport:
    """Attack a release given as a frame, beside its original or alone.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
        population: people among whom the original's are; a register that attackers may have.
        others: further releases about the same people.
        control: people like those of the original who are not in the release.
        kinds: names of attacks; None tries all.
        with_before: also attack the original itself.
    """
    if finished := finished_of(
        policy, release, original=original, quasi=quasi, sensitive=sensitive, side=side, population=population,
        others=others, facts=facts, control=control,
    ):  # fmt: skip
        return finished.attack(kinds=kinds, attacker=attacker, with_before=with_before)
    after = from_frame(release)
    before = None if original is None else from_frame(original)
    names, notes = meant_quasi(before, after, policy, quasi)
    targets = meant_sensitive(before, after, side, policy, sensitive, names)
    wanted = every() if kinds is None else list(kinds)
    attacker = attacker or _attacker(policy)
    made = partial(build_case, original=before, policy=policy, attacker=attacker)
    beside = partial(
        made,
        quasi=names,
        sensitive=targets,
        population=None if population is None else from_frame(population),
        facts=tuple(facts),
        control=None if control is None else from_frame(control),
    )
    further = tuple(_further(made, from_frame(other), names, targets) for other in others)
    case = replace(beside(after, side=None if side is None else from_frame(side)), others=further)
    if before is not None and policy is not None and before.height <= MOST_PEOPLE:
        case = replace(case, program=program_of(policy, before))
    earlier = None
    if before is not None and with_before:
        earlier = tuple(run_attacks(beside(before, is_original=True), wanted))
    if policy is not None and before is not None:
        persons = [name for name in policy.columns_with(Role.PERSON) if name in before.columns]
        notes = (*notes, *(r for name in persons for r in rows_of_persons(before.height, before[name].n_unique())))
    if case.row_of is not None and not case.is_certain:
        order = ", that of the order of rows" if case.is_in_order else ""
        notes = (*notes, IN_ORDER if case.is_covering is False else SEVERAL_WAYS.format(order))
    return AttackReport(tuple(names), tuple(targets), tuple(run_attacks(case, wanted)), earlier, notes)


def _further(made: Callable[..., Case], frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str]) -> Case:
    """Another release, with as many of the columns as it shows."""
    shown = [name for name in quasi if name in frame.columns]
    targets = [n for n in sensitive if n in frame.columns]
    return made(frame, quasi=shown or frame.columns[:1], sensitive=targets, has_newcomers=True)


def _attacker(policy: Policy | None) -> Attacker:
    """An attacker who knows what the policy asked for."""
    if policy is None:
        return Attacker()
    k = Goal(tuple(policy.goals)).min_size
    among = [int(goal.hides_among or 0) for goal in policy.goals]
    return Attacker(k=k, m=max([2, *among]), seed=policy.seed)
