"""Attacks on tables wherever they are, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.attacks.case import Attacker
from tablecloak.data.table import Role
from tablecloak.engines.choose import Demand, bytes_in_memory, choose_memory
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.places import place_of
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source, is_place
from tablecloak.io.tabular import read_frame
from tablecloak.measure.attack.facts import read_facts
from tablecloak.measure.attack.frames import attack_frames
from tablecloak.measure.attack.report import AttackReport
from tablecloak.measure.other_shapes import finished_of
from tablecloak.policy.schema import Policy
from tablecloak.release.finished import original_frame, release_frame
from tablecloak.release.plan import side_path
from tablecloak.release.population import read_population
from tablecloak.release.shapes.groups import GROUP


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
        choice = choose_memory(demand or Demand(), bytes_in_memory(sniff(source)), verb="attack")
    before = None if original is None else original_frame(original, policy)
    labelled = list(quasi) or (policy.columns_with(Role.QUASI) if policy else [])
    report = attack_frames(
        before,
        _read_release(release, labelled, before),
        policy=policy,
        quasi=quasi,
        sensitive=sensitive,
        side=side_of(release) if side is None else _read_release(side, [], None),
        population=population_of(population, policy, before),
        others=[_read_release(path, labelled, before) for path in others],
        facts=facts if isinstance(facts, list | tuple) else read_facts(read_frame(facts)),
        control=None if control is None else original_frame(control, policy),
        kinds=kinds,
        attacker=attacker,
        with_before=with_before,
    )
    return replace(report, choice=choice)


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
