"""Ready: whether the release can be handed over, and what to do where it cannot."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak.errors import CloakError
from tablecloak.server.shell import Sent, SentForm, back_to, chosen_run, failed, project_of, render, run_of, state_of
from tablecloak.server.steps.compare import service as compare_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.ready import service as ready_service
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/ready")
def ready(request: Request, project_id: str, run: str | None = None) -> Response:
    """Whether the release can be handed over, and what to do where it cannot."""
    return show_ready(request, project_id, run=run)


def show_ready(
    request: Request, project_id: str, *, run: str | None = None, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = chosen_run(state, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="ready")
    return render(
        request, "ready.html", project=project, step="ready", run=chosen, chosen=chosen, alert=alert, status=status,
        findings=ready_service.findings(chosen), is_ready=ready_service.is_ready(chosen),
        verdicts=compare_service.verdicts(chosen),
        is_current=chosen.policy == project.policy, attackers=compare_service.attackers(chosen),
    )  # fmt: skip


@router.post("/projects/{project_id}/ready")
def settle(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """End a finding by its fix, or accept it with a reason; the next run publishes by that."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = run_of(request, project, sent.text("run"))
    if chosen is None or chosen.status != "done":
        return back_to(project, "ready")
    at = sent.number("finding", -1)
    try:
        is_fix = sent.text("action") == "fix"
        edit, note = (
            ready_service.fix_edit(chosen, at)
            if is_fix
            else ready_service.reason_edit(chosen, at, sent.text("because"))
        )
        policy_service.change(state, project, edit, version=sent.version, note=note)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return show_ready(request, project_id, run=chosen.id, alert=failed(error), status=status)
    return back_to(project, "ready")
