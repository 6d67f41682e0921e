"""Every error a user can meet, with the exit code of the command line.

CloakError                 1   something tablecloak can explain
|- PolicyError             2   the policy file or an override is wrong; says path:line:column
|- IncompatibleChoice      2   two choices of the policy cannot be combined; says what to change
|- MissingExtra            2   an optional package is needed; says which command installs it
|- GoalNotMet              3   a finished table does not satisfy the goal
|- Infeasible              4   no table can satisfy the goal; says the best achievable and what to relax
|- DataError               5   the data is unreadable or does not fit the policy
`- EngineError             1   an engine failed in a named step

A message never contains a cell of the data: it speaks of columns, row numbers, counts and codes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar


class CloakError(Exception):
    """An error with a hint about what to do next and, where known, a location."""

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None, location: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.location = location

    def __str__(self) -> str:
        text = f"{self.location}  {self.message}" if self.location else self.message
        return f"{text}\n  try  {self.hint}" if self.hint else text

    def to_dict(self) -> dict[str, Any]:
        """The error as plain data, for `--json` and problem+json."""
        return {"error": self.kind, "message": self.message, "hint": self.hint, "location": self.location}


class PolicyError(CloakError):
    """The policy file or an override is wrong."""

    exit_code = 2
    kind = "policy"


class IncompatibleChoice(CloakError):
    """Algorithm, model, engine or role cannot be combined as asked."""

    exit_code = 2
    kind = "incompatible"


class MissingExtra(CloakError):
    """An optional dependency is not installed."""

    exit_code = 2
    kind = "missing-extra"


class DataError(CloakError):
    """The data cannot be read, or does not fit the policy."""

    exit_code = 5
    kind = "data"


class EngineError(CloakError):
    """An engine failed in a named step."""

    exit_code = 1
    kind = "engine"


class GoalNotMet(CloakError):
    """A finished table was recounted and does not satisfy the goal."""

    exit_code = 3
    kind = "goal-not-met"

    def __init__(
        self, message: str, *, result: dict[str, Any], hint: str | None = None, location: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, location=location)
        self.result = result

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), **self.result}


class Infeasible(CloakError):
    """No table within the limits satisfies the goal.

    Args:
        best: best achievable level per failing goal, as plain data.
        relaxations: changes of the policy that were tried and work, each {"change": text, ...}.
    """

    exit_code = 4
    kind = "infeasible"

    def __init__(self, message: str, *, best: list[dict[str, Any]], relaxations: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.best = best
        self.relaxations = relaxations

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  try  {r['change']}" for r in self.relaxations)])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "best": self.best, "relaxations": self.relaxations}


class DoesNotApplyError(Exception):
    """A metric has no meaning for a release, or an attack cannot be tried on it; the text says why.

    It never reaches a user: whoever asks for the metric or the attack shows the text in place of the number.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A sentence naming the closest known name, or None."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else None


def require_columns(names: Iterable[str], columns: Sequence[str], location: str | None) -> None:
    """Raise DataError unless a table has all columns; the hint is the one that was probably meant, or those there are.

    Where a header is missing the names are cells of the first record: none is shown if one of them is no name.
    """
    present = set(columns)
    for name in names:
        if name in present:
            continue
        hint = "tablecloak inspect shows its columns; header: false under input, if the first row is a record"
        if all(_IS_NAME(column) for column in columns):
            hint = did_you_mean(name, columns) or f"it has: {', '.join(columns[:20])}"
        raise DataError(f"there is no column '{name}'", hint=hint, location=location)


_IS_NAME = re.compile(r"(?=.*[^\W\d_])[^\[\]{}\":=<>]{1,80}").fullmatch  # has a letter, and nothing of JSON or markup
