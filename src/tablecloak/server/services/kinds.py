"""Dataset types: a simple table, sets of values, a table with a set-valued attribute, a table counted on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tablecloak.data.table import Role
from tablecloak.errors import CloakError, DataError
from tablecloak.policy.schema import Policy
from tablecloak.server import drafts
from tablecloak.server.services import projects
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Dataset, Project

__all__ = ["KINDS", "KNOWN", "create", "kind_of", "set_kind", "set_settings"]

# Name, what it is, and what happens to it.
KINDS: Mapping[str, tuple[str, str]] = {
    "table": ("Simple table", "each line is a record, each cell one value"),
    "sets": ("Sets of values", "each line is a set of items, such as a shopping basket"),
    "table-with-sets": ("Table with a set-valued attribute", "a table in which the cells of one column hold sets"),
    "disk": ("Disk based simple table", "a table too large for memory: clustered and counted on disk"),
}
KNOWN = ("auto", *KINDS)
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".sets", "")
DISK = {"kind": "disk-clustering"}
_GOAL = {"model": "km-anonymity", "k": 5, "m": 2}
_SEARCH = {"kind": "apriori", "suppression_limit": 0.01}


def kind_of(policy: Policy) -> str:
    """The type that a policy reads its dataset as."""
    if policy.input and policy.input.format == "sets":
        return "sets"
    if policy.columns_with(Role.ITEMS):
        return "table-with-sets"
    return "disk" if policy.algorithm.name == DISK["kind"] else "table"


def create(
    workshop: Workshop, dataset: Dataset, kind: str = "auto", *, name: str | None = None, preset: str = "standard"
) -> Project:
    """A project on a dataset of a type; `auto` finds out whether its lines are sets, and takes it as a table if not.

    Raises: CloakError that says what the file is not.
    """
    if kind == "sets" or (kind == "auto" and _looks_like_sets(workshop, dataset)):
        text = _text_of_sets(workshop, dataset, {})
        return projects.add(workshop, dataset, (name or dataset.name)[:200], text)
    project = projects.create(workshop, dataset, name=name, preset=preset)
    try:
        return project if kind in ("auto", "table") else set_kind(workshop, project, kind, {}, version=project.version)
    except CloakError:
        workshop.forget_project(project)
        raise


def _looks_like_sets(workshop: Workshop, dataset: Dataset) -> bool:
    if Path(dataset.file).suffix.lower() not in TEXT:
        return False
    try:
        return bool(workshop.ask("kind-of-file", {"path": _path(workshop, dataset)})["looks_like_sets"])
    except CloakError:
        return False


def _path(workshop: Workshop, dataset: Dataset) -> str:
    return str(workshop.files.dataset(dataset.id) / dataset.file)


def set_kind(workshop: Workshop, project: Project, kind: str, form: Mapping[str, str], *, version: int) -> Project:
    """Read the dataset of a project as another type; its policy starts afresh."""
    dataset = workshop.store.dataset(project.dataset)
    if kind == "sets":
        text = _text_of_sets(workshop, dataset, form)
        return projects.write(workshop, project, text, version=version, note="sets of values")
    if kind == "table-with-sets":
        return _with_sets(workshop, project, form, version=version)
    if kind not in KINDS:
        raise DataError("there is no such type of dataset", hint=", ".join(KINDS))
    profile = projects.table_profile(workshop, dataset)
    text = drafts.edited(profile["policy"], drafts.set_input(dataset.file, {}))
    if kind == "disk":
        text = drafts.edited(text, drafts.set_algorithm(DISK))
    return projects.write(workshop, project, text, version=version, note=KINDS[kind][0].lower())


def _text_of_sets(workshop: Workshop, dataset: Dataset, form: Mapping[str, str]) -> str:
    """A policy on a file of sets."""
    found = workshop.ask("kind-of-file", {"path": _path(workshop, dataset)})
    delimiter = _mark(form.get("delimiter", "")) or found["delimiter"]

    def change(document: drafts.Document) -> None:
        drafts.set_input(dataset.file, {"format": "sets", "delimiter": delimiter})(document)
        document["columns"]["items"] = drafts.flow({"role": "items"})
        drafts.add_goal(_GOAL)(document)
        drafts.set_algorithm(_SEARCH)(document)

    return drafts.edited("version: 1\ninput: x\ncolumns: {}\ngoals: []\n", change)


def _with_sets(workshop: Workshop, project: Project, form: Mapping[str, str], *, version: int) -> Project:
    """The policy with one column as sets; what was a quasi-identifier is left out."""
    dataset = workshop.store.dataset(project.dataset)
    column, separator = form.get("column", ""), _mark(form.get("separator", ""))
    if not column:
        guesses = workshop.ask("columns-of-sets", {"path": _path(workshop, dataset)})
        if not guesses:
            raise DataError(
                "no column looks as if its cells held sets", hint="choose the column and what separates its items"
            )
        column, separator = guesses[0]["column"], guesses[0]["separator"]
    profile = projects.table_profile(workshop, dataset)
    known = [c["name"] for c in profile["columns"]]
    if column not in known:
        raise DataError("there is no such column", hint=f"it has: {', '.join(known[:20])}")

    def change(document: drafts.Document) -> None:
        for name in list(document["columns"]):
            drafts.set_role(name, _role_beside_sets(document, name))(document)
        drafts.set_role(column, "items")(document)
        document["columns"][column] = drafts.flow({"role": "items", "separator": separator or ";"})
        document["goals"].clear()
        drafts.add_goal(_GOAL)(document)
        drafts.set_algorithm(_SEARCH)(document)

    text = drafts.edited(profile["policy"], drafts.set_input(dataset.file, {}))
    text = drafts.edited(text, change)
    return projects.write(workshop, project, text, version=version, note=f"sets in {column}")


def _role_beside_sets(document: drafts.Document, name: str) -> str:
    found = document["columns"][name]
    role = str(found["role"] if isinstance(found, Mapping) else found)
    return "drop" if role in (Role.QUASI, Role.PERSON) else role


def set_settings(policy: Policy, profile: Mapping[str, Any]) -> dict[str, Any]:
    """What a form about the type shows: the type now, and columns that could hold sets."""
    column = next(iter(policy.columns_with(Role.ITEMS)), None)
    separator = policy.columns[column].separator if column else None
    delimiter = (policy.input.delimiter if policy.input else None) or ""
    return {
        "kind": kind_of(policy),
        "column": column,
        "separator": {"\t": "tab", " ": "space"}.get(separator or "", separator or ""),
        "delimiter": {"\t": "tab", " ": "space"}.get(delimiter, delimiter),
        "columns": [c["name"] for c in profile["columns"]],
    }


def _mark(written: str) -> str:
    """What a form calls a mark, as the mark itself."""
    return {"tab": "\t", "space": " "}.get(written, written)
