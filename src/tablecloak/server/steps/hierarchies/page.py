"""Hierarchies: wizard by kind, levels with counts, the tree and its editor, files in and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.datastructures import UploadFile

from tablecloak.errors import CloakError, DataError
from tablecloak.server.forms import KINDS
from tablecloak.server.shell import Sent, SentForm, back_to, failed, project_of, render, state_of
from tablecloak.server.steps.hierarchies import service as hierarchies_service
from tablecloak.server.steps.hierarchies.task import HierarchyView, TreeEdit
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project, Stale, TooLarge, Unknown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/hierarchies")
def hierarchies(request: Request, project_id: str, column: str = "", level: int = -1) -> Response:
    """How the values of a column become coarser."""
    return show(request, project_id, column, level=level)


def show(
    request: Request, project_id: str, column: str, *, level: int = -1, alert: Any = None, status: int = 200
) -> Response:
    """The page, perhaps with an alert."""
    state, project = state_of(request), project_of(request, project_id)
    policy = policy_service.policy_of(state, project)
    columns = hierarchies_service.columns_of(policy)
    column = column if column in columns else columns[0]
    try:
        view = hierarchies_service.look(state, project, column)
    except CloakError as error:
        view, alert = HierarchyView("text", 0), alert or failed(error)
    written: Any = policy.columns[column].hierarchy
    is_file = isinstance(policy.hierarchy_of(column), type(state.settings.directory))
    kind = "file" if is_file else getattr(written, "kind", "")
    n_levels = len(view.levels)
    return render(
        request, "hierarchies.html", project=project, step="hierarchies", alert=alert, status=status, policy=policy,
        columns=columns, column=column, view=view, kind=kind, kinds=hierarchies_service.fitting_kinds(view.type),
        fields=hierarchies_service.fields_by_kind(), words=KINDS, level=min(max(level, -1), n_levels - 1),
        values=written.model_dump(by_alias=True) if hasattr(written, "model_dump") else {},
        shared=[c for c in columns if c != column and policy.columns[c].hierarchy is not None],
    )  # fmt: skip


@router.post("/projects/{project_id}/hierarchies")
def change(request: Request, project_id: str, sent: Sent = SentForm) -> Response:
    """Choose, share, remove or edit."""
    state, project = state_of(request), project_of(request, project_id)
    column = sent.text("column")
    try:
        if column not in hierarchies_service.columns_of(policy_service.policy_of(state, project)):
            raise Unknown
        project = _changed(request, project, column, sent)
    except (CloakError, Stale) as error:
        return show(request, project_id, column, alert=failed(error), status=409 if isinstance(error, Stale) else 422)
    except TooLarge:
        return show(request, project_id, column, alert=failed(DataError("the file is too large")), status=413)
    return back_to(project, "hierarchies", "?" + urlencode({"column": column}))


def _changed(request: Request, project: Project, column: str, sent: Sent) -> Project:
    state, action = state_of(request), sent.text("action")
    if action == "file":
        file = sent.form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise DataError("no file was chosen", hint="CSV from leaf to root, parent: children, or JSON")
        return hierarchies_service.bring(state, project, column, file.file, file.filename, version=sent.version)
    if action in ("add", "rename", "move", "delete", "group"):
        edit = TreeEdit(
            action, sent.text("label"), sent.text("parent"), sent.text("new_label"), tuple(sent.all("members"))
        )
        return hierarchies_service.edit(state, project, column, edit, version=sent.version)
    if action == "share":
        policy = policy_service.policy_of(state, project)
        value = hierarchies_service.written_of(policy, sent.text("other"))
    else:
        value = None if action == "remove" else hierarchies_service.spec_of(sent.texts)
        if value is not None:
            hierarchies_service.look(state, project, column, value)  # says what is wrong before it is written
    edit_ = policy_service.set_column(column, "hierarchy", value)
    return policy_service.change(state, project, edit_, version=sent.version, note=f"hierarchy of {column}")


@router.get("/projects/{project_id}/hierarchies/file")
def file(request: Request, project_id: str, column: str, format: str = "csv") -> Response:  # noqa: A002
    """The hierarchy of a column to save."""
    state, project = state_of(request), project_of(request, project_id)
    if column not in hierarchies_service.columns_of(policy_service.policy_of(state, project)):
        raise Unknown
    path = hierarchies_service.download(state, project, column, format)
    return FileResponse(path, filename=path.name.removeprefix("download-"))
