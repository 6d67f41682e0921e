"""Run: the newest run, live, and the earlier ones."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak.errors import CloakError
from tablecloak.server.shell import Sent, SentForm, back_to, failed, latest_of, project_of, render, run_of, state_of
from tablecloak.server.steps.run import service as run_service

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/run")
def run_page(request: Request, project_id: str) -> Response:
    """The newest run, live, and the earlier ones."""
    return show_run(request, project_id)


def show_run(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    newest = latest_of(state, project, "run")
    return render(
        request, "run.html", project=project, step="run", alert=alert, status=status, newest=newest,
        phases=run_service.phases(state, newest) if newest else [], history=run_service.history(state, project),
        losses=run_service.losses(state, newest) if newest else [], error=run_service.error_of(newest),
        left=state.files.left_of(project.id, newest.id) if newest and not newest.is_open else [],
        log=run_service.log(state, newest) if newest and not newest.is_open else [],
        is_stopping=newest is not None and run_service.is_stopping(state, newest),
    )  # fmt: skip


@router.post("/projects/{project_id}/run")
def start(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Start, stop, cancel or resume."""
    state, project = state_of(request), project_of(request, project_id)
    action, run = sent.text("action", "start"), run_of(request, project, sent.text("run"))
    try:
        if action == "start":
            run_service.begin(state, project)
        elif run is not None and action == "cancel":
            state.jobs.cancel(run.id)
        elif run is not None and action == "stop":
            state.jobs.stop(run.id)
        elif run is not None and action == "resume":
            run_service.resume(state, run)
    except CloakError as error:
        return show_run(request, project_id, alert=failed(error), status=422)
    return back_to(project, "run")
