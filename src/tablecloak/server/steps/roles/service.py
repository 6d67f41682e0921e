"""Roles of columns, presets to start from, and how exposed records are on what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablecloak import registry
from tablecloak.data.table import ColumnType, Role
from tablecloak.policy.sections import DROP, STAR
from tablecloak.report.explain import describe
from tablecloak.server.forms import Field, fields_of, settings_from
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import task as roles_task
from tablecloak.server.steps.roles.task import Uniqueness
from tablecloak.server.store import Project, Unknown
from tablecloak.transforms.base import Family


def roles_edit(form: Mapping[str, str]) -> policy_service.Change:
    """Roles as chosen, and what identifiers and quasi-identifiers have besides."""

    def change(document: policy_service.Document) -> None:
        for name in {key.removeprefix("role:") for key in form if key.startswith("role:")}:
            before = document["columns"].get(name)
            role = before.get("role") if isinstance(before, Mapping) else before
            if role != form[f"role:{name}"]:
                policy_service.set_role(name, form[f"role:{name}"])(document)
            if form[f"role:{name}"] == Role.IDENTIFIER and f"transform:{name}" in form:
                policy_service.set_column(name, "transform", form[f"transform:{name}"])(document)

    return change


# What changing a column of a role means for the goals.
MEANING = {
    Role.QUASI: "Goals judge what is published: the values are changed before groups are formed.",
    Role.SENSITIVE: "Coarser values are what goals judge; what is covered or perturbed, they judge as it was.",
    Role.IDENTIFIER: "No goal looks at an identifier; one that is published under pseudonyms is said in the release.",
}


def fitting_transforms(type_: ColumnType, role: Role) -> dict[str, dict[str, str]]:
    """Transforms that a column can have, by what they are for, each with one sentence."""
    families: dict[str, dict[str, str]] = {}
    for name, kind in registry.known("transforms").items():
        is_whole = name in (DROP, STAR)
        if type_ in kind.types and not (is_whole and role is not Role.IDENTIFIER):
            if role is Role.QUASI and kind.family is Family.PSEUDONYM:
                continue
            families.setdefault(str(kind.family), {})[name] = describe("transform", name, kind).definition
    return families


def fields_by_transform(families: Mapping[str, Mapping[str, str]]) -> dict[str, list[Field]]:
    """The inputs of every kind that is offered."""
    kinds = registry.known("transforms")
    return {name: fields_of(kinds[name]) for family in families.values() for name in family}


def choose_transform(
    state: ServerState, project: Project, column: str, form: Mapping[str, str], *, version: int
) -> Project:
    """Give a column a transform, or none."""
    policy = policy_service.policy_of(state, project)
    if column not in policy.columns:
        raise Unknown
    value: Any = None
    if form.get("action") != "remove":
        name = form.get("kind", "")
        kind = registry.find("transforms", name)
        settings = settings_from(form, fields_of(kind), prefix=f"{name}:")
        value = {"kind": name, **settings} if settings else name
    edit = policy_service.set_column(column, "transform", value)
    return policy_service.change(state, project, edit, version=version, note=f"transform of {column}")


def start_from(state: ServerState, project: Project, preset: str, *, version: int) -> Project:
    """Start the policy afresh from a preset, reading the file as it is read now."""
    policy = policy_service.policy_of(state, project)
    options = policy.input.model_dump(exclude_defaults=True, exclude={"path"}) if policy.input else {}
    return load_service.reload(state, project, options, version=version, preset=preset, note="preset")


def uniqueness(state: ServerState, project: Project) -> Uniqueness:
    """How exposed records are on the chosen quasi-identifiers."""
    policy = policy_service.policy_of(state, project)
    quasi = policy.columns_with(Role.QUASI)
    read = repr(policy.input) + repr({n: (c.type, c.format) for n, c in policy.columns.items()})
    key = key_of("uniqueness", read, *sorted(quasi))
    return state.ask_once(StoredAnswer(Uniqueness, project.id, key), roles_task.uniqueness, state.table_of(project))
