"""The pipeline: read, plan, solve, recode, verify, write. Read this file first.

Data flows one way. A release reaches its final name only after it was read back and recounted.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import finished
from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.feasibility import TRY_LOSS_UP_TO, require_feasible
from tablecloak.algorithms.fulldomain import FullDomain
from tablecloak.algorithms.fulldomain.view import LatticeView
from tablecloak.amounts import parse_bytes
from tablecloak.applying import apply_file
from tablecloak.baskets import (
    SetRelease,
    anonymize_sets,
    check_sets,
    has_sets,
    run_sets,
    verify_set_file,
    verify_set_frame,
)
from tablecloak.documents import Certified, Documents, write_documents
from tablecloak.engines.base import Coding, Engine, Table
from tablecloak.engines.choose import Choice, Demand, bytes_in_memory, choose, open_engine
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import IncompatibleChoice
from tablecloak.handover import appraise_file, appraise_finished, findings_before
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.digest import digest_of_table
from tablecloak.io.frames import from_frame
from tablecloak.io.parts import files_of
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.metrics.base import ReleaseCounts, measure
from tablecloak.models.base import Goal
from tablecloak.outcome import (
    CheckReport,
    RunReport,
    counts_of,
    loss_of,
    sentence,
    with_files,
    with_targets,
    with_utility,
)
from tablecloak.plan import Plan, given_groups, make_plan, settle_persons, source_of, without_missing
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.progress import Progress, Timed, silent
from tablecloak.publishing import publish
from tablecloak.recoding import Recoding
from tablecloak.registry import find
from tablecloak.release import VerifiedRelease, reserve
from tablecloak.report.certificate import sha256_text
from tablecloak.separation import (
    refuse_recoding,
)
from tablecloak.solving import Solved, code, in_memory, read, solve, try_plan
from tablecloak.verification import Verification

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


def anonymize(
    data: Any,
    policy: Policy,
    *,
    threads: int | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress = silent,
) -> VerifiedRelease | SetRelease:
    """A verified release of a polars, pandas or Arrow frame; one of sets if the policy speaks of them.

    Args:
        engine: auto, local or duckdb; auto takes duckdb where the frame is large for the memory.
        memory: what the run may take, as in "8GB"; None: the memory of the machine.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    if has_sets(policy):
        return anonymize_sets(data, policy, progress=progress)
    frame = from_frame(data)
    demand = Demand(engine, None if memory is None else parse_bytes(memory), threads=threads)
    choice = choose(demand, int(frame.estimated_size()))
    with closing(open_engine(choice, demand)) as opened:
        return _anonymize(opened, frame, policy, choice, Timed(progress), threads)


def _anonymize(
    engine: Engine, frame: pl.DataFrame, policy: Policy, choice: Choice, timed: Timed, threads: int | None
) -> VerifiedRelease:
    plan = make_plan(policy, frame.columns, is_reported=True, secret=secret_of(policy))
    table: Table = engine.read(frame, columns=plan.wanted, categorical=[*plan.quasi, *plan.sensitive])
    worker, table = in_memory(engine, table, plan)
    solved = solve(worker, table, plan, timed, threads)
    published = publish(worker, solved, plan, timed)
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
    if has_sets(policy):
        name = engine if isinstance(engine, str) else engine.name
        return run_sets(policy, progress=progress, force=force, dry_run=dry_run, engine=name)
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
        identity={"the policy": sha256_text(policy.model_dump_json(exclude_defaults=True, by_alias=True))},
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
    with Outputs(reads=policy.reads, force=force) as outputs:
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
    plan, table = read(engine, source, policy, timed)
    refuse_recoding(plan, files.recoding if files else None)
    if files and files.are_wanted and source.table is not None:
        files = replace(files, source_digest=digest_of_table(source.table))
    worker, table = in_memory(engine, table, plan)
    solved = solve(worker, table, plan, timed, threads)
    del table
    published = publish(worker, solved, plan, timed, files)
    if files and files.recoding:
        with writing(files.recoding):
            _recoding(solved, plan).write(files.recoding)
    counts = counts_of(solved.coding, solved.answer, plan)
    report = _report(solved, counts, plan, published.verification, timed, choice)
    if files and files.are_wanted:
        if files.report is not None:
            with timed.phase("utility"):
                report = with_utility(report, with_targets(counts, solved.coding, published.classes), plan)
        with timed.phase("report"):
            said = with_files(report, policy).to_dict()
            write_documents(files, said, plan, published.facts, published.blocks)
    return report if files is None else with_files(report, policy)


def check(
    policy: Policy, *, engine: str = "auto", memory: str | int | None = None, progress: Progress = silent
) -> CheckReport:
    """Whether a policy fits its input and its goal can be reached there; writes nothing.

    Args:
        engine: auto, local or duckdb; auto decides by the size of the input.
        memory: what the check may take, as in "8GB"; None: the memory of the machine.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    if has_sets(policy):
        return check_sets(policy, progress=progress)
    if policy.input is None:
        goals, algorithm = [sentence(m) for m in policy.goals], policy.algorithm.name
        return CheckReport(goals, algorithm, LocalEngine.name, notes=Goal(tuple(policy.goals)).notes)
    demand = Demand(engine, None if memory is None else parse_bytes(memory))
    choice = choose(demand, bytes_in_memory(sniff(source_of(policy))))
    with closing(open_engine(choice, demand)) as opened:
        return _check_on(opened, policy, Timed(progress))


def _check_on(engine: Engine, policy: Policy, timed: Timed) -> CheckReport:
    goals = [sentence(m) for m in policy.goals]
    plan, table = read(engine, source_of(policy), policy, timed)
    table, _ = without_missing(engine, table, plan)
    table, plan = settle_persons(engine, table, plan)
    coding = code(engine, table, plan)
    require_feasible(coding.whole(), plan.goal)
    is_small = coding.n_tuples <= TRY_LOSS_UP_TO
    tried = try_plan(coding, plan, given_groups(engine, table, plan)) if is_small else None
    whole = coding.whole()
    return CheckReport(
        goals,
        plan.algorithm.name,
        engine.name,
        rows=table.n_rows,
        columns=len(plan.publication.columns),
        quasi=tuple(plan.quasi),
        tuples=coding.n_tuples,
        feasible=_is_feasible(plan.goal, coding, tried),
        loss=loss_of(coding, plan, tried) if tried else None,
        notes=(*plan.notes, *(remark for m in plan.goal.models for remark in m.remarks(whole))),
        findings=findings_before(plan, table, engine),
    )


def verify_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount a finished file, whoever made it; with the original, also check that every cell covers its own."""
    if has_sets(policy):
        return verify_set_file(release, policy, original=original, progress=progress)
    found = finished.verify_file(release, policy, original=original, progress=progress)
    return found.with_handover(appraise_file(release, policy, found.evidence))


def verify_certificate(
    release: Place,
    certificate: Path,
    *,
    original: Place | None = None,
    recoding: Path | None = None,
    progress: Progress = silent,
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show.

    Args:
        recoding: that of the run, which can tell whether the original is the file that was read; None: where the
            policy says it was written.
    """
    return finished.verify_certificate(
        release, certificate, original=original, recoding=recoding, progress=progress, recount=verify_file
    )


def verify_frame(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished frame, whoever made it; with the original, also check that every cell covers its own.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
    """
    if has_sets(policy):
        return verify_set_frame(release, policy, original=original)
    found = finished.verify_frame(release, policy, original=original, side=side)
    return found.with_handover(appraise_finished(table_of(from_frame(release)), policy, found.evidence))


def explore(
    policy: Policy, *, algorithm: str | None = None, progress: Progress = silent
) -> tuple[LatticeView, FullDomain]:
    """The lattice of a policy's full-domain generalisations after a search, and the algorithm that searched it.

    Args:
        algorithm: the search; None takes that of the policy if it searches the lattice, and otherwise one that can.
    """
    timed, engine = Timed(progress), LocalEngine()
    search = _lattice_search(policy, algorithm)
    plan, table = read(engine, source_of(policy), policy.model_copy(update={"algorithm": search}), timed)
    table, _ = without_missing(engine, table, plan)
    table, plan = settle_persons(engine, table, plan)
    coding = code(engine, table, plan)
    require_feasible(coding.whole(), plan.goal)
    with timed.phase("solve") as notes:
        view = search.view(Problem(coding.table, plan.goal, 1, policy.seed), timed.inner)
        notes.append(f"{view.checks:,} of {view.lattice.size:,} nodes counted")
    return view, search


def _report(
    solved: Solved, counts: ReleaseCounts, plan: Plan, verification: Verification, timed: Timed, choice: Choice
) -> RunReport:
    return RunReport(
        verification,
        measure(counts),
        timed.seconds,
        [sentence(m) for m in plan.goal.models],
        plan.algorithm.name,
        choice.name,
        solved.n_missing_dropped,
        plan.notes,
        engine_reason=choice.why,
    )


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


def _recoding(solved: Solved, plan: Plan) -> Recoding:
    coding = solved.coding
    table = coding.table if len(coding.shards) == 1 else None
    return Recoding.of(solved.solution, coding.domains, plan.policy, table, key=plan.secret.certificate_key)
