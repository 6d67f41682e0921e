"""Finished releases of sets, whoever made them: recount a file or a frame, alone or beside its original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.baskets.coding import Sets, code_sets
from tablecloak.baskets.handover import appraised
from tablecloak.baskets.plan import SetPlan, make_set_plan, release_format
from tablecloak.baskets.recount import recount
from tablecloak.baskets.release import read_cells
from tablecloak.baskets.run import read_input
from tablecloak.data.table import ColumnType, Role
from tablecloak.io.frames import from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, refuse_empty
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.verification import Verification

__all__ = ["verify_set_file", "verify_set_frame"]


def verify_set_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount published sets; with the original, also check that every item covers one of its record."""
    timed = Timed(progress)
    is_of_sets = bool(policy.input and policy.input.format == "sets")
    format_ = release_format(policy, release, is_of_sets=is_of_sets) if isinstance(release, Path) else None
    with timed.phase("read"):
        plan = _plan_of_release(policy, release, format_)
        cells = read_cells(release, plan, format_)
        refuse_empty(len(cells), str(release))
    originals: Sets | None = None
    if original is not None:
        given = read_input(_only_sets(policy).with_files(source=original), timed)
        originals = code_sets(given.frame[given.plan.column], given.plan)
        plan = replace(given.plan, published_separator=plan.published_separator)
    with timed.phase("verify"):
        return _appraised(recount(cells, plan, originals), _whole(release, plan, format_), policy)


def _whole(release: Place, plan: SetPlan, format_: str | None) -> pl.DataFrame:
    delimiter = plan.published_separator if format_ == "sets" else None
    return read_frame(Source.of(release, format=format_, delimiter=delimiter, types={plan.column: ColumnType.TEXT}))


def _appraised(found: Verification, release: pl.DataFrame, policy: Policy) -> Verification:
    there = {name: spec for name, spec in policy.columns.items() if name in release.columns}
    plan = make_set_plan(policy.model_copy(update={"columns": there}), release.columns)
    return appraised(found, release, plan)


def verify_set_frame(release: Any, policy: Policy, *, original: Any = None) -> Verification:
    """The same for frames."""
    frame = from_frame(release)
    plan = make_set_plan(_only_sets(policy), frame.columns)
    originals = None if original is None else code_sets(from_frame(original)[plan.column], plan)
    return _appraised(recount(frame[plan.column], plan, originals), frame, policy)


def _only_sets(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the column of sets."""
    columns = {name: policy.columns[name] for name in policy.columns_with(Role.ITEMS)}
    return policy.model_copy(update={"columns": columns, "others": "drop"})


def _plan_of_release(policy: Policy, release: Place, format_: str | None) -> SetPlan:
    said = policy.output.delimiter if policy.output else None
    known = said or (policy.input.delimiter if policy.input else None)
    layout = sniff(Source.of(release, format=format_, delimiter=known if format_ == "sets" else None))
    plan = make_set_plan(_only_sets(policy), layout.names, location=str(release))
    return replace(plan, published_separator=layout.delimiter) if format_ == "sets" else plan
