"""Roles: what every column means, and how exposed records are by that."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.presets import presets
from tablecloak.server.forms import FIXED_ROLES, ROLES
from tablecloak.server.shell import AtProject, SentForm, render, tried, tried_edit
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import service as roles_service
from tablecloak.server.store import Unknown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/roles")
def roles(at: AtProject) -> Response:
    """What every column means."""
    policy = policy_service.policy_of(at.state, at.project)
    refusal = policy_service.refusal(policy)
    profile = load_service.project_profile(at.state, at.project)
    return render(
        at.warned(refusal) if refusal else at, "roles.html", step="roles", policy=policy, fixed=FIXED_ROLES,
        profile=profile, left_out=load_service.left_out_beside_sets(policy, profile),
        uniqueness=roles_service.known_uniqueness(at.state, at.project),
        publishes=roles_service.published_columns(policy, profile),
        roles=[r for r in ROLES if r in {str(role) for role in Role}], words=ROLES, presets=presets(),
    )  # fmt: skip


@router.post("/projects/{project_id}/roles")
def set_roles(sent: SentForm, at: AtProject) -> Response:
    """New roles and transforms, of one column or of all that are marked."""

    def edit() -> tuple[policy_service.Change, str]:
        if sent.text("action") == "bulk":
            return roles_service.bulk_edit(sent.all("column"), sent.text("role"))
        policy = policy_service.policy_of(at.state, at.project)
        return roles_service.roles_edit(sent.texts), roles_service.roles_note(policy, sent.texts)

    return tried_edit(at, sent, edit, page=roles, then="roles")


@router.get("/projects/{project_id}/exposure")
def exposure(at: AtProject) -> Response:
    """Who stands alone: a piece of the page of roles, because it takes seconds on large tables."""
    uniqueness = roles_service.uniqueness(at.state, at.project)
    return render(at, "exposure.html", policy=policy_service.policy_of(at.state, at.project), uniqueness=uniqueness)


@router.get("/projects/{project_id}/transforms")
def transforms(at: AtProject, column: str = "") -> Response:
    """What becomes of the values of a column."""
    policy = policy_service.policy_of(at.state, at.project)
    spec = policy.columns.get(column)
    if spec is None or spec.role in (Role.DROP, Role.ITEMS):
        raise Unknown
    profile = load_service.project_profile(at.state, at.project)
    type_ = spec.type or next((c.type for c in profile.columns if c.name == column), ColumnType.TEXT)
    chosen = spec.transform[0] if len(spec.transform) == 1 else None
    families = roles_service.fitting_transforms(ColumnType(type_), spec.role)
    return render(
        at, "transforms.html", step="roles", policy=policy, column=column, role=spec.role, type=type_,
        families=families, fields=roles_service.fields_by_transform(families), kind=chosen.name if chosen else "",
        values=chosen.model_dump(by_alias=True, mode="json") if chosen else {},
        several=[each.name for each in spec.transform] if len(spec.transform) > 1 else [],
        meaning=roles_service.MEANING.get(spec.role, ""), words=roles_service.FAMILIES,
    )  # fmt: skip


@router.post("/projects/{project_id}/transforms")
def set_transform(sent: SentForm, at: AtProject) -> Response:
    """A transform of a column, or none."""
    column = sent.text("column")
    query = "?" + urlencode({"column": column})
    return tried(
        at,
        lambda: roles_service.choose_transform(at.state, at.project, column, sent.texts, version=sent.version),
        transforms,
        "transforms",
        query,
        column=column,
    )


@router.post("/projects/{project_id}/preset")
def preset(sent: SentForm, at: AtProject) -> Response:
    """Start the policy afresh from a preset."""
    return tried(
        at,
        lambda: roles_service.start_from(at.state, at.project, sent.text("preset"), version=sent.version),
        page=roles,
        then=sent.text("step") or "roles",
    )
