"""Report and certificate of a release of sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tablecloak.baskets.plan import SetPlan
from tablecloak.documents import Documents, certificate_of, settings_of
from tablecloak.models.base import parameters
from tablecloak.report.reference import describe
from tablecloak.report.sets_page import SetSubject, sets_page
from tablecloak.report.subject import Step

__all__ = ["write_set_documents"]


def write_set_documents(files: Documents, run: Mapping[str, Any], plan: SetPlan) -> None:
    """Write what is wanted of the two."""
    certificate = certificate_of(files, run, plan.policy, plan.algorithm, secret=plan.secret)
    if files.certificate is not None:
        text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
        files.certificate.write_text(text, encoding="utf-8")
    if files.report is not None:
        files.report.write_text(sets_page(_subject(files.name, run, plan, certificate)), encoding="utf-8")


def _subject(name: str, run: Mapping[str, Any], plan: SetPlan, certificate: Mapping[str, Any]) -> SetSubject:
    goal: Any = plan.goal
    return SetSubject(
        name=name,
        run=run,
        certificate=certificate,
        model=Step(describe("km-anonymity", type(goal)), parameters(goal), goal.sense.value),
        algorithm=Step(describe("apriori", type(plan.algorithm)), settings_of(plan.algorithm)),
        kept=plan.kept,
        starred=plan.starred,
        left_out=plan.left_out,
    )
