"""Releases and originals in files, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tablecloak.attacking.facts import read_facts
from tablecloak.attacking.frames import attack_frames
from tablecloak.attacking.report import AttackReport
from tablecloak.data.table import ColumnType, Role
from tablecloak.io.frames import column_type
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.outside import read_population
from tablecloak.plan import source_of
from tablecloak.policy.schema import Policy
from tablecloak.risks.case import Attacker
from tablecloak.separation import GROUP, side_path

__all__ = ["attack_files"]


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
) -> AttackReport:
    """Attack a release given as a file; see `attack_frames`."""
    before = None if original is None else _read_original(original, policy)
    labelled = list(quasi) or (policy.columns_with(Role.QUASI) if policy else [])
    side = side_path(release) if isinstance(release, Path) else None
    return attack_frames(
        before,
        _read_release(release, labelled, before),
        policy=policy,
        quasi=quasi,
        sensitive=sensitive,
        side=_read_release(side, [], None) if side is not None and side.exists() else None,
        population=_population(population, policy, before),
        others=[_read_release(path, labelled, before) for path in others],
        facts=() if facts is None else read_facts(read_frame(Source(facts))),
        control=None if control is None else _read_original(control, policy),
        kinds=kinds,
        attacker=attacker,
        with_before=with_before,
    )


def _population(given: Path | None, policy: Policy | None, before: pl.DataFrame | None) -> pl.DataFrame | None:
    """The register that is given, else that of the policy."""
    if given is not None:
        return _read_original(given, policy)
    if policy is None or policy.population is None:
        return None
    types = {} if before is None else {n: column_type(n, before[n].dtype) for n in before.columns}
    return read_population(policy, policy.columns_with(Role.QUASI), types)


def _read_original(path: Place, policy: Policy | None) -> pl.DataFrame:
    source = source_of(policy.with_files(source=path)) if policy else Source.of(path)
    known = sniff(source).names
    source = replace(source, types={name: t for name, t in (source.types or {}).items() if name in known})
    return require_rows(read_frame(source, categorical=known), path)


def _read_release(path: Place, quasi: Sequence[str], before: pl.DataFrame | None) -> pl.DataFrame:
    """Labels such as 1305* or [20, 29] are text; so is what stands beside them in the same column."""
    wanted = set(quasi) if quasi else set(before.columns if before is not None else ())
    names = sniff(Source.of(path, expected=frozenset(wanted))).names
    types = {name: ColumnType.TEXT for name in names if name in wanted and name != GROUP}
    frame = require_rows(read_frame(Source.of(path, types=types, expected=frozenset(wanted)), categorical=names), path)
    if quasi or before is None:
        return frame
    return _with_types_of(frame, before)


def _with_types_of(frame: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Columns that hold plain numbers of the original's type get that type back."""
    shared = [n for n in frame.columns if n in before.columns and before[n].dtype.is_numeric()]
    cast = {n: frame[n].cast(pl.String).cast(before[n].dtype, strict=False) for n in shared}
    good = [series for n, series in cast.items() if series.null_count() == frame[n].null_count()]
    return frame.with_columns(good)
