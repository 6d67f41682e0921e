"""Finished releases, whoever made them: recount a file or a frame, alone or beside its original."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Publishes
from tablecloak.data.table import Role
from tablecloak.documents import Certified, certified_policy, check_certificate
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.frames import from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.plan import Plan, guards_of, make_plan, source_of
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release import read_release
from tablecloak.separation import (
    Separated,
    read_separated,
    side_path,
    verify_separated,
)
from tablecloak.verification import Originals, Verification, verify

__all__ = ["code_originals", "verify_certificate", "verify_file", "verify_frame"]

IntArray = NDArray[np.int64]


def verify_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount a finished file, whoever made it; with the original, also check that every cell covers its own."""
    timed, engine = Timed(progress), LocalEngine()
    if policy.algorithm.publishes.is_bucketing:
        return _verify_groups(engine, release, policy, original, timed)
    with timed.phase("read"):
        plan = make_plan(_published_part(policy), sniff(Source.of(release)).names, location=str(release))
        table = read_release(engine, release, plan)
        refuse_empty(table.n_rows, str(release))
    originals = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            wanted = [*plan.quasi, *guards_of(plan.goal)]
            originals = code_originals(engine, engine.read(source, columns=wanted, categorical=wanted), plan)
    with timed.phase("verify"):
        return _without_persons(verify(engine, table, plan, originals), policy)


def verify_certificate(
    release: Place,
    certificate: Path,
    *,
    original: Place | None = None,
    progress: Progress = silent,
    recount: Callable[..., Verification] = verify_file,
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show."""
    policy, certified, missing = certified_policy(certificate)
    verification = recount(release, policy, original=original, progress=progress)
    is_apart = policy.algorithm.publishes is Publishes.SEPARATED
    side = side_path(release) if is_apart and isinstance(release, Path) else None
    checks = check_certificate(certified, policy, verification, release, original, side)
    return Certified(verification, [*checks, *missing])


def _verify_groups(
    engine: LocalEngine, release: Place, policy: Policy, original: Place | None, timed: Timed
) -> Verification:
    """Recount the groups of a finished file and, where there is one, of the table beside it."""
    with timed.phase("read"):
        is_apart = policy.algorithm.publishes is Publishes.SEPARATED
        side = side_path(_as_path(release)) if is_apart else None
        names = [*sniff(Source.of(release)).names, *(sniff(Source(side)).names if side else [])]
        plan = make_plan(_published_part(policy), names, location=str(release))
        separated = read_separated(engine, release, side, plan)
    table = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            table = engine.read(source, columns=[*plan.quasi, *plan.sensitive], categorical=())
    with timed.phase("verify"):
        return verify_separated(engine, separated, plan, original=table)


def _as_path(place: Place) -> Path:
    if isinstance(place, Path):
        return place
    raise IncompatibleChoice("such a release is two files, and this is a table of a database", hint="name its file")


def verify_frame(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished frame, whoever made it; with the original, also check that every cell covers its own.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
    """
    engine = LocalEngine()
    frame = from_frame(release)
    if policy.algorithm.publishes.is_bucketing:
        beside = None if side is None else table_of(from_frame(side))
        plan = make_plan(_published_part(policy), [*frame.columns, *(beside.types if beside else [])])
        before = None if original is None else table_of(from_frame(original))
        return verify_separated(engine, Separated(table_of(frame), beside), plan, original=before)
    plan = make_plan(_published_part(policy), frame.columns)
    originals = code_originals(engine, table_of(from_frame(original)), plan) if original is not None else None
    return _without_persons(verify(engine, table_of(frame.select(plan.wanted)), plan, originals), policy)


def _published_part(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the columns that a recount looks at."""
    judged = policy.columns_with(Role.QUASI, Role.SENSITIVE)
    return policy.model_copy(update={"columns": {n: policy.columns[n] for n in judged}, "others": "drop"})


def _without_persons(verification: Verification, policy: Policy) -> Verification:
    """A release does not say who its rows belong to, so a recount of a file alone counts rows."""
    if not policy.columns_with(Role.PERSON):
        return verification
    note = "persons could not be recounted, because a release does not tell them apart: rows were counted instead"
    return replace(verification, notes=(*verification.notes, note))


def code_originals(engine: Engine, table: Table, plan: Plan, rows: IntArray | None = None) -> Originals:
    """What a recount needs of the originals of a release, coded again; `rows` are those that were published."""
    coding = engine.contingency(table, plan.quasi_columns(table), plan.guard_columns(table), by_row=True)
    is_shuffled = plan.publication.shuffle_seed is not None
    unpublished = () if is_shuffled and rows is None else coding.table.unpublished()
    return Originals(coding, rows, order_is_known=not is_shuffled, unpublished=unpublished)
