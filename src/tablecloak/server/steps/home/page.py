"""Home: projects, ways to bring a table, help, administration."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from tablecloak.errors import CloakError
from tablecloak.release.certificate import versions
from tablecloak.server.forms import KINDS, ROLES
from tablecloak.server.shell import At, AtProject, Sent, SentForm, Visit, render, sessions_of, tried
from tablecloak.server.state import ServerState
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.store import Dataset, Project

router = APIRouter(include_in_schema=False)
Bring = Callable[[ServerState], Dataset]
Create = Callable[[ServerState, Dataset], Project]


@router.get("/")
def home(at: At) -> Response:
    """All projects, newest first."""
    settings = at.state.settings
    return render(at, "home.html", projects=home_service.listed(at.state, "run"), roots=settings.roots,
                  limit=settings.upload_limit_bytes, internet=sorted(at.state.remote.hosts),
                  kinds=load_service.KINDS)  # fmt: skip


@router.post("/open/upload")
def upload(sent: SentForm, at: At) -> Response:
    """A project on an uploaded file."""
    hint = "choose one, or drop it on the page"
    return _opened(at, lambda state: home_service.receive(state, *sent.file(hint)), _of_kind(sent))


@router.post("/projects/{project_id}/again")
def again(sent: SentForm, at: AtProject) -> Response:
    """A project on another table with the policy of this one."""
    return _opened(
        Visit(request=at.request),
        lambda state: home_service.receive(state, *sent.file("choose one")),
        lambda state, dataset: home_service.create_like(state, at.project, dataset),
    )


@router.post("/open/path")
def path(sent: SentForm, at: At) -> Response:
    """A project on a file of this machine or a table of a database."""
    return _opened(at, lambda state: home_service.open_source(state, sent.text("source").strip()), _of_kind(sent))


@router.post("/open/database")
def database(sent: SentForm, at: At) -> Response:
    """A project on a table of a PostgreSQL server."""
    keys = {k: v for k in ("table", "password") if (v := sent.text(k).strip())}
    address, _, query = sent.text("uri").strip().partition("?")
    source = f"{address}?{query}&{urlencode(keys)}" if query else f"{address}?{urlencode(keys)}"
    return _opened(at, lambda state: home_service.open_source(state, source))


@router.get("/record")
def record(at: At, source: str = "", token: str = "") -> Response:
    """The files of a record on Zenodo or a Dataverse server."""
    try:
        files = home_service.look_at_record(at.state, source, token or None)
    except CloakError as error:
        return home(at.refused(error))
    limit = at.state.settings.upload_limit_bytes
    return render(at, "record.html", record=files, source=source, token=token, limit=limit)


@router.post("/open/record")
def open_record(sent: SentForm, at: At) -> Response:
    """A project on a file of a record."""
    source, file, token = (sent.text(name) for name in ("source", "file", "token"))
    return _opened(at, lambda state: home_service.fetch_record(state, source, file, token.strip() or None))


@router.post("/open/sample")
def sample(sent: SentForm, at: At) -> Response:  # noqa: ARG001
    """A project on the made-up patients."""
    return tried(at, lambda: home_service.create_sample(at.state), page=home, then="load")


@router.post("/open/sets")
def sample_of_sets(sent: SentForm, at: At) -> Response:  # noqa: ARG001
    """A project on made-up shopping baskets."""
    return tried(at, lambda: home_service.create_sample(at.state, of_sets=True), page=home, then="load")


@router.post("/projects/{project_id}/delete")
def delete(sent: SentForm, at: AtProject) -> Response:  # noqa: ARG001
    """Delete a project and its files now."""
    at.state.forget_project(at.project)
    return RedirectResponse("/", status_code=303)


def _of_kind(sent: Sent) -> Create:
    """How a project of the kind that a form asks for is made."""
    kind = sent.text("kind")
    return lambda state, dataset: home_service.create(state, dataset, kind if kind in load_service.ANY_KIND else "auto")


def _opened(at: Visit, bring: Bring, create: Create = home_service.create) -> Response:
    """Make a project on a dataset that nobody else has; without the one, the other goes, too."""

    def do() -> Project:
        dataset = bring(at.state)
        try:
            return create(at.state, dataset)
        except BaseException:
            at.state.forget_dataset(dataset.id)
            raise

    return tried(at, do, page=home, then="load")


@router.get("/help")
def help_page(at: At) -> Response:
    """Words and steps explained."""
    return render(at, "help.html", roles=ROLES, kinds=KINDS)


@router.get("/admin")
def admin(at: At) -> Response:
    """Storage, retention, workers, versions."""
    return _show_admin(at)


def _show_admin(at: Visit, link: str | None = None) -> Response:
    state = at.state
    projects = home_service.listed(state)
    return render(
        at, "admin.html", settings=state.settings, used=state.files.n_bytes(), projects=projects,
        sizes={p.project.id: state.files.n_bytes(state.files.project(p.project.id)) for p in projects},
        open_runs=state.store.open_runs(), versions=versions(), link=link,
    )  # fmt: skip


@router.post("/admin/delete")
def delete_all(sent: SentForm, at: At) -> Response:
    """Delete everything now."""
    if sent.text("sure") == "yes":
        at.state.forget_everything()
    return RedirectResponse("/admin", status_code=303)


@router.post("/admin/link")
def new_link(sent: SentForm, at: At) -> Response:  # noqa: ARG001
    """A link for another browser; it works once."""
    port, token = at.state.settings.port, sessions_of(at.request).new_token()
    return _show_admin(at, link=f"http://127.0.0.1:{port}/?token={token}")


@router.post("/admin/logout")
def logout(sent: SentForm, at: At) -> Response:  # noqa: ARG001
    """Close all sessions."""
    at.state.store.forget_sessions()
    return RedirectResponse("/", status_code=303)
