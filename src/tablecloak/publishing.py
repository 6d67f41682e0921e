"""From classes to a release: recode, write, recount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Publishes
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.documents import Documents
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.handover import appraise
from tablecloak.plan import Plan
from tablecloak.progress import Timed
from tablecloak.release import arranged, verified, write_release, write_separated
from tablecloak.report.facts import Facts
from tablecloak.separation import (
    facts_of_groups,
    in_groups,
    separate,
    verify_separated,
)
from tablecloak.solving import Solved
from tablecloak.stats.classes import ClassStats
from tablecloak.verification import Originals, Verification, require, require_ready

__all__ = ["Published", "publish"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What was recounted: the release, read back where it was written, and what the recount says."""

    main: Table
    side: Table | None
    originals: Originals
    verification: Verification
    facts: Facts | None = None
    blocks: tuple[tuple[str, ...], ...] = ()  # of a release in groups: columns whose cells still belong together
    classes: Sequence[ClassStats] = ()  # as recounted, where a report is wanted


def publish(engine: Engine, solved: Solved, plan: Plan, timed: Timed, files: Documents | None = None) -> Published:
    """Make the release of a solution, write it where files are wanted, and recount it."""
    publish = _publish_groups if solved.solution.bucketing else _publish_classes
    published = publish(engine, solved, plan, timed, files)
    remarks = (*published.verification.notes, *solved.solution.notes)
    verification = replace(published.verification, notes=remarks)
    with timed.phase("findings") as notes:
        handover = appraise(
            engine, published.main, plan, before=solved.before, apart=_apart(published),
            evidence=verification.evidence,
            whose=engine.with_persons(published.main, solved.coding, published.originals.row_of),
        )  # fmt: skip
        notes.append(f"{len(handover.findings):,} found")
    verification = require_ready(verification.with_handover(handover), plan.policy)
    return replace(published, verification=verification)


def _apart(published: Published) -> tuple[str, ...]:
    """Of a release in groups, the columns that lost their link to the first ones that stayed together."""
    return tuple(name for block in published.blocks[1:] for name in block)


def _publish_classes(engine: Engine, solved: Solved, plan: Plan, timed: Timed, files: Documents | None) -> Published:
    with timed.phase("recode", solved.table.n_rows):
        labels = _labels(solved, plan)
        release, rows = engine.recode(solved.table, solved.coding, solved.answer, labels, plan.publication)
    release, rows = arranged(engine, release, rows, plan, timed)
    release = write_release(engine, release, files.release, plan, timed, labels) if files else release
    del labels  # of millions of classes, before these are counted
    originals = _originals(solved, rows)
    with timed.phase("verify") as notes:
        verification, facts, classes = verified(engine, release, plan, originals, files)
        notes.append(f"{verification.n_classes:,} classes recounted")
    return Published(release, None, originals, verification, facts, classes=classes)


def _publish_groups(engine: Engine, solved: Solved, plan: Plan, timed: Timed, files: Documents | None) -> Published:
    assert isinstance(engine, LocalEngine)
    with timed.phase("recode", solved.table.n_rows):
        table = table_of(engine.frame(solved.table), solved.table.name)
        separated = separate(table, solved.solution, solved.coding.table, plan)
    found = write_separated(engine, separated, files, plan, timed) if files else separated
    with timed.phase("verify") as notes:
        before = in_groups(table, solved.solution, solved.coding.table, separated.blocks)
        verification = verify_separated(engine, found, plan, original=before)
        notes.append(f"{verification.n_classes:,} groups recounted")
    originals = _originals(solved, None)
    facts = facts_of_groups(engine, found, plan, originals) if files and files.report else None
    return Published(found.main, found.side, originals, require(verification), facts, separated.blocks)


def _labels(solved: Solved, plan: Plan) -> dict[str, ClassLabels]:
    """What each class publishes; means of numbers are numbers."""
    domains = solved.coding.domains
    labels = solved.solution.published(domains)
    if plan.algorithm.publishes is not Publishes.CENTERS:
        return labels
    numeric = [d.name for d in domains if d.hierarchy is None and d.type in (ColumnType.INTEGER, ColumnType.FLOAT)]
    return {n: replace(of_class, are_numbers=n in numeric) for n, of_class in labels.items()}


def _originals(solved: Solved, rows: IntArray | None) -> Originals:
    coding = solved.coding
    is_here = bool(coding.codes)
    row_of = np.arange(coding.n_rows) if rows is None and is_here else rows
    return Originals(coding, row_of, unpublished=coding.table.unpublished() if is_here else ())
