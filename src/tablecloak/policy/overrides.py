"""Changes of a policy from the command line: `--set goals.0.k=10`."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tablecloak.errors import PolicyError, did_you_mean
from tablecloak.io.places import redacted
from tablecloak.policy.problems import Path, show_path
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import DEFAULT_ALGORITHM, ColumnSpec, InputSpec, OutputSpec


@dataclass(slots=True)
class Override:
    """One change; `path` is known once it was applied, because names may contain dots."""

    text: str
    steps: tuple[str, ...]
    value: Any
    path: Path = ()


def parse(text: str) -> Override:
    """Read `path.to.key=value`; the value is YAML."""
    place, equals, value = text.partition("=")
    text = redacted(text)  # messages repeat it
    if not equals or not place.strip():
        raise PolicyError(f"--set {text} has no value", hint="write --set goals.0.k=10")
    try:
        return Override(text, tuple(place.strip().split(".")), YAML(typ="safe").load(value))
    except YAMLError:
        raise PolicyError(f"--set {text}: the value is not YAML", hint="put it in quotes") from None


def apply(document: MutableMapping[str, Any], change: Override) -> None:
    """Set the value in the document."""
    node: Any = document
    rest = change.steps
    path: Path = ()
    while True:
        step, rest = _next_step(node, rest, path, change)
        path = (*path, step)
        if not rest:
            break
        node = _descend(node, step, path, change)
    if isinstance(node, Mapping) or step < len(node):
        node[step] = change.value
    else:
        node.append(change.value)
    change.path = path


def _next_step(node: Any, rest: tuple[str, ...], path: Path, change: Override) -> tuple[Any, tuple[str, ...]]:
    if isinstance(node, Mapping):
        for length in range(len(rest), 0, -1):
            name = ".".join(rest[:length])
            if name in node:
                return name, rest[length:]
        return rest[0], rest[1:]
    if isinstance(node, Sequence) and not isinstance(node, str):
        if rest[0].isdecimal() and int(rest[0]) <= len(node) - (len(rest) > 1):
            return int(rest[0]), rest[1:]
        raise _nowhere(change, f"{show_path(path)} has {len(node)} entries, numbered from 0")
    raise _nowhere(change, f"{show_path(path)} has no parts")


def _descend(node: Any, step: Any, path: Path, change: Override) -> Any:
    """The container at a step; a shorthand or an absent default is written out first."""
    if isinstance(node, MutableMapping) and step not in node:
        node[step] = _absent(node, path, change)
    key = _shorthand(path)
    if isinstance(node[step], str) and key is not None:
        node[step] = {key: node[step]}
    return node[step]


def _absent(node: Mapping[str, Any], path: Path, change: Override) -> Any:
    if path == ("algorithm",):
        return {"kind": DEFAULT_ALGORITHM}
    if len(path) == 1 and path[0] in Policy.model_fields:
        return [] if path[0] == "goals" else {}
    keys = Policy.model_fields if len(path) == 1 else node
    raise _nowhere(change, f"there is no {show_path(path)}", did_you_mean(str(path[-1]), map(str, keys)))


def _shorthand(path: Path) -> str | None:
    if len(path) == 2 and path[0] == "columns":
        return ColumnSpec.shorthand
    keys = {"algorithm": "kind", "input": InputSpec.shorthand, "output": OutputSpec.shorthand}
    return keys.get(str(path[0])) if len(path) == 1 else None


def _nowhere(change: Override, reason: str, hint: str | None = None) -> PolicyError:
    return PolicyError(f"--set {change.text}: {reason}", hint=hint)
