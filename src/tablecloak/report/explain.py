"""What the docstring and the fields of a registered thing say, as data: the source of `explain` and of the docs.

A docstring begins with the definition on line 1. Paragraphs follow; `Protects from: ... Not from: ...` and
`Reference: ...` are told apart by these words, everything else is the detail, formulas included.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tablecloak import registry
from tablecloak.errors import PolicyError, did_you_mean

__all__ = ["Explanation", "Parameter", "explain"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a model or an algorithm."""

    name: str
    description: str
    is_required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a registered thing is, in words."""

    kind: str  # model, algorithm or metric
    name: str
    definition: str
    detail: str | None  # formulas and remarks, lines as they were written
    protects_from: str | None
    not_from: str | None
    parameters: tuple[Parameter, ...]
    reference: str | None

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak explain --json`."""
        return {**asdict(self), "parameters": [asdict(p) for p in self.parameters]}


def explain(name: str) -> Explanation:
    """The explanation of a model, algorithm or metric by its name."""
    for kind in registry.KINDS:
        things = registry.known(kind)
        if name in things:
            return describe(kind.removesuffix("s"), name, things[name])
    every = [n for kind in registry.KINDS for n in registry.known(kind)]
    raise PolicyError(
        f"nothing is called '{name}'", hint=did_you_mean(name, every) or "tablecloak list names everything"
    )


def describe(kind: str, name: str, thing: Any) -> Explanation:
    """What the docstring and the fields of a thing say."""
    definition, _, rest = inspect.cleandoc(thing.__doc__ or "").partition("\n")
    rest, reference = _cut(rest, "Reference:")
    rest, protection = _cut(rest, "Protects from:")
    protects, _, not_from = (protection or "").partition("Not from:")
    return Explanation(
        kind=kind,
        name=name,
        definition=definition,
        detail="\n\n".join(filter(None, [rest.strip("\n").rstrip(), _minimized(thing)])) or None,
        protects_from=_flowing(protects),
        not_from=_flowing(not_from),
        parameters=tuple(_parameter(n, f) for n, f in getattr(thing, "__pydantic_fields__", {}).items()),
        reference=_flowing(reference or ""),
    )


def _cut(text: str, word: str) -> tuple[str, str | None]:
    """The text before a word and the paragraph after it, which is taken out."""
    before, found, after = text.partition(word)
    paragraph, _, later = after.partition("\n\n")
    return (before + later, paragraph) if found else (text, None)


def _flowing(text: str) -> str | None:
    return re.sub(r"\s+", " ", text).strip() or None


def _minimized(thing: Any) -> str | None:
    """What an algorithm keeps low where that is no choice."""
    what = getattr(thing, "minimizes", None)
    return f"Minimises {what}." if what else None


def _described(field: FieldInfo) -> str:
    """The description of a field, with the names it allows where it does not say them."""
    said = field.description or ""
    names = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    if all(str(name) in said for name in names):
        return said
    return f"{said}; one of {', '.join(map(str, names))}" if said else ", ".join(map(str, names))


def _parameter(name: str, field: FieldInfo) -> Parameter:
    is_required = field.is_required()
    default = None if is_required or field.default is PydanticUndefined else field.default
    return Parameter(name, _described(field), is_required, default)
