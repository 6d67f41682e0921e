"""Finished releases, whoever made them: recount a file or a frame, alone or beside its original."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Publishes
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType, Order, Role
from tablecloak.documents import Certified, certified_policy, check_certificate
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.frames import from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.plan import PUBLISHED, Plan, guards_of, make_plan, source_of, starred_of
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release import read_release
from tablecloak.separation import (
    COUNT,
    GROUP,
    Separated,
    read_separated,
    side_path,
    verify_separated,
)
from tablecloak.verification import Failure, Originals, Verification, verify

__all__ = ["code_originals", "verify_certificate", "verify_file", "verify_frame"]

IntArray = NDArray[np.int64]
# How many rows a failure names.
ROWS_NAMED = 10
# Why a column that a policy names has no place in a release.
UNPUBLISHED = {
    Role.IDENTIFIER: "an identifier, which is not published",
    Role.PERSON: "the key of persons, which is never published",
    Role.DROP: "the policy drops it",
}


def verify_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount a finished file, whoever made it; with the original, also check that every cell covers its own."""
    timed, engine = Timed(progress), LocalEngine()
    if policy.algorithm.publishes.is_bucketing:
        return _verify_groups(engine, release, policy, original, timed)
    with timed.phase("read"):
        names = sniff(Source.of(release, expected=frozenset(policy.columns))).names
        plan = make_plan(_published_part(policy), names, location=str(release))
        table = read_release(engine, release, plan)
        refuse_empty(table.n_rows, str(release))
        failures = [*wrong_columns(policy, names), *unstarred_cells(_starred(engine, release, policy, names), policy)]
    originals = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            wanted = [*plan.quasi, *guards_of(plan.goal)]
            originals = code_originals(engine, engine.read(source, columns=wanted, categorical=wanted), plan)
    with timed.phase("verify"):
        return _with_failures(_without_persons(verify(engine, table, plan, originals), policy), failures)


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
        expected = frozenset(policy.columns)
        names = [*sniff(Source.of(release, expected=expected)).names]
        names += sniff(Source(side, expected=expected)).names if side else ()
        plan = make_plan(_published_part(policy), names, location=str(release))
        separated = read_separated(engine, release, side, plan)
        failures = _wrong_group_columns(separated, policy)
    table = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            table = engine.read(source, columns=[*plan.quasi, *plan.sensitive], categorical=())
    with timed.phase("verify"):
        return _with_failures(verify_separated(engine, separated, plan, original=table), failures)


def _wrong_group_columns(separated: Separated, policy: Policy) -> list[Failure]:
    main, side = separated.main.frame, None if separated.side is None else separated.side.frame
    names = [*main.columns, *(() if side is None else [n for n in side.columns if n not in main.columns])]
    group_column = policy.algorithm.group_column
    own = {GROUP, *(() if side is None else (COUNT,))}
    wrong = [f for f in wrong_columns(policy, names, own=own) if f.column != group_column]
    if group_column is not None and group_column in names:
        wrong.append(Failure("it names the groups, whose numbers stand for it", group_column))
    return [*wrong, *unstarred_cells(main, policy)]


def _with_failures(verification: Verification, failures: Sequence[Failure]) -> Verification:
    return replace(verification, failures=(*failures, *verification.failures))


def _starred(engine: LocalEngine, release: Place, policy: Policy, names: Sequence[str]) -> pl.DataFrame:
    """The identifiers of a release that show `*` only, if it is as it must be."""
    columns = [n for n in starred_of(policy) if n in names]
    if not columns:
        return pl.DataFrame()
    kind = policy.output.format if policy.output else None
    source = Source.of(release, format=kind, types=dict.fromkeys(columns, ColumnType.TEXT))
    return engine.read(source, columns=columns, categorical=()).frame


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
        separated = Separated(table_of(frame), beside)
        found = verify_separated(engine, separated, plan, original=before)
        return _with_failures(found, _wrong_group_columns(separated, policy))
    plan = make_plan(_published_part(policy), frame.columns)
    originals = code_originals(engine, table_of(from_frame(original)), plan) if original is not None else None
    verification = verify(engine, table_of(frame.select(plan.wanted)), plan, originals)
    failures = [*wrong_columns(policy, frame.columns), *unstarred_cells(frame, policy)]
    return _with_failures(_without_persons(verification, policy), failures)


def wrong_columns(policy: Policy, columns: Sequence[str], *, own: Collection[str] = ()) -> list[Failure]:
    """Columns of a release that the policy does not publish, and those that it publishes and that are not there.

    Args:
        own: what an algorithm adds of its own, such as the number of a group.
    """
    stars = starred_of(policy)
    failures = []
    for name in columns:
        spec = policy.columns.get(name)
        if spec is None and policy.others == "drop" and name not in own:
            failures.append(Failure("the policy does not name it, so it is not published", name))
        if spec is not None and spec.role in UNPUBLISHED and name not in stars:
            failures.append(Failure(UNPUBLISHED[spec.role], name))
    missing = [n for n in [*policy.columns_with(*PUBLISHED, Role.ITEMS), *stars] if n not in columns]
    return [*failures, *(Failure("the policy publishes it, and it is not there", name) for name in missing)]


def unstarred_cells(frame: pl.DataFrame, policy: Policy) -> list[Failure]:
    """Identifiers that the policy replaces by `*` and that show something else."""
    failures = []
    for name in starred_of(policy):
        if name in frame.columns:
            is_star = (frame[name].cast(pl.String) == ANYTHING).fill_null(value=False).to_numpy()
            failures += failing_rows("an identifier that must be *, and shows something else", name, ~is_star)
    return failures


def failing_rows(what: str, column: str | None, is_wrong: NDArray[np.bool_]) -> list[Failure]:
    """A failure of some rows, or none."""
    rows = np.flatnonzero(is_wrong)
    return [Failure(what, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()))] if len(rows) else []


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
    is_kept = plan.publication.order is Order.KEEP
    unpublished = coding.table.unpublished() if is_kept or rows is not None else ()
    return Originals(coding, rows, order_is_known=is_kept, unpublished=unpublished)
