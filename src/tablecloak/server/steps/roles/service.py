"""Roles of columns, presets to start from, and how exposed records are on what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablecloak import registry
from tablecloak.data.table import ColumnType, Role
from tablecloak.errors import PolicyError
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import DROP, STAR, ColumnSpec
from tablecloak.report.explain import describe
from tablecloak.server.forms import FIXED_ROLES, Field, fields_of, settings_from
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.load import task as load_task
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import task as roles_task
from tablecloak.server.steps.roles.task import Uniqueness
from tablecloak.server.store import Project, Unknown
from tablecloak.transforms.base import Family


def roles_edit(form: Mapping[str, str]) -> policy_service.Change:
    """Roles as chosen, and what identifiers and quasi-identifiers have besides."""

    def change(document: policy_service.Document) -> None:
        for name in {key.removeprefix("role:") for key in form if key.startswith("role:")}:
            if policy_service.role_in(document, name) != form[f"role:{name}"]:
                policy_service.set_role(name, form[f"role:{name}"])(document)
            if form[f"role:{name}"] == Role.IDENTIFIER and f"transform:{name}" in form:
                policy_service.set_column(name, "transform", form[f"transform:{name}"])(document)

    return change


def roles_note(policy: Policy, form: Mapping[str, str]) -> str:
    """What a change of roles is called in the history: which column became what."""
    changed = []
    for name in [key.removeprefix("role:") for key in form if key.startswith("role:")]:
        before = policy.columns[name].role if name in policy.columns else Role.DROP
        if before != form[f"role:{name}"]:
            changed.append(f"{name} is {form[f'role:{name}']}")
    return ", ".join(changed[:2]) + (f" and {len(changed) - 2} more" if len(changed) > 2 else "") or "roles"


def bulk_edit(names: Sequence[str], role: str) -> tuple[policy_service.Change, str]:
    """One role for many columns, and what that is called in the history."""
    if not names:
        raise PolicyError("no column is marked", hint="mark columns by the boxes before their names")
    if role not in {str(each) for each in Role} or role in FIXED_ROLES:
        raise PolicyError("there is no such role to set", hint="choose one of the list")

    def change(document: policy_service.Document) -> None:
        for name in names:
            if policy_service.role_in(document, name) != role:
                policy_service.set_role(name, role)(document)

    said = names[0] if len(names) == 1 else f"{len(names)} columns"
    return change, f"{said} {'is' if len(names) == 1 else 'are'} {role}"


# What is published of columns that somebody gave another role, where it is the same for all.
_PUBLISHES = {
    Role.DROP: "nothing",
    Role.PERSON: "nothing",
    Role.SENSITIVE: "its values; goals hide whose they are",
    Role.ITEMS: "its items, coarser where few have them",
}


def published_columns(policy: Policy, profile: load_task.ProfileAnswer) -> dict[str, str]:
    """What would be published of every column as the policy stands, in a few words."""
    suggested = parse_policy(profile.policy, name="the suggested policy", base=Path()).columns
    return {c.name: _publishes(policy.columns.get(c.name), suggested.get(c.name), c) for c in profile.columns}


def _publishes(spec: ColumnSpec | None, suggested: ColumnSpec | None, column: load_task.ShownColumn) -> str:
    if spec is None or spec.is_left_out:
        return "nothing"
    if spec == suggested:
        return column.publishes
    if spec.is_starred:
        return "* in every record"
    if spec.transform and spec.role not in (Role.DROP, Role.PERSON):
        return f"its values, changed by {', '.join(each.name for each in spec.transform)}"
    if spec.role is Role.QUASI:
        return f"coarser values: {_coarser(spec, ColumnType(spec.type or column.type))}"
    return _PUBLISHES.get(spec.role, "its values")


def _coarser(spec: ColumnSpec, type_: ColumnType) -> str:
    if spec.hierarchy is not None:  # a kind with its parameters, or where one is written
        return f"by the hierarchy {getattr(spec.hierarchy, 'name', spec.hierarchy)}"
    return "intervals" if type_.is_ordered else "sets of values"


# What changing a column of a role means for the goals.
MEANING = {
    Role.QUASI: "Goals judge what is published: the values are changed before groups are formed.",
    Role.SENSITIVE: "Coarser values are what goals judge; what is covered or perturbed, they judge as it was.",
    Role.IDENTIFIER: "No goal looks at an identifier; one that is published under pseudonyms is said in the release.",
}


FAMILIES = {
    Family.COARSEN: "Make values coarser",
    Family.PERTURB: "Change values at random",
    Family.COVER: "Cover values",
    Family.PSEUDONYM: "Put pseudonyms in their place",
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


def _uniqueness_memo(state: ServerState, project: Project) -> StoredAnswer[Uniqueness]:
    policy = policy_service.policy_of(state, project)
    quasi = policy.columns_with(Role.QUASI)
    read = repr(policy.input) + repr({n: (c.type, c.format) for n, c in policy.columns.items()})
    return StoredAnswer(Uniqueness, project.id, key_of("uniqueness", read, *sorted(quasi)))


def known_uniqueness(state: ServerState, project: Project) -> Uniqueness | None:
    """How exposed records are, if that was counted: a page does not wait for it."""
    return state.stored(_uniqueness_memo(state, project))


def uniqueness(state: ServerState, project: Project) -> Uniqueness | None:
    """How exposed records are on the chosen quasi-identifiers; None if others were chosen meanwhile."""
    known = known_uniqueness(state, project)
    if known is not None:
        return known

    def is_wanted() -> bool:
        return state.store.project(project.id).version == project.version

    answer = state.ask_if_wanted(roles_task.uniqueness, state.table_of(project), is_wanted)
    if answer is not None:
        state.keep(_uniqueness_memo(state, project), answer)
    return answer
