"""Goals: what must hold, how it is reached, and the light that says whether it can be."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.data.table import Role
from tablecloak.profile.presets import presets
from tablecloak.server.shell import AtProject, SentForm, render, tried_edit
from tablecloak.server.steps.goals import service as goals_service
from tablecloak.server.steps.policy import service as policy_service

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/goals")
def goals(at: AtProject) -> Response:
    """What must hold, and how it is reached."""
    policy = policy_service.policy_of(at.state, at.project)
    return render(
        at, "goals.html", step="goals", policy=policy, cards=goals_service.cards(policy),
        offers=goals_service.offers(policy), algorithm=goals_service.algorithm_card(policy),
        algorithms=goals_service.algorithms(policy), presets=presets(),
        style=goals_service.style_of(policy), styles=goals_service.STYLES,
        quasi={name: policy.columns[name].weight for name in policy.columns_with(Role.QUASI)},
    )  # fmt: skip


@router.post("/projects/{project_id}/goals")
def set_goals(sent: SentForm, at: AtProject) -> Response:
    """Change, add or remove a goal; change the algorithm, the suppression limit or weights."""
    policy = policy_service.policy_of(at.state, at.project)
    return tried_edit(at, sent, lambda: goals_service.edit_from(policy, sent.texts), page=goals, then="goals")


@router.get("/projects/{project_id}/light")
def light(at: AtProject) -> Response:
    """The feasibility light: a piece of a page, which asks again as long as a check goes on."""
    return render(at, "lamp.html", light=goals_service.light(at.state, at.project))
