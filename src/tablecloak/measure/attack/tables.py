"""Attacks on tables wherever they are: which columns are meant, what is known beside them, what attackers achieve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.attacks.base import every, rows_of_persons, run_attacks
from tablecloak.attacks.case import Attacker, Case
from tablecloak.attacks.replay import MOST_PEOPLE
from tablecloak.data.table import Role
from tablecloak.engines.choose import Demand, choose_memory
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.places import place_of
from tablecloak.io.sources import Source, is_place
from tablecloak.io.tabular import read_frame
from tablecloak.measure.attack.cases import build_case
from tablecloak.measure.attack.facts import read_facts
from tablecloak.measure.attack.judged_columns import meant_quasi, meant_sensitive
from tablecloak.measure.attack.program import program_of
from tablecloak.measure.attack.report import AttackReport
from tablecloak.measure.other_shapes import finished_of
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.release.finished import bytes_of, original_frame, release_frame
from tablecloak.release.plan import side_path
from tablecloak.release.population import read_population
from tablecloak.release.remade import as_attackers_know
from tablecloak.release.shapes.groups import GROUP

IN_ORDER = "cells do not cover the original; rows are in its order, so that says whose they are"
SEVERAL_WAYS = (
    "which row is whose is not certain, since cells of several classes cover some people: one way that fits was taken{}"
)


def attack(
    original: Any,
    release: Any,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    side: Any = None,
    population: Any = None,
    others: Sequence[Any] = (),
    facts: Any = (),
    control: Any = None,
    kinds: Iterable[str] | None = None,
    attacker: Attacker | None = None,
    with_before: bool = True,
    demand: Demand | None = None,
) -> AttackReport:
    """Attack a release, beside its original or, where that is None, alone.

    Args:
        original: a polars, pandas or Arrow frame, or a place, such as the path of a file; so may all other tables be.
        side: the sensitive columns, where the release has them in a table of their own; beside a file it is found.
        population: people among whom the original's are, a register that attackers may have; unless given, that of
            the policy.
        others: further releases about the same people.
        facts: what attackers know, as values or as a table with the columns sensitive and value.
        control: people like those of the original who are not in the release.
        kinds: names of attacks; None tries all.
        with_before: also attack the original itself.
    """
    if finished := finished_of(
        policy, release, original=original, quasi=quasi, sensitive=sensitive, population=population, release2=others,
        facts=facts, control=control,
    ):  # fmt: skip
        choice = choose_memory(demand or Demand(), 0, verb="attack") if is_place(release) else None
        return replace(finished.attack(kinds=kinds, attacker=attacker, with_before=with_before), choice=choice)
    choice = None
    if is_place(release):
        source = Source.of(release, expected=frozenset([*quasi, *(policy.columns if policy else ())]))
        choice = choose_memory(demand or Demand(), bytes_of(source), verb="attack")
    before = None if original is None else original_frame(original, policy)
    if before is not None and policy is not None:
        before, policy = as_attackers_know(before, policy)
    labelled = list(quasi) or (policy.columns_with(Role.QUASI) if policy else [])
    after = _read_release(release, labelled, before)
    beside = side_of(release) if side is None else _read_release(side, [], None)
    further = [_read_release(other, labelled, before) for other in others]
    names, notes = meant_quasi(before, after, policy, quasi)
    targets = meant_sensitive(before, after, beside, policy, sensitive, names)
    wanted = every() if kinds is None else list(kinds)
    made = partial(build_case, original=before, policy=policy, attacker=attacker or _attacker(policy))
    known = partial(
        made,
        quasi=names,
        sensitive=targets,
        population=population_of(population, policy, before),
        facts=tuple(facts) if isinstance(facts, list | tuple) else read_facts(read_frame(facts)),
        control=None if control is None else original_frame(control, policy),
    )
    case = replace(known(after, side=beside), others=tuple(_further(made, other, names, targets) for other in further))
    if before is not None and policy is not None and before.height <= MOST_PEOPLE:
        case = replace(case, program=program_of(policy, before))
    earlier = None
    if before is not None and with_before:
        earlier = tuple(run_attacks(known(before, is_original=True), wanted))
    if policy is not None and before is not None:
        persons = [name for name in policy.columns_with(Role.PERSON) if name in before.columns]
        notes = (*notes, *(r for name in persons for r in rows_of_persons(before.height, before[name].n_unique())))
    if case.row_of is not None and not case.is_certain:
        order = ", that of the order of rows" if case.is_in_order else ""
        notes = (*notes, IN_ORDER if case.is_covering is False else SEVERAL_WAYS.format(order))
    return AttackReport(tuple(names), tuple(targets), tuple(run_attacks(case, wanted)), earlier, notes, choice=choice)


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


def side_of(release: Any) -> pl.DataFrame | None:
    """The sensitive columns of a release that has them in a file of their own."""
    place = place_of(release) if is_place(release) else None
    path = side_path(place) if isinstance(place, Path) else None
    return _read_release(path, [], None) if path is not None and path.exists() else None


def population_of(given: Any, policy: Policy | None, before: pl.DataFrame | None) -> pl.DataFrame | None:
    """The register that is given, else that of the policy."""
    if given is not None:
        return original_frame(given, policy)
    if policy is None or policy.population is None:
        return None
    types = {} if before is None else {n: column_type(n, before[n].dtype) for n in before.columns}
    return read_population(policy, policy.columns_with(Role.QUASI), types)


def _read_release(release: Any, quasi: Sequence[str], before: pl.DataFrame | None) -> pl.DataFrame:
    if not is_place(release):
        return from_frame(release)
    wanted = set(quasi) if quasi else set(before.columns if before is not None else ())
    frame = release_frame(Source.of(release, expected=frozenset(wanted)), wanted - {GROUP})
    return frame if quasi or before is None else _with_types_of(frame, before)


def _with_types_of(frame: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Columns that hold plain numbers of the original's type get that type back."""
    shared = [n for n in frame.columns if n in before.columns and before[n].dtype.is_numeric()]
    cast = {n: frame[n].cast(pl.String).cast(before[n].dtype, strict=False) for n in shared}
    good = [series for n, series in cast.items() if series.null_count() == frame[n].null_count()]
    return frame.with_columns(good)
