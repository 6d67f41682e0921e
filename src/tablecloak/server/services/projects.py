"""Projects: a dataset with a policy that is edited step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak.baskets.plan import has_sets, make_set_plan
from tablecloak.data.table import Role
from tablecloak.errors import CloakError, DataError, IncompatibleChoice
from tablecloak.policy.schema import Policy
from tablecloak.server import drafts
from tablecloak.server.services import datasets
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.store import Dataset, Project, Unknown, new_id

__all__ = [
    "add",
    "change",
    "check",
    "create",
    "create_like",
    "create_sample",
    "policy_of",
    "refusal",
    "reload",
    "table_profile",
    "uniqueness",
    "write",
]


def create(workshop: Workshop, dataset: Dataset, *, name: str | None = None, preset: str = "standard") -> Project:
    """A project on a dataset, with the suggested policy."""
    profile = datasets.profile_of(workshop, dataset, {"preset": preset} if preset != "standard" else None)
    return add(workshop, dataset, (name or dataset.name)[:200], profile["policy"])


def add(workshop: Workshop, dataset: Dataset, name: str, policy: str, hierarchies: Path | None = None) -> Project:
    """Folder and entry of a project, both or none; Unknown if its dataset was deleted meanwhile."""
    id_ = new_id()
    try:
        folder = workshop.files.new_project(id_, dataset.id, dataset.file)
        if hierarchies is not None:
            datasets.copy_hierarchies(hierarchies, folder)
        return workshop.store.add_project(name, dataset.id, policy, id_)
    except FileNotFoundError:
        workshop.files.forget(workshop.files.project(id_))
        raise Unknown from None
    except BaseException:
        workshop.files.forget(workshop.files.project(id_))
        raise


def create_like(workshop: Workshop, other: Project, dataset: Dataset) -> Project:
    """A project on a dataset with the policy and the hierarchies of another; DataError if its columns are not there."""
    policy = policy_of(workshop, other)
    assert policy.input is not None
    options = policy.input.model_dump(exclude_defaults=True, exclude={"path"})
    profile = datasets.profile_of(workshop, dataset, {"options": options} if options else None)
    missing = sorted(set(policy.columns) - {column["name"] for column in profile["columns"]})
    if missing:
        raise DataError(f"the table has no column {', '.join(missing)}", hint="open it as a new project")
    text = drafts.edited(other.policy, drafts.set_input(dataset.file, options))
    return add(workshop, dataset, dataset.name[:200], text, workshop.files.project(other.id))


def create_sample(workshop: Workshop, *, of_sets: bool = False) -> Project:
    """A project on the made-up patients, or shopping baskets, with the policy that comes with them."""
    dataset, folder, policy = datasets.of_sample(workshop, of_sets=of_sets)
    name = "Sample: 2,000 made-up shopping baskets" if of_sets else "Sample: 5,000 made-up patients"
    return add(workshop, dataset, name, policy, folder)


def policy_of(workshop: Workshop, project: Project) -> Policy:
    """The policy of a project, checked."""
    dataset = workshop.store.dataset(project.dataset)
    return drafts.accepted(project.policy, workshop.files.project(project.id), dataset.file)


def refusal(policy: Policy) -> IncompatibleChoice | None:
    """Why a policy cannot be carried out here, whatever its goals are."""
    if not has_sets(policy):
        return None
    try:
        make_set_plan(policy, list(policy.columns))
    except IncompatibleChoice as error:
        return error
    return None


def write(workshop: Workshop, project: Project, text: str, *, version: int, note: str = "edited by hand") -> Project:
    """Replace the policy; PolicyError with every problem if it cannot be, Stale if somebody else was faster."""
    dataset = workshop.store.dataset(project.dataset)
    drafts.accepted(text, workshop.files.project(project.id), dataset.file)
    return workshop.store.write_policy(project.id, text, version=version, note=note)


def change(workshop: Workshop, project: Project, edit: drafts.Change, *, version: int, note: str) -> Project:
    """Replace the policy by an edited one."""
    return write(workshop, project, drafts.edited(project.policy, edit), version=version, note=note)


def reload(workshop: Workshop, project: Project, options: dict[str, Any], *, version: int) -> Project:
    """Read the dataset in another way and start the policy afresh, because its columns may be others now."""
    dataset = workshop.store.dataset(project.dataset)
    profile = datasets.profile_of(workshop, dataset, {"options": options} if options else None)
    text = drafts.edited(profile["policy"], drafts.set_input(dataset.file, options))
    return write(workshop, project, text, version=version, note="read the file in another way")


def table_profile(workshop: Workshop, dataset: Dataset) -> dict[str, Any]:
    """What the dataset looks like as a table, read as it is found."""
    return datasets.profile_of(workshop, dataset)


def profile_of(workshop: Workshop, project: Project) -> dict[str, Any]:
    """What the dataset looks like as the policy reads it."""
    dataset = workshop.store.dataset(project.dataset)
    policy = policy_of(workshop, project)
    assert policy.input is not None
    options = policy.input.model_dump(exclude_defaults=True, exclude={"path"})
    return datasets.profile_of(workshop, dataset, {"options": options} if options else None)


def uniqueness(workshop: Workshop, project: Project) -> dict[str, Any]:
    """How exposed records are on the chosen quasi-identifiers."""
    policy = policy_of(workshop, project)
    quasi = policy.columns_with(Role.QUASI)
    read = repr(policy.input) + repr({n: (c.type, c.format) for n, c in policy.columns.items()})
    key = key_of("uniqueness", read, *sorted(quasi))
    found: dict[str, Any] = workshop.asked(project.id, key, "uniqueness", workshop.about(project))
    return found


def check(workshop: Workshop, project: Project) -> dict[str, Any]:
    """Whether the goals can be reached; remembered per policy."""
    key = key_of("check", project.policy)
    known: dict[str, Any] | None = workshop.store.answer(project.id, key)
    if known is not None:
        return known

    def is_wanted() -> bool:
        return workshop.store.project(project.id).version == project.version

    try:
        found: dict[str, Any] | None = workshop.check(workshop.about(project), is_wanted)
    except CloakError as error:
        return {"ok": False, **error.to_dict()}
    if found is None:
        return {"ok": False, "error": "stale", "message": "the project was changed since", "hint": None}
    workshop.store.keep_answer(project.id, key, found)
    return found
