"""The last steps: run, compare, export, and the lattice."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response

from tablecloak.errors import CloakError
from tablecloak.server.pages.shell import (
    Sent,
    SentForm,
    back_to,
    chosen_run,
    failed,
    latest_of,
    project_of,
    render,
    workshop_of,
)
from tablecloak.server.security import REPORT_POLICY
from tablecloak.server.services import exports, projects, results, runs
from tablecloak.server.store import Project, Run, Stale, Unknown

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10


@router.get("/projects/{project_id}/run")
def run_page(request: Request, project_id: str) -> Response:
    """The newest run, live, and the earlier ones."""
    return show_run(request, project_id)


def show_run(request: Request, project_id: str, *, alert: Any = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    newest = latest_of(workshop, project, "run")
    return render(
        request, "run.html", project=project, step="run", alert=alert, status=status, newest=newest,
        phases=results.phases(workshop, newest) if newest else [], history=results.history(workshop, project),
        losses=results.losses(workshop, newest) if newest else [], error=results.error_of(newest),
        left=workshop.files.left_of(project.id, newest.id) if newest and not newest.is_open else [],
        log=results.log(workshop, newest) if newest and not newest.is_open else [],
        is_stopping=newest is not None and results.is_stopping(workshop, newest),
    )  # fmt: skip


@router.post("/projects/{project_id}/run")
def start(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Start, stop, cancel or resume."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    action, run = sent.text("action", "start"), _run(request, project, sent.text("run"))
    try:
        if action == "start":
            runs.begin(workshop, project)
        elif run is not None and action == "cancel":
            workshop.jobs.cancel(run.id)
        elif run is not None and action == "stop":
            workshop.jobs.stop(run.id)
        elif run is not None and action == "resume":
            runs.resume(workshop, run)
    except CloakError as error:
        return show_run(request, project_id, alert=failed(error), status=422)
    return back_to(project, "run")


def _run(request: Request, project: Project, id_: str) -> Run | None:
    try:
        run = workshop_of(request).store.run(id_)
    except Unknown:
        return None
    return run if run.project == project.id else None


@router.get("/projects/{project_id}/compare")
def compare(
    request: Request,
    project_id: str,
    run: str | None = None,
    page: int = 1,
    values: bool = False,
    beside: str = "",
    pair: int = 0,
) -> Response:
    """All runs, and one of them in detail, perhaps beside another."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = chosen_run(workshop, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="compare")
    points = results.points(workshop, project)
    metrics = results.metrics(workshop, chosen)
    other = _run(request, project, beside)
    is_other = other is not None and other.status == "done" and other.id != chosen.id
    return render(
        request, "compare.html", project=project, step="compare", run=chosen, chosen=chosen,
        points=points, parts=runs.parts_of_report(workshop, chosen), numbers={p["id"]: p["number"] for p in points},
        other=other if is_other else None, others=runs.parts_of_report(workshop, other) if other and is_other else {},
        rows=results.side_by_side(points, workshop.store.runs(project.id, "run")),
        verdicts=results.verdicts(chosen), attackers=results.attackers(chosen), values=values,
        table=results.beside_page(workshop, chosen, page, PAGE_ROWS, values=values),
        metrics=metrics, pair=results.pair_of(metrics, pair),
    )  # fmt: skip


@router.get("/projects/{project_id}/ready")
def ready(request: Request, project_id: str, run: str | None = None) -> Response:
    """Whether the release can be handed over, and what to do where it cannot."""
    return show_ready(request, project_id, run=run)


def show_ready(
    request: Request, project_id: str, *, run: str | None = None, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = chosen_run(workshop, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="ready")
    return render(
        request, "ready.html", project=project, step="ready", run=chosen, chosen=chosen, alert=alert, status=status,
        findings=results.findings(chosen), is_ready=results.is_ready(chosen), verdicts=results.verdicts(chosen),
        is_current=chosen.policy == project.policy, attackers=results.attackers(chosen),
    )  # fmt: skip


@router.post("/projects/{project_id}/ready")
def settle(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """End a finding by its fix, or accept it with a reason; the next run publishes by that."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = _run(request, project, sent.text("run"))
    if chosen is None or chosen.status != "done":
        return back_to(project, "ready")
    at = sent.number("finding", -1)
    try:
        is_fix = sent.text("action") == "fix"
        edit, note = results.fix_edit(chosen, at) if is_fix else results.reason_edit(chosen, at, sent.text("because"))
        projects.change(workshop, project, edit, version=sent.version, note=note)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return show_ready(request, project_id, run=chosen.id, alert=failed(error), status=status)
    return back_to(project, "ready")


@router.get("/projects/{project_id}/export")
def export(request: Request, project_id: str, run: str | None = None) -> Response:
    """Everything that can be taken along."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    chosen = chosen_run(workshop, project, run)
    if chosen is None:
        return render(request, "locked.html", project=project, step="export")
    return render(
        request, "export.html", project=project, step="export", run=chosen, chosen=chosen,
        files=exports.files_of(workshop, chosen), formats=exports.formats_of(workshop, chosen),
        script=exports.script(workshop, chosen), earlier=exports.earlier(workshop, chosen),
        has_images=exports.has_images(workshop, chosen), is_ready=results.is_ready(chosen),
    )  # fmt: skip


@router.get("/projects/{project_id}/runs/{run_id}/{document}")
def document(request: Request, project_id: str, run_id: str, document: str) -> Response:
    """A file of a run, to save."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    run = _run(request, project, run_id)
    if run is None:
        raise Unknown
    if document == "view":
        path = runs.file_of(workshop, run, "report")
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    if document in exports.TEXTS:
        text, name = exports.text_of(workshop, run, document)
        return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})
    path = exports.path_of(workshop, run, document)
    return FileResponse(path, filename=path.name)
