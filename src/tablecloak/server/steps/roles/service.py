"""Roles of columns, presets to start from, and how exposed records are on what was chosen."""

from __future__ import annotations

from collections.abc import Mapping

from tablecloak.data.table import Role
from tablecloak.server.state import ServerState, StoredAnswer, key_of
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.roles import task as roles_task
from tablecloak.server.steps.roles.task import Uniqueness
from tablecloak.server.store import Project


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
