"""Home: projects, ways to bring a table, help, administration."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from tablecloak.errors import CloakError, DataError
from tablecloak.release.certificate import versions
from tablecloak.server.forms import KINDS, ROLES
from tablecloak.server.shell import Sent, SentForm, failed, render, sessions_of, state_of
from tablecloak.server.state import ServerState
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.store import Dataset, Project, TooLarge

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request) -> Response:
    """All projects, newest first."""
    return show_home(request)


def show_home(request: Request, alert: dict[str, object] | None = None, status: int = 200) -> Response:
    """The page, perhaps with an alert."""
    state = state_of(request)
    shown = [
        {"project": p, "dataset": state.store.dataset(p.dataset), "runs": len(state.store.runs(p.id, "run"))}
        for p in state.store.projects()
    ]
    return render(request, "home.html", alert=alert, status=status, projects=shown, roots=state.settings.roots,
                  limit=state.settings.upload_limit_bytes, internet=sorted(state.remote.hosts),
                  kinds=load_service.KINDS)  # fmt: skip


@router.post("/open/upload")
def upload(request: Request, sent: Sent = SentForm) -> Response:
    """A project on an uploaded file."""
    file = sent.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return show_home(
            request, failed(DataError("no file was chosen", hint="choose one, or drop it on the page")), 422
        )
    name, source = file.filename, file.file
    return _opened(request, lambda state: home_service.receive(state, source, name), _of_kind(sent))


@router.post("/projects/{project_id}/again")
def again(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """A project on another table with the policy of this one."""
    state, file = state_of(request), sent.form.get("file")
    project = state.store.project(project_id)
    if not isinstance(file, UploadFile) or not file.filename:
        return show_home(request, failed(DataError("no file was chosen", hint="choose one")), 422)
    name, source = file.filename, file.file
    return _opened(
        request,
        lambda state: home_service.receive(state, source, name),
        lambda state, dataset: home_service.create_like(state, project, dataset),
    )


@router.post("/open/path")
def path(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a file of this machine or a table of a database."""
    source = sent.text("source").strip()
    return _opened(request, lambda state: home_service.open_source(state, source), _of_kind(sent))


@router.post("/open/database")
def database(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a table of a PostgreSQL server."""
    keys = {k: v for k in ("table", "password") if (v := sent.text(k).strip())}
    address, _, query = sent.text("uri").strip().partition("?")
    source = f"{address}?{query}&{urlencode(keys)}" if query else f"{address}?{urlencode(keys)}"
    return _opened(request, lambda state: home_service.open_source(state, source))


@router.get("/record")
def record(request: Request, source: str = "", token: str = "") -> Response:
    """The files of a record on Zenodo or a Dataverse server."""
    try:
        files = home_service.look_at_record(state_of(request), source, token or None)
    except CloakError as error:
        return show_home(request, failed(error), 422)
    return render(request, "record.html", record=files, source=source, token=token,
                  limit=state_of(request).settings.upload_limit_bytes)  # fmt: skip


@router.post("/open/record")
def open_record(request: Request, sent: Sent = SentForm) -> Response:
    """A project on a file of a record."""
    return _opened(
        request,
        lambda state: home_service.fetch_record(
            state, sent.text("source"), sent.text("file"), sent.text("token").strip() or None
        ),
    )


@router.post("/open/sample")
def sample(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A project on the made-up patients."""
    project = home_service.create_sample(state_of(request))
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)


@router.post("/open/sets")
def sample_of_sets(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A project on made-up shopping baskets."""
    project = home_service.create_sample(state_of(request), of_sets=True)
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)


@router.post("/projects/{project_id}/delete")
def delete(request: Request, project_id: str, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """Delete a project and its files now."""
    state = state_of(request)
    state.forget_project(state.store.project(project_id))
    return RedirectResponse("/", status_code=303)


def _of_kind(sent: Sent) -> Callable[[ServerState, Dataset], Project]:
    """How a project of the kind that a form asks for is made."""
    kind = sent.text("kind")
    return lambda state, dataset: home_service.create(state, dataset, kind if kind in load_service.ANY_KIND else "auto")


def _opened(
    request: Request,
    bring: Callable[[ServerState], Dataset],
    create: Callable[[ServerState, Dataset], Project] | None = None,
) -> Response:
    state = state_of(request)
    try:
        project = _created(state, bring(state), create or home_service.create)
    except TooLarge:
        limit = state.settings.upload_limit_bytes
        return show_home(request, failed(DataError(f"the file is larger than {limit:,} bytes")), 413)
    except CloakError as error:
        return show_home(request, failed(error), 422)
    return RedirectResponse(f"/projects/{project.id}/load", status_code=303)


def _created(state: ServerState, dataset: Dataset, create: Callable[[ServerState, Dataset], Project]) -> Project:
    """A project on a dataset that nobody else has; without the one, the other goes, too."""
    try:
        return create(state, dataset)
    except BaseException:
        state.forget_dataset(dataset.id)
        raise


@router.get("/help")
def help_page(request: Request) -> Response:
    """Words and steps explained."""
    return render(request, "help.html", roles=ROLES, kinds=KINDS)


@router.get("/admin")
def admin(request: Request) -> Response:
    """Storage, retention, workers, versions."""
    return show_admin(request)


def show_admin(request: Request, link: str | None = None) -> Response:
    """The page, perhaps with a new link."""
    state = state_of(request)
    shown = [
        {"project": p, "n_bytes": state.files.n_bytes(state.files.project(p.id)),
         "runs": len(state.store.runs(p.id))}
        for p in state.store.projects()
    ]  # fmt: skip
    return render(
        request, "admin.html", settings=state.settings, used=state.files.n_bytes(), projects=shown,
        open_runs=state.store.open_runs(), versions=versions(), link=link,
    )  # fmt: skip


@router.post("/admin/delete")
def delete_all(request: Request, sent: Sent = SentForm) -> Response:
    """Delete everything now."""
    if sent.text("sure") == "yes":
        state_of(request).forget_everything()
    return RedirectResponse("/admin", status_code=303)


@router.post("/admin/link")
def new_link(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """A link for another browser; it works once."""
    port = state_of(request).settings.port
    return show_admin(request, link=f"http://127.0.0.1:{port}/?token={sessions_of(request).new_token()}")


@router.post("/admin/logout")
def logout(request: Request, sent: Sent = SentForm) -> Response:  # noqa: ARG001
    """Close all sessions."""
    state_of(request).store.forget_sessions()
    return RedirectResponse("/", status_code=303)
