"""What is wrong with a policy: every problem with its place in the file, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from tablecloak.errors import PolicyError, did_you_mean

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_NAME = re.compile(r"[\w-]+")
_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """One thing wrong with a policy; `location` is path:line:column once the file is known."""

    path: Path
    message: str
    hint: str | None = None
    location: str | None = None
    is_key: bool = False  # the key is wrong, not its value

    def __str__(self) -> str:
        text = f"{self.location}  {self.message}" if self.location else self.message
        return f"{text}\n  try  {self.hint}" if self.hint else text

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for `--json`."""
        place = show_path(self.path)
        return {"path": place, "message": self.message, "hint": self.hint, "location": self.location}


class InvalidPolicyError(PolicyError):
    """A policy does not say something that can be done; carries every problem found."""

    def __init__(self, problems: Sequence[PolicyProblem]) -> None:
        first = problems[0]
        super().__init__(first.message, hint=first.hint, location=first.location)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(str(p) for p in self.problems)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "problems": [p.to_dict() for p in self.problems]}


def show_path(path: Path) -> str:
    """A place as people write it: `goals[1].l`, `columns["first name"].role`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_NAME.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def fault(path: Path, message: str, *, hint: str | None = None, is_key: bool = False) -> InitErrorDetails:
    """A problem to raise from a validator; `path` is relative to the value being validated."""
    # The message is passed as context because pydantic fills templates in braces, and our texts may contain braces.
    context = {"text": message, "hint": hint, "is_key": is_key}
    return InitErrorDetails(type=PydanticCustomError("tablecloak", "{text}", context), loc=path, input=None)


def invalid(title: str, faults: list[InitErrorDetails]) -> ValidationError:
    """The exception that carries faults through pydantic, which prefixes their places."""
    return ValidationError.from_exception_data(title, faults)


def relabel(error: ValidationError, keys: Iterable[str]) -> ValidationError:
    """The same error with unknown keys explained by the names that exist."""
    names = list(keys)
    return invalid(error.title, [_again(details, names) for details in error.errors()])


def located(error: ValidationError, place: str | int) -> list[InitErrorDetails]:
    """The faults of a part, as those of the whole in which it has this place."""
    faults = [_again(details, ()) for details in error.errors()]
    return [InitErrorDetails(type=f["type"], loc=(place, *f["loc"]), input=f["input"]) for f in faults]


def _again(details: ErrorDetails, keys: Sequence[str]) -> InitErrorDetails:
    path = details["loc"]
    if len(path) == 1 and details["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        hint = did_you_mean(str(path[0]), keys) or f"known keys: {', '.join(keys)}"
        return fault(path, f"unknown key '{path[0]}'", hint=hint, is_key=True)
    context = details.get("ctx", {})
    if details["type"] == "tablecloak":
        return fault(path, context["text"], hint=context["hint"], is_key=context["is_key"])
    plain = PydanticCustomError(details["type"], "{text}", {**context, "text": details["msg"]})
    return InitErrorDetails(type=plain, loc=path, input=details["input"])


def problems_of(error: ValidationError, data: Any) -> list[PolicyProblem]:
    """Every problem in our words, at most one per place."""
    problems: dict[Path, PolicyProblem] = {}
    for details in error.errors():
        problem = _problem(details, data)
        problems.setdefault(problem.path, problem)
    return list(problems.values())


def _problem(details: ErrorDetails, data: Any) -> PolicyProblem:
    path = _place(details, data)
    where = show_path(path) or "the policy"
    context = details.get("ctx", {})
    if details["type"] == "tablecloak":
        return PolicyProblem(path, _sentence(path, context), context["hint"], is_key=context["is_key"])
    if details["loc"] and details["loc"][-1] == "[key]":
        return PolicyProblem(path, f"{where}: names must be text", hint="put the name in quotes", is_key=True)
    text = _MESSAGES.get(details["type"])
    if text is None:
        return PolicyProblem(path, _foreign(where, details))
    rule = text.format(**{name: _short(limit) for name, limit in context.items()})
    got = "" if details["type"] == "missing" else _got(details)
    return PolicyProblem(path, f"{where} {rule}{got}", _hint(details))


_MESSAGES = {
    "missing": "is missing",
    "greater_than_equal": "must be >= {ge}",
    "greater_than": "must be > {gt}",
    "less_than_equal": "must be <= {le}",
    "less_than": "must be < {lt}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "dataclass_type": "must be a mapping",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
}


def _sentence(path: Path, context: Mapping[str, Any]) -> str:
    parent = show_path(path[:-1] if context["is_key"] else path)
    return f"{parent}: {context['text']}" if parent else str(context["text"])


def _foreign(where: str, details: ErrorDetails) -> str:
    """A message written by pydantic or by a validator of a model."""
    message = details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should "):
        return f"{where} must {message.removeprefix('Input should ')}{_got(details)}"
    return f"{where} {message}" if message[:1].islower() else f"{where}: {message}"


def _short(limit: Any) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


def _got(details: ErrorDetails) -> str:
    value = details["input"]
    if value is None:
        return ", got nothing"
    if isinstance(value, str | int | float):
        shown = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
        return f", got {shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + '...'}"
    kind = (
        "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, Sequence) else type(value).__name__
    )
    return f", got {kind}"


def _hint(details: ErrorDetails) -> str | None:
    if details["type"] not in ("enum", "literal_error") or not isinstance(details["input"], str):
        return None
    return did_you_mean(details["input"], re.findall(r"'([^']*)'", details["ctx"]["expected"]))


def _place(details: ErrorDetails, data: Any) -> Path:
    """The steps of pydantic's location that exist in the data: it also names branches of unions there."""
    steps, node = details["loc"], data
    path: list[str | int] = []
    for position, step in enumerate(steps):
        # A branch of a union can only be told from a key that is not there by the kind of error.
        is_absent_key = position == len(steps) - 1 and not details["type"].endswith("_type")
        if _has(node, step):
            node = node[step]
        elif not (is_absent_key and isinstance(node, Mapping)):
            continue
        path.append(step)
    return tuple(path)


def _has(node: Any, step: str | int) -> bool:
    if isinstance(node, Mapping):
        return step in node
    return isinstance(node, list | tuple) and isinstance(step, int) and step < len(node)
