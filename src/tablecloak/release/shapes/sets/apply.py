"""Publishing new sets as an earlier run published its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.atomic import Outputs
from tablecloak.io.places import Place
from tablecloak.progress import Progress, Timed, silent
from tablecloak.registry import find
from tablecloak.release.handover import appraise, risk_before
from tablecloak.release.outcome import RunReport, sentence
from tablecloak.release.plan import add_target, source_of
from tablecloak.release.prepare import Prepared, read
from tablecloak.release.publish import recount, write_release
from tablecloak.release.recoding.items import read_item_recoding
from tablecloak.release.recount import require_ready
from tablecloak.release.search import Solved
from tablecloak.release.shapes.base import shape_of
from tablecloak.release.shapes.sets.plan import SetPlan
from tablecloak.release.shapes.sets.shape import make_release
from tablecloak.release.verified import documents_of


def apply_to_sets(
    recoding: Path,
    data: str | Place,
    output: str | Place,
    *,
    suppression_limit: float | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> RunReport:
    """Publish new sets by a stored recoding of items, and recount them.

    Args:
        suppression_limit: share of the items of all sets that may be left out; None takes that of the policy.

    Raises: GoalNotMet if a combination of items is rare among the new sets.
    """
    timed = Timed(progress)
    stored = read_item_recoding(recoding)
    policy = stored.policy.with_files(source=data, target=output)
    with Outputs(reads=[recoding, *policy.reads], force=force) as outputs:
        place, target = add_target(outputs, policy)
        engine, shape = LocalEngine(), shape_of(policy)
        files = documents_of(policy, target)
        plan, table = read(engine, source_of(policy), policy, timed)
        assert isinstance(plan, SetPlan)
        if suppression_limit is not None:
            plan = replace(plan, algorithm=find("algorithms", "apriori")(suppression_limit=suppression_limit))
        with timed.phase("recode", table.n_rows):
            sets = shape.code(engine, table, plan, timed.inner)
            cut = stored.cut(sets.hierarchy)
            release = make_release(engine.frame(table), sets, cut, plan)
        prepared = Prepared(shape, engine, plan, table, sets, None, 0, risk_before(engine, table, plan))
        solved = Solved(prepared, cut)
        written = write_release(engine, release, files, shape=shape, plan=plan, timed=timed)
        counted = recount(engine, written, shape=shape, plan=plan, timed=timed, files=None)
        verification = counted.verification
        handover = appraise(engine, written.main, plan, before=prepared.look_result, evidence=verification.evidence)
        verification = require_ready(verification.with_handover(handover), policy)
    return RunReport(
        verification, shape.measurements(solved), timed.seconds, [sentence(m) for m in plan.goal.models], "recoding",
        engine.name, notes=shape.notes(solved), output=str(place),
    )  # fmt: skip
