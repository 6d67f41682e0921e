"""Run: the newest run, live, and the earlier ones."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.server.shell import AtProject, ProjectVisit, Sent, SentForm, render, tried
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Project

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/run")
def run(at: AtProject) -> Response:
    """The newest run, live, and the earlier ones."""
    state, project = at.state, at.project
    history = run_service.history(state, project)
    newest = history[0].run if history else None
    return render(
        at, "run.html", step="run", newest=newest, history=history,
        phases=run_service.phases(state, newest) if newest else [],
        falling=run_service.falling(state, newest), groups=run_service.groups_of(newest),
        left=state.files.left_of(project.id, newest.id) if newest and not newest.is_open else [],
        log=run_service.log(state, newest) if newest and not newest.is_open else [],
        is_stopping=newest is not None and run_service.is_stopping(state, newest),
    )  # fmt: skip


@router.post("/projects/{project_id}/run")
def act(sent: SentForm, at: AtProject) -> Response:
    """Start, stop, cancel or resume."""
    return tried(at, lambda: _acted(at, sent), page=run, then="run")


def _acted(at: ProjectVisit, sent: Sent) -> Project:
    action, chosen = sent.text("action", "start"), at.run(sent.text("run"))
    if action == "start":
        run_service.begin(at.state, at.project)
    elif chosen is not None and action == "cancel":
        at.state.jobs.cancel(chosen.id)
    elif chosen is not None and action == "stop":
        at.state.jobs.stop(chosen.id)
    elif chosen is not None and action == "resume":
        run_service.resume(at.state, chosen)
    return at.project
