"""Releases and originals in files, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tablecloak.attacks.case import Attacker
from tablecloak.data.table import Role
from tablecloak.engines.choose import Demand, bytes_in_memory, choose_memory
from tablecloak.io.frames import column_type
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame
from tablecloak.measure.attack.facts import read_facts
from tablecloak.measure.attack.frames import attack_frames
from tablecloak.measure.attack.report import AttackReport
from tablecloak.policy.schema import Policy
from tablecloak.release.finished import original_frame, release_frame
from tablecloak.release.plan import side_path
from tablecloak.release.population import read_population
from tablecloak.release.shapes.base import finished_of
from tablecloak.release.shapes.groups import GROUP


def attack_files(
    original: Place | None,
    release: Place,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    population: Path | None = None,
    others: Sequence[Path] = (),
    facts: Path | None = None,
    control: Path | None = None,
    kinds: Iterable[str] | None = None,
    attacker: Attacker | None = None,
    with_before: bool = True,
    demand: Demand | None = None,
) -> AttackReport:
    """Attack a release given as a file; see `attack_frames`."""
    if finished := finished_of(
        policy, release, original=original, quasi=quasi, sensitive=sensitive, population=population, release2=others,
        facts=facts, control=control,
    ):  # fmt: skip
        choice = choose_memory(demand or Demand(), 0, verb="attack")
        return replace(finished.attack(kinds=kinds, attacker=attacker, with_before=with_before), choice=choice)
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
        side=side_of(release),
        population=population_of(population, policy, before),
        others=[_read_release(path, labelled, before) for path in others],
        facts=() if facts is None else read_facts(read_frame(Source(facts))),
        control=None if control is None else original_frame(control, policy),
        kinds=kinds,
        attacker=attacker,
        with_before=with_before,
    )
    return replace(report, choice=choice)


def side_of(release: Place) -> pl.DataFrame | None:
    """The sensitive columns of a release that has them in a file of their own."""
    path = side_path(release) if isinstance(release, Path) else None
    return _read_release(path, [], None) if path is not None and path.exists() else None


def population_of(path: Path | None, policy: Policy | None, before: pl.DataFrame | None) -> pl.DataFrame | None:
    """The register that is given, else that of the policy."""
    if path is not None:
        return original_frame(path, policy)
    if policy is None or policy.population is None:
        return None
    types = {} if before is None else {n: column_type(n, before[n].dtype) for n in before.columns}
    return read_population(policy, policy.columns_with(Role.QUASI), types)


def _read_release(path: Place, quasi: Sequence[str], before: pl.DataFrame | None) -> pl.DataFrame:
    wanted = set(quasi) if quasi else set(before.columns if before is not None else ())
    frame = release_frame(Source.of(path, expected=frozenset(wanted)), wanted - {GROUP})
    return frame if quasi or before is None else _with_types_of(frame, before)


def _with_types_of(frame: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Columns that hold plain numbers of the original's type get that type back."""
    shared = [n for n in frame.columns if n in before.columns and before[n].dtype.is_numeric()]
    cast = {n: frame[n].cast(pl.String).cast(before[n].dtype, strict=False) for n in shared}
    good = [series for n, series in cast.items() if series.null_count() == frame[n].null_count()]
    return frame.with_columns(good)
