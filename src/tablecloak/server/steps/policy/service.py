"""The policy of a project: read and checked, and changed so that its comments, order and layout stay."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from tablecloak import registry
from tablecloak.data.table import Role
from tablecloak.errors import CloakError, IncompatibleChoice, PolicyError
from tablecloak.policy.load import parse_policy
from tablecloak.policy.problems import InvalidPolicyError, PolicyProblem
from tablecloak.policy.schema import Policy
from tablecloak.release.shapes.sets.plan import make_set_plan
from tablecloak.server.state import ServerState
from tablecloak.server.store import Project
from tablecloak.server.tables import publishes_sets

Document = CommentedMap
Change = Callable[[Document], None]
LONGEST_POLICY = 1_000_000


def policy_of(state: ServerState, project: Project) -> Policy:
    """The policy of a project, checked."""
    dataset = state.store.dataset(project.dataset)
    return accepted(project.policy, state.files.project(project.id), dataset.file)


def refusal(policy: Policy) -> IncompatibleChoice | None:
    """Why a policy cannot be carried out here, whatever its goals are."""
    if not publishes_sets(policy):
        return None
    try:
        make_set_plan(policy, list(policy.columns))
    except IncompatibleChoice as error:
        return error
    return None


def write(state: ServerState, project: Project, text: str, *, version: int, note: str = "edited by hand") -> Project:
    """Replace the policy; PolicyError with every problem if it cannot be, Stale if somebody else was faster."""
    dataset = state.store.dataset(project.dataset)
    accepted(text, state.files.project(project.id), dataset.file)
    return state.store.write_policy(project.id, text, version=version, note=note)


def change(state: ServerState, project: Project, edit: Change, *, version: int, note: str) -> Project:
    """Replace the policy by an edited one."""
    return write(state, project, edited(project.policy, edit), version=version, note=note)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.preserve_quotes = True
    return yaml


def edited(text: str, change: Change) -> str:
    """The text after a change."""
    yaml = _yaml()
    document = yaml.load(text)
    change(document)
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()


@lru_cache(maxsize=64)
def accepted(text: str, folder: Path, source: str) -> Policy:
    """The policy of a text that a project may have: valid, about its own dataset, naming no file outside its folder.

    Reading YAML with positions takes a tenth of a second, and every page asks: the last ones are remembered.

    Raises: PolicyError with every problem and its place.
    """
    if len(text) > LONGEST_POLICY:
        raise PolicyError("the policy is too long", hint=f"at most {LONGEST_POLICY:,} characters")
    policy = parse_policy(text, name="policy.yaml", base=folder)
    problems = [*_input_problems(policy, source), *_path_problems(policy, folder)]
    if problems:
        raise InvalidPolicyError(problems)
    return policy


def refuse_outside(policy: Policy, folder: Path) -> None:
    """PolicyError if a policy names a file outside a folder."""
    problems = _path_problems(policy, folder)
    if problems:
        raise InvalidPolicyError(problems)


def _input_problems(policy: Policy, source: str) -> list[PolicyProblem]:
    if policy.input is not None and policy.input.path == source:
        return []
    return [PolicyProblem(("input",), "a project has one dataset, which its policy names", hint=f"input: {source}")]


def _path_problems(policy: Policy, folder: Path) -> list[PolicyProblem]:
    """Files of the policy that lie elsewhere."""
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("hierarchies", name), chosen) for name, chosen in policy.hierarchies.items() if isinstance(chosen, str)
    ]
    for name, column in policy.columns.items():
        if isinstance(column.hierarchy, str) and column.hierarchy not in policy.hierarchies:
            named.append((("columns", name, "hierarchy"), column.hierarchy))
    if policy.output is not None:
        keys = ("path", "recoding", "report", "certificate")
        named += [(("output", key), path) for key in keys if (path := getattr(policy.output, key))]
    root = folder.resolve()
    return [
        PolicyProblem(
            place, "files of a project lie in its own folder", hint="a name without / at its beginning and without .."
        )
        for place, path in named
        if not (folder / path).resolve().is_relative_to(root)
    ]


def flow(values: Mapping[str, Any]) -> CommentedMap:
    """A mapping written on one line."""
    written = CommentedMap({key: _inline(value) for key, value in values.items()})
    written.fa.set_flow_style()
    return written


def _inline(value: Any) -> Any:
    if isinstance(value, Mapping):
        return flow(value)
    if isinstance(value, list | tuple):
        listed = CommentedSeq([_inline(v) for v in value])
        listed.fa.set_flow_style()
        return listed
    return value


def _column(document: Document, name: str) -> CommentedMap:
    """The settings of a column, written out."""
    columns = document["columns"]
    column = columns.get(name)
    if not isinstance(column, Mapping):
        columns[name] = flow({"role": column or "drop"})
    return columns[name]  # type: ignore[no-any-return]


BY_HAND = "chosen by hand"


def _say_beside(container: CommentedMap | CommentedSeq, key: Any, text: str) -> None:
    """Put a comment in the place of the one that speaks of what was there before; where there was none, none."""
    slot = 0 if isinstance(container, CommentedSeq) else 2
    tokens = container.ca.items.get(key)
    if tokens and tokens[slot] is not None:
        token = tokens[slot]
        token.value = f"# {text}\n" + token.value.partition("\n")[2]  # with the empty lines that follow


def _meaning(goal: Mapping[str, Any]) -> str:
    """What a goal says, with its values."""
    try:
        sentence = registry.find("models", str(goal["model"])).sentence
        return str(sentence).format(**goal) if sentence else BY_HAND
    except (CloakError, KeyError, IndexError):  # an unknown model, or a value that it has by default
        return BY_HAND


def role_in(document: Document, name: str) -> str | None:
    """The role that a policy gives a column; None if it names none."""
    column = document["columns"].get(name)
    return column.get("role") if isinstance(column, Mapping) else column


def set_role(name: str, role: str) -> Change:
    """Give a column a role; what only its old role had goes away, goals that named it as sensitive included."""

    def change(document: Document) -> None:
        column = _column(document, name)
        column["role"] = role
        _say_beside(document["columns"], name, BY_HAND)
        if role in (Role.DROP, Role.ITEMS) or column.get("transform") in ("drop", "star"):
            column.pop("transform", None)
        if role != Role.QUASI:
            column.pop("weight", None)
        if role != Role.SENSITIVE:
            _forget_sensitive(document, name)

    return change


def _forget_sensitive(document: Document, name: str) -> None:
    goals = document.get("goals") or []
    for at in range(len(goals) - 1, -1, -1):
        named = goals[at].get("sensitive")
        if named == name:
            del goals[at]
        elif isinstance(named, list) and name in named:
            named.remove(name)


def set_column(name: str, key: str, value: Any) -> Change:
    """Set one key of a column; None removes it."""

    def change(document: Document) -> None:
        column = _column(document, name)
        before = column.get(key)
        if value is None:
            column.pop(key, None)
        else:
            column[key] = _inline(value)
        if column.get(key) != before:
            _say_beside(document["columns"], name, BY_HAND)

    return change


def set_input(source: str, options: Mapping[str, Any]) -> Change:
    """Say how the file is written; without options, its name alone."""

    def change(document: Document) -> None:
        document["input"] = flow({"path": source, **options}) if options else source

    return change


def add_goal(goal: Mapping[str, Any]) -> Change:
    """Put a goal after the others."""

    def change(document: Document) -> None:
        document["goals"].append(flow(goal))

    return change


def replace_goal(at: int, goal: Mapping[str, Any]) -> Change:
    """Write a goal anew."""

    def change(document: Document) -> None:
        if at < len(document["goals"]):
            document["goals"][at] = flow(goal)
            _say_beside(document["goals"], at, _meaning(goal))

    return change


def remove_goal(at: int) -> Change:
    """Take a goal away."""

    def change(document: Document) -> None:
        if at < len(document["goals"]):
            del document["goals"][at]

    return change


def set_algorithm(settings: Mapping[str, Any]) -> Change:
    """Write the algorithm anew."""

    def change(document: Document) -> None:
        document["algorithm"] = flow(settings)
        _say_beside(document, "algorithm", BY_HAND)

    return change


def set_output(settings: Mapping[str, Any]) -> Change:
    """Say what the release looks like; paths already written stay."""

    def change(document: Document) -> None:
        before = document.get("output")
        written = {"path": before} if isinstance(before, str) else dict(before or {})
        merged = {**written, **settings}
        document["output"] = flow({k: v for k, v in merged.items() if v not in (None, False, "")})

    return change


def set_at(place: str, value: Any) -> Change:
    """Set what stands at a place such as columns.cost.role, goals.1.k or output.order; None removes it.

    Names of columns may contain dots: what is between the first and the last belongs to the name.
    """
    top, _, rest = place.partition(".")
    if top == "columns":
        name, _, key = rest.rpartition(".")
        return set_role(name, str(value)) if key == "role" else set_column(name, key, value)

    def change(document: Document) -> None:
        if top == "output":
            set_output({rest: value})(document)
        elif top == "goals":
            at, _, key = rest.partition(".")
            _set_goal(document, int(at), key, value)
        elif value is None:
            document.pop(place, None)
        else:
            document[place] = _inline(value)

    return change


def _set_goal(document: Document, at: int, key: str, value: Any) -> None:
    goals = document["goals"]
    if key and at < len(goals):
        goals[at][key] = _inline(value)
        _say_beside(goals, at, _meaning(goals[at]))
    elif not key:
        goals.append(flow(value)) if at >= len(goals) else goals.__setitem__(at, flow(value))


def accept(kind: str, column: str | None, because: str) -> Change:
    """Accept a finding with a reason, which takes the place of an earlier one."""

    def change(document: Document) -> None:
        entries = document.setdefault("accepted", CommentedSeq())
        for at in range(len(entries) - 1, -1, -1):
            if entries[at].get("finding") == kind and entries[at].get("column") == column:
                del entries[at]
        named = {"column": column} if column else {}
        entries.append(flow({"finding": kind, **named, "because": because}))

    return change
