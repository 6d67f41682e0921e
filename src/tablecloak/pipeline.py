"""The pipeline: read, plan, solve, recode, verify, write. Read this file first.

Data flows one way. A release reaches its final name only after it was read back and recounted.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.algorithms.base import Problem, Publishes, Solution
from tablecloak.algorithms.feasibility import TRY_LOSS_UP_TO, require_feasible
from tablecloak.algorithms.fulldomain import FullDomain
from tablecloak.algorithms.fulldomain.view import LatticeView
from tablecloak.amounts import parse_bytes
from tablecloak.data.coded import CodedTable
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType, Role
from tablecloak.documents import Certified, Documents, certified_policy, check_certificate, write_documents
from tablecloak.engines.base import Answer, Coding, Engine, Table
from tablecloak.engines.choose import Choice, Demand, bytes_in_memory, choose, open_engine
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import GoalNotMet, IncompatibleChoice
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.frames import from_frame
from tablecloak.io.parts import files_of
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.metrics.base import ReleaseCounts, measure
from tablecloak.models.base import Goal
from tablecloak.outcome import CheckReport, RunReport, counts_of, loss_of, reported, sentence, with_files
from tablecloak.outside import with_population
from tablecloak.plan import Plan, given_groups, guards_of, make_plan, settle_persons, source_of, without_missing
from tablecloak.policy.load import dump_policy
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.recoding import Recoding, read_recoding
from tablecloak.registry import find
from tablecloak.release import VerifiedRelease, read_release, reserve, verified, write_release, write_separated
from tablecloak.report.certificate import sha256_text
from tablecloak.report.facts import Facts
from tablecloak.separation import (
    Separated,
    facts_of_groups,
    read_separated,
    refuse_persons,
    refuse_recoding,
    separate,
    side_path,
    verify_separated,
)
from tablecloak.stats.classes import Needs
from tablecloak.verification import Originals, Verification, require, verify

__all__ = [
    "CheckReport",
    "RunReport",
    "VerifiedRelease",
    "anonymize",
    "apply_file",
    "check",
    "explore",
    "run",
    "verify_certificate",
    "verify_file",
    "verify_frame",
]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """A table with the classes found for it."""

    table: Table
    coding: Coding
    answer: Answer
    n_missing_dropped: int

    @property
    def solution(self) -> Solution:
        return self.answer.solution


def anonymize(
    data: Any,
    policy: Policy,
    *,
    threads: int | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress = silent,
) -> VerifiedRelease:
    """A verified release of a polars, pandas or Arrow frame.

    Args:
        engine: auto, local or duckdb; auto takes duckdb where the frame is large for the memory.
        memory: what the run may take, as in "8GB"; None: the memory of the machine.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    frame = from_frame(data)
    demand = Demand(engine, None if memory is None else parse_bytes(memory), threads=threads)
    choice = choose(demand, int(frame.estimated_size()))
    with closing(open_engine(choice, demand)) as opened:
        return _anonymize(opened, frame, policy, choice, Timed(progress), threads)


def _anonymize(
    engine: Engine, frame: pl.DataFrame, policy: Policy, choice: Choice, timed: Timed, threads: int | None
) -> VerifiedRelease:
    plan = make_plan(policy, frame.columns, is_reported=True)
    table: Table = engine.read(frame, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
    worker, table = _in_memory(engine, table, plan)
    solved = _solve(worker, table, plan, timed, threads)
    published = _publish(worker, solved, plan, timed)
    counts = counts_of(solved.coding, solved.answer, plan)
    report = _report(solved, counts, plan, published.verification, timed, choice)
    recoding = None if solved.solution.bucketing else _recoding(solved, plan)
    side = worker.frame(published.side) if published.side else None
    return VerifiedRelease(
        worker.frame(published.main), report, recoding, plan, published.originals, counts, side, published.blocks
    )


def run(
    policy: Policy,
    *,
    progress: Progress = silent,
    threads: int | None = None,
    force: bool = False,
    dry_run: bool = False,
    engine: str | Engine = "auto",
    memory: str | int | None = None,
    spill: Path | None = None,
    resume: bool = False,
    spark: str | None = None,
) -> RunReport:
    """Carry out a policy: read its input, write its output. Nothing appears under the final name unless verified.

    Args:
        engine: auto, local, duckdb or spark; auto decides by the size of the input. Or one that is open already.
        memory: what the run may take, as in "8GB"; None: the memory of the machine.
        spill: folder for what does not fit memory; None: beside the output.
        resume: go on where a killed run of the same policy and input stopped.
        spark: address of a cluster, as in spark://host:port, local[2] or sc://host:port.
    """
    source = source_of(policy)
    if policy.output_place is None and not dry_run:
        raise IncompatibleChoice("the policy names no output", hint="add `output: FILE` to it, or use --output FILE")
    if not isinstance(engine, str):
        return _run_on(
            engine, source, policy, Choice(engine.name, "given", 0), Timed(progress), threads, force, dry_run
        )
    demand = Demand(engine, None if memory is None else parse_bytes(memory), spill, threads, resume, spark)
    choice = choose(demand, 0 if source.is_on_spark else bytes_in_memory(sniff(source)))
    opened = open_engine(
        choice, demand, output=None if dry_run else policy.output_path, inputs=files_of(source),
        identity={"the policy": sha256_text(dump_policy(policy))},
    )  # fmt: skip
    with closing(opened):
        return _run_on(opened, source, policy, choice, Timed(progress), threads, force, dry_run)


def _run_on(
    engine: Engine,
    source: Source,
    policy: Policy,
    choice: Choice,
    timed: Timed,
    threads: int | None,
    force: bool,
    dry_run: bool,
) -> RunReport:
    with Outputs(force=force) as outputs:
        files = None if dry_run else reserve(outputs, policy)
        return _run(engine, source, policy, choice, timed, threads, files)


def _run(
    engine: Engine,
    source: Source,
    policy: Policy,
    choice: Choice,
    timed: Timed,
    threads: int | None,
    files: Documents | None,
) -> RunReport:
    plan, table = _read(engine, source, policy, timed)
    refuse_recoding(plan, files.recoding if files else None)
    worker, table = _in_memory(engine, table, plan)
    solved = _solve(worker, table, plan, timed, threads)
    del table
    published = _publish(worker, solved, plan, timed, files)
    if files and files.recoding:
        with writing(files.recoding):
            _recoding(solved, plan).write(files.recoding)
    counts = counts_of(solved.coding, solved.answer, plan)
    report = _report(solved, counts, plan, published.verification, timed, choice)
    if files and files.are_wanted:
        if files.report is not None:
            with timed.phase("utility"):
                report = replace(report, measurements=reported(counts))
        with timed.phase("report"):
            said = with_files(report, policy).to_dict()
            write_documents(files, said, plan, published.facts, published.blocks)
    return report if files is None else with_files(report, policy)


def check(policy: Policy, *, progress: Progress = silent) -> CheckReport:
    """Whether a policy fits its input and its goal can be reached there; writes nothing.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    timed, engine = Timed(progress), LocalEngine()
    goals, algorithm = [sentence(m) for m in policy.goals], policy.algorithm.name
    if policy.input is None:
        return CheckReport(goals, algorithm, engine.name, notes=Goal(tuple(policy.goals)).notes)
    plan, table = _read(engine, source_of(policy), policy, timed)
    table, _ = without_missing(engine, table, plan)
    table, plan = settle_persons(engine, table, plan)
    coding = _code(engine, table, plan)
    require_feasible(coding.whole(), plan.goal)
    is_small = coding.n_tuples <= TRY_LOSS_UP_TO
    tried = _try(coding, plan, plan.goal, given_groups(engine, table, plan)) if is_small else None
    whole = coding.whole()
    return CheckReport(
        goals,
        algorithm,
        engine.name,
        rows=table.n_rows,
        columns=len(plan.publication.columns),
        quasi=tuple(plan.quasi),
        tuples=coding.n_tuples,
        feasible=_is_feasible(plan.goal, coding, tried),
        loss=loss_of(coding, plan, tried) if tried else None,
        notes=(*plan.goal.notes, *(remark for m in plan.goal.models for remark in m.remarks(whole))),
    )


def explore(
    policy: Policy, *, algorithm: str | None = None, progress: Progress = silent
) -> tuple[LatticeView, FullDomain]:
    """The lattice of a policy's full-domain generalisations after a search, and the algorithm that searched it.

    Args:
        algorithm: the search; None takes that of the policy if it searches the lattice, and otherwise one that can.
    """
    timed, engine = Timed(progress), LocalEngine()
    search = _lattice_search(policy, algorithm)
    plan, table = _read(engine, source_of(policy), policy.model_copy(update={"algorithm": search}), timed)
    table, _ = without_missing(engine, table, plan)
    table, plan = settle_persons(engine, table, plan)
    coding = _code(engine, table, plan)
    require_feasible(coding.whole(), plan.goal)
    with timed.phase("solve") as notes:
        view = search.view(Problem(coding.table, plan.goal, 1, policy.seed), timed.inner)
        notes.append(f"{view.checks:,} of {view.lattice.size:,} nodes counted")
    return view, search


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
            originals = _code_originals(engine, engine.read(source, columns=wanted, categorical=wanted), plan)
    with timed.phase("verify"):
        return _without_persons(verify(engine, table, plan, originals), policy)


def verify_certificate(
    release: Place, certificate: Path, *, original: Place | None = None, progress: Progress = silent
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show."""
    policy, certified, missing = certified_policy(certificate)
    verification = verify_file(release, policy, original=original, progress=progress)
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
    originals = _code_originals(engine, table_of(from_frame(original)), plan) if original is not None else None
    return _without_persons(verify(engine, table_of(frame.select(plan.wanted)), plan, originals), policy)


def apply_file(
    recoding: Path,
    data: str | Place,
    output: str | Place,
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
        place = policy.output_place
        assert place is not None
        target = outputs.add_place(place, is_folder=bool(policy.output and policy.output.is_folder))
        plan, table = _read(engine, source_of(policy), policy, timed)
        table, n_dropped = without_missing(engine, table, plan)
        with timed.phase("recode", table.n_rows) as notes:
            classes = stored.classes_of(engine.frame(table, stored.read_columns))
            limit = (
                getattr(plan.algorithm, "suppression_limit", 0.0) if suppression_limit is None else suppression_limit
            )
            counted = engine.contingency(table, [], plan.sensitive_columns(table), by_row=True)
            classes = _without_weak_classes(counted, plan, classes, stored, limit)
            release, rows = engine.publish(table, classes, stored.labels(), plan.publication)
            notes.append(f"{int((classes < 0).sum()):,} of {len(classes):,} rows suppressed")
        written = write_release(engine, release, target, plan, timed, stored.labels())
        with timed.phase("verify"):
            originals = _code_originals(engine, table, plan, rows)
            originals = replace(originals, unpublished=counted.table.unpublished())
            verification = require(verify(engine, written, plan, originals))
    return RunReport(
        verification, [], timed.seconds, [sentence(m) for m in plan.goal.models], "recoding", engine.name,
        n_dropped, plan.goal.notes, str(place),
    )  # fmt: skip


def _read(engine: Engine, source: Source, policy: Policy, timed: Timed) -> tuple[Plan, Table]:
    with timed.phase("read") as notes:
        layout = engine.layout(source)
        plan = make_plan(policy, layout.names, location=source.location)
        kernels.preload(layout.n_rows_hint or 0, refines=plan.algorithm.name == "auto")
        table = engine.read(source, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
        refuse_empty(table.n_rows, source.location)
        notes.append(f"{table.n_rows:,} rows")
    return plan, table


def _in_memory(engine: Engine, table: Table, plan: Plan) -> tuple[Engine, Table]:
    """Methods that move rows about, a shuffle, guards and a population need all rows at hand; else this is refused."""
    needs_rows = plan.algorithm.publishes.is_bucketing or plan.publication.shuffle_seed is not None
    if not needs_rows and Needs.POPULATION not in plan.goal.needs and not guards_of(plan.goal):
        return engine, table
    return LocalEngine(), table_of(engine.frame(table), table.name)


def _code(engine: Engine, table: Table, plan: Plan, progress: Progress = silent) -> Coding:
    table, counted = with_population(engine, table, plan)
    return engine.contingency(
        table, plan.quasi_columns(table), counted, by_row=plan.algorithm.needs_rows, progress=progress,
        stands_alone=plan.goal.admits if plan.algorithm.may_shard else None,
    )  # fmt: skip


def _solve(engine: Engine, table: Table, plan: Plan, timed: Timed, threads: int | None) -> _Solved:
    with timed.phase("code", table.n_rows) as notes:
        table, n_dropped = without_missing(engine, table, plan)
        table, plan = settle_persons(engine, table, plan)
        refuse_persons(plan)
        coding, given = _code(engine, table, plan, timed.inner), given_groups(engine, table, plan)
        in_shards = f" in {len(coding.shards):,} shards" if len(coding.shards) > 1 else ""
        notes.append(f"{coding.n_tuples:,} distinct tuples{in_shards}")
        # what remains to be published; generalised quasi-identifiers live on as codes
        coded = () if plan.algorithm.publishes.is_bucketing else plan.quasi
        rest = [c for c in plan.publication.columns if c not in coded and c not in plan.publication.starred]
        table = engine.select(table, rest)
    is_small = coding.n_tuples <= TRY_LOSS_UP_TO
    require_feasible(
        coding.whole(), plan.goal, (lambda g: loss_of(coding, plan, _try(coding, plan, g, given))) if is_small else None
    )
    search = _Search(plan, threads or os.cpu_count() or 1, given, timed.inner)
    with timed.phase("solve", coding.n_tuples) as notes:
        answer = engine.solve(coding, search)
        notes.append("; ".join([f"{answer.solution.n_classes:,} classes", *answer.solution.notes]))
    return _Solved(table, coding, answer, n_dropped)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The search that a plan asks for, on the tuples of a table or of a shard."""

    plan: Plan
    threads: int
    given: IntArray | None
    progress: Progress

    def __call__(self, tuples: CodedTable) -> Solution:
        problem = Problem(tuples, self.plan.goal, self.threads, self.plan.policy.seed, self.given)
        solution = self.plan.algorithm.solve(problem, self.progress)
        _require_found(solution, tuples, self.plan.goal)
        return solution

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has no bar to draw, and one processor for each shard."""
        return _Search, (self.plan, 1, self.given, silent)


def _require_found(solution: Solution, tuples: CodedTable, goal: Goal) -> None:
    """Fail early where the search could not satisfy a model that is not monotone; the recount would fail anyway."""
    if goal.is_monotone:
        return
    stats = solution.stats(tuples)
    _, others = goal.parts()
    weak = ~others.admits(stats) & (stats.size > 0)
    if weak.any():
        n_weak = int(stats.size[weak].sum())
        names = ", ".join(m.name for m in others.models)
        enough = np.ceil(1000 * n_weak / tuples.n_rows) / 1000
        raise GoalNotMet(
            f"the search found no classes that all satisfy {names}: {int(weak.sum()):,} of {stats.n_classes:,}, "
            f"with {n_weak:,} records, do not",
            result={"holds": False, "rows": tuples.n_rows, "weak_rows": n_weak},
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
    blocks: tuple[tuple[str, ...], ...] = ()  # of a release in groups: columns whose cells still belong together


def _publish(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None = None) -> _Published:
    """Make the release of a solution, write it where files are wanted, and recount it."""
    publish = _publish_groups if solved.solution.bucketing else _publish_classes
    published = publish(engine, solved, plan, timed, files)
    remarks = (*published.verification.notes, *solved.solution.notes)
    return replace(published, verification=replace(published.verification, notes=remarks))


def _publish_classes(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None) -> _Published:
    with timed.phase("recode", solved.table.n_rows):
        labels = _labels(solved, plan)
        release, rows = engine.recode(solved.table, solved.coding, solved.answer, labels, plan.publication)
    release = write_release(engine, release, files.release, plan, timed, labels) if files else release
    originals = _originals(solved, rows)
    with timed.phase("verify") as notes:
        verification, facts = verified(engine, release, plan, originals, files)
        notes.append(f"{verification.n_classes:,} classes recounted")
    return _Published(release, None, originals, verification, facts)


def _publish_groups(engine: Engine, solved: _Solved, plan: Plan, timed: Timed, files: Documents | None) -> _Published:
    assert isinstance(engine, LocalEngine)
    with timed.phase("recode", solved.table.n_rows):
        table = table_of(engine.frame(solved.table), solved.table.name)
        separated = separate(table, solved.solution, solved.coding.table, plan)
    found = write_separated(engine, separated, files, plan, timed) if files else separated
    with timed.phase("verify") as notes:
        verification = verify_separated(engine, found, plan, intended=separated, original=table)
        notes.append(f"{verification.n_classes:,} groups recounted")
    originals = _originals(solved, None)
    facts = facts_of_groups(engine, found, plan, originals) if files and files.report else None
    return _Published(found.main, found.side, originals, require(verification), facts, separated.blocks)


def _labels(solved: _Solved, plan: Plan) -> dict[str, ClassLabels]:
    """What each class publishes; means of numbers are numbers."""
    domains = solved.coding.domains
    labels = solved.solution.published(domains)
    if plan.algorithm.publishes is not Publishes.CENTERS:
        return labels
    numeric = [d.name for d in domains if d.hierarchy is None and d.type in (ColumnType.INTEGER, ColumnType.FLOAT)]
    return {n: replace(of_class, are_numbers=n in numeric) for n, of_class in labels.items()}


def _originals(solved: _Solved, rows: IntArray | None) -> Originals:
    coding = solved.coding
    is_here = bool(coding.codes)
    row_of = np.arange(coding.n_rows) if rows is None and is_here else rows
    return Originals(coding, row_of, unpublished=coding.table.unpublished() if is_here else ())


def _without_persons(verification: Verification, policy: Policy) -> Verification:
    """A release does not say who its rows belong to, so a recount of a file alone counts rows."""
    if not policy.columns_with(Role.PERSON):
        return verification
    note = "persons could not be recounted, because a release does not tell them apart: rows were counted instead"
    return replace(verification, notes=(*verification.notes, note))


def _code_originals(engine: Engine, table: Table, plan: Plan, rows: IntArray | None = None) -> Originals:
    coding = engine.contingency(table, plan.quasi_columns(table), plan.guard_columns(table), by_row=True)
    is_shuffled = plan.publication.shuffle_seed is not None
    unpublished = () if is_shuffled and rows is None else coding.table.unpublished()
    return Originals(coding, rows, order_is_known=not is_shuffled, unpublished=unpublished)


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


def _report(
    solved: _Solved, counts: ReleaseCounts, plan: Plan, verification: Verification, timed: Timed, choice: Choice
) -> RunReport:
    return RunReport(
        verification,
        measure(counts),
        timed.seconds,
        [sentence(m) for m in plan.goal.models],
        plan.algorithm.name,
        choice.name,
        solved.n_missing_dropped,
        plan.goal.notes,
        engine_reason=choice.why,
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


def _lattice_search(policy: Policy, name: str | None) -> FullDomain:
    """The algorithm that explores the lattice, with the loss and the limits of the policy where it has them."""
    own = policy.algorithm
    if isinstance(own, FullDomain) and name in (None, own.name):
        return own
    settings: dict[str, Any] = {"suppression_limit": getattr(own, "suppression_limit", None) or 0.0}
    if isinstance(own, FullDomain):
        settings["loss"] = own.loss
    kinds = [find("algorithms", n) for n in ([name] if name else ["flash", "optimal"])]
    if not all(issubclass(kind, FullDomain) for kind in kinds):
        raise IncompatibleChoice(
            f"{name} does not search the lattice", hint="flash, incognito, ola, optimal or best-first"
        )
    searches: list[FullDomain] = [kind(**settings) for kind in kinds]
    goal = Goal(tuple(policy.goals))
    return next((s for s in searches if not s.refuses(goal)), searches[0])


def _recoding(solved: _Solved, plan: Plan) -> Recoding:
    coding = solved.coding
    table = coding.table if len(coding.shards) == 1 else None
    return Recoding.of(solved.solution, coding.domains, plan.policy, table)


def _published_part(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the columns that a recount looks at."""
    judged = policy.columns_with(Role.QUASI, Role.SENSITIVE)
    return policy.model_copy(update={"columns": {n: policy.columns[n] for n in judged}, "others": "drop"})
