"""Forms: parameters of models, algorithms and hierarchies as inputs, what was typed as settings, words for both."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tablecloak.errors import PolicyError

ROLES: Mapping[str, tuple[str, str]] = {
    "identifier": ("names one person", "left out, or replaced by *"),
    "quasi": ("others may know it", "made coarser"),
    "sensitive": ("must not be learned", "published, protected by goals"),
    "person": ("key of a person with several rows", "counted, never published"),
    "items": ("a set of items in each cell", "made coarser until small combinations are frequent"),
    "weight": ("sampling weight", "published as it is"),
    "keep": ("harmless", "published as it is"),
    "drop": ("not needed", "left out"),
}
# Roles that are not chosen one by one: sets are a type of dataset.
FIXED_ROLES = ("items",)
KINDS: Mapping[str, str] = {
    "intervals": "equal ranges of numbers",
    "quantiles": "ranges with equally many values",
    "dates": "months, years, decades",
    "mask": "hide characters one by one",
    "order": "groups of neighbours",
    "tree": "a tree you write",
    "auto": "generated from the values",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One input."""

    name: str
    kind: str  # whole, number, choice, flag, column, text (as it is typed) or list (read as YAML)
    label: str
    help: str
    is_required: bool
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    is_open: bool = False  # the least value itself is not allowed

    @property
    def step(self) -> str:
        return "1" if self.kind == "whole" else "any"


def fields_of(thing: Any, *, columns: Mapping[str, Sequence[str]] | None = None) -> list[Field]:
    """The inputs of a registered class or a pydantic model.

    Args:
        columns: names that parameters such as `sensitive` may take, by parameter.
    """
    infos: Mapping[str, FieldInfo] = getattr(thing, "__pydantic_fields__", None) or getattr(thing, "model_fields", {})
    skipped = {"kind", "tree"}
    return [_field(n, info, columns or {}) for n, info in infos.items() if n not in skipped]


def _field(name: str, info: FieldInfo, columns: Mapping[str, Sequence[str]]) -> Field:
    written = info.alias or name.rstrip("_")
    default = None if info.is_required() or info.default is PydanticUndefined else info.default
    kind, choices = _kind(info.annotation)
    if written in columns:
        kind, choices = "column", tuple(columns[written])
    bounds = {key: getattr(rule, key) for rule in info.metadata for key in ("ge", "gt", "le", "lt")
              if getattr(rule, key, None) is not None}  # fmt: skip
    return Field(
        written,
        kind,
        written.replace("_", " "),
        info.description or "",
        info.is_required(),
        default,
        choices,
        bounds.get("ge", bounds.get("gt")),
        bounds.get("le", bounds.get("lt")),
        "gt" in bounds,
    )


def _kind(annotation: Any) -> tuple[str, tuple[str, ...]]:
    origin = get_origin(annotation)
    if origin is Literal:
        return "choice", tuple(str(a) for a in get_args(annotation))
    if origin in (Union, types.UnionType):
        kinds = [_kind(a) for a in get_args(annotation) if a is not type(None)]
        simple = [k for k in kinds if k[0] in ("whole", "number", "choice")]
        lists = [k for k in kinds if k[0] == "list"]
        is_number = {k[0] for k in kinds} <= {"whole", "number"}
        return ("number", ()) if is_number and len(kinds) > 1 else (simple or lists or kinds or [("list", ())])[0]
    if origin is not None and hasattr(annotation, "__metadata__"):
        return _kind(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "choice", tuple(str(each.value) for each in annotation)
    plain = {int: "whole", float: "number", bool: "flag", str: "text"}
    return plain.get(annotation, "list"), ()


def settings_from(form: Mapping[str, str], fields: Sequence[Field], prefix: str = "") -> dict[str, Any]:
    """What was typed, as a policy has it; what is empty or default is left out."""
    settings: dict[str, Any] = {}
    for field in fields:
        raw = form.get(prefix + field.name)
        if field.kind == "flag":
            value: Any = raw is not None and raw not in ("", "false", "off")
        elif raw is None or not raw.strip():
            continue
        else:
            value = _value(raw.strip(), field)
        if value != field.default:
            settings[field.name] = value
    return settings


def _value(raw: str, field: Field) -> Any:
    """Numbers and words as they are; anything else is read as YAML, so lists can be typed."""
    if field.kind in ("choice", "column", "text"):
        return raw
    if field.kind in ("whole", "number"):
        try:
            number = float(raw)
        except ValueError:
            return raw  # the policy says what is wrong with it
        return int(number) if number.is_integer() and (field.kind == "whole" or "." not in raw) else number
    try:
        return YAML(typ="safe").load(raw)
    except YAMLError:
        raise PolicyError(f"{field.label} is not readable", hint="write a list as [a, b]") from None


def goal_words(goal: str) -> str:
    """A goal as results write it, `l-diversity(variant=distinct, l=3, sensitive=ill)`, in fewer words.

    >>> goal_words("l-diversity(variant=distinct, l=3, sensitive=ill)")
    'l-diversity (l = 3, ill)'
    """
    name, _, rest = goal.partition("(")
    pairs = [part.partition("=") for part in rest.rstrip(")").split(", ") if part]
    words = [value if key == "sensitive" else f"{key} = {value}" for key, _, value in pairs if value != "distinct"]
    return f"{name} ({', '.join(words)})" if words else name


def sentence_parts(sentence: str | None, parameters: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The sentence of a model as ("text", words) and ("field", parameter); None if it has none that fits."""
    if sentence is None:
        return None
    parts: list[tuple[str, str]] = []
    rest = sentence
    while "{" in rest:
        text, _, rest = rest.partition("{")
        field, _, rest = rest.partition("}")
        if field not in parameters:
            return None
        parts += [("text", text), ("field", field)]
    return [*parts, ("text", rest)]
