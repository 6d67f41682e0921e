"""What a docstring and its fields say about a model, an algorithm or a metric, in parts that can be shown anywhere."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

__all__ = ["Description", "Parameter", "describe"]

# The parts of a docstring that have a name of their own; each runs to the next one or to the end of the paragraph.
PARTS = ("Protects from", "Not from", "By guessing", "Stopped by", "Guarantee", "Cost", "Reference")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as it is written in a policy."""

    name: str
    description: str
    choices: str  # allowed values or bounds, in words
    default: str | None  # None: it must be given


@dataclass(frozen=True, slots=True)
class Description:
    """A model, an algorithm or a metric in words."""

    name: str
    summary: str
    body: str  # what follows the summary, without the named parts
    parts: Mapping[str, str]  # by name, in the order of PARTS
    parameters: tuple[Parameter, ...]

    @property
    def reference(self) -> str | None:
        return self.parts.get("Reference")


def describe(name: str, thing: Any) -> Description:
    """The description of a registered thing, from its docstring and its fields."""
    summary, _, rest = inspect.cleandoc(thing.__doc__ or "").partition("\n")
    names = "|".join(PARTS)
    found = re.findall(rf"({names}): (.*?)(?=\s(?:{names}): |\n\n|\Z)", rest, re.DOTALL)
    body = re.sub(rf"({names}): (.*?)(?=\s(?:{names}): |\n\n|\Z)", "", rest, flags=re.DOTALL)
    said = {part: " ".join(text.split()).rstrip(".") + "." for part, text in found}
    return Description(
        name,
        summary.strip(),
        body.strip("\n").rstrip(),
        {p: said[p] for p in PARTS if p in said},
        tuple(_parameters(thing)),
    )


def _parameters(thing: Any) -> list[Parameter]:
    if not (isinstance(thing, type) and is_dataclass(thing)):
        return []
    hints = inspect.get_annotations(thing, eval_str=True)
    return [_parameter(f.name, hints.get(f.name), thing) for f in fields(thing)]


def _parameter(name: str, hint: Any, thing: Any) -> Parameter:
    info: FieldInfo | None = getattr(thing, "__pydantic_fields__", {}).get(name)
    default = next(f.default for f in fields(thing) if f.name == name)
    if isinstance(default, FieldInfo):
        default = default.default
    is_given = default is MISSING or repr(default) == "PydanticUndefined"
    described = (info.description or "") if info else ""
    return Parameter(name, described, _choices(hint, info), None if is_given else _written(default))


def _choices(hint: Any, info: FieldInfo | None) -> str:
    kind = info.annotation if info else hint
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [
        f"{sign} {getattr(rule, key)}"
        for rule in (info.metadata if info else [])
        for key, sign in signs.items()
        if getattr(rule, key, None) is not None
    ]
    return ", ".join([_kind(kind), *bounds])


def _kind(hint: Any) -> str:
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if hint in words:
        return words[hint]
    members = [_kind(a) for a in get_args(hint) if a is not type(None) and a is not Ellipsis]
    if get_origin(hint) in (tuple, list):
        return f"list of {members[0]}" if members else "list"
    return " or ".join(dict.fromkeys(members)) or "value"


def _written(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
