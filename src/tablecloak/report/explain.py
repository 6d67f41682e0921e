"""What the docstring and the fields of a registered thing say, as data: the source of `explain`, reports and the docs.

A docstring begins with the definition on line 1. Paragraphs follow; parts that begin with a name of their own, such as
`Protects from: ... Not from: ...` and `Reference: ...`, are told apart by it, everything else is formulas and remarks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tablecloak import registry
from tablecloak.errors import PolicyError, did_you_mean

# The parts of a docstring that have a name of their own; each runs to the next one or to the end of the paragraph.
PARTS = ("Protects from", "Not from", "By guessing", "Stopped by", "Guarantee", "Cost", "Reference")
KEYED = ("Protects from", "Not from", "Reference")  # these have keys of their own in `explain --json`


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a model or an algorithm."""

    name: str
    description: str  # with the names it allows
    is_required: bool
    default: Any
    plain_description: str  # as the field has it
    choices: str  # allowed values or bounds, in words
    written_default: str | None  # as in a policy; None: it must be given

    def to_dict(self) -> dict[str, Any]:
        """The keys of a parameter in `tablecloak explain --json`."""
        return {key: getattr(self, key) for key in ("name", "description", "is_required", "default")}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a registered thing is, in words."""

    kind: str  # model, algorithm or metric
    name: str
    definition: str
    detail: str | None  # formulas and remarks, lines as they were written, with the parts that have no key
    protects_from: str | None
    not_from: str | None
    parameters: tuple[Parameter, ...]
    reference: str | None
    body: str  # formulas and remarks alone
    parts: Mapping[str, str]  # sentences by name, in the order of PARTS

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak explain --json`."""
        words = ("kind", "name", "definition", "detail", "protects_from", "not_from")
        parameters = [p.to_dict() for p in self.parameters]
        return {**{key: getattr(self, key) for key in words}, "parameters": parameters, "reference": self.reference}


def explain(name: str) -> Explanation:
    """The explanation of a model, algorithm or metric by its name."""
    for kind in registry.KINDS:
        things = registry.known(kind)
        if name in things:
            return describe(registry.noun(kind), name, things[name])
    every = [n for kind in registry.KINDS for n in registry.known(kind)]
    raise PolicyError(
        f"nothing is called '{name}'", hint=did_you_mean(name, every) or "tablecloak list names everything"
    )


def describe(kind: str, name: str, thing: Any) -> Explanation:
    """What the docstring and the fields of a thing say."""
    definition, _, rest = inspect.cleandoc(thing.__doc__ or "").partition("\n")
    texts = {part: " ".join(text.split()) for part, text in re.findall(_pattern(PARTS), rest, re.DOTALL)}
    return Explanation(
        kind=kind,
        name=name,
        definition=definition,
        detail="\n\n".join(filter(None, [_without(rest, KEYED), _minimized(thing)])) or None,
        protects_from=texts.get("Protects from") or None,
        not_from=texts.get("Not from") or None,
        parameters=tuple(_parameter(n, f) for n, f in getattr(thing, "__pydantic_fields__", {}).items()),
        reference=texts.get("Reference") or None,
        body=_without(rest, PARTS),
        parts={part: texts[part].rstrip(".") + "." for part in PARTS if part in texts},
    )


def _pattern(parts: Sequence[str]) -> str:
    """Name and text of these parts."""
    return rf"({'|'.join(parts)}): (.*?)(?=\s(?:{'|'.join(PARTS)}): |\n\n|\Z)"


def _without(text: str, parts: Sequence[str]) -> str:
    return re.sub(_pattern(parts), "", text, flags=re.DOTALL).strip("\n").rstrip()


def _minimized(thing: Any) -> str | None:
    """What an algorithm keeps low where that is no choice."""
    what = getattr(thing, "minimizes", None)
    return f"Minimises {what}." if what else None


def _described(field: FieldInfo) -> str:
    """The description of a field, with the names it allows where it does not say them."""
    description = field.description or ""
    names = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if all(str(name) in description for name in names):
        return description
    return f"{description}; one of {', '.join(map(str, names))}" if description else ", ".join(map(str, names))


def _parameter(name: str, field: FieldInfo) -> Parameter:
    is_required, is_open = field.is_required(), field.default is PydanticUndefined
    return Parameter(
        name=field.alias or name,
        description=_described(field),
        is_required=is_required,
        default=None if is_required or is_open else field.default,
        plain_description=field.description or "",
        choices=_choices(field),
        written_default=None if is_required else _written(field.get_default(call_default_factory=True)),
    )


def _choices(field: FieldInfo) -> str:
    kind = field.annotation
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [
        f"{sign} {getattr(rule, key)}"
        for rule in field.metadata
        for key, sign in signs.items()
        if getattr(rule, key, None) is not None
    ]
    return ", ".join([_kind(kind), *bounds])


def _kind(hint: Any) -> str:
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if hint in words:
        return words[hint]
    origin = get_origin(hint)
    if origin is Literal:
        return " or ".join(map(str, get_args(hint)))
    if origin is Annotated:
        return _kind(get_args(hint)[0])
    members = [_kind(a) for a in get_args(hint) if a is not type(None) and a is not Ellipsis]
    if origin in (dict, Mapping):
        return f"mapping of {members[0]} to {members[1]}"
    if origin in (tuple, list):
        return f"list of {members[0]}" if members else "list"
    return " or ".join(dict.fromkeys(members)) or "value"


def _written(value: Any) -> str:
    return "none" if value is None or value == {} else str(value).lower() if isinstance(value, bool) else str(value)
