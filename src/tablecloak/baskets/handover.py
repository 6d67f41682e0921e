"""Whether a release of sets is ready to hand over: what stands beside the sets is looked at as in any table."""

from __future__ import annotations

import polars as pl

from tablecloak.baskets.plan import SetPlan
from tablecloak.data.table import Order
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.findings.base import Finding, Shown, find_all, unmatched_acceptances
from tablecloak.handover import Attackers, Handover, look_at, risk_of
from tablecloak.models.base import Goal
from tablecloak.verification import Verification

__all__ = ["appraised", "findings_before_sets"]


def appraised(
    found: Verification, release: pl.DataFrame, plan: SetPlan, *, before: pl.DataFrame | None = None
) -> Verification:
    """A recount with what the whole published table says.

    An attacker who knows quasi-identifiers is the one of km-anonymity, who knows some items; the other one knows all
    that is published about a person, every item and every column beside them.
    """
    engine = LocalEngine()
    shown = look_at(engine, table_of(release), _shown(plan, release.height, is_released=True))
    findings = find_all(shown)
    after, then = (
        None if frame is None else Attackers(None, risk_of(engine.alike(table_of(frame), [plan.wanted])[0]))
        for frame in (release, before)
    )
    assert after is not None
    notes = tuple(unmatched_acceptances(findings, plan.policy))
    handover = Handover(findings, after, then, notes)
    return found.with_handover(handover)


def findings_before_sets(frame: pl.DataFrame, plan: SetPlan) -> tuple[Finding, ...]:
    """The findings that a release would have whatever becomes of the items."""
    return find_all(look_at(LocalEngine(), table_of(frame), _shown(plan, frame.height, is_released=False)))


def _shown(plan: SetPlan, n_records: int, *, is_released: bool) -> Shown:
    goal = Goal((plan.goal,))  # type: ignore[arg-type]
    output = plan.policy.output
    return Shown(
        plan.policy, goal, n_records, is_released, outside=plan.kept,
        keeps_order=output is not None and output.order is Order.KEEP,
    )  # fmt: skip
