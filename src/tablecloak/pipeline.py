"""The pipeline: open, read, prepare, search, publish, write, read back, recount, measure, document. Read it first.

Data flows one way. Every verb begins with `read` and `prepare` (release/prepare.py), so they agree on what is refused;
what is published is the business of a shape (release/shapes). A release reaches its final name only after it was read
back and recounted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack, cast

from tablecloak.algorithms.base import Problem, Publishes
from tablecloak.algorithms.fulldomain.base import FullDomain
from tablecloak.algorithms.fulldomain.lattice_view import LatticeView
from tablecloak.engines.base import Engine
from tablecloak.engines.choose import Choice, Demand, EngineOptions, working_engine
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import IncompatibleChoice
from tablecloak.garbage import seldom_collected
from tablecloak.io.atomic import Outputs
from tablecloak.io.database import digest_of_table
from tablecloak.io.parts import files_of
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.kernels.dispatch import compiled_from
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.registry import find
from tablecloak.release.apply import apply_file
from tablecloak.release.certificate import sha256_text
from tablecloak.release.documents import Certified, Documents, certified_policy, check_certificate, write_documents
from tablecloak.release.facts.subject import Subject
from tablecloak.release.finished import bytes_of, source_of_original
from tablecloak.release.handover import findings_before, risk_before
from tablecloak.release.outcome import CheckReport, RunReport, sentence, with_files, with_targets, with_utility
from tablecloak.release.plan import side_path, source_of
from tablecloak.release.prepare import nothing, prepare, read
from tablecloak.release.publish import Published, publish, recounted
from tablecloak.release.recount import Verification
from tablecloak.release.search import Solved, search, with_time_for
from tablecloak.release.shapes.base import Shape, refuse_verb, shape_of
from tablecloak.release.verified import VerifiedRelease, reserve, write_recoding

# Rows up to which a check that searches nothing is done sooner than compiled kernels are loaded.
QUICK_UP_TO = 400_000

__all__ = ["anonymize", "apply_file", "check", "explore", "run", "verify", "verify_certificate"]


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
    source, shape, timed = source_of(policy), shape_of(policy), Timed(progress)
    if policy.output_place is None and not dry_run:
        raise IncompatibleChoice("the policy names no output", hint="add `output: FILE` to it, or use --output FILE")
    if isinstance(engine, str):
        demand = Demand.of(engine, memory=memory, spill=spill, threads=threads, resume=resume, spark=spark)
        opened = _engine_for(shape, source, demand, output=None if dry_run else policy.output_path, policy=policy)
    else:
        opened = _given(shape, engine)
    with seldom_collected(), opened as (worker, choice), Outputs(reads=policy.reads, force=force) as outputs:
        files = None if dry_run else reserve(outputs, policy)
        made = _made(worker, source, policy, timed=timed, threads=threads, files=files)
        report = made.report(choice, timed)
        if made.files is not None:
            report = _documented(made, report, made.files, policy, timed)
            made.solved.plan.keep_what_was_made()
        return report


def anonymize(
    data: Any,
    policy: Policy,
    *,
    threads: int | None = None,
    engine: str = "auto",
    memory: str | int | None = None,
    progress: Progress = silent,
) -> VerifiedRelease:
    """A verified release of a polars, pandas or Arrow frame, as a frame of the same library.

    It is one of sets if the policy speaks of them. Data may also be a place, such as the path of a file.

    Args:
        engine: auto, local or duckdb; auto takes duckdb where the frame is large for the memory.
        memory: what the run may take, as in "8GB"; None: the memory of the machine.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    shape, timed = shape_of(policy), Timed(progress)
    data = shape.frame_of(data, policy)
    source = source_of_original(data, policy)
    demand = Demand.of(engine, memory=memory, threads=threads)
    with seldom_collected(), _engine_for(shape, source, demand) as (worker, choice):
        made = _made(worker, source, policy, timed=timed, threads=threads, is_reported=True)
        solved, release = made.solved, made.published.release
        solved.plan.keep_what_was_made()
        return VerifiedRelease(
            solved.engine.frame(release.main), made.report(choice, timed), shape.recoding(solved), shape, solved.plan,
            release.originals, shape.counts(solved), solved.engine.frame(release.side) if release.side else None,
            release.blocks, source.kind,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """A release that was recounted, and how it was made."""

    solved: Solved
    published: Published
    files: Documents | None

    def report(self, choice: Choice, timed: Timed) -> RunReport:
        """What the run found, did and cost."""
        solved, prepared = self.solved, self.solved.prepared
        is_chosen = prepared.engine.name == choice.name
        return RunReport(
            self.published.verification,
            solved.shape.measurements(solved),
            timed.seconds,
            [sentence(m) for m in solved.plan.goal.models],
            solved.plan.algorithm.name,
            prepared.engine.name,
            prepared.n_missing_dropped,
            solved.shape.notes(solved),
            engine_reason=choice.why if is_chosen else f"{choice.name} was chosen, and all rows are needed in memory",
            transforms=solved.plan.made,
            attacks=solved.plan.attacked,
            moments=solved.plan.moments,
            detailed_loss=solved.detailed_loss,
        )


def _made(
    engine: Engine,
    source: Source,
    policy: Policy,
    *,
    timed: Timed,
    threads: int | None,
    files: Documents | None = None,
    is_reported: bool | None = None,
) -> _Made:
    """The release of a source: written, if files are wanted, and recounted."""
    plan, table = read(
        engine, source, policy, timed, is_reported=is_reported, is_attacked=True, keeps_originals=True
    )  # fmt: skip
    if files and files.recoding:
        shape_of(policy).refuse_recoding(plan)
    if files and files.are_wanted and source.table is not None:
        files = replace(files, source_digest=digest_of_table(source.table))
    prepared = prepare(engine, table, plan, timed=timed, look=risk_before, tries_relaxations=True)
    del table  # what remains to be published is prepared
    solved = search(prepared, timed, threads)
    return _Made(solved, publish(solved, timed, files), files)


def _documented(made: _Made, report: RunReport, files: Documents, policy: Policy, timed: Timed) -> RunReport:
    """The report of a run, after recoding, report and certificate were written where they are wanted."""
    solved, counted, shape = made.solved, made.published.counted, made.solved.shape
    write_recoding(files, shape.recoding(solved) if files.recoding else None)
    if not files.are_wanted:
        return with_files(report, policy)
    counts = shape.counts(solved) if files.report is not None else None
    if counts is not None:
        with timed.phase("utility"):
            report = with_utility(report, with_targets(counts, solved.coding, counted.classes), solved.plan)
    report = with_files(report, policy)
    with timed.phase("report"):
        run_dict = report.to_dict()

        def subject_of(certificate: Mapping[str, Any]) -> Subject:
            blocks = made.published.release.blocks
            return shape.subject(files.name, run_dict, solved.plan, certificate, counted.facts, blocks)

        return replace(report, subject=write_documents(files, run_dict, solved.plan, subject_of))


def check(
    policy: Policy, *, exact: bool = False, progress: Progress = silent, **options: Unpack[EngineOptions]
) -> CheckReport:
    """Whether a policy fits its input and its goal can be reached there; writes nothing.

    Whether the goal can be reached is decided by all rows. The loss of a large table is an estimate from some of them.

    Args:
        exact: search the whole table as a run does, and recount the answer.
        options: engine, memory, spill, threads and spark, as `run` takes them.

    Raises: Infeasible, GoalNotMet, DataError, IncompatibleChoice.
    """
    shape, timed, demand = shape_of(policy), Timed(progress), Demand.of(**options)
    goals = [sentence(m) for m in policy.goals]
    if policy.input is None:
        notes = Goal(tuple(policy.goals)).notes
        return CheckReport(goals, shape.algorithm_name(policy), LocalEngine.name, notes=notes)
    source = source_of(policy)
    with compiled_from(0 if exact else QUICK_UP_TO), _engine_for(shape, source, demand) as (engine, _):
        plan, table = read(engine, source, policy, timed, is_attacked=True)
        prepared = prepare(engine, table, plan, timed=timed, look=findings_before)
        plan, solved, is_recounted = prepared.plan, None, False
        sampled, not_shown, loss = None, None, None
        timing: tuple[str, ...] = ()
        if exact or shape.is_instant(prepared):  # all that a run does but write
            with compiled_from(0):  # the kernels of a run, or a check would promise another loss
                solved = search(prepared, timed, demand.threads)
            if solved.engine.recounts_unwritten:
                recounted(solved, timed)
                is_recounted = True
            loss = next(m.value for m in shape.measurements(solved) if m.name == "gcp")
            is_feasible = is_recounted or plan.goal.is_monotone
        else:
            not_shown, timing = shape.not_shown(prepared), with_time_for(prepared, timed)
            with timed.phase("estimate"):
                sampled = shape.sampled_loss(prepared)
            loss, is_feasible = sampled.loss if sampled else None, not_shown is None
    return CheckReport(
        goals,
        plan.algorithm.name,
        prepared.engine.name,
        rows=prepared.coding.n_rows,
        columns=len(plan.publication.columns),
        quasi=(*plan.quasi, *plan.itemised),
        tuples=prepared.coding.n_tuples,
        feasible=True if is_feasible else None,
        loss=loss,
        notes=(*(shape.notes(solved) if solved else plan.notes), *shape.remarks(prepared), *timing),
        findings=prepared.look_result,
        transforms=plan.made,
        sampled_rows=sampled.n_rows if sampled else None,
        not_shown=not_shown,
    )


def explore(
    policy: Policy, *, algorithm: str | None = None, progress: Progress = silent, **options: Unpack[EngineOptions]
) -> tuple[LatticeView, FullDomain]:
    """The lattice of a policy's full-domain generalisations after a search, and the algorithm that searched it.

    Args:
        algorithm: the search; None takes that of the policy if it searches the lattice, and otherwise one that can.
        options: engine, memory, spill, threads and spark, as `run` takes them.
    """
    refuse_verb("lattice", policy)
    demand, timed, searcher = Demand.of(**options), Timed(progress), _lattice_search(policy, algorithm)
    policy = policy.model_copy(update={"algorithm": searcher})
    source = source_of(policy)
    with _engine_for(shape_of(policy), source, demand) as (engine, _):
        plan, table = read(engine, source, policy, timed)
        prepared = prepare(engine, table, plan, timed=timed, look=nothing)
        with timed.phase("solve") as notes:
            problem = Problem(prepared.coding.table, prepared.plan.goal, demand.threads or 1, policy.seed)
            view = searcher.view(problem, timed.inner)
            notes.append(f"{view.checks:,} of {view.lattice.size:,} nodes counted")
    return view, searcher


def verify(
    release: Any,
    policy: Policy,
    *,
    original: Any = None,
    side: Any = None,
    progress: Progress = silent,
    demand: Demand | None = None,
) -> Verification:
    """Recount a finished release, whoever made it; with the original, also check that every cell covers its own.

    Args:
        release: a place, such as the path of a file, or a frame; so may the original be.
        side: the sensitive columns, where a frame has them in one of their own; beside a file they are found.
    """
    return shape_of(policy).verify(
        release, policy, original=original, side=side, progress=progress, demand=demand or Demand()
    )


def verify_certificate(
    release: Place,
    certificate: Path,
    *,
    original: Place | None = None,
    recoding: Path | None = None,
    progress: Progress = silent,
    demand: Demand | None = None,
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show.

    Args:
        recoding: that of the run, which can tell whether the original is the file that was read; None: where the
            policy says it was written.
    """
    policy, certified, missing = certified_policy(certificate)
    verification = verify(release, policy, original=original, progress=progress, demand=demand)
    is_apart = policy.algorithm.publishes is Publishes.SEPARATED
    side = side_path(release) if is_apart and isinstance(release, Path) else None
    checks = check_certificate(certified, policy, verification, release, original, side, recoding=recoding)
    return Certified(verification, [*checks, *missing])


@contextmanager
def _engine_for(
    shape: Shape, source: Source, demand: Demand, *, output: Path | None = None, policy: Policy | None = None
) -> Iterator[tuple[Engine, Choice]]:
    """The engine that reads a source, closed in the end, and why it is this one.

    Args:
        output: the release to be made; a killed run of the same policy that makes the same can be resumed.
    """
    if shape.engines is not None:
        _refuse_engine(shape, "local" if demand.engine == "auto" else demand.engine)
        yield LocalEngine(), Choice(LocalEngine.name, f"{shape.name} are counted in memory", 0)
        return
    inputs = () if source.is_frame else files_of(source)
    text = policy.model_dump_json(exclude_defaults=True, by_alias=True) if policy else ""
    with working_engine(
        demand, bytes_of(source), output=output, inputs=inputs, identity={"the policy": sha256_text(text)}
    ) as opened:
        yield opened


@contextmanager
def _given(shape: Shape, engine: Engine) -> Iterator[tuple[Engine, Choice]]:
    """An engine that is open already, and stays so."""
    _refuse_engine(shape, engine.name)
    yield engine, Choice(engine.name, "given", 0)


def _refuse_engine(shape: Shape, name: str) -> None:
    if shape.engines is not None and name not in shape.engines:
        raise IncompatibleChoice(f"{shape.name} are not counted by {name}", hint="--engine local, or auto")


def _lattice_search(policy: Policy, name: str | None) -> FullDomain:
    """The algorithm that explores the lattice, with the loss and the limits of the policy where it has them."""
    own = policy.algorithm
    if own.searches_lattice and name in (None, own.name):
        return cast(FullDomain, own)
    settings: dict[str, Any] = {"suppression_limit": own.suppression_limit or 0.0}
    if own.searches_lattice:
        settings["loss"] = own.loss
    kinds = [find("algorithms", n) for n in ([name] if name else ["flash", "optimal"])]
    if not all(kind.searches_lattice for kind in kinds):
        raise IncompatibleChoice(
            f"{name} does not search the lattice", hint="flash, incognito, ola, samarati, mingen, optimal or best-first"
        )
    searches: list[FullDomain] = [kind(**settings) for kind in kinds]
    goal = Goal(tuple(policy.goals))
    return next((s for s in searches if not s.refuses(goal)), searches[0])
