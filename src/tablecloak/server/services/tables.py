"""Tables to look at, and edits of what columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablecloak.data.table import Role
from tablecloak.engines.choose import Demand, choose
from tablecloak.server import drafts
from tablecloak.server.services import datasets, projects
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Project

__all__ = ["columns_edit", "engine_of", "lines_of", "page_of", "preset_text", "roles_edit"]


def page_of(workshop: Workshop, project: Project, page: int, n_rows: int, *, values: bool) -> dict[str, Any]:
    """One page of the dataset; without `values` only where the pages are."""
    profile = projects.profile_of(workshop, project)
    total = profile["rows"]
    n_pages = max(1, -(-total // n_rows))
    page = min(max(1, page), n_pages)
    offset = (page - 1) * n_rows
    found = {"page": page, "pages": n_pages, "total": total, "first": offset + 1, "last": min(total, offset + n_rows)}
    names = [column["name"] for column in profile["columns"]]
    if not values:
        return {**found, "columns": names, "rows": [], "hidden": min(n_rows, total)}
    rows = workshop.ask("rows", {**workshop.about(project), "offset": offset, "limit": n_rows})
    return {**found, "columns": rows["columns"], "rows": rows["rows"], "hidden": 0}


def engine_of(workshop: Workshop, profile: Mapping[str, Any]) -> dict[str, str]:
    """What will do the work on a table, and why."""
    settings = workshop.settings
    choice = choose(Demand(settings.engine, settings.memory), profile["memory_bytes"])
    return {"engine": choice.name, "why": choice.why}


def lines_of(workshop: Workshop, project: Project) -> list[str]:
    """The first lines of the file as they are written; none if it is not text."""
    dataset = workshop.store.dataset(project.dataset)
    path = workshop.files.dataset(dataset.id) / dataset.file
    found: list[str] = workshop.ask("lines", {"path": str(path)})["lines"]
    return found


def columns_edit(form: Mapping[str, str], read: set[str]) -> drafts.Change:
    """Types as chosen; a column that is not read gets the role drop, one that is read again the role keep."""

    def change(document: drafts.Document) -> None:
        for name in list(document["columns"]):
            if f"type:{name}" not in form:
                continue
            drafts.set_column(name, "type", form[f"type:{name}"] or None)(document)
            role = document["columns"][name]["role"]
            if name not in read and role != Role.DROP:
                drafts.set_role(name, "drop")(document)
            elif name in read and role == Role.DROP:
                drafts.set_role(name, "keep")(document)

    return change


def roles_edit(form: Mapping[str, str]) -> drafts.Change:
    """Roles as chosen, and what identifiers and quasi-identifiers have besides."""

    def change(document: drafts.Document) -> None:
        known = {key.removeprefix("role:") for key in form if key.startswith("role:")}
        for name in known:
            before = document["columns"].get(name)
            role = before.get("role") if isinstance(before, Mapping) else before
            if role != form[f"role:{name}"]:
                drafts.set_role(name, form[f"role:{name}"])(document)
            if form[f"role:{name}"] == Role.IDENTIFIER and f"transform:{name}" in form:
                drafts.set_column(name, "transform", form[f"transform:{name}"])(document)

    return change


def preset_text(workshop: Workshop, project: Project, preset: str) -> str:
    """The policy a preset starts from, reading the file as it is read now."""
    dataset = workshop.store.dataset(project.dataset)
    policy = projects.policy_of(workshop, project)
    options = policy.input.model_dump(exclude_defaults=True, exclude={"path"}) if policy.input else {}
    arguments: dict[str, Any] = {"preset": preset, **({"options": options} if options else {})}
    found = datasets.profile_of(workshop, dataset, arguments)
    return drafts.edited(found["policy"], drafts.set_input(dataset.file, options))
