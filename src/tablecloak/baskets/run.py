"""Runs on sets of items: read, code, search a cut, publish, write, recount."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.itemsets.cut import LEFT_OUT, Cut
from tablecloak.algorithms.itemsets.search import ItemProblem, NoCutError
from tablecloak.amounts import most_of
from tablecloak.baskets.coding import Sets, code_sets
from tablecloak.baskets.documents import write_set_documents
from tablecloak.baskets.handover import appraised, findings_before_sets
from tablecloak.baskets.plan import SetPlan, make_set_plan
from tablecloak.baskets.recoding import ItemRecoding
from tablecloak.baskets.recount import recount
from tablecloak.baskets.release import Made, SetRelease, make_release, write_and_recount
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import DataError, IncompatibleChoice, Infeasible
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.frames import from_frame
from tablecloak.io.sets import ITEMS
from tablecloak.io.sniff import sniff
from tablecloak.io.tabular import read_frame, refuse_empty
from tablecloak.metrics.base import Measurement
from tablecloak.outcome import CheckReport, RunReport, sentence, with_files
from tablecloak.plan import source_of
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release import reserve
from tablecloak.stats.itemsets import count_itemsets
from tablecloak.verification import Verification, require, require_ready

__all__ = ["Input", "anonymize_sets", "check_sets", "read_input", "report_of", "run_sets"]

LOSS = "detail lost in the items of all sets: 0 all are published as they are, 1 none is"
MOST_SHOWN = 20
FLAT = "items have no hierarchy, so they can only become * or be left out"


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A table with a column of sets, and what a policy does to it."""

    plan: SetPlan
    frame: pl.DataFrame
    is_of_sets: bool  # a file with one set a line


def read_input(policy: Policy, timed: Timed) -> Input:
    """The columns that a policy asks for; sets as text."""
    with timed.phase("read") as notes:
        given = source_of(policy)
        types = {n: c.type for n, c in policy.columns.items() if c.type is not None and c.role is not Role.ITEMS}
        source = replace(given, types={**types, **dict.fromkeys(policy.columns_with(Role.ITEMS), ColumnType.TEXT)})
        layout = sniff(replace(source, types={}))
        is_of_sets = layout.format == "sets"
        policy = _with_delimiter(policy, layout.delimiter) if is_of_sets else policy
        plan = make_set_plan(
            policy, layout.names, delimiter=layout.delimiter if is_of_sets else None, location=source.location,
            secret=secret_of(policy),
        )  # fmt: skip
        frame = read_frame(source, columns=plan.wanted)
        refuse_empty(frame.height, source.location)
        notes.append(f"{frame.height:,} records")
    return Input(plan, frame, is_of_sets)


def _with_delimiter(policy: Policy, delimiter: str) -> Policy:
    """The policy that says what was found out, because a release may not show it."""
    assert policy.input is not None
    return policy.model_copy(update={"input": policy.input.model_copy(update={"delimiter": delimiter})})


def run_sets(
    policy: Policy, *, progress: Progress = silent, force: bool = False, dry_run: bool = False, engine: str = "auto"
) -> RunReport:
    """Carry out a policy about sets of items. Nothing appears under the final name unless verified.

    Raises: Infeasible, GoalNotMet, DataError, IncompatibleChoice.
    """
    if engine not in ("auto", "local"):
        raise IncompatibleChoice(f"sets of items are not counted by {engine}", hint="--engine local, or auto")
    if policy.output_place is None and not dry_run:
        raise IncompatibleChoice("the policy names no output", hint="add `output: FILE` to it, or use --output FILE")
    timed = Timed(progress)
    with nullcontext() if dry_run else Outputs(reads=policy.reads, force=force) as outputs:
        files = None if outputs is None else reserve(outputs, policy)
        given = read_input(policy, timed)
        sets, cut, made = _solved(given, timed)
        with timed.phase("verify") as notes:
            if files is None:
                found = require(recount(made.frame[given.plan.column], given.plan, sets, made.row_of))
            else:
                found = write_and_recount(made, sets, given.plan, files.release, is_of_sets=given.is_of_sets)
            notes.append(f"{sum((found.itemsets or {})['after']['itemsets']):,} itemsets recounted")
        found = require_ready(appraised(found, made.frame, given.plan, before=given.frame), policy)
        report = report_of(found, given.plan, sets, cut, timed)
        if files is None:
            return report
        if files.recoding:
            with writing(files.recoding):
                ItemRecoding.of(cut, given.plan.policy, key=given.plan.secret.certificate_key).write(files.recoding)
        report = with_files(report, policy)
        if files.are_wanted:
            with timed.phase("report"):
                write_set_documents(files, report.to_dict(), given.plan)
    return report


def anonymize_sets(data: Any, policy: Policy, *, progress: Progress = silent) -> SetRelease:
    """A verified release of a frame with a column of sets, or of a list of sets.

    Args:
        data: a polars, pandas or Arrow frame, or a list of lists of items, which become the column `items`.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    timed = Timed(progress)
    if isinstance(data, Sequence) and not isinstance(data, str):
        data = _frame_of(data, policy)
    frame = from_frame(data)
    plan = make_set_plan(policy, frame.columns, secret=secret_of(policy))
    given = Input(plan, frame.select(plan.wanted), False)
    sets, cut, made = _solved(given, timed)
    with timed.phase("verify"):
        found = require(recount(made.frame[plan.column], plan, sets, made.row_of))
    found = require_ready(appraised(found, made.frame, plan, before=given.frame), policy)
    report = report_of(found, plan, sets, cut, timed)
    recoding = ItemRecoding.of(cut, policy, key=plan.secret.certificate_key)
    return SetRelease(made.frame, report, recoding, plan, sets, made)


def _frame_of(sets: Sequence[Iterable[Any]], policy: Policy) -> pl.DataFrame:
    plan = make_set_plan(policy, [ITEMS])
    texts = [[str(item) for item in items] for items in sets]
    if any(plan.separator in item for items in texts for item in items):
        raise DataError("an item holds the separator", hint=f"columns.{plan.column}.separator: a mark that no item has")
    return pl.DataFrame({ITEMS: [plan.separator.join(items) for items in texts]}, schema={ITEMS: pl.String})


def check_sets(policy: Policy, *, progress: Progress = silent) -> CheckReport:
    """Whether a policy about sets fits its input and its goal can be reached there; writes nothing.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    goals = [sentence(m) for m in policy.goals]
    if policy.input is None:
        return CheckReport(goals, "apriori", "local")
    timed = Timed(progress)
    given = read_input(policy, timed)
    sets, cut, _ = _solved(given, timed)
    return CheckReport(
        goals,
        "apriori",
        "local",
        rows=given.frame.height,
        columns=len(given.plan.columns),
        quasi=(given.plan.column,),
        tuples=sets.merged[0].n_baskets,
        feasible=True,
        loss=cut.loss(sets.occurrences),
        notes=_notes(given.plan, sets, cut),
        findings=findings_before_sets(given.frame, given.plan),
    )


def _solved(given: Input, timed: Timed) -> tuple[Sets, Cut, Made]:
    plan = given.plan
    with timed.phase("code", given.frame.height) as notes:
        sets = code_sets(given.frame[plan.column], plan)
        notes.append(f"{sets.n_items:,} items in {sets.merged[0].n_baskets:,} different sets")
    with timed.phase("solve", plan.goal.m) as notes:
        cut = _cut(plan, sets, timed.inner)
        notes.append(f"{sets.n_items:,} items published as {_n_published(cut, sets):,}")
    with timed.phase("recode", given.frame.height):
        made = make_release(given.frame, sets, cut, plan)
    return sets, cut, made


def _n_published(cut: Cut, sets: Sets) -> int:
    used = cut.node_of[sets.occurrences > 0]
    return len(np.unique(used[used != LEFT_OUT]))


def _cut(plan: SetPlan, sets: Sets, progress: Progress) -> Cut:
    limit = most_of(len(sets.baskets.items), plan.algorithm.suppression_limit)
    try:
        return plan.algorithm.find(ItemProblem(sets.merged[0], sets.hierarchy, plan.goal, limit), progress)
    except NoCutError:
        raise _infeasible(plan, sets) from None


def _infeasible(plan: SetPlan, sets: Sets) -> Infeasible:
    """What all items as one would reach, and what could be relaxed."""
    goal = plan.goal
    at = plan.policy.goals.index(goal)
    top = Cut.top(sets.hierarchy).publish(sets.merged[0], copies=goal.multiset)
    best = count_itemsets(top, goal.m, k=goal.k).rarest or 0
    relaxations = [f"goals.{at}.k: {best}  → feasible"] if best >= 2 else []
    if goal.multiset:
        relaxations.append(f"goals.{at}.multiset: false, which counts an item once for each set")
    lost = max(1, round(1000 * best / max(1, len(sets.baskets.items)) + 0.5)) / 1000
    relaxations.append(f"algorithm.suppression_limit: {min(1.0, lost):g} or more, which may leave items out")
    return Infeasible(
        f"infeasible  no release reaches km-anonymity {goal.k} (best: {best}, with all items as one)",
        best=[{"model": "km-anonymity", "achieved": best, "required": goal.k}],
        relaxations=[{"change": text} for text in relaxations],
    )


def report_of(found: Verification, plan: SetPlan, sets: Sets, cut: Cut, timed: Timed) -> RunReport:
    """What a run found, did and cost."""
    shown = {**(found.itemsets or {}), **_shape(plan, sets, cut)}
    return RunReport(
        replace(found, itemsets=shown),
        [Measurement("gcp", cut.loss(sets.occurrences), LOSS, {plan.column: cut.loss(sets.occurrences)})],
        timed.seconds,
        [sentence(plan.goal)],  # type: ignore[arg-type]
        "apriori",
        "local",
        notes=_notes(plan, sets, cut),
    )


def _shape(plan: SetPlan, sets: Sets, cut: Cut) -> dict[str, Any]:
    """How far up items went, and which published ones most records have."""
    used = np.flatnonzero(sets.occurrences > 0)
    nodes = cut.node_of[used]
    heights = np.where(nodes >= 0, sets.hierarchy.heights[nodes], LEFT_OUT)
    levels = [
        {
            "height": int(h),
            "items": int((heights == h).sum()),
            "occurrences": int(sets.occurrences[used[heights == h]].sum()),
        }
        for h in np.unique(heights)
    ]
    supports = cut.publish(sets.merged[0]).occurrences()
    most = np.argsort(-supports, kind="stable")[:MOST_SHOWN]
    frequent = [[str(sets.hierarchy.labels[n]).strip(), int(supports[n])] for n in most if supports[n] >= plan.goal.k]
    return {"levels": levels, "frequent": frequent}


def _notes(plan: SetPlan, sets: Sets, cut: Cut) -> tuple[str, ...]:
    notes = []
    if plan.policy.hierarchy_of(plan.column) is None:
        notes.append(FLAT)
    if sets.n_repeated:
        notes.append(f"{sets.n_repeated:,} items stood twice in their set and count once; multiset: true keeps them")
    if n_empty := int((sets.baskets.lengths == 0).sum()):
        notes.append(f"{n_empty:,} sets are empty and stay so")
    if n_lost := cut.left_out(sets.occurrences):
        notes.append(f"{n_lost:,} of {int(sets.occurrences.sum()):,} items in sets are left out")
    if plan.kept:
        notes.append(f"published as they are, and protected by no goal: {', '.join(plan.kept)}")
    return tuple(notes)
