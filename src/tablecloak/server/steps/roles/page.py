"""Roles: what every column means, and how exposed records are by that."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak.data.table import Role
from tablecloak.errors import CloakError
from tablecloak.profile.presets import presets
from tablecloak.server.forms import FIXED_ROLES, ROLES
from tablecloak.server.shell import Sent, SentForm, back_to, changed, failed, project_of, render, state_of
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import service as roles_service
from tablecloak.server.store import Stale

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/roles")
def roles(request: Request, project_id: str) -> Response:
    """What every column means."""
    return show_roles(request, project_id)


def show_roles(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    policy = policy_service.policy_of(state, project)
    refusal, uniqueness = policy_service.refusal(policy), roles_service.uniqueness(state, project)
    return render(
        request, "roles.html", project=project, step="roles", status=status, policy=policy,
        alert=alert or (failed(refusal) if refusal else None), fixed=FIXED_ROLES,
        profile=load_service.project_profile(state, project), uniqueness=uniqueness,
        sets=[columns.to_dict() for columns in uniqueness.sets],
        roles=[r for r in ROLES if r in {str(role) for role in Role}], words=ROLES, presets=presets(),
    )  # fmt: skip


@router.post("/projects/{project_id}/roles")
def set_roles(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """New roles, transforms and weights."""
    project = project_of(request, project_id)
    edit = roles_service.roles_edit(sent.texts)
    return changed(request, project, sent, edit, note="roles", step="roles", page=show_roles)


@router.post("/projects/{project_id}/preset")
def preset(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Start the policy afresh from a preset."""
    state, project = state_of(request), project_of(request, project_id)
    try:
        text = roles_service.preset_text(state, project, sent.text("preset"))
        project = policy_service.write(state, project, text, version=sent.version, note="preset")
    except (CloakError, Stale) as error:
        return show_roles(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, sent.text("step") or "roles")
