"""Export: everything that can be taken along."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import FileResponse, PlainTextResponse, Response

from tablecloak.server.security import REPORT_POLICY
from tablecloak.server.shell import AtProject, render
from tablecloak.server.steps.export import service as export_service
from tablecloak.server.steps.ready import service as ready_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Unknown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/export")
def export(at: AtProject, run: str | None = None) -> Response:
    """Everything that can be taken along."""
    chosen = at.chosen_run(run)
    if chosen is None:
        return render(at, "locked.html", step="export")
    return render(
        at, "export.html", step="export", run=chosen, chosen=chosen, is_ready=ready_service.is_ready(chosen),
        files=export_service.files_of(at.state, chosen), formats=export_service.formats_of(at.state, chosen),
        script=export_service.script(at.state, chosen), earlier=export_service.earlier(at.state, chosen),
        has_images=export_service.has_images(at.state, chosen),
    )  # fmt: skip


@router.get("/projects/{project_id}/runs/{run_id}/{document}")
def document(at: AtProject, run_id: str, document: str) -> Response:
    """A file of a run, to save."""
    run = at.run(run_id)
    if run is None:
        raise Unknown
    if document == "view":
        path = run_service.file_of(at.state, run, "report")
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    if document in export_service.TEXTS:
        text, name = export_service.text_of(at.state, run, document)
        return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})
    path = export_service.path_of(at.state, run, document)
    return FileResponse(path, filename=path.name)
