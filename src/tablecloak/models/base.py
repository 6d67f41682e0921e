"""The model seam: a model says which level every class reaches and which level is required.

Enforcing (`Goal.admits`, asked by every split and merge) and checking (`Goal.verdicts`) both derive from the same
`levels`, so they cannot drift apart.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.errors import DataError, IncompatibleChoice, did_you_mean
from tablecloak.kernels.rules import Kind
from tablecloak.registry import register
from tablecloak.stats.classes import ClassStats, FloatArray, Histogram, Needs

__all__ = ["Goal", "Monotone", "PrivacyModel", "Sense", "Verdict", "histograms", "model"]

# Shares and entropies are sums of floats; a difference this small is rounding, not a violation.
TOLERANCE = 1e-9

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


@runtime_checkable
class PrivacyModel(Protocol):
    """What every model offers; a model file inherits this for its types and gets the parts that can be derived."""

    name: ClassVar[str] = ""
    needs: ClassVar[Needs] = Needs.SIZE

    @property
    def monotone(self) -> Monotone:
        """Which changes of a table keep this model satisfied."""
        return Monotone.NEITHER

    @property
    def sense(self) -> Sense:
        """How levels compare with `required`."""
        return Sense.AT_LEAST

    @property
    def required(self) -> float:
        """The level that every class must reach."""
        ...

    @property
    def min_size(self) -> int:
        """A class with fewer records can never satisfy the model."""
        return 1

    @property
    def size_decides(self) -> bool:
        """Every class of at least `min_size` records satisfies the model, so nothing else need be counted."""
        return False

    def levels(self, stats: ClassStats) -> FloatArray:
        """The level each class reaches, (n_classes,)."""
        ...

    def margin(self, stats: ClassStats) -> FloatArray:
        """Distance to the requirement, (n_classes,): at least 0 exactly where the class satisfies the model."""
        levels = self.levels(stats)
        distance = levels - self.required if self.sense is Sense.AT_LEAST else self.required - levels
        tie = -TOLERANCE if self.sense is Sense.BELOW else 0.0
        return np.where(np.abs(distance) <= TOLERANCE, tie, distance)

    def rule(self) -> tuple[Kind, float, int] | None:
        """The model as a rule that kernels can judge class by class: (kind, limit, order); None if it has no such form.

        The rule must hold exactly where `margin` is at least 0.
        """
        return None

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:  # noqa: ARG002
        """Weaker versions of this model that a table reaching `achieved` might satisfy, strongest first."""
        return ()


@dataclass_transform(frozen_default=True, kw_only_default=True)
def model(
    name: str, *, needs: Needs, monotone: Monotone | None = None, sense: Sense | None = None
) -> Callable[[type[M]], type[M]]:
    """Make a class a registered privacy model: a frozen value whose fields are checked and appear in policies.

    Args:
        monotone: left out where the class computes it from its parameters.
        sense: left out where the class computes it, or where levels must be at least `required`.
    """
    given = {"name": name, "needs": needs, "monotone": monotone, "sense": sense}

    def decorate(cls: type[M]) -> type[M]:
        checked = checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))(cls)
        for attribute, value in given.items():
            if value is not None:
                setattr(checked, attribute, value)
        for attribute in ("monotone", "sense", "min_size", "size_decides", "margin", "rule", "relaxed"):
            if not hasattr(checked, attribute):
                setattr(checked, attribute, vars(PrivacyModel)[attribute])
        return cast(type[M], register("models", name)(checked))

    return decorate


def parameters(a_model: PrivacyModel) -> dict[str, Any]:
    """The fields that were set, as they are written in a policy."""
    values = {f.name: getattr(a_model, f.name) for f in fields(a_model)}  # type: ignore[arg-type]
    return {name: value for name, value in values.items() if value is not None}


def histograms(stats: ClassStats, sensitive: str | Sequence[str] | None) -> list[Histogram]:
    """The histograms a model speaks of: the named attributes, or all of them."""
    names = list(stats.hist) if sensitive is None else [sensitive] if isinstance(sensitive, str) else list(sensitive)
    if not names:
        raise IncompatibleChoice(
            "this model judges sensitive columns and there is none", hint="give a column the role 'sensitive'"
        )
    for name in names:
        if name not in stats.hist:
            raise DataError(f"no sensitive column '{name}'", hint=did_you_mean(name, stats.hist))
    return [stats.hist[name] for name in names]


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the keys of `tablecloak verify --json`; infinite levels become null."""
        numbers = {name: _plain(getattr(self, name)) for name in ("achieved", "required", "margin")}
        return {
            "model": self.model,
            "params": self.params,
            "holds": self.holds,
            **numbers,
            "worst_class_size": self.worst_class_size,
        }


def _plain(number: float) -> float | int | None:
    if not np.isfinite(number):
        return None
    return int(number) if float(number).is_integer() else round(float(number), 9)


@dataclass(frozen=True, slots=True)
class Goal:
    """All models that must hold together."""

    models: tuple[PrivacyModel, ...]

    @property
    def needs(self) -> Needs:
        return _union(m.needs for m in self.models)

    @property
    def min_size(self) -> int:
        return max((m.min_size for m in self.models), default=1)

    @property
    def is_only_size(self) -> bool:
        """A class satisfies the goal exactly when it has `min_size` records."""
        return all(m.size_decides for m in self.models)

    @property
    def is_monotone(self) -> bool:
        """Uniting two satisfying classes gives a satisfying class, for every model."""
        return all(Monotone.GENERALIZATION in m.monotone for m in self.models)

    def admits(self, stats: ClassStats) -> NDArray[np.bool_]:
        """Which classes satisfy every model, (n_classes,)."""
        ok = np.ones(stats.n_classes, dtype=bool)
        for a_model in self.models:
            ok &= a_model.margin(stats) >= 0
        return ok

    def verdicts(self, stats: ClassStats) -> list[Verdict]:
        """One verdict per model, in the order of the policy."""
        return [_verdict(m, stats) for m in self.models]


def _union(needs: Iterable[Needs]) -> Needs:
    total = Needs.SIZE
    for need in needs:
        total |= need
    return total


def _verdict(a_model: PrivacyModel, stats: ClassStats) -> Verdict:
    if stats.n_classes == 0:  # an empty release exposes nobody
        return Verdict(a_model.name, parameters(a_model), True, float("nan"), a_model.required, float("nan"), 0)
    margins = np.broadcast_to(a_model.margin(stats), stats.n_classes)
    levels = np.broadcast_to(a_model.levels(stats), stats.n_classes)
    worst = int(np.argmin(margins))
    return Verdict(
        model=a_model.name,
        params=parameters(a_model),
        holds=bool(margins[worst] >= 0),
        achieved=float(levels[worst]),
        required=float(a_model.required),
        margin=float(margins[worst]),
        worst_class_size=int(stats.size[worst]),
    )
