"""Finished releases of sets, whoever made them: recount a file or a frame, alone or beside its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.row_origins import Equal
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.io.frames import column_type
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release.finished import source_of_original
from tablecloak.release.handover import appraise
from tablecloak.release.match_originals import NO_ORIGINAL, NOT_EQUAL, equal_cells
from tablecloak.release.plan import changed_of, starred_of
from tablecloak.release.recount import Failure, Verification
from tablecloak.release.remade import Remade
from tablecloak.release.shapes.sets.finished import FinishedSets, finished_sets
from tablecloak.release.shapes.sets.matching import Beside
from tablecloak.release.shapes.sets.plan import SetPlan, make_set_plan
from tablecloak.release.shapes.sets.recount import recount
from tablecloak.release.verify import published_columns, unstarred_cells, wrong_columns
from tablecloak.stats.classes import number_rows


def verify_sets(release: Any, policy: Policy, *, original: Any = None, progress: Progress = silent) -> Verification:
    """Recount published sets; with the original, also check that every record has one of its own that it covers."""
    timed = Timed(progress)
    made = Remade(policy, policy, None)
    if changed_of(policy):
        before = None if original is None else source_of_original(original, policy)
        made = Remade.of(LocalEngine(), before, policy, timed)
        original = made.original and made.original.frame
    finished = finished_sets(release, made.policy, original=original, timed=timed)
    with timed.phase("verify"):
        return _verified(finished, made)


def _verified(finished: FinishedSets, made: Remade) -> Verification:
    plan, release, before, cells = finished.plan, finished.release, finished.original, finished.cells
    policy = made.policy
    failures = [*wrong_columns(policy, release.columns), *unstarred_cells(release, policy)]
    if before is None:
        verification = recount(cells, plan, None)
    else:
        originals = finished.originals
        assert originals is not None
        columns = [name for name in _kept(release, plan, policy) if name not in made.unknown]
        failures += [Failure("the original has no such column", n) for n in columns if n not in before.columns]
        equal = [_equal(release[n], before[n], policy) for n in columns if n in before.columns]
        verification = recount(cells, plan, originals, beside=_beside(equal))
        if verification.covers is False and recount(cells, plan, originals).covers:
            alone = [c.name for c in equal if recount(cells, plan, originals, beside=_beside([c])).covers is False]
            failures += [Failure(NOT_EQUAL, name) for name in alone] or [Failure(NO_ORIGINAL)]
    failures += made.faults(LocalEngine(), table_of(release))
    verification = replace(verification, failures=(*verification.failures, *failures))
    return _appraised(made.judged(verification, plan.goal), release, made.asked)


def _kept(release: pl.DataFrame, plan: SetPlan, policy: Policy) -> list[str]:
    """Published columns beside the sets, which show what the original shows."""
    return [n for n in published_columns(policy, release.columns) if n not in (plan.column, *starred_of(policy))]


def _equal(published: pl.Series, original: pl.Series, policy: Policy) -> Equal:
    type_ = column_type(original.name, original.dtype)
    spec = policy.columns.get(original.name)
    return equal_cells(published.cast(pl.String), original.cast(pl.String), type_, spec.notation if spec else None)


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
