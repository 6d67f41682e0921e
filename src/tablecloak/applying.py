"""Publishing new rows as an earlier run published its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.amounts import most_of
from tablecloak.baskets import apply_to_sets, is_item_recoding
from tablecloak.engines.base import Coding
from tablecloak.engines.local import LocalEngine
from tablecloak.errors import GoalNotMet
from tablecloak.finished import code_originals
from tablecloak.handover import appraise, risk_before
from tablecloak.io.atomic import Outputs
from tablecloak.io.places import Place
from tablecloak.outcome import RunReport, sentence
from tablecloak.plan import Plan, add_target, source_of, without_missing
from tablecloak.progress import Progress, Timed, silent
from tablecloak.recoding import Recoding, read_recoding
from tablecloak.release import arranged, write_release
from tablecloak.solving import read
from tablecloak.verification import require, require_ready, verify

__all__ = ["apply_file"]

IntArray = NDArray[np.int64]


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
    if is_item_recoding(recoding):
        return apply_to_sets(
            recoding, data, output, suppression_limit=suppression_limit, force=force, progress=progress
        )
    timed, engine = Timed(progress), LocalEngine()
    stored = read_recoding(recoding)
    policy = stored.policy.with_files(source=data, target=output)
    with Outputs(reads=[recoding, *policy.reads], force=force) as outputs:
        place, target = add_target(outputs, policy)
        plan, table = read(engine, source_of(policy), policy, timed)
        table, n_dropped = without_missing(engine, table, plan)
        with timed.phase("recode", table.n_rows) as notes:
            classes = stored.classes_of(engine.frame(table, stored.read_columns))
            n_rows = table.n_rows
            most = plan.most_left_out(n_rows) if suppression_limit is None else most_of(n_rows, suppression_limit)
            counted = engine.contingency(table, [], plan.sensitive_columns(table), by_row=True)
            classes = _without_weak_classes(counted, plan, classes, stored, most)
            release, rows = engine.publish(table, classes, stored.labels(), plan.publication)
            notes.append(f"{int((classes < 0).sum()):,} of {len(classes):,} rows suppressed")
        ordered, rows = arranged(engine, release, rows, plan, timed)
        written = write_release(engine, ordered, target, plan, timed, stored.labels())
        with timed.phase("verify"):
            originals = code_originals(engine, table, plan, rows)
            originals = replace(originals, unpublished=counted.table.unpublished())
            verification = require(verify(engine, written, plan, originals))
            handover = appraise(
                engine, written, plan, before=risk_before(engine, table, plan), evidence=verification.evidence
            )
            verification = require_ready(verification.with_handover(handover), policy)
    return RunReport(
        verification, [], timed.seconds, [sentence(m) for m in plan.goal.models], "recoding", engine.name,
        n_dropped, plan.notes, str(place),
    )  # fmt: skip


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
