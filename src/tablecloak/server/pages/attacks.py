"""Attacks: what every attacker of the catalogue achieves on a release, tried when somebody asks."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tablecloak.errors import CloakError
from tablecloak.server.pages.shell import (
    Sent,
    SentForm,
    back_to,
    chosen_run,
    failed,
    project_of,
    render,
    workshop_of,
)
from tablecloak.server.services import runs

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/attacks")
def attacks(request: Request, project_id: str, run: str | None = None) -> Response:
    """What attackers achieve on a run, if that was tried."""
    return show(request, project_id, run)


def show(request: Request, project_id: str, run: str | None, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = chosen_run(workshop, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="compare")
    return render(request, "attacks.html", project=project, step="compare", run=chosen, chosen=chosen, alert=alert,
                  status=status, found=runs.attacked(workshop, chosen))  # fmt: skip


@router.post("/projects/{project_id}/attacks")
def attack(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Try them all."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = chosen_run(workshop, project, sent.text("run"))
    if chosen is not None:
        try:
            runs.attacked(workshop, chosen, is_wanted=True)
        except CloakError as error:
            return show(request, project_id, chosen.id, alert=failed(error), status=422)
    return back_to(project, "attacks", f"?run={chosen.id}" if chosen else "")
