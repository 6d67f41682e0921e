"""The pipeline: read, plan, solve, recode, verify, write. Read this file first.

Data flows one way. A release reaches its final name only after it was read back and recounted.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.algorithms.base import Problem, Publishes, Solution
from tablecloak.algorithms.feasibility import TRY_LOSS_UP_TO, require_feasible
from tablecloak.data.domain import Domain
from tablecloak.data.table import ColumnType, Role
from tablecloak.documents import Certified, Documents, certified_policy, check_certificate, write_documents
from tablecloak.engines.base import Coding, Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import GoalNotMet, IncompatibleChoice
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.frames import from_frame
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import require_rows
from tablecloak.metrics.base import Measurement, ReleaseCounts, measure
from tablecloak.models.base import Goal, PrivacyModel, parameters
from tablecloak.plan import Plan, given_groups, make_plan, settle_persons, source_of, without_missing
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.recoding import Recoding, read_recoding
from tablecloak.report.facts import Facts
from tablecloak.separation import (
    Separated,
    read_separated,
    refuse_documents,
    refuse_persons,
    separate,
    side_path,
    verify_separated,
)
from tablecloak.verification import Originals, Verification, require, verify, verify_with_facts

__all__ = [
    "CheckReport",
    "RunReport",
    "VerifiedRelease",
    "anonymize",
    "apply_file",
    "check",
    "run",
    "verify_certificate",
    "verify_file",
    "verify_frame",
]

IntArray = NDArray[np.int64]


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run found, did and cost."""

    verification: Verification
    measurements: list[Measurement]
    seconds: Mapping[str, float]
    goals: list[str]
    algorithm: str
    engine: str
    n_missing_dropped: int = 0
    notes: tuple[str, ...] = ()
    output: str | None = None
    side_output: str | None = None  # the sensitive columns, where they have a table of their own
    recoding: str | None = None
    report: str | None = None
    certificate: str | None = None
    peak_memory_bytes: int = field(default_factory=_peak_memory_bytes)

    @property
    def loss(self) -> float | None:
        """Global certainty penalty, 0 nothing lost, 1 everything."""
        return next((m.value for m in self.measurements if m.name == "gcp"), None)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak run --json`."""
        return {
            **self.verification.to_dict(),
            **({"notes": notes} if (notes := [*self.notes, *self.verification.notes]) else {}),
            "loss": self.loss,
            "metrics": {m.name: m.to_dict() for m in self.measurements},
            "dropped_for_missing": self.n_missing_dropped,
            "goals": self.goals,
            "algorithm": self.algorithm,
            "engine": self.engine,
            "seconds": {phase: round(s, 4) for phase, s in self.seconds.items()},
            "peak_memory_bytes": self.peak_memory_bytes,
            "output": self.output,
            **({"side_output": self.side_output} if self.side_output else {}),
            "recoding": self.recoding,
            "report": self.report,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        from tablecloak.report.terminal import run_lines

        return "\n".join(line.plain for line in run_lines(self.to_dict()))

    def __rich__(self) -> Any:
        from rich.console import Group

        from tablecloak.report.terminal import run_lines

        return Group(*run_lines(self.to_dict()))

    def _repr_html_(self) -> str:
        from tablecloak.report.page import summary

        return summary(self.to_dict())


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Whether a policy is sound and its goal can be reached."""

    goals: list[str]
    algorithm: str
    engine: str
    rows: int | None = None
    columns: int | None = None
    quasi: tuple[str, ...] = ()
    tuples: int | None = None
    feasible: bool | None = None
    loss: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            name: list(v) if isinstance(v, tuple) else v for name, v in ((n, getattr(self, n)) for n in self.__slots__)
        }


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedRelease:
    """A release that was recounted and found to satisfy its goal; only such a value can be written."""

    frame: pl.DataFrame
    report: RunReport
    recoding: Recoding | None  # None: exact values in groups, which new rows cannot join
    _plan: Plan = field(repr=False)
    _originals: Originals = field(repr=False)
    side: pl.DataFrame | None = None  # the sensitive columns, where they have a table of their own

    def write(
        self,
        path: str | Path,
        *,
        report: str | Path | None = None,
        certificate: str | Path | None = None,
        recoding: str | Path | None = None,
        force: bool = False,
    ) -> None:
        """Write the release and what else is asked for, all or nothing.

        The file of the release is read back and recounted before it gets its name.
        """
        engine = LocalEngine()
        with Outputs(force=force) as outputs:
            target = outputs.add(Path(path))
            extra = [None if p is None else outputs.add(Path(p)) for p in (report, certificate, recoding)]
            side = outputs.add(side_path(Path(path))) if self.side is not None else None
            files = replace(Documents(target, Path(path).name, *extra), side=side)
            if self._plan.algorithm.publishes.is_bucketing:
                self._write_groups(engine, files)
                return
            engine.write(table_of(self.frame), target, kind=None, delimiter=None)
            written = _read_release(engine, target, self._plan)
            verification, facts = _verified(engine, written, self._plan, self._originals, files)
            if files.recoding and self.recoding:
                self.recoding.write(files.recoding)
            if files.are_wanted:
                said = replace(self.report, verification=verification, output=str(path)).to_dict()
                write_documents(files, said, self._plan, facts)

    def _write_groups(self, engine: Engine, files: Documents) -> None:
        refuse_documents(self._plan, files)
        meant = Separated(table_of(self.frame), None if self.side is None else table_of(self.side))
        written = _write_separated(engine, meant, files, self._plan, Timed())
        require(verify_separated(engine, written, self._plan))


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """A table with the classes found for it."""

    table: Table
    coding: Coding
    solution: Solution
    n_missing_dropped: int


def anonymize(data: Any, policy: Policy, *, threads: int | None = None, progress: Progress = silent) -> VerifiedRelease:
    """A verified release of a polars, pandas or Arrow frame.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    timed, engine = Timed(progress), LocalEngine()
    frame = from_frame(data)
    plan = make_plan(policy, frame.columns)
    table = table_of(_as_categories(frame.select(plan.wanted), plan))
    solved = _solve(engine, table, plan, timed, threads)
    published = _publish(engine, solved, plan, timed)
    report = _report(solved, plan, published.verification, timed, engine)
    recoding = None if solved.solution.bucketing else _recoding(solved, plan)
    side = published.side.frame if published.side else None
    return VerifiedRelease(published.main.frame, report, recoding, plan, published.originals, side)


def run(
    policy: Policy,
    *,
    progress: Progress = silent,
    threads: int | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> RunReport:
    """Carry out a policy: read its input, write its output. Nothing appears under the final name unless verified."""
    timed, engine = Timed(progress), LocalEngine()
    source = source_of(policy)
    if policy.output_path is None and not dry_run:
        raise IncompatibleChoice("the policy names no output", hint="add `output: FILE` to it, or use --output FILE")
    with Outputs(force=force) as outputs:
        files = None if dry_run else _reserved(outputs, policy)
        plan, table = _read(engine, source, policy, timed)
        refuse_documents(plan, files)
        solved = _solve(engine, table, plan, timed, threads)
        del table
        published = _publish(engine, solved, plan, timed, files)
        if files and files.recoding:
            with writing(files.recoding):
                _recoding(solved, plan).write(files.recoding)
        report = _report(solved, plan, published.verification, timed, engine)
        if files and files.are_wanted:
            with timed.phase("report"):
                write_documents(files, _with_files(report, policy).to_dict(), plan, published.facts)
    return report if dry_run else _with_files(report, policy)


def check(policy: Policy, *, progress: Progress = silent) -> CheckReport:
    """Whether a policy fits its input and its goal can be reached there; writes nothing.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    timed, engine = Timed(progress), LocalEngine()
    goals, algorithm = [_sentence(m) for m in policy.goals], policy.algorithm.name
    if policy.input is None:
        return CheckReport(goals, algorithm, engine.name, notes=Goal(tuple(policy.goals)).notes)
    plan, table = _read(engine, source_of(policy), policy, timed)
    table, _ = without_missing(table, plan)
    table, plan = settle_persons(table, plan)
    coding = _code(engine, table, plan)
    require_feasible(coding.table, plan.goal)
    is_small = coding.table.n_tuples <= TRY_LOSS_UP_TO
    tried = _try(coding, plan, plan.goal, given_groups(table, plan)) if is_small else None
    whole = coding.table.whole()
    return CheckReport(
        goals,
        algorithm,
        engine.name,
        rows=table.n_rows,
        columns=len(plan.publication.columns),
        quasi=tuple(plan.quasi),
        tuples=coding.table.n_tuples,
        feasible=_is_feasible(plan.goal, coding, tried),
        loss=_loss_of(coding, plan, tried) if tried else None,
        notes=(*plan.goal.notes, *(remark for m in plan.goal.models for remark in m.remarks(whole))),
    )


def verify_file(
    release: Path, policy: Policy, *, original: Path | None = None, progress: Progress = silent
) -> Verification:
    """Recount a finished file, whoever made it; with the original, also check that every cell covers its own."""
    timed, engine = Timed(progress), LocalEngine()
    if policy.algorithm.publishes.is_bucketing:
        return _verify_groups(engine, release, policy, original, timed)
    with timed.phase("read"):
        plan = make_plan(_published_part(policy), sniff(Source(release)).names, location=str(release))
        table = _read_release(engine, release, plan)
        require_rows(table.frame, release)
    originals = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            originals = _code_originals(engine, engine.read(source, columns=plan.quasi, categorical=plan.quasi), plan)
    with timed.phase("verify"):
        return _without_persons(verify(engine, table, plan, originals), policy)


def verify_certificate(
    release: Path, certificate: Path, *, original: Path | None = None, progress: Progress = silent
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show."""
    policy, certified, missing = certified_policy(certificate)
    verification = verify_file(release, policy, original=original, progress=progress)
    return Certified(verification, [*check_certificate(certified, policy, verification, release, original), *missing])


def _verify_groups(engine: Engine, release: Path, policy: Policy, original: Path | None, timed: Timed) -> Verification:
    """Recount the groups of a finished file and, where there is one, of the table beside it."""
    with timed.phase("read"):
        is_apart = policy.algorithm.publishes is Publishes.SEPARATED
        side = side_path(release) if is_apart else None
        names = [*sniff(Source(release)).names, *(sniff(Source(side)).names if side else [])]
        plan = make_plan(_published_part(policy), names, location=str(release))
        separated = read_separated(engine, release, side, plan)
    table = None
    if original is not None:
        with timed.phase("original"):
            source = source_of(policy.with_files(source=original))
            table = engine.read(source, columns=[*plan.quasi, *plan.sensitive], categorical=())
    with timed.phase("verify"):
        return verify_separated(engine, separated, plan, original=table)


def verify_frame(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished frame, whoever made it; with the original, also check that every cell covers its own.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
    """
    engine = LocalEngine()
    frame = from_frame(release)
    if policy.algorithm.publishes.is_bucketing:
        beside = None if side is None else table_of(from_frame(side))
        plan = make_plan(_published_part(policy), [*frame.columns, *(beside.frame.columns if beside else [])])
        before = None if original is None else table_of(from_frame(original))
        return verify_separated(engine, Separated(table_of(frame), beside), plan, original=before)
    plan = make_plan(_published_part(policy), frame.columns)
    originals = _code_originals(engine, table_of(from_frame(original)), plan) if original is not None else None
    return _without_persons(verify(engine, table_of(frame.select(plan.wanted)), plan, originals), policy)


def apply_file(
    recoding: Path,
    data: Path,
    output: Path,
    *,
    suppression_limit: float | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> RunReport:
    """Publish new rows as an earlier run published its own; rows that no class covers are suppressed.

    Args:
        suppression_limit: share of rows that may be left out because their class is too small in the new data; None
            takes the limit of the policy.
    """
    timed, engine = Timed(progress), LocalEngine()
    stored = read_recoding(recoding)
    policy = stored.policy.with_files(source=data, target=output)
    with Outputs(force=force) as outputs:
        target = outputs.add(output)
        plan, table = _read(engine, source_of(policy), policy, timed)
        table, n_dropped = without_missing(table, plan)
        with timed.phase("recode", table.n_rows) as notes:
            classes = stored.classes_of(table.frame)
            limit = (
                getattr(plan.algorithm, "suppression_limit", 0.0) if suppression_limit is None else suppression_limit
            )
            counted = engine.contingency(table, [], plan.sensitive_columns(table), by_row=True)
            classes = _without_weak_classes(counted, plan, classes, stored, limit)
            release, rows = engine.recode(table, classes, stored.labels(), plan.publication)
            notes.append(f"{int((classes < 0).sum()):,} of {len(classes):,} rows suppressed")
        release = _write(engine, release, target, plan, timed)
        with timed.phase("verify"):
            originals = _code_originals(engine, table, plan, rows)
            originals = replace(originals, persons=counted.table.persons())
            verification = require(verify(engine, release, plan, originals))
    return RunReport(
        verification, [], timed.seconds, [_sentence(m) for m in plan.goal.models], "recoding", engine.name,
        n_dropped, plan.goal.notes, str(output),
    )  # fmt: skip


def _read(engine: Engine, source: Source, policy: Policy, timed: Timed) -> tuple[Plan, Table]:
    with timed.phase("read") as notes:
        layout = sniff(source)
        plan = make_plan(policy, layout.names, location=str(source.path))
        kernels.preload(layout.n_rows_hint or 0)
        table = engine.read(source, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
        require_rows(table.frame, source.path)
        notes.append(f"{table.n_rows:,} rows")
    return plan, table


def _read_release(engine: Engine, path: Path, plan: Plan, labels: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Only what a recount needs, quasi-identifiers as text whatever they look like."""
    columns = [*plan.quasi, *plan.counted]
    kind = plan.policy.output.format if plan.policy.output else None
    types = {name: c.type for name, c in plan.policy.columns.items() if c.type is not None and name in plan.sensitive}
    source = Source(path, format=kind, types={**types, **dict.fromkeys(plan.quasi, ColumnType.TEXT)})
    return engine.read(source, columns=columns, categorical=columns, labels=labels)


def _code(engine: Engine, table: Table, plan: Plan) -> Coding:
    return engine.contingency(
        table, plan.quasi_columns(table), plan.sensitive_columns(table), by_row=plan.algorithm.needs_rows
    )


def _solve(engine: Engine, table: Table, plan: Plan, timed: Timed, threads: int | None) -> _Solved:
    with timed.phase("code", table.n_rows) as notes:
        table, n_dropped = without_missing(table, plan)
        table, plan = settle_persons(table, plan)
        refuse_persons(plan)
        coding, given = _code(engine, table, plan), given_groups(table, plan)
        notes.append(f"{coding.table.n_tuples:,} distinct tuples")
        # what remains to be published; generalised quasi-identifiers live on as codes
        coded = () if plan.algorithm.publishes.is_bucketing else plan.quasi
        rest = [c for c in plan.publication.columns if c not in coded and c not in plan.publication.starred]
        table = Table(table.frame.select(rest), table.types, table.name)
    is_small = coding.table.n_tuples <= TRY_LOSS_UP_TO
    require_feasible(
        coding.table, plan.goal, (lambda g: _loss_of(coding, plan, _try(coding, plan, g, given))) if is_small else None
    )
    with timed.phase("solve", coding.table.n_tuples) as notes:
        problem = Problem(coding.table, plan.goal, threads or os.cpu_count() or 1, plan.policy.seed, given)
        solution = plan.algorithm.solve(problem, timed.inner)
        _require_found(solution, coding, plan.goal)
        notes.append(f"{solution.n_classes:,} classes")
    return _Solved(table, coding, solution, n_dropped)


def _require_found(solution: Solution, coding: Coding, goal: Goal) -> None:
    """Fail early where the search could not satisfy a model that is not monotone; the recount would fail anyway."""
    if goal.is_monotone:
        return
    stats = solution.stats(coding.table)
    _, others = goal.parts()
    weak = ~others.admits(stats) & (stats.size > 0)
    if weak.any():
        n_weak = int(stats.size[weak].sum())
        names = ", ".join(m.name for m in others.models)
        enough = np.ceil(1000 * n_weak / coding.table.n_rows) / 1000
        raise GoalNotMet(
            f"the search found no classes that all satisfy {names}: {int(weak.sum()):,} of {stats.n_classes:,}, "
            f"with {n_weak:,} records, do not",
            result={"holds": False, "rows": coding.table.n_rows, "weak_rows": n_weak},
            hint=f"algorithm.suppression_limit: {enough:g} may leave them out; or relax {names}. Nothing was written",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Published:
    """What was recounted: the release, read back where it was written, and what the recount says."""

    main: Table
    side: Table | None
    originals: Originals
    verification: Verification
    facts: Facts | None = None


def _publish(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None = None) -> _Published:
    """Make the release of a solution, write it where files are wanted, and recount it."""
    publish = _publish_groups if solved.solution.bucketing else _publish_classes
    published = publish(engine, solved, plan, timed, files)
    remarks = (*published.verification.notes, *solved.solution.notes)
    return replace(published, verification=replace(published.verification, notes=remarks))


def _publish_classes(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None) -> _Published:
    release, rows = _recode(engine, solved, plan, timed)
    release = _write(engine, release, files.release, plan, timed) if files else release
    originals = _originals(solved, rows)
    with timed.phase("verify") as notes:
        verification, facts = _verified(engine, release, plan, originals, files)
        notes.append(f"{verification.n_classes:,} classes recounted")
    return _Published(release, None, originals, verification, facts)


def _publish_groups(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None) -> _Published:
    with timed.phase("recode", solved.table.n_rows):
        separated = separate(solved.table, solved.solution, solved.coding.table, plan)
    found = _write_separated(engine, separated, files, plan, timed) if files else separated
    with timed.phase("verify") as notes:
        verification = verify_separated(engine, found, plan, intended=separated, original=solved.table)
        notes.append(f"{verification.n_classes:,} groups recounted")
    return _Published(found.main, found.side, _originals(solved, None), require(verification))


def _recode(engine: Engine, solved: _Solved, plan: Plan, timed: Timed) -> tuple[Table, IntArray | None]:
    coded, solution = solved.coding.table, solved.solution
    with timed.phase("recode", solved.table.n_rows):
        labels = solution.published(coded.domains)
        release, rows = engine.recode(solved.table, solution.class_of_row(coded), labels, plan.publication)
        if plan.algorithm.publishes is Publishes.CENTERS:
            release = table_of(_with_numbers(release.frame, coded.domains), release.name)
        return release, rows


def _with_numbers(frame: pl.DataFrame, domains: Sequence[Domain]) -> pl.DataFrame:
    """Means of numbers as numbers."""
    numeric = [d.name for d in domains if d.hierarchy is None and d.type in (ColumnType.INTEGER, ColumnType.FLOAT)]
    return frame.with_columns(pl.col(numeric).cast(pl.String).cast(pl.Float64))


def _write(engine: Engine, release: Table, target: Path, plan: Plan, timed: Timed) -> Table:
    """Write the release under a temporary name and read back what was written."""
    output = plan.policy.output
    with timed.phase("write", release.n_rows) as notes:
        engine.write(
            release, target, kind=output.format if output else None, delimiter=output.delimiter if output else None
        )
        notes.append(f"{release.n_rows:,} rows")
    labels = _labels_in(release.frame)
    del release
    with timed.phase("read back"):
        return _read_release(engine, target, plan, labels)


def _write_separated(engine: Engine, separated: Separated, files: Documents, plan: Plan, timed: Timed) -> Separated:
    """Write the tables of a separated release under temporary names and read back what was written."""
    output = plan.policy.output
    kind, delimiter = (output.format, output.delimiter) if output else (None, None)
    with timed.phase("write", separated.main.n_rows):
        engine.write(separated.main, files.release, kind=kind, delimiter=delimiter)
        if files.side and separated.side:
            engine.write(separated.side, files.side, kind=kind, delimiter=delimiter)
    with timed.phase("read back"):
        return read_separated(engine, files.release, files.side, plan, separated)


def _side_path(policy: Policy) -> Path | None:
    """The file of the sensitive columns, where they have a table of their own."""
    is_apart = policy.algorithm.publishes is Publishes.SEPARATED
    return side_path(policy.output_path) if is_apart and policy.output_path else None


def _labels_in(frame: pl.DataFrame) -> dict[str, list[str]]:
    """What was meant to be written; any other text in the file is found and counted all the same."""
    return {n: d.categories.to_list() for n, d in frame.schema.items() if isinstance(d, pl.Enum) and len(d.categories)}


def _reserved(outputs: Outputs, policy: Policy) -> Documents:
    """Temporary names for every file that a policy asks for."""
    paths = (
        policy.output_path, policy.report_path, policy.certificate_path, policy.recoding_path, _side_path(policy)
    )  # fmt: skip
    release, report, certificate, recoding, side = [None if path is None else outputs.add(path) for path in paths]
    assert release is not None
    assert policy.output_path is not None
    return Documents(release, policy.output_path.name, report, certificate, recoding, policy.input_path, side)


def _verified(
    engine: Engine, release: Table, plan: Plan, originals: Originals, files: Documents | None
) -> tuple[Verification, Facts | None]:
    """The recount of a release that must hold, and the facts for a report if one is wanted."""
    if files is None or files.report is None:
        return require(verify(engine, release, plan, originals)), None
    verification, facts = verify_with_facts(engine, release, plan, originals)
    return require(verification), facts


def _originals(solved: _Solved, rows: IntArray | None) -> Originals:
    coded = solved.coding.table
    row_of = np.arange(coded.n_rows) if rows is None else rows
    domains = {d.name: d for d in coded.domains}
    return Originals(
        domains, solved.coding.codes, coded.n_rows, row_of,
        sensitive=coded.sensitive, totals=coded.totals, persons=coded.persons(),
    )  # fmt: skip


def _without_persons(verification: Verification, policy: Policy) -> Verification:
    """A release does not say who its rows belong to, so a recount of a file alone counts rows."""
    if not policy.columns_with(Role.PERSON):
        return verification
    note = "persons could not be recounted, because a release does not tell them apart: rows were counted instead"
    return replace(verification, notes=(*verification.notes, note))


def _code_originals(engine: Engine, table: Table, plan: Plan, rows: IntArray | None = None) -> Originals:
    coding = engine.contingency(table, plan.quasi_columns(table), [], by_row=True)
    is_shuffled = plan.publication.shuffle_seed is not None
    domains = {d.name: d for d in coding.table.domains}
    return Originals(domains, coding.codes, table.n_rows, rows, order_is_known=not is_shuffled)


def _without_weak_classes(coding: Coding, plan: Plan, classes: IntArray, stored: Recoding, limit: float) -> IntArray:
    """Suppress classes that do not satisfy the goal in the new data, if the limit allows it."""
    stats = coding.table.class_stats(classes, stored.n_classes, own_totals=True)
    weak = ~plan.goal.admits(stats) & (stats.size > 0)
    n_weak = int(stats.size[weak].sum())
    if n_weak > limit * len(classes):
        enough = np.ceil(1000 * n_weak / len(classes)) / 1000
        raise GoalNotMet(
            f"{int(weak.sum()):,} classes with {n_weak:,} of {len(classes):,} new rows do not satisfy the goal",
            result={"holds": False, "rows": len(classes), "weak_rows": n_weak},
            hint=f"--suppression-limit {enough:g} leaves them out; nothing was written",
        )
    return np.where(weak[classes] & (classes >= 0), -1, classes)


def _report(solved: _Solved, plan: Plan, verification: Verification, timed: Timed, engine: Engine) -> RunReport:
    return RunReport(
        verification,
        measure(_counts(solved.coding, solved.solution, plan)),
        timed.seconds,
        [_sentence(m) for m in plan.goal.models],
        plan.algorithm.name,
        engine.name,
        solved.n_missing_dropped,
        plan.goal.notes,
    )


def _counts(coding: Coding, solution: Solution, plan: Plan) -> ReleaseCounts:
    domains = coding.table.domains
    losses = solution.losses(domains)
    sizes = solution.stats(coding.table).size
    is_released = sizes > 0
    return ReleaseCounts(
        sizes=sizes[is_released],
        losses=losses[is_released],
        columns=tuple(d.name for d in domains),
        n_suppressed=coding.table.n_rows - int(sizes.sum()),
        k=plan.goal.min_size,
        weights=tuple(d.weight for d in domains),
    )


def _try(coding: Coding, plan: Plan, goal: Goal, given: IntArray | None) -> Solution:
    return plan.algorithm.solve(Problem(coding.table, goal, 1, plan.policy.seed, given), silent)


def _is_feasible(goal: Goal, coding: Coding, tried: Solution | None) -> bool | None:
    """Whether a release exists; None where that is not known, because a model is not monotone."""
    if goal.is_monotone:
        return True
    if tried is None:
        return None
    stats = tried.stats(coding.table)
    return bool(goal.parts()[1].admits(stats)[stats.size > 0].all()) or None


def _loss_of(coding: Coding, plan: Plan, solution: Solution) -> float:
    return measure(_counts(coding, solution, plan), ["gcp"])[0].value


def _recoding(solved: _Solved, plan: Plan) -> Recoding:
    return Recoding.of(solved.solution, solved.coding.table.domains, plan.policy)


def _published_part(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the columns that a recount looks at."""
    judged = policy.columns_with(Role.QUASI, Role.SENSITIVE)
    return policy.model_copy(update={"columns": {n: policy.columns[n] for n in judged}, "others": "drop"})


def _as_categories(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    schema = frame.schema
    text = [n for n in [*plan.quasi, *plan.sensitive] if schema[n] == pl.String]
    return frame.with_columns(pl.col(text).cast(pl.Categorical)) if text else frame


def _sentence(model: PrivacyModel) -> str:
    inner = ", ".join(f"{name}={value}" for name, value in parameters(model).items())
    return f"{model.name}({inner})"


def _with_files(report: RunReport, policy: Policy) -> RunReport:
    def named(path: Path | None) -> str | None:
        return None if path is None else str(path)

    return replace(
        report,
        output=named(policy.output_path),
        side_output=named(_side_path(policy)),
        recoding=named(policy.recoding_path),
        report=named(policy.report_path),
        certificate=named(policy.certificate_path),
    )
