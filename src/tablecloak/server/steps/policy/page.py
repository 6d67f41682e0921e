"""The policy as text, undo and redo."""

from __future__ import annotations

import difflib

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from tablecloak.errors import CloakError
from tablecloak.server.shell import STEPS, AtProject, SentForm, back_to, render
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}")
def first(at: AtProject) -> Response:
    """Where a project is opened."""
    return back_to(at.project, "load")


@router.get("/projects/{project_id}/policy")
def policy(at: AtProject) -> Response:
    """The policy as it is written now."""
    return render(at, "policy.html", step="policy", text=at.project.policy, diff=[])


@router.post("/projects/{project_id}/policy")
def write_policy(sent: SentForm, at: AtProject) -> Response:
    """Write the policy by hand; a text that was refused stays on the page."""
    text = sent.text("text").replace("\r\n", "\n")
    diff: list[str] = []
    try:
        project = policy_service.write(at.state, at.project, text, version=sent.version)
    except (CloakError, Stale) as error:
        if isinstance(error, Stale):
            theirs, ours = error.project.policy.splitlines(), text.splitlines()
            diff = list(difflib.unified_diff(theirs, ours, "in the project now", "what you wrote", lineterm=""))
        return render(at.refused(error), "policy.html", step="policy", text=text, diff=diff)
    return back_to(project, "policy")


@router.get("/projects/{project_id}/policy.yaml")
def policy_file(at: AtProject) -> Response:
    """The policy to save."""
    return PlainTextResponse(at.project.policy, headers={"content-disposition": 'attachment; filename="policy.yaml"'})


@router.post("/projects/{project_id}/step")
def step(sent: SentForm, at: AtProject) -> Response:
    """Undo or redo."""
    page = sent.text("step") if sent.text("step") in STEPS else "roles"
    try:
        project = at.state.store.step(at.project.id, -1 if sent.text("action") == "undo" else 1, version=sent.version)
    except Stale as error:
        project = error.project
    query = sent.text("query")
    return back_to(project, page, f"?{query}" if query else "")


@router.post("/projects/{project_id}/rename")
def rename(sent: SentForm, at: AtProject) -> Response:
    """Another name."""
    if name := sent.text("name").strip()[:200]:
        at.state.store.rename(at.project.id, name)
    return back_to(at.project, "load")
