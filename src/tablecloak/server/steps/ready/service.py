"""What singles people out besides the goals, and edits of a policy that settle it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablecloak.errors import PolicyError
from tablecloak.findings.base import Status
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Run


def is_ready(run: Run) -> bool:
    """Whether a release may be handed over: every goal holds, and what else was found was accepted with a reason."""
    return run.result.get("status") in (Status.READY, Status.ACCEPTED)


def findings(run: Run) -> list[tuple[int, Mapping[str, Any]]]:
    """What singles people out besides the goals, as `tablecloak run --json` prints it, with numbers."""
    return list(enumerate(run.result.get("findings") or []))


def settling_edit(run: Run, at: int, because: str | None) -> tuple[policy_service.Change, str]:
    """The edit of a policy that ends a finding, or accepts it with a reason, and what it is called in the history."""
    finding = dict(findings(run)).get(at)
    if finding is None:
        raise PolicyError("there is no such finding", hint="reload the page")
    if because is not None and not because.strip():
        raise PolicyError("a finding is accepted with a reason", hint="say why it may stay; the report shows it")
    if because is not None:
        return policy_service.accept(finding["kind"], finding["column"], because.strip()), f"{finding['kind']} accepted"
    edits = [policy_service.set_at(change["set"], change["to"]) for change in finding["fix"]["changes"]]
    if not edits:
        raise PolicyError("this finding has no change that can be made by itself", hint=finding["fix"]["text"])

    def change(document: policy_service.Document) -> None:
        for edit in edits:
            edit(document)

    return change, f"fix of {finding['kind']}"
