"""Roles: what every column means, and how exposed records are by that."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.data.table import Role
from tablecloak.profile.presets import presets
from tablecloak.server.forms import FIXED_ROLES, ROLES
from tablecloak.server.shell import AtProject, SentForm, render, tried, tried_edit
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import service as roles_service

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/roles")
def roles(at: AtProject) -> Response:
    """What every column means."""
    policy = policy_service.policy_of(at.state, at.project)
    refusal = policy_service.refusal(policy)
    return render(
        at.warned(refusal) if refusal else at, "roles.html", step="roles", policy=policy, fixed=FIXED_ROLES,
        profile=load_service.project_profile(at.state, at.project),
        uniqueness=roles_service.uniqueness(at.state, at.project),
        roles=[r for r in ROLES if r in {str(role) for role in Role}], words=ROLES, presets=presets(),
    )  # fmt: skip


@router.post("/projects/{project_id}/roles")
def set_roles(sent: SentForm, at: AtProject) -> Response:
    """New roles, transforms and weights."""
    return tried_edit(at, sent, lambda: (roles_service.roles_edit(sent.texts), "roles"), page=roles, then="roles")


@router.post("/projects/{project_id}/preset")
def preset(sent: SentForm, at: AtProject) -> Response:
    """Start the policy afresh from a preset."""
    return tried(
        at,
        lambda: roles_service.start_from(at.state, at.project, sent.text("preset"), version=sent.version),
        page=roles,
        then=sent.text("step") or "roles",
    )
