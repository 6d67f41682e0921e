"""Goals: what must hold, how it is reached, and the light that says whether it can be."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak import registry
from tablecloak.data.table import Role
from tablecloak.errors import CloakError
from tablecloak.profile.presets import presets
from tablecloak.server.shell import Sent, SentForm, changed, failed, project_of, render, state_of
from tablecloak.server.steps.goals import service as goals_service
from tablecloak.server.steps.policy import service as policy_service

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/goals")
def goals_page(request: Request, project_id: str) -> Response:
    """What must hold, and how it is reached."""
    return show_goals(request, project_id)


def show_goals(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    policy = policy_service.policy_of(state, project)
    return render(
        request, "goals.html", project=project, step="goals", alert=alert, status=status, policy=policy,
        cards=goals_service.cards(policy), offers=goals_service.offers(policy),
        algorithm=goals_service.algorithm_card(policy),
        algorithms=goals_service.algorithm_groups(policy), presets=presets(),
        quasi={name: policy.columns[name].weight for name in policy.columns_with(Role.QUASI)},
    )  # fmt: skip


@router.post("/projects/{project_id}/goals")
def set_goals(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Change, add or remove a goal; change the algorithm, the suppression limit or weights."""
    state, project = state_of(request), project_of(request, project_id)
    policy = policy_service.policy_of(state, project)
    try:
        edit, note = goals_service.edit_from(policy, sent.texts)
    except CloakError as error:
        return show_goals(request, project_id, alert=failed(error), status=422)
    return changed(request, project, sent, edit, note=note, step="goals", page=show_goals)


@router.get("/projects/{project_id}/light")
def light(request: Request, project_id: str) -> Response:
    """The feasibility light: a piece of a page, because it may take a second."""
    state, project = state_of(request), project_of(request, project_id)
    answer = goals_service.check(state, project)
    return render(request, "light.html", project=project, light=answer, n_models=len(registry.known("models")))
