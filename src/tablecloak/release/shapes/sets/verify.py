"""Finished releases of sets, whoever made them: recount a file or a frame, alone or beside its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.row_origins import Equal
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, refuse_empty
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release.handover import appraise
from tablecloak.release.match_originals import NO_ORIGINAL, NOT_EQUAL, equal_cells
from tablecloak.release.plan import source_of, starred_of
from tablecloak.release.prepare import read
from tablecloak.release.recount import Failure, Verification
from tablecloak.release.shapes.sets.coding import code_sets
from tablecloak.release.shapes.sets.matching import Beside
from tablecloak.release.shapes.sets.plan import SetPlan, make_set_plan, release_format
from tablecloak.release.shapes.sets.recount import recount
from tablecloak.release.verify import published_columns, unstarred_cells, wrong_columns
from tablecloak.stats.classes import number_rows


def verify_set_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount published sets; with the original, also check that every record has one of its own that it covers."""
    timed = Timed(progress)
    is_of_sets = bool(policy.input and policy.input.format == "sets")
    format_ = release_format(policy, release, is_of_sets=is_of_sets) if isinstance(release, Path) else None
    with timed.phase("read"):
        plan = _plan_of_release(policy, release, format_)
        cells = read_cells(release, plan, format_)
        refuse_empty(len(cells), str(release))
        whole = _whole(release, plan, policy, format_)
    before: pl.DataFrame | None = None
    if original is not None:
        there = policy.with_files(source=original)
        planned, table = read(LocalEngine(), source_of(there), there, timed)
        assert isinstance(planned, SetPlan)
        before = LocalEngine().frame(table)
        plan = replace(planned, published_separator=plan.published_separator)
    with timed.phase("verify"):
        return _verified(cells, whole, plan, policy, before)


def read_cells(place: Place, plan: SetPlan, format_: str | None) -> pl.Series:
    """The published cells of a column of sets, as text."""
    delimiter = plan.published_separator if format_ == "sets" else None
    source = Source.of(place, format=format_, delimiter=delimiter, types={plan.column: ColumnType.TEXT})
    return read_frame(source, columns=[plan.column])[plan.column]


def _whole(release: Place, plan: SetPlan, policy: Policy, format_: str | None) -> pl.DataFrame:
    delimiter = plan.published_separator if format_ == "sets" else None
    names = sniff(Source.of(release, format=format_, delimiter=delimiter)).names
    types = {n: c.type for n, c in policy.columns.items() if c.type is not None and n in names}
    types[plan.column] = ColumnType.TEXT
    return read_frame(Source.of(release, format=format_, delimiter=delimiter, types=types))


def verify_set_frame(release: Any, policy: Policy, *, original: Any = None) -> Verification:
    """The same for frames."""
    frame = from_frame(release)
    plan = make_set_plan(_only_sets(policy), frame.columns)
    before = None if original is None else from_frame(original)
    return _verified(frame[plan.column], frame, plan, policy, before)


def _verified(
    cells: pl.Series, release: pl.DataFrame, plan: SetPlan, policy: Policy, before: pl.DataFrame | None
) -> Verification:
    failures = [*wrong_columns(policy, release.columns), *unstarred_cells(release, policy)]
    if before is None:
        verification = recount(cells, plan, None)
    else:
        originals = code_sets(before[plan.column], plan)
        columns = _kept(release, plan, policy)
        failures += [Failure("the original has no such column", n) for n in columns if n not in before.columns]
        equal = [_equal(release[n], before[n], policy) for n in columns if n in before.columns]
        verification = recount(cells, plan, originals, beside=_beside(equal))
        if verification.covers is False and recount(cells, plan, originals).covers:
            alone = [c.name for c in equal if recount(cells, plan, originals, beside=_beside([c])).covers is False]
            failures += [Failure(NOT_EQUAL, name) for name in alone] or [Failure(NO_ORIGINAL)]
    return _appraised(replace(verification, failures=(*verification.failures, *failures)), release, policy)


def _kept(release: pl.DataFrame, plan: SetPlan, policy: Policy) -> list[str]:
    """PublishedSets columns beside the sets, which show what the original shows."""
    return [n for n in published_columns(policy, release.columns) if n not in (plan.column, *starred_of(policy))]


def _equal(published: pl.Series, original: pl.Series, policy: Policy) -> Equal:
    type_ = column_type(original.name, original.dtype)
    return equal_cells(published.cast(pl.String), original.cast(pl.String), type_, policy.columns.get(original.name))


def _beside(equal: Sequence[Equal]) -> Beside | None:
    """The cells beside the sets, one number for each record."""
    if not equal or len(equal[0].published) != len(equal[0].originals):
        return None
    columns = [np.concatenate([c.published, c.originals]) for c in equal]
    codes, _ = number_rows(columns, len(columns[0]))
    return Beside(*np.split(codes, 2))


def _appraised(verification: Verification, release: pl.DataFrame, policy: Policy) -> Verification:
    there = {name: spec for name, spec in policy.columns.items() if name in release.columns}
    plan = make_set_plan(policy.model_copy(update={"columns": there}), release.columns)
    return verification.with_handover(appraise(LocalEngine(), table_of(release), plan))


def _only_sets(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the column of sets."""
    columns = {name: policy.columns[name] for name in policy.columns_with(Role.ITEMS)}
    return policy.model_copy(update={"columns": columns, "others": "drop"})


def _plan_of_release(policy: Policy, release: Place, format_: str | None) -> SetPlan:
    output_delimiter = policy.output.delimiter if policy.output else None
    delimiter = output_delimiter or (policy.input.delimiter if policy.input else None)
    layout = sniff(Source.of(release, format=format_, delimiter=delimiter if format_ == "sets" else None))
    plan = make_set_plan(_only_sets(policy), layout.names, location=str(release))
    return replace(plan, published_separator=layout.delimiter) if format_ == "sets" else plan
