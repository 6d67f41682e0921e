"""Publishing new rows as an earlier run published its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.engines.base import Coding, Table
from tablecloak.engines.choose import Demand, EngineOptions, choose_memory
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import GoalNotMet
from tablecloak.io.atomic import Outputs
from tablecloak.io.places import Place
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release.finished import bytes_of, source_of_original
from tablecloak.release.handover import appraise, risk_before
from tablecloak.release.outcome import RunReport, sentence
from tablecloak.release.plan import Plan, add_target, source_of
from tablecloak.release.prepare import read, without_missing
from tablecloak.release.publish import recount, write_release
from tablecloak.release.recoding.classes import Recoding, read_recoding
from tablecloak.release.recoding.items import is_item_recoding, read_item_recoding
from tablecloak.release.recount import require_ready
from tablecloak.release.shapes.base import Applied, Release, shape_of
from tablecloak.release.shapes.classes import arranged
from tablecloak.release.shapes.sets.apply import apply_to_sets
from tablecloak.release.transform import published
from tablecloak.release.verified import documents_of
from tablecloak.release.verify import code_originals
from tablecloak.values.amounts import most_of


def apply_file(
    recoding: Path,
    data: str | Place,
    output: str | Place,
    *,
    suppression_limit: float | None = None,
    force: bool = False,
    progress: Progress = silent,
    **options: Unpack[EngineOptions],
) -> RunReport:
    """Publish new rows as an earlier run published its own; rows that no class covers are suppressed.

    Args:
        suppression_limit: share of rows that may be left out because their class is too small in the new data, or of
            the items of all sets; None takes the limit of the policy.

    Raises: GoalNotMet, DataError, and IncompatibleChoice where an engine is asked for that does not work in memory.
    """
    demand = Demand.of(**options)
    choose_memory(demand, 0, verb="apply")
    engine, timed = LocalEngine(), Timed(progress)
    is_of_items = is_item_recoding(recoding)
    stored: Any = read_item_recoding(recoding) if is_of_items else read_recoding(recoding)
    policy = stored.policy.with_files(source=data, target=output)
    if demand.memory is not None and not is_of_items:
        choose_memory(demand, bytes_of(source_of(policy)), verb="apply")
    with Outputs(reads=[recoding, *policy.reads], force=force) as outputs:
        place, target = add_target(outputs, policy)
        shape, files = shape_of(policy), documents_of(policy, target)
        plan, table = read(engine, source_of(policy), policy, timed, is_attacked=True, keeps_originals=True)
        made = _recoded(engine, table, plan, stored, suppression_limit, timed)
        written = write_release(engine, made.release, files, shape=shape, plan=made.plan, timed=timed)
        report = _judged(engine, written, made, table.n_rows, timed)
        made.plan.keep_what_was_made()
    return replace(report, output=str(place))


def apply_frame(
    stored: Any, data: Any, *, suppression_limit: float | None = None, progress: Progress = silent
) -> tuple[Any, RunReport]:
    """The same for the recoding of a release that was just made, from a frame to one of the same library.

    Raises: GoalNotMet, DataError.
    """
    engine, timed, policy = LocalEngine(), Timed(progress), stored.policy
    shape = shape_of(policy)
    source = source_of_original(shape.frame_of(data, policy), policy)
    plan, table = read(engine, source, policy, timed, is_attacked=True, keeps_originals=True)
    made = _recoded(engine, table, plan, stored, suppression_limit, timed)
    report = _judged(engine, made.release, made, table.n_rows, timed)
    made.plan.keep_what_was_made()
    return source.kind.native(engine.frame(made.release.main)), report


def _recoded(
    engine: LocalEngine, table: Table, plan: Plan, stored: Any, suppression_limit: float | None, timed: Timed
) -> Applied:
    recode: Any = _apply_to_classes if isinstance(stored, Recoding) else apply_to_sets
    made: Applied = recode(engine, table, plan, stored, suppression_limit=suppression_limit, timed=timed)
    return made


def _judged(engine: LocalEngine, release: Release, made: Applied, n_rows: int, timed: Timed) -> RunReport:
    """What a recount and a look at all that is published say.

    Raises: GoalNotMet.
    """
    plan, shape = made.plan, shape_of(made.plan.policy)
    verification = recount(engine, release, shape=shape, plan=plan, timed=timed, files=None).verification
    before = risk_before(engine, made.table, plan)
    handover = appraise(engine, release.main, plan, before=before, evidence=verification.evidence)
    verification = require_ready(verification.with_handover(handover), plan.policy)
    return RunReport(
        verification, made.measurements, timed.seconds, [sentence(m) for m in plan.goal.models], "recoding",
        engine.name, n_rows - made.table.n_rows, made.notes, attacks=plan.attacked, moments=plan.moments,
    )  # fmt: skip


def _apply_to_classes(
    engine: LocalEngine, whole: Table, plan: Plan, stored: Recoding, *, suppression_limit: float | None, timed: Timed
) -> Applied:
    """Rows in the classes that cuts lead them to."""
    table, _ = without_missing(engine, whole, plan)
    with timed.phase("recode", table.n_rows) as notes:
        classes = stored.classes_of(engine.frame(table, stored.read_columns))
        n_rows = table.n_rows
        most = plan.most_left_out(n_rows) if suppression_limit is None else most_of(n_rows, suppression_limit)
        counted = engine.contingency(table, [], plan.sensitive_columns(table), by_row=True)
        classes = _without_weak_classes(counted, plan, classes, stored, most)
        kept = [c for c in plan.publication.columns if c not in (*plan.quasi, *plan.publication.starred)]
        shown = published(engine, table, kept, plan)
        release, rows = engine.publish(shown, classes, stored.labels(), plan.publication)
        notes.append(f"{int((classes < 0).sum()):,} of {len(classes):,} rows suppressed")
    ordered, rows = arranged(engine, release, rows, plan, timed)
    originals = replace(code_originals(engine, table, plan, rows), unpublished=counted.table.unpublished())
    return Applied(Release(ordered, originals, labels=stored.labels()), plan, table, plan.notes)


def _without_weak_classes(coding: Coding, plan: Plan, classes: IntArray, stored: Recoding, most: int) -> IntArray:
    """Suppress classes that do not satisfy the goal in the new data, if they have at most so many rows."""
    stats = coding.table.class_stats(classes, stored.n_classes, own_totals=True)
    weak = ~plan.goal.admits(stats) & (stats.size > 0)
    n_weak = int(stats.size[weak].sum())
    if n_weak > most:
        enough = np.ceil(1000 * n_weak / len(classes)) / 1000
        raise GoalNotMet(
            f"{int(weak.sum()):,} classes with {n_weak:,} of {len(classes):,} new rows do not satisfy the goal",
            result={"holds": False, "rows": len(classes), "weak_rows": n_weak},
            hint=f"--suppression-limit {enough:g} leaves them out; nothing was written",
        )
    return np.where(weak[classes] & (classes >= 0), -1, classes)
