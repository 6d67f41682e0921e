"""Export: everything that can be taken along."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response

from tablecloak.server.security import REPORT_POLICY
from tablecloak.server.shell import chosen_run, project_of, render, run_of, state_of
from tablecloak.server.steps.export import service as export_service
from tablecloak.server.steps.ready import service as ready_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Unknown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/export")
def export(request: Request, project_id: str, run: str | None = None) -> Response:
    """Everything that can be taken along."""
    state, project = state_of(request), project_of(request, project_id)
    chosen = chosen_run(state, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="export")
    return render(
        request, "export.html", project=project, step="export", run=chosen, chosen=chosen,
        files=export_service.files_of(state, chosen), formats=export_service.formats_of(state, chosen),
        script=export_service.script(state, chosen), earlier=export_service.earlier(state, chosen),
        has_images=export_service.has_images(state, chosen), is_ready=ready_service.is_ready(chosen),
    )  # fmt: skip


@router.get("/projects/{project_id}/runs/{run_id}/{document}")
def document(request: Request, project_id: str, run_id: str, document: str) -> Response:
    """A file of a run, to save."""
    state, project = state_of(request), project_of(request, project_id)
    run = run_of(request, project, run_id)
    if run is None:
        raise Unknown
    if document == "view":
        path = run_service.file_of(state, run, "report")
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    if document in export_service.TEXTS:
        text, name = export_service.text_of(state, run, document)
        return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})
    path = export_service.path_of(state, run, document)
    return FileResponse(path, filename=path.name)
