"""The model seam: a model says which level every class reaches and which level is required.

Enforcing (`Goal.admits`, asked by every split and merge) and checking (`Goal.verdicts`) both derive from the same
`levels`, so they cannot drift apart.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast, dataclass_transform, runtime_checkable

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.table import Role
from tablecloak.errors import DataError, IncompatibleChoice, did_you_mean
from tablecloak.kernels.rules import RuleKind
from tablecloak.registry import register
from tablecloak.stats.classes import ClassStats, Counted, Evidence, Histogram, SensitiveDomain, side_by_side
from tablecloak.stats.persons import Held, held

# Shares and entropies are sums of floats; a difference this small is rounding, not a violation.
TOLERANCE = 1e-9
# Of more values bounds are not written down: they take the square of their number.
MOST_BOUNDED = 256
# What is told by the histograms of the attributes that a model speaks of.
OWN_VALUES = Evidence.SIZE | Evidence.SENSITIVE | Evidence.TABLE
# What every model must define.
DEFINED = ("name", "evidence", "levels")

M = TypeVar("M")


class Sense(enum.Enum):
    """How a level compares with the requirement."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    BELOW = "below"  # strictly


class Monotone(enum.Flag):
    """Which changes of a table keep a satisfied model satisfied."""

    NEITHER = 0
    GENERALIZATION = enum.auto()  # uniting satisfying classes
    SUPPRESSION = enum.auto()  # uniting a satisfying class with any other: a coarser table never has to suppress more
    BOTH = GENERALIZATION | SUPPRESSION


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One thing a model asks of every class, or of the table if `levels` has length 1."""

    name: str  # the parameter it comes from
    levels: FloatArray
    required: float
    sense: Sense = Sense.AT_LEAST

    def margin(self) -> FloatArray:
        """Distance to the requirement, shaped like `levels`: at least 0 exactly where it is met."""
        distance = self.levels - self.required if self.sense is Sense.AT_LEAST else self.required - self.levels
        tie = -TOLERANCE if self.sense is Sense.BELOW else 0.0
        return np.where(np.abs(distance) <= TOLERANCE, tie, distance)


class NamedColumn(NamedTuple):
    """A column that a goal names, the place of the name in the goal, and the roles the column may have."""

    place: tuple[str | int, ...]
    column: str
    roles: tuple[Role, ...]


class Rule(NamedTuple):
    """A model as kernels can judge it, class by class and column by column."""

    kind: RuleKind
    limit: float
    order: int = 0
    skips_missing: bool = False  # the missing value is not looked at


class CountBounds(NamedTuple):
    """A model as linear bounds on how often a class of `size` records has each value of a sensitive column.

    It holds where sum(max(0, counts @ features - size * caps)) <= size * allowed. The left side of a union of classes
    is at most the sum of theirs, so how much two classes exceed the right side says what uniting them repairs.
    """

    features: FloatArray  # (n_values, n_features)
    caps: FloatArray  # (n_features,)
    allowed: float

    def excess(self, featured: FloatArray, sizes: FloatArray) -> FloatArray:
        """By how much classes break the bounds, in records, (n_classes,); 0 where they hold.

        Args:
            featured: (n_classes, n_features) their counts times the features.
        """
        over = np.maximum(featured - sizes[:, None] * self.caps, 0.0).sum(axis=1) - self.allowed * sizes
        return np.where(over > TOLERANCE * np.maximum(sizes, 1.0), over, 0.0)


@runtime_checkable
class PrivacyModel(Protocol):
    """What every model offers; a model file inherits this for its types and gets the parts that can be derived.

    Nobody else knows models by name: whatever a search, a recount, an attack or a page must know of one is said here.
    """

    name: ClassVar[str] = ""
    evidence: ClassVar[Evidence] = Evidence.SIZE
    # The model in words that need no training; a parameter between braces becomes an input.
    sentence: ClassVar[str | None] = None
    level_name: ClassVar[str] = "worst class"  # what its level is called beside a number
    requires: ClassVar[str] = ""  # the parameter that is the level required; a model without one defines `required`
    # Every class of at least `min_size` records satisfies the model, so nothing else need be counted.
    size_decides: ClassVar[bool] = False
    # What it counts of a person's values is still theirs in a union of classes that share persons.
    keeps_values_in_persons: ClassVar[bool] = False
    # It speaks of the sensitive values of a group only, not of how many records look alike.
    holds_in_groups: ClassVar[bool] = False
    # Its level is the distance of a class from the table, which exchanging records between classes shortens.
    is_distance: ClassVar[bool] = False

    @property
    def monotone(self) -> Monotone:
        """Which changes of a table keep this model satisfied."""
        return Monotone.NEITHER

    @property
    def monotone_in_persons(self) -> Monotone:
        """The same where persons have several records.

        Two classes may share persons: the union then has fewer persons than both together, and one person may hold what
        two held, so nothing that looks at values is kept unless the model says so.
        """
        is_kept = self.keeps_values_in_persons or Evidence.SENSITIVE not in self.evidence
        return self.monotone if is_kept else Monotone.NEITHER

    @property
    def sense(self) -> Sense:
        """How levels compare with `required`."""
        return Sense.AT_LEAST

    @property
    def required(self) -> float:
        """The level that every class must reach."""
        level: float = getattr(self, self.requires)
        return level

    @property
    def min_size(self) -> int:
        """A class with fewer records can never satisfy the model."""
        return 1

    def levels(self, stats: ClassStats) -> FloatArray:
        """The level each class reaches, (n_classes,)."""
        ...

    def conditions(self, stats: ClassStats) -> list[Condition]:
        """Everything the model asks; a model that asks more than `levels` against `required` adds to this."""
        return [Condition(self.name, self.levels(stats), self.required, self.sense)]

    def margin(self, stats: ClassStats) -> FloatArray:
        """Distance to the nearest requirement: at least 0 exactly where the model is satisfied.

        (n_classes,), or length 1 for a model that judges the whole table.
        """
        return functools.reduce(np.minimum, (c.margin() for c in self.conditions(stats)))

    @property
    def in_search(self) -> PrivacyModel:
        """A model that can be asked of every class alone and, where all classes satisfy it, implies this one."""
        return self

    @property
    def note(self) -> str | None:
        """What enforcing the model means beyond the usual, for whoever plans a release."""
        return None

    def remarks(self, whole: ClassStats) -> Iterable[str]:  # noqa: ARG002
        """What can be said about reaching the model on a table, given as one class."""
        return ()

    @property
    def is_asked_of_classes(self) -> bool:
        """Every class is judged for itself, whatever other classes there are."""
        return self.in_search is self

    @property
    def among_records(self) -> PrivacyModel:
        """A model of the table alone that implies it where everybody in the table is in the population, too."""
        return self

    def named_values(self) -> tuple[str, ...]:
        """Sensitive values that the goal names; one that does not occur is a mistake, for it protects nobody."""
        return getattr(self, "values", None) or ()

    @property
    def asks_of_search(self) -> str | None:
        """What the model asks of how classes were formed, which no release shows: a recount of one made elsewhere
        cannot say that the model holds. None where the release alone decides.
        """
        return None

    @property
    def sensitive_columns(self) -> tuple[str, ...] | None:
        """Sensitive columns it speaks of; None: all of them, if it looks at any."""
        return names_in(getattr(self, "sensitive", None))

    def counts(self, attribute: str) -> bool:
        """Whether the values of a sensitive attribute decide what the model admits."""
        names = self.sensitive_columns
        return not self.size_decides and (names is None or attribute in names)

    def named_columns(self) -> tuple[NamedColumn, ...]:
        """Every column that the goal names, but those with guards."""
        return named_as("sensitive", getattr(self, "sensitive", None), Role.SENSITIVE)

    @property
    def guard_columns(self) -> tuple[str, ...]:
        """Columns in which people say what must not be learned of them."""
        return ()

    def n_unknown_guards(self, whole: ClassStats) -> int:  # noqa: ARG002
        """How many different cells of those columns name nothing that could be guarded."""
        return 0

    def lacks(self, stats: ClassStats) -> Evidence:
        """What these statistics do not have of the evidence without which nobody can say that the model holds."""
        no_guards = any(name not in stats.hist for name in self.guard_columns)
        no_pairs = Evidence.PAIRS in self.evidence and stats.pairs is None
        no_weights = Evidence.WEIGHTS in self.evidence and stats.weighed is None
        missing = {Evidence.GUARDS: no_guards, Evidence.PAIRS: no_pairs, Evidence.WEIGHTS: no_weights}
        return functools.reduce(operator.or_, (kind for kind, is_so in missing.items() if is_so), Evidence(0))

    @property
    def asks_for_everybody(self) -> bool:
        """Somebody of the population whom no class covers breaks it."""
        return False

    @property
    def hides_among(self) -> float | None:
        """Of so many values nobody's is believed more than the others, so with a chance of 1 by it; None: not said."""
        return None

    @property
    def usual_limit(self) -> tuple[str, float] | None:
        """The parameter that is its limit and a usual value of it, for a goal that is too wide to protect anybody."""
        return None

    def degrees(self, stats: ClassStats) -> FloatArray:
        """By how much every class exceeds what is required, (n_classes,); a number of values counts as whole."""
        margin = self.margin(stats)
        return np.floor(margin + TOLERANCE) if self.sense is Sense.AT_LEAST else margin

    def rule(self) -> Rule | None:
        """The model as a rule that kernels can judge class by class; None if it has no such form.

        The rule must hold exactly where `margin` is at least 0.
        """
        return None

    def bounds(self, domain: SensitiveDomain, totals: IntArray) -> CountBounds | None:  # noqa: ARG002
        """The model as bounds on counts of one column, of which the table has so many of each value; None: it is none.

        The bounds must hold exactly where `margin` is at least 0, where every person has one record.
        """
        return None

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:  # noqa: ARG002
        """Weaker versions of this model that a table reaching `achieved` might satisfy, strongest first."""
        return ()


def names_in(parameter: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The columns that a parameter names: one, several, or none at all."""
    return parameter if parameter is None else (parameter,) if isinstance(parameter, str) else tuple(parameter)


def named_as(place: str, parameter: str | Sequence[str] | None, *roles: Role) -> tuple[NamedColumn, ...]:
    """The columns that a parameter names, with the roles they may have."""
    return tuple(NamedColumn((place,), column, roles) for column in names_in(parameter) or ())


@dataclass_transform(frozen_default=True, kw_only_default=True)
def model(
    name: str,
    *,
    evidence: Evidence | None,
    requires: str | None = None,
    monotone: Monotone | None = None,
    sense: Sense | None = None,
) -> Callable[[type[M]], type[M]]:
    """Make a class a registered privacy model: a frozen value whose fields are checked and appear in policies.

    Args:
        evidence: None where the class computes it from its parameters.
        requires: the parameter that is the level required; left out where the class computes it.
        monotone: left out where the class computes it from its parameters.
        sense: left out where the class computes it, or where levels must be at least `required`.
    """
    declared = {"name": name, "evidence": evidence, "requires": requires, "monotone": monotone, "sense": sense}

    def decorate(cls: type[M]) -> type[M]:
        checked = checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))(cls)
        for attribute, value in declared.items():
            if value is not None:
                setattr(checked, attribute, value)
        for attribute, default in vars(PrivacyModel).items():
            if not attribute.startswith("_") and attribute not in DEFINED and not hasattr(checked, attribute):
                setattr(checked, attribute, default)
        return cast(type[M], register("models", name)(checked))

    return decorate


def evidence_of(kind: type[PrivacyModel]) -> Evidence:
    """What every goal of a kind must see, whatever its parameters."""
    return kind.evidence if isinstance(kind.evidence, Evidence) else Evidence.SIZE


def parameters(a_model: PrivacyModel) -> dict[str, Any]:
    """The fields that were set, as they are written in a policy."""
    values = {f.name: getattr(a_model, f.name) for f in fields(a_model)}  # type: ignore[arg-type]
    # that empty cells count is said where it was asked for: it is not what anybody expects
    return {name: _written(v) for name, v in values.items() if v is not None and (name, v) != ("missing_counts", False)}


def _written(value: Any) -> Any:
    """A value of a field as a policy has it: parts of a model, such as templates, by their own fields."""
    if isinstance(value, tuple):
        return tuple(map(_written, value))
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def all_held(stats: ClassStats, sensitive: str | Sequence[str] | None) -> list[Held]:
    """What a model speaks of: the values of the named sensitive attributes, or of all of them."""
    columns = stats.hist_of(Counted.SENSITIVE)
    names = list(columns) if sensitive is None else [sensitive] if isinstance(sensitive, str) else list(sensitive)
    if not names:
        raise IncompatibleChoice(
            "this model judges sensitive columns and there is none", hint="give a column the role 'sensitive'"
        )
    for name in names:
        if name not in columns:
            raise DataError(f"no sensitive column '{name}'", hint=did_you_mean(name, columns))
    return [held(stats, name) for name in names]


def histograms(stats: ClassStats, sensitive: str | Sequence[str] | None) -> list[Histogram]:
    """How many persons hold each value of these attributes; shares are shares of persons."""
    return [each.holders() for each in all_held(stats, sensitive)]


def one_held(stats: ClassStats, sensitive: str | None, model_name: str) -> Held:
    """The one sensitive attribute whose values a model names."""
    columns = all_held(stats, sensitive)
    if len(columns) > 1:
        raise IncompatibleChoice(
            f"{model_name} names values, so it must speak of one sensitive column, not {len(columns)}",
            hint="write one goal per column, each with sensitive: <column>",
        )
    return columns[0]


def one_histogram(stats: ClassStats, sensitive: str | None, model_name: str) -> Histogram:
    """How many persons hold each value of it."""
    return one_held(stats, sensitive, model_name).holders()


def grouped(stats: ClassStats, x: Sequence[str] | None) -> tuple[ClassStats, IntArray]:
    """Classes united that agree on some quasi-identifiers (None: all), and the group of every class."""
    if x is None:
        return stats, np.arange(stats.n_classes)
    for name in x:
        if stats.labels is not None and name not in stats.labels:
            raise DataError(f"no quasi-identifier '{name}'", hint=did_you_mean(name, stats.labels))
    return stats.by_labels(x)


def crowd(stats: ClassStats, k: int) -> Condition:
    """The condition that every class holds at least k persons."""
    return Condition("k", stats.persons.astype(np.float64), k)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a recount says about one model."""

    model: str
    params: dict[str, Any]
    holds: bool
    achieved: float
    required: float
    margin: float
    worst_class_size: int
    conditions: tuple[ConditionVerdict, ...] = ()  # where the model asks several things
    unchecked: str | None = None  # what was missing to decide; it does not hold as long as nobody has

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the keys of `tablecloak verify --json`; infinite levels become null."""
        numbers = {name: _plain(getattr(self, name)) for name in ("achieved", "required", "margin")}
        several = {"conditions": [c.to_dict() for c in self.conditions]} if self.conditions else {}
        return {
            "model": self.model,
            "params": self.params,
            "holds": self.holds,
            **numbers,
            "worst_class_size": self.worst_class_size,
            **several,
            **({"unchecked": self.unchecked} if self.unchecked else {}),
        }


@dataclass(frozen=True, slots=True)
class ConditionVerdict:
    """What a recount says about one of several conditions of a model."""

    name: str
    achieved: float
    required: float
    margin: float
    worst_class: int

    @property
    def holds(self) -> bool:
        return self.margin >= 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "holds": self.holds,
            "achieved": _plain(self.achieved),
            "required": _plain(self.required),
        }


def _plain(number: float) -> float | int | None:
    if not np.isfinite(number):
        return None
    return int(number) if float(number).is_integer() else round(float(number), 9)


@dataclass(frozen=True, slots=True)
class Goal:
    """All models that must hold together."""

    models: tuple[PrivacyModel, ...]
    counts_persons: bool = False  # persons have several records, so the size of a class decides nothing

    @property
    def evidence(self) -> Evidence:
        return functools.reduce(operator.or_, (m.evidence for m in self.models), Evidence.SIZE)

    @property
    def guard_columns(self) -> tuple[str, ...]:
        """Columns in which people say what must not be learned of them."""
        return tuple(name for m in self.models for name in m.guard_columns)

    def counted(self, attributes: Sequence[SensitiveDomain]) -> frozenset[str]:
        """The attributes that decide what the goal admits; a report may want others counted, too."""
        models = [m.in_search for m in self.models]
        are_seen = self.counts_persons or any(m.evidence & ~OWN_VALUES for m in models)
        seen = [
            a.name for a in attributes
            if a.kind is not Counted.SENSITIVE or are_seen or any(m.counts(a.name) for m in models)
        ]  # fmt: skip
        return frozenset(seen)

    @property
    def min_size(self) -> int:
        return max((m.in_search.min_size for m in self.models), default=1)

    @property
    def is_only_size(self) -> bool:
        """A class satisfies the goal exactly when it has `min_size` records."""
        return not self.counts_persons and all(m.in_search.size_decides for m in self.models)

    def monotone(self, a_model: PrivacyModel) -> Monotone:
        """Which changes of a table keep one of the models satisfied."""
        return a_model.monotone_in_persons if self.counts_persons else a_model.monotone

    @property
    def is_monotone(self) -> bool:
        """Uniting two satisfying classes gives a satisfying class, for every model."""
        return not self.not_monotone

    @property
    def not_monotone(self) -> list[str]:
        """Models that uniting two satisfying classes may break."""
        unsafe = [m for m in self.models if Monotone.GENERALIZATION not in self.monotone(m)]
        only_in_persons = [Monotone.GENERALIZATION in m.monotone for m in unsafe]
        return [f"{m.name} in persons" if only else m.name for m, only in zip(unsafe, only_in_persons, strict=True)]

    @property
    def among_records(self) -> Goal:
        """A goal that looks at the table alone, as far as its models have such a form, and mostly implies this one."""
        return replace(self, models=tuple(m.among_records for m in self.models))

    def parts(self) -> tuple[Goal, Goal]:
        """The monotone models, which may rule out whole branches of a search, and the others."""
        safe = tuple(m for m in self.models if Monotone.GENERALIZATION in self.monotone(m))
        return replace(self, models=safe), replace(self, models=tuple(m for m in self.models if m not in safe))

    def admits(self, stats: ClassStats) -> BoolArray:
        """Which classes satisfy every model, (n_classes,); if all do, a table of these classes does."""
        ok = np.ones(stats.n_classes, dtype=bool)
        for a_model in self.models:
            ok &= a_model.in_search.margin(stats) >= 0
        return ok

    @property
    def notes(self) -> tuple[str, ...]:
        """What enforcing the goal means beyond the usual, one sentence per model that has something to say."""
        return tuple(dict.fromkeys(note for m in self.models if (note := m.note)))

    def verdicts(self, stats: ClassStats) -> list[Verdict]:
        """One verdict per model, in the order of the policy."""
        return [_verdict(m, stats) for m in self.models]

    def verdicts_of(self, parts: Sequence[ClassStats]) -> list[Verdict]:
        """The same for classes that come in several parts, which all know the totals of the table.

        One part at a time is enough for what is asked of every class alone; other models see all classes together.
        """
        if len(parts) == 1:
            return self.verdicts(parts[0])
        return self.verdicts_from([self.verdicts_on(part) for part in parts], parts)

    def verdicts_on(self, part: ClassStats) -> list[Verdict | None]:
        """One verdict on a part of the classes by model; None for a model that must see all of them."""
        return [_verdict(m, part) if m.is_asked_of_classes else None for m in self.models]

    def verdicts_from(self, by_part: Sequence[Sequence[Verdict | None]], parts: Sequence[ClassStats]) -> list[Verdict]:
        """The verdicts on a table, given those on its parts; these themselves are asked for only if they must be."""
        if all(m.is_asked_of_classes for m in self.models):
            together = None
        else:
            together = parts[0] if len(parts) == 1 else side_by_side(parts)
        return [
            _worst(column) if together is None or m.is_asked_of_classes else _verdict(m, together)
            for m, column in zip(self.models, zip(*by_part, strict=True), strict=True)
        ]


def _verdict(a_model: PrivacyModel, stats: ClassStats) -> Verdict:
    if stats.n_classes == 0:  # an empty release exposes nobody
        return Verdict(a_model.name, parameters(a_model), True, float("nan"), a_model.required, float("nan"), 0)
    conditions = [_condition_verdict(c, stats) for c in a_model.conditions(stats)]
    shown = next((c for c in conditions if not c.holds), conditions[0])
    return Verdict(
        model=a_model.name,
        params=parameters(a_model),
        holds=shown.holds,
        achieved=shown.achieved,
        required=shown.required,
        margin=shown.margin,
        worst_class_size=int(stats.size[shown.worst_class]),
        conditions=tuple(conditions) if len(conditions) > 1 else (),
    )


def _worst(verdicts: Iterable[Verdict | None]) -> Verdict:
    """The verdict on parts of a table that the table deserves; that on a part without classes says nothing."""
    judged = [v for v in verdicts if v is not None]
    with_classes = [v for v in judged if not np.isnan(v.margin)] or judged
    least = min(with_classes, key=lambda v: (v.margin, v.worst_class_size))
    columns = zip(*(v.conditions for v in with_classes), strict=True)
    conditions = tuple(min(column, key=lambda c: c.margin) for column in columns)
    return replace(least, holds=all(v.holds for v in judged), conditions=conditions)


def _condition_verdict(condition: Condition, stats: ClassStats) -> ConditionVerdict:
    margins = np.broadcast_to(condition.margin(), stats.n_classes)
    least = np.flatnonzero(margins == margins.min())
    # of equally bad classes the smallest, so that the order of classes does not matter
    worst = int(least[np.argmin(stats.size[least])]) if len(least) else int(np.argmin(margins))
    achieved = np.broadcast_to(condition.levels, stats.n_classes)[worst]
    return ConditionVerdict(condition.name, float(achieved), float(condition.required), float(margins[worst]), worst)
