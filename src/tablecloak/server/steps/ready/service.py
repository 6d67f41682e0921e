"""What singles people out besides the goals, and edits of a policy that settle it."""

from __future__ import annotations

from typing import Any

from tablecloak.errors import PolicyError
from tablecloak.findings.base import Status
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Run


def is_ready(run: Run) -> bool:
    """Whether a release may be handed over: every goal holds, and what else was found was accepted with a reason."""
    return run.result.get("status") in (Status.READY, Status.ACCEPTED)


def findings(run: Run) -> list[dict[str, Any]]:
    """What singles people out besides the goals, the open ones first."""
    every: list[dict[str, Any]] = run.result.get("findings") or []
    numbered = [{**finding, "at": at} for at, finding in enumerate(every)]
    return sorted(numbered, key=lambda finding: bool(finding["accepted"]))


def _finding_at(run: Run, at: int) -> dict[str, Any]:
    every = run.result.get("findings") or []
    if not 0 <= at < len(every):
        raise PolicyError("there is no such finding", hint="reload the page")
    chosen: dict[str, Any] = every[at]
    return chosen


def fix_edit(run: Run, at: int) -> tuple[policy_service.Change, str]:
    """The edit of a policy that ends a finding, and what it is called in the history."""
    finding = _finding_at(run, at)
    edits = [policy_service.set_at(change["set"], change["to"]) for change in finding["fix"]["changes"]]
    if not edits:
        raise PolicyError("this finding has no change that can be made by itself", hint=finding["fix"]["text"])

    def change(document: policy_service.Document) -> None:
        for edit in edits:
            edit(document)

    return change, f"fix of {finding['kind']}"


def reason_edit(run: Run, at: int, because: str) -> tuple[policy_service.Change, str]:
    """The edit of a policy that accepts a finding."""
    finding = _finding_at(run, at)
    if not because.strip():
        raise PolicyError("a finding is accepted with a reason", hint="say why it may stay; the report shows it")
    return policy_service.accept(finding["kind"], finding["column"], because.strip()), f"{finding['kind']} accepted"
