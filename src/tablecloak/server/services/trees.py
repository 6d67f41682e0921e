"""Hierarchies of a project: what they look like, how they are chosen, edited, brought and taken along."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tablecloak.data.table import Role
from tablecloak.errors import DataError
from tablecloak.policy.schema import Policy, hierarchy_kinds
from tablecloak.server import drafts
from tablecloak.server.files import TooLarge, safe_name
from tablecloak.server.forms import Field, fields_of, settings_from
from tablecloak.server.security import HIERARCHY_LIMIT
from tablecloak.server.services import projects
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.store import Project

__all__ = [
    "bring",
    "columns_of",
    "download",
    "edit",
    "fields_by_kind",
    "fitting_kinds",
    "look",
    "spec_of",
    "written_of",
]

FOLDER = "hierarchies"
MOST_BYTES = HIERARCHY_LIMIT
_FITS = {
    "intervals": ("integer", "float"),
    "quantiles": ("integer", "float", "date", "datetime"),
    "dates": ("date", "datetime"),
    "mask": ("text", "integer"),
    "order": ("integer", "float", "date", "datetime", "text", "boolean"),
    "auto": ("integer", "float", "date", "datetime", "text", "boolean"),
}


def columns_of(policy: Policy) -> list[str]:
    """Columns that can have a hierarchy: sets of items, quasi-identifiers, then sensitive ones."""
    return [name for role in (Role.ITEMS, Role.QUASI, Role.SENSITIVE) for name in policy.columns_with(role)]


def look(workshop: Workshop, project: Project, column: str, spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Levels and tree of a column's hierarchy, or of one that parameters would build."""
    policy = projects.policy_of(workshop, project)
    chosen = repr(spec or policy.hierarchy_of(column))
    spec_of_column = policy.columns[column]
    read = repr((spec_of_column.type, spec_of_column.role, spec_of_column.separator))
    key = key_of("hierarchy", column, chosen, repr(policy.input), read)
    arguments = {**workshop.about(project), "column": column, **({"spec": dict(spec)} if spec else {})}
    found: dict[str, Any] = workshop.asked(project.id, key, "hierarchy", arguments)
    return found


def fitting_kinds(type_: str) -> list[str]:
    """Kinds of hierarchy that a column of a type can have."""
    return [kind for kind in hierarchy_kinds() if type_ in _FITS.get(kind, ())]


def fields_by_kind() -> dict[str, list[Field]]:
    """The inputs of every kind."""
    return {kind: fields_of(spec) for kind, spec in hierarchy_kinds().items()}


def spec_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that a form describes; a width is needed where nobody knows a better one."""
    kind = form.get("kind", "")
    return {"kind": kind, **settings_from(form, fields_by_kind().get(kind, []), prefix=f"{kind}:")}


def written_of(policy: Policy, column: str) -> Any:
    """The hierarchy of a column as its policy writes it, for another column to have the same."""
    found: Any = policy.columns[column].hierarchy if column in policy.columns else None
    if not hasattr(found, "model_dump"):
        return found
    return {"kind": found.kind, **found.model_dump(by_alias=True, exclude_defaults=True)}


def _new_file(workshop: Workshop, project: Project, column: str) -> tuple[Path, str]:
    """A file of its own for every change, so that undo finds the one before."""
    folder = workshop.files.project(project.id) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{safe_name(column)[:40]}.{secrets.token_hex(3)}.csv"
    return folder / name, f"{FOLDER}/{name}"


def edit(
    workshop: Workshop, project: Project, column: str, change: Mapping[str, Any], *, version: int
) -> tuple[Project, dict[str, Any]]:
    """Change one node of a column's tree."""
    target, named = _new_file(workshop, project, column)
    arguments = {**workshop.about(project), "column": column, "edit": dict(change), "target": str(target)}
    found = workshop.ask("edit-hierarchy", arguments)
    change_policy = drafts.set_column(column, "hierarchy", named)
    project = projects.change(workshop, project, change_policy, version=version, note=f"{change['action']} in {column}")
    return project, found


def bring(workshop: Workshop, project: Project, column: str, source: BinaryIO, name: str, *, version: int) -> Project:
    """Take a hierarchy file for a column: CSV from leaf to root, parent: children, or JSON."""
    content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise TooLarge
    target, named = _new_file(workshop, project, column)
    given = target.with_name(f"given-{secrets.token_hex(3)}{Path(safe_name(name)).suffix or '.csv'}")
    given.write_bytes(content)
    try:
        workshop.ask("hierarchy-file", {"source": str(given), "target": str(target)})
    finally:
        given.unlink()
    return projects.change(workshop, project, drafts.set_column(column, "hierarchy", named), version=version,
                           note=f"hierarchy of {column}")  # fmt: skip


def download(workshop: Workshop, project: Project, column: str, extension: str) -> Path:
    """The hierarchy of a column as a file."""
    if extension not in ("csv", "json", "txt"):
        raise DataError(f"a hierarchy cannot be written as {extension}", hint="csv, json or txt")
    folder = workshop.files.project(project.id) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"download-{safe_name(column)[:40]}.{extension}"
    workshop.ask("hierarchy-file", {**workshop.about(project), "column": column, "target": str(target)})
    return target
