"""Hierarchies of a project: what they look like, how they are chosen, edited, brought and taken along."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from tablecloak import registry
from tablecloak.data.table import Role
from tablecloak.errors import CloakError, DataError
from tablecloak.hierarchy.kinds.base import HierarchySpec
from tablecloak.policy.schema import Policy
from tablecloak.server.forms import Field, fields_of, settings_from
from tablecloak.server.security import HIERARCHY_LIMIT
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.hierarchies import task as hierarchies_task
from tablecloak.server.steps.hierarchies.task import ColumnRequest, EditRequest, HierarchyView, SaveRequest, TreeEdit
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project, TooLarge, safe_name

FOLDER = "hierarchies"
MOST_BYTES = HIERARCHY_LIMIT
USUAL = {"width": 10, "groups": 10}  # where nobody knows a better one
UploadedFile: TypeAlias = tuple[BinaryIO, str]  # content and name


def columns_of(policy: Policy) -> list[str]:
    """Columns that can have a hierarchy: sets of items, quasi-identifiers, then sensitive ones."""
    return [name for role in (Role.ITEMS, Role.QUASI, Role.SENSITIVE) for name in policy.columns_with(role)]


def look(state: ServerState, project: Project, column: str, spec: Mapping[str, Any] | None = None) -> HierarchyView:
    """Levels and tree of a column's hierarchy, or of one that parameters would build."""
    policy = policy_service.policy_of(state, project)
    chosen = repr(spec or policy.hierarchy_of(column))
    spec_of_column = policy.columns[column]
    read = repr((spec_of_column.type, spec_of_column.role, spec_of_column.separator))
    key = key_of("hierarchy", column, chosen, repr(policy.input), read)
    request = ColumnRequest(state.table_of(project), column, dict(spec) if spec else None)
    return state.ask_once(StoredAnswer(HierarchyView, project.id, key), hierarchies_task.view_hierarchy, request)


def fitting_kinds(type_: str) -> list[str]:
    """Kinds of hierarchy that a column of a type can have."""
    return [kind for kind, spec in registry.known("hierarchies").items() if type_ in spec.offered]


def fields_by_kind() -> dict[str, list[Field]]:
    """The inputs of every kind."""
    return {kind: fields_of(spec) for kind, spec in registry.known("hierarchies").items()}


def spec_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that a form describes; a width is needed where nobody knows a better one."""
    kind = form.get("kind", "")
    return {"kind": kind, **settings_from(form, fields_by_kind().get(kind, []), prefix=f"{kind}:")}


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """A column in the list of all, and how its values become coarser."""

    name: str
    type: str
    distinct: int
    kind: str  # now; empty: none
    suggested: str
    fitting: tuple[str, ...]


def overview(state: ServerState, project: Project) -> list[ColumnKind]:
    """Every column that can have a hierarchy, with what it has and what fits it; nothing is read for that."""
    policy = policy_service.policy_of(state, project)
    known = {column.name: column for column in load_service.project_profile(state, project).columns}
    listed = []
    for name in columns_of(policy):
        type_ = str(policy.columns[name].type or (known[name].type if name in known else "text"))
        fitting = fitting_kinds(type_)
        distinct = known[name].distinct if name in known else 0
        listed.append(ColumnKind(name, type_, distinct, kind_of(policy, name), _suggested(fitting), tuple(fitting)))
    return listed


def kind_of(policy: Policy, column: str) -> str:
    """How a column's values become coarser now; empty where it has no hierarchy."""
    written = policy.columns[column].hierarchy
    if written is None:
        return ""
    return written.name if isinstance(written, HierarchySpec) else "file"


def _suggested(fitting: Sequence[str]) -> str:
    """The kind that needs no parameters and fits every value."""
    return next((kind for kind in ("dates", "auto") if kind in fitting), fitting[0] if fitting else "")


def choose_all(state: ServerState, project: Project, kinds: Mapping[str, str], *, version: int) -> Project:
    """Give every listed column a hierarchy of a kind with its usual parameters, or none, in one step."""
    policy = policy_service.policy_of(state, project)
    chosen: dict[str, Any] = {}
    for name in columns_of(policy):
        kind = kinds.get(name)
        if kind is None or kind == kind_of(policy, name):
            continue
        if not kind:
            chosen[name] = None
            continue
        chosen[name] = _usual(kind)
        try:
            look(state, project, name, chosen[name])  # says what is wrong before it is written
        except CloakError as error:
            raise DataError(f"{name}: {error.message}", hint=error.hint) from None
    return _choose_many(state, project, chosen, version=version)


def _usual(kind: str) -> dict[str, Any]:
    """A kind with a value for everything that it must be told."""
    fields = fields_by_kind().get(kind, [])
    return {"kind": kind, **{f.name: USUAL[f.name] for f in fields if f.is_required and f.name in USUAL}}


def bring_all(state: ServerState, project: Project, files: Sequence[UploadedFile], *, version: int) -> Project:
    """Take many hierarchy files at once: each goes to the column whose name its own ends with."""
    policy = policy_service.policy_of(state, project)
    columns = columns_of(policy)
    chosen: dict[str, Any] = {}
    for file, name in files:
        column = column_of_file(name, columns)
        if column is None:
            raise DataError(
                f"the file '{name}' names no column", hint=f"end its name with one of {', '.join(columns[:8])}"
            )
        chosen[column] = _received(state, project, column, file, name)
    return _choose_many(state, project, chosen, version=version)


def column_of_file(name: str, columns: Sequence[str]) -> str | None:
    """The column that a hierarchy file is for: the longest whose name the file's ends with.

    >>> column_of_file("adult_hierarchy_marital-status.csv", ["status", "marital-status"])
    'marital-status'
    """
    stem = Path(name).stem.lower()
    fitting = [c for c in columns if stem == c.lower() or stem.endswith(("_" + c.lower(), "-" + c.lower()))]
    return max(fitting, key=len, default=None)


def _choose_many(state: ServerState, project: Project, chosen: Mapping[str, Any], *, version: int) -> Project:
    def edit_(document: policy_service.Document) -> None:
        for name, value in chosen.items():
            policy_service.set_column(name, "hierarchy", value)(document)

    note = f"hierarchies of {len(chosen)} columns" if len(chosen) != 1 else f"hierarchy of {next(iter(chosen))}"
    return policy_service.change(state, project, edit_, version=version, note=note)


def written_of(policy: Policy, column: str) -> Any:
    """The hierarchy of a column as its policy writes it, for another column to have the same."""
    written: Any = policy.columns[column].hierarchy if column in policy.columns else None
    if not hasattr(written, "model_dump"):
        return written
    return {"kind": written.name, **written.model_dump(by_alias=True, exclude_defaults=True)}


def _new_file(state: ServerState, project: Project, column: str) -> tuple[Path, str]:
    """A file of its own for every change, so that undo finds the one before."""
    folder = state.files.project(project.id) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{safe_name(column)[:40]}.{secrets.token_hex(3)}.csv"
    return folder / name, f"{FOLDER}/{name}"


def choose(state: ServerState, project: Project, column: str, value: Any, *, version: int, note: str = "") -> Project:
    """Give a column a hierarchy: parameters, a file of the project, or None."""
    edit_ = policy_service.set_column(column, "hierarchy", value)
    return policy_service.change(state, project, edit_, version=version, note=note or f"hierarchy of {column}")


def edit(state: ServerState, project: Project, column: str, change: TreeEdit, *, version: int) -> Project:
    """Change one node of a column's tree."""
    target, named = _new_file(state, project, column)
    request = EditRequest(ColumnRequest(state.table_of(project), column), change, target)
    state.ask(hierarchies_task.edit_hierarchy, request)
    return choose(state, project, column, named, version=version, note=f"{change.action} in {column}")


def bring(state: ServerState, project: Project, column: str, source: BinaryIO, name: str, *, version: int) -> Project:
    """Take a hierarchy file for a column: CSV from leaf to root, parent: children, or JSON."""
    named = _received(state, project, column, source, name)
    return choose(state, project, column, named, version=version)


def _received(state: ServerState, project: Project, column: str, source: BinaryIO, name: str) -> str:
    """Keep a hierarchy file; its name in the policy."""
    content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise TooLarge(MOST_BYTES)
    target, named = _new_file(state, project, column)
    brought = target.with_name(f"given-{secrets.token_hex(3)}{Path(safe_name(name)).suffix or '.csv'}")
    brought.write_bytes(content)
    try:
        state.ask(hierarchies_task.save_hierarchy, SaveRequest(brought, target))
    finally:
        brought.unlink()
    return named


def download(state: ServerState, project: Project, column: str, extension: str) -> Path:
    """The hierarchy of a column as a file."""
    if extension not in ("csv", "json", "txt"):
        raise DataError(f"a hierarchy cannot be written as {extension}", hint="csv, json or txt")
    folder = state.files.project(project.id) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"download-{safe_name(column)[:40]}.{extension}"
    state.ask(hierarchies_task.save_hierarchy, SaveRequest(ColumnRequest(state.table_of(project), column), target))
    return target
