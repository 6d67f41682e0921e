"""Publishing new sets as an earlier run published its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tablecloak.baskets.coding import code_sets
from tablecloak.baskets.handover import appraised
from tablecloak.baskets.recoding import read_item_recoding
from tablecloak.baskets.release import make_release, write_and_recount
from tablecloak.baskets.run import read_input, report_of
from tablecloak.io.atomic import Outputs
from tablecloak.io.places import Place
from tablecloak.outcome import RunReport
from tablecloak.plan import add_target
from tablecloak.progress import Progress, Timed, silent
from tablecloak.registry import find
from tablecloak.verification import require_ready

__all__ = ["apply_to_sets"]


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
        given = read_input(policy, timed)
        plan = given.plan
        if suppression_limit is not None:
            plan = replace(plan, algorithm=find("algorithms", "apriori")(suppression_limit=suppression_limit))
        with timed.phase("recode", given.frame.height):
            sets = code_sets(given.frame[plan.column], plan)
            cut = stored.cut(sets.hierarchy)
            made = make_release(given.frame, sets, cut, plan)
        with timed.phase("verify"):
            found = write_and_recount(made, sets, plan, target, is_of_sets=given.is_of_sets)
        found = require_ready(appraised(found, made.frame, plan, before=given.frame), policy)
    return replace(report_of(found, plan, sets, cut, timed), algorithm="recoding", output=str(place))
