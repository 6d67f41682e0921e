"""The policy as text, undo and redo."""

from __future__ import annotations

import difflib
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from tablecloak.errors import CloakError
from tablecloak.server.shell import STEPS, Sent, SentForm, back_to, failed, project_of, render, state_of
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}")
def first(request: Request, project_id: str) -> Response:
    """Where a project is opened."""
    return back_to(project_of(request, project_id), "load")


@router.get("/projects/{project_id}/policy")
def policy_page(request: Request, project_id: str) -> Response:
    """The policy as it is written now."""
    return show_policy(request, project_id)


def show_policy(
    request: Request,
    project_id: str,
    *,
    text: str | None = None,
    diff: list[str] | None = None,
    alert: Any = None,
    status: int = 200,
) -> Response:
    """The page, perhaps with an alert and a text that was not accepted."""
    project = project_of(request, project_id)
    return render(request, "policy.html", project=project, step="policy", alert=alert, status=status,
                  text=project.policy if text is None else text, diff=diff)  # fmt: skip


@router.post("/projects/{project_id}/policy")
def write_policy(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Write the policy by hand."""
    state, project = state_of(request), project_of(request, project_id)
    text = sent.text("text").replace("\r\n", "\n")
    try:
        policy_service.write(state, project, text, version=sent.version)
    except Stale as error:
        theirs, ours = error.project.policy.splitlines(), text.splitlines()
        diff = list(difflib.unified_diff(theirs, ours, "in the project now", "what you wrote", lineterm=""))
        return show_policy(request, project_id, text=text, diff=diff, alert=failed(error), status=409)
    except CloakError as error:
        return show_policy(request, project_id, text=text, alert=failed(error), status=422)
    return back_to(project, "policy")


@router.get("/projects/{project_id}/policy.yaml")
def policy_file(request: Request, project_id: str) -> Response:
    """The policy to save."""
    text = project_of(request, project_id).policy
    return PlainTextResponse(text, headers={"content-disposition": 'attachment; filename="policy.yaml"'})


@router.post("/projects/{project_id}/step")
def step(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Undo or redo."""
    state, project = state_of(request), project_of(request, project_id)
    page = sent.text("step") if sent.text("step") in STEPS else "roles"
    try:
        project = state.store.step(project.id, -1 if sent.text("action") == "undo" else 1, version=sent.version)
    except Stale as error:
        project = error.project
    return back_to(project, page)


@router.post("/projects/{project_id}/rename")
def rename(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Another name."""
    project = project_of(request, project_id)
    if name := sent.text("name").strip()[:200]:
        state_of(request).store.rename(project.id, name)
    return back_to(project, "load")
