"""Ready: whether the release can be handed over, and what to do where it cannot."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.server.shell import AtProject, SentForm, back_to, render, tried
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.ready import service as ready_service
from tablecloak.server.store import Project

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/ready")
def ready(at: AtProject, run: str | None = None) -> Response:
    """Whether the release can be handed over, and what to do where it cannot."""
    chosen = at.chosen_run(run)
    if chosen is None:
        return render(at, "locked.html", step="ready")
    return render(
        at, "ready.html", step="ready", run=chosen, chosen=chosen, findings=ready_service.findings(chosen),
        is_ready=ready_service.is_ready(chosen), is_current=chosen.policy == at.project.policy,
    )  # fmt: skip


@router.post("/projects/{project_id}/ready")
def settle(sent: SentForm, at: AtProject) -> Response:
    """End a finding by its fix, or accept it with a reason; the next run publishes by that."""
    chosen = at.run(sent.text("run"))
    if chosen is None or chosen.status != "done":
        return back_to(at.project, "ready")
    reason = None if sent.text("action") == "fix" else sent.text("because")

    def do() -> Project:
        edit, note = ready_service.settling_edit(chosen, sent.number("finding", -1), reason)
        return policy_service.change(at.state, at.project, edit, version=sent.version, note=note)

    return tried(at, do, page=ready, then="ready", run=chosen.id)
