"""Load: how the file is read, what kind of dataset it is, types of columns."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak.data.table import ColumnType
from tablecloak.errors import CloakError
from tablecloak.server.shell import Sent, SentForm, back_to, changed, failed, project_of, render, state_of
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10


@router.get("/projects/{project_id}/load")
def load(request: Request, project_id: str, page: int = 1, values: bool = False) -> Response:
    """How the file is read, and the first rows."""
    return show_load(request, project_id, page=page, values=values)


def show_load(
    request: Request, project_id: str, *, page: int = 1, values: bool = False, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    profile = load_service.project_profile(state, project)
    policy = policy_service.policy_of(state, project)
    return render(
        request, "load.html", project=project, step="load", alert=alert, status=status, profile=profile, policy=policy,
        options=policy.input.model_dump(exclude_defaults=True) if policy.input else {},
        types=[str(t) for t in ColumnType], table=load_service.page_of(state, project, page, PAGE_ROWS, values=values),
        kinds=load_service.KINDS, about=load_service.kind_form(policy, profile),
        values=values, lines=load_service.lines_of(state, project) if values else [],
        **load_service.engine_of(state, profile),
    )  # fmt: skip


@router.post("/projects/{project_id}/load")
def read_again(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Read the file in another way."""
    project = project_of(request, project_id)
    options: dict[str, Any] = {k: v for k in ("delimiter", "encoding") if (v := sent.text(k))}
    if sent.text("other_delimiter"):
        options["delimiter"] = sent.text("other_delimiter")
    if options.get("delimiter") == "tab":
        options["delimiter"] = "\t"
    if sent.text("header"):
        options["header"] = sent.text("header") == "yes"
    try:
        project = load_service.reload(state_of(request), project, options, version=sent.version)
    except (CloakError, Stale) as error:
        return show_load(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, "load", "?values=true" if sent.text("values") == "true" else "")


@router.post("/projects/{project_id}/columns")
def columns(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Types of columns, and which of them are read at all."""
    project = project_of(request, project_id)
    edit = load_service.columns_edit(sent.texts, set(sent.all("read")))
    return changed(request, project, sent, edit, note="types and columns", step="load", page=show_load)


@router.post("/projects/{project_id}/kind")
def set_kind(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Read the dataset as another type."""
    project = project_of(request, project_id)
    try:
        project = load_service.set_kind(state_of(request), project, sent.text("kind"), sent.texts, version=sent.version)
    except (CloakError, Stale) as error:
        return show_load(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, "load", "?values=true" if sent.text("values") == "true" else "")
