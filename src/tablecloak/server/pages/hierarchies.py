"""Hierarchies: wizard by kind, levels with counts, the tree and its editor, files in and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.datastructures import UploadFile

from tablecloak.errors import CloakError, DataError
from tablecloak.server import drafts
from tablecloak.server.files import TooLarge
from tablecloak.server.pages.shell import Sent, SentForm, back_to, failed, project_of, render, workshop_of
from tablecloak.server.services import projects, trees
from tablecloak.server.store import Project, Stale, Unknown
from tablecloak.server.words import KINDS

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/hierarchies")
def hierarchies(request: Request, project_id: str, column: str = "", level: int = -1) -> Response:
    """How the values of a column become coarser."""
    return show(request, project_id, column, level=level)


def show(
    request: Request, project_id: str, column: str, *, level: int = -1, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    policy = projects.policy_of(workshop, project)
    columns = trees.columns_of(policy)
    column = column if column in columns else columns[0]
    try:
        found = trees.look(workshop, project, column)
    except CloakError as error:
        found, alert = _nothing(), alert or failed(error)
    written: Any = policy.columns[column].hierarchy
    is_file = isinstance(policy.hierarchy_of(column), type(workshop.settings.directory))
    kind = "file" if is_file else getattr(written, "kind", "")
    n_levels = len(found["levels"])
    return render(
        request, "hierarchies.html", project=project, step="hierarchies", alert=alert, status=status, policy=policy,
        columns=columns, column=column, found=found, kind=kind, kinds=trees.fitting_kinds(found["type"]),
        fields=trees.fields_by_kind(), words=KINDS, level=min(max(level, -1), n_levels - 1),
        values=written.model_dump(by_alias=True) if hasattr(written, "model_dump") else {},
        shared=[c for c in columns if c != column and policy.columns[c].hierarchy is not None],
    )  # fmt: skip


def _nothing() -> dict[str, Any]:
    return {"type": "text", "distinct": 0, "levels": [], "tree": None, "problems": [], "kind": None}


@router.post("/projects/{project_id}/hierarchies")
def change(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Choose, share, remove or edit."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    column = sent.text("column")
    try:
        if column not in trees.columns_of(projects.policy_of(workshop, project)):
            raise Unknown
        project = _changed(request, project, column, sent)
    except (CloakError, Stale) as error:
        return show(request, project_id, column, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    except TooLarge:
        return show(request, project_id, column, alert=failed(DataError("the file is too large")), status=413)
    return back_to(project, "hierarchies", "?" + urlencode({"column": column}))


def _changed(request: Request, project: Project, column: str, sent: Sent) -> Project:
    workshop, action = workshop_of(request), sent.text("action")
    if action == "file":
        file = sent.form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise DataError("no file was chosen", hint="CSV from leaf to root, parent: children, or JSON")
        return trees.bring(workshop, project, column, file.file, file.filename, version=sent.version)
    if action in ("add", "rename", "move", "delete", "group"):
        edit: dict[str, Any] = {"action": action, "label": sent.text("label"), "parent": sent.text("parent"),
                                "new_label": sent.text("new_label"), "members": sent.all("members")}  # fmt: skip
        return trees.edit(workshop, project, column, edit, version=sent.version)[0]
    if action == "share":
        policy = projects.policy_of(workshop, project)
        value = trees.written_of(policy, sent.text("other"))
    else:
        value = None if action == "remove" else trees.spec_of(sent.texts)
        if value is not None:
            trees.look(workshop, project, column, value)  # says what is wrong before it is written
    edit_ = drafts.set_column(column, "hierarchy", value)
    return projects.change(workshop, project, edit_, version=sent.version, note=f"hierarchy of {column}")


@router.get("/projects/{project_id}/hierarchies/file")
def file(request: Request, project_id: str, column: str, format: str = "csv") -> Response:  # noqa: A002
    """The hierarchy of a column to save."""
    workshop, project = workshop_of(request), project_of(request, project_id)
    if column not in trees.columns_of(projects.policy_of(workshop, project)):
        raise Unknown
    path = trees.download(workshop, project, column, format)
    return FileResponse(path, filename=path.name.removeprefix("download-"))
