"""The first steps: load, roles, goals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak import registry
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import CloakError
from tablecloak.profile.presets import presets
from tablecloak.server import drafts
from tablecloak.server.pages.shell import Sent, SentForm, back_to, failed, project_of, render, workshop_of
from tablecloak.server.services import goals, kinds, projects, tables
from tablecloak.server.store import Project, Stale
from tablecloak.server.words import FIXED_ROLES, ROLES

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10
Page = Callable[..., Response]


def changed(
    request: Request, project: Project, sent: Sent, edit: drafts.Change, *, note: str, step: str, page: Page
) -> Response:
    """Carry out an edit of the policy and show the page again, with what went wrong if something did."""
    try:
        project = projects.change(workshop_of(request), project, edit, version=sent.version, note=note)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return page(request, project.id, alert=failed(error), status=status)
    return back_to(project, step, f"?{request.url.query}" if request.url.query else "")


@router.get("/projects/{project_id}/load")
def load(request: Request, project_id: str, page: int = 1, values: bool = False) -> Response:
    """How the file is read, and the first rows."""
    return show_load(request, project_id, page=page, values=values)


def show_load(
    request: Request, project_id: str, *, page: int = 1, values: bool = False, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    profile = projects.profile_of(workshop, project)
    policy = projects.policy_of(workshop, project)
    return render(
        request, "load.html", project=project, step="load", alert=alert, status=status, profile=profile, policy=policy,
        options=policy.input.model_dump(exclude_defaults=True) if policy.input else {},
        types=[str(t) for t in ColumnType], table=tables.page_of(workshop, project, page, PAGE_ROWS, values=values),
        kinds=kinds.KINDS, about=kinds.set_settings(policy, profile),
        values=values, lines=tables.lines_of(workshop, project) if values else [],
        **tables.engine_of(workshop, profile),
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
        project = projects.reload(workshop_of(request), project, options, version=sent.version)
    except (CloakError, Stale) as error:
        return show_load(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, "load", "?values=true" if sent.text("values") == "true" else "")


@router.post("/projects/{project_id}/columns")
def columns(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Types of columns, and which of them are read at all."""
    project = project_of(request, project_id)
    edit = tables.columns_edit(sent.texts, set(sent.all("read")))
    return changed(request, project, sent, edit, note="types and columns", step="load", page=show_load)


@router.get("/projects/{project_id}/roles")
def roles(request: Request, project_id: str) -> Response:
    """What every column means."""
    return show_roles(request, project_id)


def show_roles(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    policy = projects.policy_of(workshop, project)
    refusal = projects.refusal(policy)
    return render(
        request, "roles.html", project=project, step="roles", status=status, policy=policy,
        alert=alert or (failed(refusal) if refusal else None), fixed=FIXED_ROLES,
        profile=projects.profile_of(workshop, project), uniqueness=projects.uniqueness(workshop, project),
        roles=[r for r in ROLES if r in {str(role) for role in Role}], words=ROLES, presets=presets(),
    )  # fmt: skip


@router.post("/projects/{project_id}/roles")
def set_roles(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """New roles, transforms and weights."""
    project = project_of(request, project_id)
    edit = tables.roles_edit(sent.texts)
    return changed(request, project, sent, edit, note="roles", step="roles", page=show_roles)


@router.post("/projects/{project_id}/preset")
def preset(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Start the policy afresh from a preset."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    try:
        text = tables.preset_text(workshop, project, sent.text("preset"))
        project = projects.write(workshop, project, text, version=sent.version, note="preset")
    except (CloakError, Stale) as error:
        return show_roles(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, sent.text("step") or "roles")


@router.get("/projects/{project_id}/goals")
def goals_page(request: Request, project_id: str) -> Response:
    """What must hold, and how it is reached."""
    return show_goals(request, project_id)


def show_goals(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    policy = projects.policy_of(workshop, project)
    return render(
        request, "goals.html", project=project, step="goals", alert=alert, status=status, policy=policy,
        cards=goals.cards(policy), offers=goals.offers(policy), algorithm=goals.algorithm_card(policy),
        algorithms=goals.algorithm_groups(policy), presets=presets(),
        quasi={name: policy.columns[name].weight for name in policy.columns_with(Role.QUASI)},
    )  # fmt: skip


@router.post("/projects/{project_id}/goals")
def set_goals(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Change, add or remove a goal; change the algorithm, the suppression limit or weights."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    policy = projects.policy_of(workshop, project)
    try:
        edit, note = goals.edit_from(policy, sent.texts)
    except CloakError as error:
        return show_goals(request, project_id, alert=failed(error), status=422)
    return changed(request, project, sent, edit, note=note, step="goals", page=show_goals)


@router.get("/projects/{project_id}/light")
def light(request: Request, project_id: str) -> Response:
    """The feasibility light: a piece of a page, because it may take a second."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    found = projects.check(workshop, project)
    return render(request, "light.html", project=project, light=found, n_models=len(registry.known("models")))
