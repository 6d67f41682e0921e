"""Hierarchies: wizard by kind, levels with counts, the tree and its editor, files in and out."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from tablecloak.errors import CloakError
from tablecloak.hierarchy.kinds.base import HierarchySpec
from tablecloak.server.forms import KINDS
from tablecloak.server.shell import AtProject, ProjectVisit, Sent, SentForm, render, tried
from tablecloak.server.steps.hierarchies import service as hierarchies_service
from tablecloak.server.steps.hierarchies.task import HierarchyView, TreeEdit
from tablecloak.server.steps.hierarchies.tree_picture import tree_picture
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project, Unknown

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project_id}/hierarchies")
def hierarchies(at: AtProject, column: str = "", level: int = -1) -> Response:
    """How the values of a column become coarser."""
    policy = policy_service.policy_of(at.state, at.project)
    columns = hierarchies_service.columns_of(policy)
    column = column if column in columns else columns[0]
    try:
        view = hierarchies_service.look(at.state, at.project, column)
    except CloakError as error:
        view, at = HierarchyView("text", 0), at.warned(error)
    written = policy.columns[column].hierarchy
    spec = written if isinstance(written, HierarchySpec) else None
    return render(
        at, "hierarchies.html", step="hierarchies", policy=policy, columns=columns, column=column, view=view,
        kind=hierarchies_service.kind_of(policy, column),
        kinds=hierarchies_service.fitting_kinds(view.type), fields=hierarchies_service.fields_by_kind(), words=KINDS,
        level=min(max(level, -1), len(view.levels) - 1), picture=tree_picture(view.tree) if view.tree else None,
        values=spec.model_dump(by_alias=True) if spec else {},
        every=hierarchies_service.overview(at.state, at.project),
        shared=[c for c in columns if c != column and policy.columns[c].hierarchy is not None],
    )  # fmt: skip


@router.post("/projects/{project_id}/hierarchies")
def change(sent: SentForm, at: AtProject) -> Response:
    """Choose, share, remove or edit."""
    column = _known(at, sent.text("column"))
    query = "?" + urlencode({"column": column})
    return tried(at, lambda: _changed(at, sent, column), hierarchies, "hierarchies", query, column=column)


def _known(at: ProjectVisit, column: str) -> str:
    """A column that can have a hierarchy."""
    if column not in hierarchies_service.columns_of(policy_service.policy_of(at.state, at.project)):
        raise Unknown
    return column


def _changed(at: ProjectVisit, sent: Sent, column: str) -> Project:
    state, project, action = at.state, at.project, sent.text("action")
    if action == "file":
        file, name = sent.file("CSV from leaf to root, parent: children, or JSON")
        return hierarchies_service.bring(state, project, column, file, name, version=sent.version)
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
    return hierarchies_service.choose(state, project, column, value, version=sent.version)


@router.post("/projects/{project_id}/hierarchies/all")
def change_all(sent: SentForm, at: AtProject) -> Response:
    """Hierarchies of all columns at once, by kinds or by files."""

    def do() -> Project:
        if sent.text("action") == "files":
            files = sent.files("hierarchy files whose names end with the name of a column")
            return hierarchies_service.bring_all(at.state, at.project, files, version=sent.version)
        kinds = {key.removeprefix("kind:"): kind for key, kind in sent.texts.items() if key.startswith("kind:")}
        return hierarchies_service.choose_all(at.state, at.project, kinds, version=sent.version)

    return tried(at, do, hierarchies, "hierarchies")


@router.get("/projects/{project_id}/hierarchies/file")
def file(at: AtProject, column: str, format: str = "csv") -> Response:  # noqa: A002
    """The hierarchy of a column to save."""
    path = hierarchies_service.download(at.state, at.project, _known(at, column), format)
    return FileResponse(path, filename=path.name.removeprefix("download-"))
