"""From an answer to a release: made, written under a temporary name, read back, recounted, and looked at as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tablecloak.engines.base import Engine
from tablecloak.engines.spelling import Spelling
from tablecloak.io.parts import size_of
from tablecloak.progress import Timed
from tablecloak.release.changed_cells import wrong_cells
from tablecloak.release.documents import Documents
from tablecloak.release.handover import Attackers, appraise
from tablecloak.release.plan import Plan
from tablecloak.release.recount import Verification, require, require_ready
from tablecloak.release.search import Solved
from tablecloak.release.shapes.base import RecountResult, Release, Shape
from tablecloak.values.amounts import show_size


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A release, read back where it was written, and what its recount says."""

    release: Release
    counted: RecountResult

    @property
    def verification(self) -> Verification:
        return self.counted.verification


def publish(solved: Solved, timed: Timed, files: Documents | None = None) -> Published:
    """Make the release of an answer, write it where files are wanted, recount it, and look at all of it."""
    published = recounted(solved, timed, files)
    engine, plan, release = solved.engine, solved.plan, published.release
    with timed.phase("findings") as notes:
        handover = appraise(
            engine, release.main, plan, before=solved.prepared.look_result, apart=release.apart,
            evidence=published.verification.evidence, whose=solved.shape.whose(engine, release),
        )  # fmt: skip
        notes.append(f"{len(handover.findings):,} found")
    verification = require_ready(published.verification.with_handover(handover), plan.policy)
    return replace(published, counted=replace(published.counted, verification=verification))


def recounted(solved: Solved, timed: Timed, files: Documents | None = None) -> Published:
    """Make the release of an answer, write it where files are wanted, and recount it.

    Raises: GoalNotMet.
    """
    engine, plan, shape = solved.engine, solved.plan, solved.shape
    release = shape.publish(solved, timed)
    if files:
        release = write_release(engine, release, files, shape=shape, plan=plan, timed=timed)
    release = replace(release, labels=None)  # of millions of classes, before these are counted
    counted = _with_exposure(recount(engine, release, shape=shape, plan=plan, timed=timed, files=files), solved)
    failures = wrong_cells(engine, release.main, plan.policy)
    if failures:
        require(replace(counted.verification, failures=(*counted.verification.failures, *failures)))
    verification = replace(counted.verification, notes=(*counted.verification.notes, *solved.remarks))
    return Published(release, replace(counted, verification=verification))


def _with_exposure(counted: RecountResult, solved: Solved) -> RecountResult:
    """The facts with the exposure of the original, where the codes are those of columns that transforms changed."""
    before = solved.prepared.look_result
    if counted.facts is None or not isinstance(before, Attackers) or before.exposure is None:
        return counted
    return replace(counted, facts=replace(counted.facts, before=before.exposure))


def write_release(
    engine: Engine, release: Release, files: Documents, *, shape: Shape, plan: Plan, timed: Timed
) -> Release:
    """Write a release under temporary names and read back what was written."""
    kind, delimiter = shape.written_as(files, plan)
    main = release.main
    with timed.phase("write", main.n_rows) as notes:
        spelling = shape.spelling(engine, plan) if files.is_of_run else Spelling()
        engine.write(
            main.spelled(spelling) if spelling.columns else main, files.release,
            kind=kind, delimiter=delimiter, rows_per_file=files.rows_per_file, progress=timed.inner,
        )  # fmt: skip
        if files.side and release.side:
            engine.write(release.side, files.side, kind=kind, delimiter=delimiter)
        size = f", {show_size(size_of(files.release))}" if isinstance(files.release, Path) else ""
        notes.append(f"{main.n_rows:,} rows{size}")
    with timed.phase("read back"):
        return shape.read_back(engine, files, plan, release, spelling)


def recount(
    engine: Engine, release: Release, *, shape: Shape, plan: Plan, timed: Timed, files: Documents | None
) -> RecountResult:
    """The recount of a release that must hold; if a report is wanted, with what it shows.

    Raises: GoalNotMet.
    """
    with timed.phase("verify") as notes:
        with_facts = files is not None and files.report is not None
        counted = shape.recount(engine, release, plan, with_facts=with_facts)
        notes.append(f"{counted.verification.n_classes:,} {shape.name} recounted")
    require(counted.verification)
    if counted.facts is not None:
        facts = replace(counted.facts, attacks=(*counted.facts.attacks, *plan.attacked))
        counted = replace(counted, facts=facts)
    return counted
