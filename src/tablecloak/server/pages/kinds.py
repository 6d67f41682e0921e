"""The type of a dataset, chosen on the page that loads it; a sample of sets."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from tablecloak.errors import CloakError
from tablecloak.server.pages.shell import Sent, SentForm, back_to, failed, project_of, workshop_of
from tablecloak.server.pages.steps import show_load
from tablecloak.server.services import kinds, projects
from tablecloak.server.store import Stale

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.post("/projects/{project_id}/kind")
def set_kind(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Read the dataset as another type."""
    project = project_of(request, project_id)
    try:
        project = kinds.set_kind(workshop_of(request), project, sent.text("kind"), sent.texts, version=sent.version)
    except (CloakError, Stale) as error:
        return show_load(request, project_id, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    return back_to(project, "load", "?values=true" if sent.text("values") == "true" else "")


@router.post("/open/sets")
def sample(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A project on made-up shopping baskets."""
    project = projects.create_sample(workshop_of(request), of_sets=True)
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)
