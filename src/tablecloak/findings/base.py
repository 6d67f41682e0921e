"""The finding seam: a kind of finding is a function from what is published to what singles people out there.

Goals are about quasi-identifiers and the sensitive columns they name. Findings are about everything else that is handed
over: other columns, the order of rows, bounds of intervals, what attacks reach. A release is *ready* where every goal
holds and nothing is found, or where everything found was accepted with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.attacks.base import AttackResult
from tablecloak.data.table import Role
from tablecloak.engines.equal_rows import Alike
from tablecloak.models.base import Goal, PrivacyModel
from tablecloak.policy.schema import Policy
from tablecloak.registry import known, register
from tablecloak.stats.classes import Evidence, Histogram

# Of the records of a table, so many may stand alone on columns outside the goals before that is a finding.
MOST_ALONE = 0.01


class Status(StrEnum):
    """Whether a release can be handed over."""

    READY = "ready"  # every goal holds, and nothing was found
    ACCEPTED = "accepted"  # every goal holds, and everything found was accepted with a reason
    FINDINGS = "findings"  # every goal holds, and something else singles people out
    UNCHECKED = "unchecked"  # nothing is wrong, and something could not be looked at
    FAILS = "fails"  # a goal does not hold, or cells are wrong

    @property
    def is_ready(self) -> bool:
        """Whether a release may be called ready to hand over."""
        return self in (Status.READY, Status.ACCEPTED)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a policy: what `--set PLACE=VALUE` does."""

    place: str  # as in columns.cost.role
    value: Any

    def to_dict(self) -> dict[str, Any]:
        return {"set": self.place, "to": self.value}


@dataclass(frozen=True, slots=True)
class Fix:
    """The change of policy that ends a finding, in words and, where a machine can make it, as changes."""

    text: str
    changes: tuple[Change, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "changes": [change.to_dict() for change in self.changes]}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something besides the goals that singles people out."""

    kind: str
    what: str  # one sentence, in which no cell of the data stands
    fix: Fix
    column: str | None = None  # the worst one, where the finding is about columns
    count: int | None = None  # of records, where they can be counted
    share: float | None = None  # of all published records
    accepted: str | None = None  # the reason why it may stay

    def to_dict(self) -> dict[str, Any]:
        """An entry of `findings` in `--json`."""
        share = None if self.share is None or not math.isfinite(self.share) else round(self.share, 9)
        return {
            "kind": self.kind,
            "column": self.column,
            "count": self.count,
            "share": share,
            "what": self.what,
            "fix": self.fix.to_dict(),
            "accepted": self.accepted,
        }


@dataclass(frozen=True, slots=True)
class RareBounds:
    """Bounds of intervals of one column that are values of few records."""

    n_bounds: int
    n_records: int  # published with such an interval
    k: int  # so many records should have a value
    hierarchy: Mapping[str, Any] | None = None  # one that does not depend on the data


@dataclass(frozen=True, slots=True, eq=False)
class Recounted:
    """What the recount of a release knows that findings look at."""

    values: Mapping[str, Histogram] = field(default_factory=dict)  # of what goals count; totals are those of the table
    attacks: Sequence[AttackResult] = ()
    rare_bounds: Mapping[str, RareBounds] = field(default_factory=dict)  # by quasi-identifier
    persons: IntArray | None = None  # (n_rows,) whose each row is, where somebody has several


def _nothing(columns: Sequence[str], together: str | None) -> pl.DataFrame:  # noqa: ARG001
    return pl.DataFrame()


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What is published, as kinds of finding look at it: names, counts, and some rows for those that need cells.

    Before anything was released it is the input, with the columns that would be published.
    """

    policy: Policy
    goal: Goal
    n_records: int
    is_released: bool
    quasi: tuple[str, ...] = ()  # published quasi-identifiers
    outside: tuple[str, ...] = ()  # published columns that no goal speaks of
    protected: tuple[str, ...] = ()  # published sensitive columns that a goal protects
    count: Callable[[Sequence[tuple[str, ...]]], list[Alike]] = lambda sets: []  # noqa: ARG005
    sample: Callable[[Sequence[str], str | None], pl.DataFrame] = _nothing  # rows equal in a column all or none
    covered: tuple[str, ...] = ()  # published columns whose values are hidden, or others put in their place
    pseudonyms: Mapping[str, str] = field(default_factory=dict)  # published columns of them, with how they are made
    apart: tuple[str, ...] = ()  # published in a table of their own, or moved among the rows of a group
    has_exact_groups: bool = False  # quasi-identifiers are exact: groups hide people, not equal labels
    keeps_order: bool = False  # rows are published in the order of the input
    has_public_secret: bool = False  # others may read what hiding randomness comes from
    evidence: Recounted = field(default_factory=Recounted)
    step_of: Callable[[int], float] = lambda n: 0.01  # noqa: ARG005 - in which steps shares of so many records are told

    @property
    def linked(self) -> tuple[str, ...]:
        """Published columns that no goal speaks of and whose cells belong to their rows."""
        return tuple(name for name in self.outside if name not in self.apart)

    def drop(self, *columns: str) -> Fix:
        """The fix that leaves columns out."""
        names = ", ".join(columns)
        changes = tuple(Change(f"columns.{name}.role", "drop") for name in columns)
        return Fix(f"leave {names} out (role: drop)", changes)


Find: TypeAlias = Callable[[Shown], Iterable[Finding]]


def finding(kind: str) -> Callable[[Find], Find]:
    """Register a function as a kind of finding; line 1 of its docstring says what it finds."""
    return register("findings", kind)


def find_all(shown: Shown) -> tuple[Finding, ...]:
    """Everything found, kind by kind, each with the reason why the policy accepts it, if it does."""
    every = [finding for look in known("findings").values() for finding in look(shown)]
    return tuple(replace(finding, accepted=_reason(finding, shown.policy)) for finding in every)


def _reason(finding: Finding, policy: Policy) -> str | None:
    fitting = (a for a in policy.accepted if a.finding == finding.kind and a.column in (None, finding.column))
    return next((a.because for a in fitting), None)


def unmatched_acceptances(findings: Sequence[Finding], policy: Policy) -> Iterator[str]:
    """Remarks on what the policy accepts and nothing has."""
    for a in policy.accepted:
        if not any(f.kind == a.finding and a.column in (None, f.column) for f in findings):
            of_column = f" of '{a.column}'" if a.column else ""
            yield f"the policy accepts a finding {a.finding}{of_column}, and there is none"


def status_of(findings: Sequence[Finding]) -> Status:
    """Whether a release whose goals hold can be handed over with these findings."""
    if any(finding.accepted is None for finding in findings):
        return Status.FINDINGS
    return Status.ACCEPTED if findings else Status.READY


def protected_columns(goal: Goal, sensitive: Sequence[str]) -> tuple[str, ...]:
    """The sensitive columns that a model of the goal speaks of."""
    spoken_of = {name for model in goal.models for name in _spoken_of(model, sensitive)}
    return tuple(name for name in sensitive if name in spoken_of)


def _spoken_of(model: PrivacyModel, sensitive: Sequence[str]) -> Sequence[str]:
    if model.sensitive_columns is not None:
        return model.sensitive_columns
    return sensitive if Evidence.SENSITIVE in model.evidence else ()


def is_unnamed_sensitive(shown: Shown, column: str) -> bool:
    """Whether the policy calls a column sensitive, and no goal protects it."""
    spec = shown.policy.columns.get(column)
    return spec is not None and spec.role is Role.SENSITIVE
