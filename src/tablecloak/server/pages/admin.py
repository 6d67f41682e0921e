"""Everything else: the policy as text, undo and redo, help, administration."""

from __future__ import annotations

import difflib
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from tablecloak.errors import CloakError
from tablecloak.report.certificate import versions
from tablecloak.server.pages.shell import (
    STEPS,
    Sent,
    SentForm,
    back_to,
    failed,
    project_of,
    render,
    sessions_of,
    workshop_of,
)
from tablecloak.server.services import projects
from tablecloak.server.store import Stale
from tablecloak.server.words import KINDS, ROLES

__all__ = ["router"]

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
    workshop, project = workshop_of(request), project_of(request, project_id)
    text = sent.text("text").replace("\r\n", "\n")
    try:
        projects.write(workshop, project, text, version=sent.version)
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
    workshop, project = workshop_of(request), project_of(request, project_id)
    page = sent.text("step") if sent.text("step") in STEPS else "roles"
    try:
        project = workshop.store.step(project.id, -1 if sent.text("action") == "undo" else 1, version=sent.version)
    except Stale as error:
        project = error.project
    return back_to(project, page)


@router.post("/projects/{project_id}/rename")
def rename(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Another name."""
    project = project_of(request, project_id)
    if name := sent.text("name").strip()[:200]:
        workshop_of(request).store.rename(project.id, name)
    return back_to(project, "load")


@router.get("/help")
def help_page(request: Request) -> Response:
    """Words and steps explained."""
    return render(request, "help.html", roles=ROLES, kinds=KINDS)


@router.get("/admin")
def admin(request: Request) -> Response:
    """Storage, retention, workers, versions."""
    return show_admin(request)


def show_admin(request: Request, link: str | None = None) -> Response:
    """The page, perhaps with a new link."""
    workshop = workshop_of(request)
    shown = [
        {"project": p, "n_bytes": workshop.files.n_bytes(workshop.files.project(p.id)),
         "runs": len(workshop.store.runs(p.id))}
        for p in workshop.store.projects()
    ]  # fmt: skip
    return render(
        request, "admin.html", settings=workshop.settings, used=workshop.files.n_bytes(), projects=shown,
        open_runs=workshop.store.open_runs(), versions=versions(), link=link,
    )  # fmt: skip


@router.post("/admin/delete")
def delete_all(request: Request, sent: Sent = SentForm) -> Response:
    """Delete everything now."""
    if sent.text("sure") == "yes":
        workshop_of(request).forget_everything()
    return RedirectResponse("/admin", status_code=303)


@router.post("/admin/link")
def new_link(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A link for another browser; it works once."""
    port = workshop_of(request).settings.port
    return show_admin(request, link=f"http://127.0.0.1:{port}/?token={sessions_of(request).new_token()}")


@router.post("/admin/logout")
def logout(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """Close all sessions."""
    workshop_of(request).store.forget_sessions()
    return RedirectResponse("/", status_code=303)
