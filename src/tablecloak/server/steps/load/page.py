"""Load: how the file is read, what kind of dataset it is, types of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from tablecloak.data.table import ColumnType
from tablecloak.server.shell import AtProject, ProjectVisit, Sent, SentForm, render, tried
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project

router = APIRouter(include_in_schema=False)
PAGE_ROWS = 10


@router.get("/projects/{project_id}/load")
def load(at: AtProject, page: int = 1, values: bool = False) -> Response:
    """How the file is read, and the first rows."""
    state, project = at.state, at.project
    profile = load_service.project_profile(state, project)
    policy = policy_service.policy_of(state, project)
    return render(
        at, "load.html", step="load", profile=profile, policy=policy, types=[str(t) for t in ColumnType],
        dates=load_service.DATES, decimals=load_service.DECIMALS,
        left_out=load_service.left_out_beside_sets(policy, profile),
        table=load_service.page_of(state, project, page, PAGE_ROWS, values=values), kinds=load_service.KINDS,
        about=load_service.kind_form(policy, profile), values=values,
        lines=load_service.lines_of(state, project) if values else [], engine=load_service.engine_of(state, profile),
    )  # fmt: skip


@router.post("/projects/{project_id}/load")
def read_again(sent: SentForm, at: AtProject) -> Response:
    """Read the file in another way."""
    options: dict[str, Any] = {k: v for k in ("delimiter", "encoding") if (v := sent.text(k))}
    if sent.text("other_delimiter"):
        options["delimiter"] = sent.text("other_delimiter")
    if options.get("delimiter") == "tab":
        options["delimiter"] = "\t"
    if sent.text("header"):
        options["header"] = sent.text("header") == "yes"
    if sent.text("names") == "repaired":
        options["repair"] = True
        if sent.text("encoding") == sent.text("found_encoding"):
            options.pop("encoding", None)  # found out without the mark at its beginning
    return _read(at, sent, lambda: load_service.reload(at.state, at.project, options, version=sent.version))


@router.post("/projects/{project_id}/columns")
def columns(sent: SentForm, at: AtProject) -> Response:
    """Types of columns, and which of them are read at all."""
    read = set(sent.all("read"))

    def do() -> Project:
        return load_service.change_columns(at.state, at.project, sent.texts, read, version=sent.version)

    return tried(at, do, page=load, then="load", query=f"?{at.request.url.query}" if at.request.url.query else "")


@router.post("/projects/{project_id}/kind")
def set_kind(sent: SentForm, at: AtProject) -> Response:
    """Read the dataset as another type."""
    kind, form = sent.text("kind"), sent.texts
    return _read(at, sent, lambda: load_service.set_kind(at.state, at.project, kind, form, version=sent.version))


def _read(at: ProjectVisit, sent: Sent, read: Callable[[], Project]) -> Response:
    return tried(at, read, page=load, then="load", query="?values=true" if sent.text("values") == "true" else "")
