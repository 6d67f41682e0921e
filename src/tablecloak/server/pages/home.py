"""Home: projects, the sample, ways to bring a table."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from tablecloak.errors import CloakError, DataError
from tablecloak.server.files import TooLarge
from tablecloak.server.pages.shell import Sent, SentForm, failed, render, workshop_of
from tablecloak.server.services import datasets, kinds, projects, records
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Dataset, Project

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request) -> Response:
    """All projects, newest first."""
    return show_home(request)


def show_home(request: Request, alert: dict[str, object] | None = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    workshop = workshop_of(request)
    shown = [
        {"project": p, "dataset": workshop.store.dataset(p.dataset), "runs": len(workshop.store.runs(p.id, "run"))}
        for p in workshop.store.projects()
    ]
    return render(request, "home.html", alert=alert, status=status, projects=shown, roots=workshop.settings.roots,
                  limit=workshop.settings.upload_limit_bytes, internet=sorted(workshop.remote.hosts),
                  kinds=kinds.KINDS)  # fmt: skip


@router.post("/open/upload")
def upload(request: Request, sent: Sent = SentForm) -> Response:
    """A project on an uploaded file."""
    file = sent.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return show_home(
            request, failed(DataError("no file was chosen", hint="choose one, or drop it on the page")), 422
        )
    name, source = file.filename, file.file
    return _opened(request, lambda workshop: datasets.receive(workshop, source, name), _of_kind(sent))


@router.post("/projects/{project_id}/again")
def again(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """A project on another table with the policy of this one."""
    workshop, file = workshop_of(request), sent.form.get("file")
    project = workshop.store.project(project_id)
    if not isinstance(file, UploadFile) or not file.filename:
        return show_home(request, failed(DataError("no file was chosen", hint="choose one")), 422)
    name, source = file.filename, file.file
    return _opened(
        request,
        lambda workshop: datasets.receive(workshop, source, name),
        lambda workshop, dataset: projects.create_like(workshop, project, dataset),
    )


@router.post("/open/path")
def path(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a file of this machine or a table of a database."""
    source = sent.text("source").strip()
    return _opened(request, lambda workshop: datasets.open_source(workshop, source), _of_kind(sent))


@router.post("/open/database")
def database(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a table of a PostgreSQL server."""
    keys = {k: v for k in ("table", "password") if (v := sent.text(k).strip())}
    address, _, said = sent.text("uri").strip().partition("?")
    source = f"{address}?{said}&{urlencode(keys)}" if said else f"{address}?{urlencode(keys)}"
    return _opened(request, lambda workshop: datasets.open_source(workshop, source))


@router.get("/record")
def record(request: Request, source: str = "", token: str = "") -> Response:
    """The files of a record on Zenodo or a Dataverse server."""
    try:
        found = records.look(workshop_of(request), source, token or None)
    except CloakError as error:
        return show_home(request, failed(error), 422)
    return render(request, "record.html", record=found, source=source, token=token,
                  limit=workshop_of(request).settings.upload_limit_bytes)  # fmt: skip


@router.post("/open/record")
def open_record(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a file of a record."""
    return _opened(
        request,
        lambda workshop: records.fetch(
            workshop, sent.text("source"), sent.text("file"), sent.text("token").strip() or None
        ),
    )


@router.post("/open/sample")
def sample(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A project on the made-up patients."""
    project = projects.create_sample(workshop_of(request))
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)


@router.post("/projects/{project_id}/delete")
def delete(request: Request, project_id: str, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """Delete a project and its files now."""
    workshop = workshop_of(request)
    workshop.forget_project(workshop.store.project(project_id))
    return RedirectResponse("/", status_code=303)


def _of_kind(sent: Sent) -> Callable[[Workshop, Dataset], Project]:
    """How a project of the kind that a form asks for is made."""
    kind = sent.text("kind")
    return lambda workshop, dataset: kinds.create(workshop, dataset, kind if kind in kinds.KNOWN else "auto")


def _opened(
    request: Request, bring: Callable[[Workshop], Dataset], create: Callable[[Workshop, Dataset], Project] | None = None
) -> Response:
    workshop = workshop_of(request)
    try:
        project = _created(workshop, bring(workshop), create or kinds.create)
    except TooLarge:
        limit = workshop.settings.upload_limit_bytes
        return show_home(request, failed(DataError(f"the file is larger than {limit:,} bytes")), 413)
    except CloakError as error:
        return show_home(request, failed(error), 422)
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)


def _created(workshop: Workshop, dataset: Dataset, create: Callable[[Workshop, Dataset], Project]) -> Project:
    """A project on a dataset that nobody else has; without the one, the other goes, too."""
    try:
        return create(workshop, dataset)
    except BaseException:
        workshop.forget_dataset(dataset.id)
        raise
