"""l-diversity: every class holds well represented sensitive values, in five senses of the word."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.rules import RuleKind
from tablecloak.models.base import TOLERANCE, Monotone, PrivacyModel, Rule, Sense, all_held, model
from tablecloak.models.fields import MissingCounts, Sensitive, present
from tablecloak.stats.classes import ClassStats, Evidence, Histogram
from tablecloak.stats.persons import Held

Variant: TypeAlias = Literal["distinct", "entropy", "recursive", "pd-recursive", "npd-recursive"]

# Parameters each variant understands besides l; those in the second set may be left out.
PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "distinct": (set(), set()),
    "entropy": (set(), set()),
    "recursive": ({"c"}, set()),
    "pd-recursive": ({"c"}, {"allowed"}),
    "npd-recursive": ({"c", "c2", "forbidden"}, {"allowed"}),
}


class DiversityModel(PrivacyModel):
    """What asks for `l` well represented values, with `c` in a recursive sense."""

    holds_in_groups: ClassVar[bool] = True

    l: float  # noqa: E741
    c: float | None

    @property
    def sense(self) -> Sense:
        return Sense.AT_LEAST if self.c is None else Sense.BELOW

    @property
    def required(self) -> float:
        return self.l if self.c is None else self.c

    @property
    def hides_among(self) -> float | None:
        return self.l


@model("l-diversity", evidence=Evidence.SENSITIVE)
class LDiversity(DiversityModel):
    """Every class has at least `l` well represented values of each sensitive column.

    With the counts r1 >= r2 >= ... >= rm of a class (persons who hold each value) and its n persons:
      distinct       m >= l, and l different persons can be found for l different values
      entropy        exp(entropy) >= l, every person a mass of 1 spread over the records with their values; and n >= l
      recursive      r1 < c (n - r1 - ... - r(l-1)), which is c (rl + ... + rm) where everybody holds one value
      pd-recursive   the same for the most frequent value outside `allowed`, whatever l - 2 other values are ruled out
      npd-recursive  pd-recursive, and every value of `forbidden` makes up a share of at least `c2`
    The level of the recursive variants is the infimum of the c that would do. Empty cells add to no diversity, and
    persons who have nothing else are not counted, unless `missing_counts`.

    Protects from: learning the sensitive value of a homogeneous class. Not from: skewed or similar values.
    Reference: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ACM TKDD 2007.
    """

    sentence: ClassVar[str | None] = (
        "Each group of records that look alike has at least {l} different values of {sensitive}."
    )
    level_name: ClassVar[str] = "least diverse class"

    variant: Annotated[Variant, Field(description="what 'well represented' means")] = "distinct"
    l: Annotated[  # noqa: E741
        float,
        Field(
            allow_inf_nan=False,
            description="number of well represented values; 2 to 5 is usual",
            json_schema_extra={"exclusiveMinimum": 1},
        ),
    ]
    c: Annotated[
        float | None,
        Field(
            gt=0, allow_inf_nan=False, validate_default=True, description="recursive: r1 stays below c times the tail"
        ),
    ] = None
    c2: Annotated[
        float | None, Field(gt=0, le=1, validate_default=True, description="npd: least share of each forbidden value")
    ] = None
    allowed: Annotated[
        tuple[str, ...] | None, Field(validate_default=True, description="pd: values that may be learned")
    ] = None
    forbidden: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, validate_default=True, description="npd: values that must not be ruled out"),
    ] = None
    sensitive: Sensitive = None
    missing_counts: MissingCounts = False

    @field_validator("l")
    @classmethod
    def _whole(cls, l: float, info: ValidationInfo) -> float:  # noqa: E741
        if info.data.get("variant") == "entropy":
            if l <= 1:
                raise PydanticKnownError("greater_than", {"gt": 1})
            return l
        if l < 2:
            raise PydanticKnownError("greater_than_equal", {"ge": 2})
        if not l.is_integer():
            raise PydanticKnownError("int_from_float")
        return int(l)

    @field_validator("c", "c2", "allowed", "forbidden")
    @classmethod
    def _fits_variant(cls, value: Any, info: ValidationInfo) -> Any:
        variant, name = info.data.get("variant"), info.field_name
        if variant is None:  # already reported
            return value
        needed, optional = PARAMETERS[variant]
        if value is None and name in needed:
            raise PydanticCustomError("missing_parameter", f"is needed by the variant '{variant}'")
        if value is not None and name not in needed | optional:
            raise PydanticCustomError("unused_parameter", f"has no meaning for the variant '{variant}'")
        return value

    @property
    def monotone(self) -> Monotone:
        """Frequencies may get worse when a failing class joins; the number of distinct values cannot."""
        return Monotone.BOTH if self.variant == "distinct" else Monotone.GENERALIZATION

    @property
    def monotone_in_persons(self) -> Monotone:
        """Persons keep their values in a union, but may be fewer there than in both parts together."""
        return Monotone.BOTH if self.variant == "distinct" else Monotone.NEITHER

    @property
    def min_size(self) -> int:
        # a class of allowed values only passes whatever its size
        return 1 if self.allowed else math.ceil(self.l - TOLERANCE)

    def levels(self, stats: ClassStats) -> FloatArray:
        per_column = [self._column_levels(h) for h in self._columns(stats)]
        worst: FloatArray = np.max(per_column, axis=0) if self.sense is Sense.BELOW else np.min(per_column, axis=0)
        return worst

    def degrees(self, stats: ClassStats) -> FloatArray:
        """By how much the largest whole `l` that a class satisfies with its other parameters exceeds the one asked for.

        2.7 equally frequent values are as diverse as 2, and recursive diversity counts by the l that it reaches with
        its c.
        """
        largest: FloatArray = np.min([self._column_degrees(h) for h in self._columns(stats)], axis=0)
        return largest - math.floor(self.l)

    def _column_degrees(self, held: Held) -> FloatArray:
        if self.c is None:
            return np.floor(self._column_levels(held) + TOLERANCE)
        return recursive_degrees(present(held, missing_counts=self.missing_counts).holders(), self.c)

    def named_values(self) -> tuple[str, ...]:
        return (*(self.allowed or ()), *(self.forbidden or ()))

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        if math.isnan(achieved):
            return []
        if self.variant == "distinct":
            return [replace(self, l=fewer) for fewer in range(int(achieved), 1, -1)[:2] if fewer < self.l]
        if self.variant == "entropy":
            reached = math.floor(achieved * 100) / 100
            halfway = math.floor((achieved + 1) * 50) / 100
            return [replace(self, l=weaker) for weaker in dict.fromkeys((reached, halfway)) if 1 < weaker < self.l]
        fewer = [replace(self, l=fewer) for fewer in range(int(self.l) - 1, 1, -1)]
        if not self.required <= achieved < math.inf:
            return fewer
        return [*(replace(self, c=_just_above(least)) for least in (achieved, 2 * achieved)), *fewer]

    def rule(self) -> Rule | None:
        kinds = {"distinct": RuleKind.DISTINCT, "entropy": RuleKind.ENTROPY, "recursive": RuleKind.RECURSIVE}
        kind = kinds.get(self.variant)
        if kind is None:
            return None
        return Rule(kind, float(self.required), int(self.l), skips_missing=not self.missing_counts)

    def _columns(self, stats: ClassStats) -> list[Held]:
        held = all_held(stats, self.sensitive)
        if (self.allowed or self.forbidden) and len(held) > 1:
            raise IncompatibleChoice(
                f"{self.variant} l-diversity names values, so it must speak of one sensitive column, not {len(held)}",
                hint="write one goal per column, each with sensitive: <column>",
            )
        return held

    def _column_levels(self, held: Held) -> FloatArray:
        present_values = present(held, missing_counts=self.missing_counts)
        if self.c is None:
            return diversity(present_values, self.variant)
        hist = present_values.holders()
        least_c = infimum_c(hist, int(self.l), protected=~_is_any(hist, self.allowed or ()))
        if self.c2 is None:
            return least_c
        # a share of the whole class, for empty cells make no value more frequent
        return np.where(_least_share(held.holders(), self.forbidden or ()) < self.c2 - TOLERANCE, np.inf, least_c)


def diversity(held: Held, variant: str) -> FloatArray:
    """The number of different values, or that of equally frequent ones that would be as uncertain, (n_classes,)."""
    if variant == "distinct":
        return held.different().astype(np.float64)
    masses = held.masses()
    # a person with many values is uncertain about nothing: never more values than persons
    return np.minimum(effective_values(masses), masses.sum_by_class(masses.counts))


def effective_values(hist: Histogram) -> FloatArray:
    """exp(entropy) of every class, (n_classes,): the number of equally frequent values that would be as uncertain."""
    mass = np.maximum(hist.sum_by_class(hist.counts), 1.0)
    surprise = hist.sum_by_class(hist.counts * np.log(hist.counts))
    return np.exp(np.log(mass) - surprise / mass)


def infimum_c(hist: Histogram, l: int, *, protected: BoolArray) -> FloatArray:  # noqa: E741
    """The c above which every class is recursive (c, l)-diverse, (n_classes,); infinite where none is.

    Args:
        protected: whether the value of an entry counts as disclosed, (n_entries,); pd-recursive leaves some out.
    """
    # one key orders entries by count and names the entry, so the largest can be taken out class by class
    keys = hist.counts * len(hist.counts) + np.arange(len(hist.counts))
    top, position = _largest(hist, np.where(protected, keys, -1))
    rest = hist.records() - top
    for _ in range(l - 2):
        keys[position] = -1
        ruled_out, position = _largest(hist, keys)
        rest -= ruled_out
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(rest > 0, top / rest, np.inf)
    # without a protected value there is nothing to disclose; without any value, nothing that is diverse
    return np.where(top > 0, least, np.where(hist.distinct() > 0, 0.0, np.inf))


def recursive_degrees(hist: Histogram, c: float) -> FloatArray:
    """The largest l at which every class is recursive (c, l)-diverse, 0 where there is none, (n_classes,)."""
    keys = hist.counts * len(hist.counts) + np.arange(len(hist.counts))
    top, _ = _largest(hist, keys)
    tail = hist.records()
    degree = np.zeros(hist.n_classes)
    for l in range(1, int(hist.distinct().max(initial=0)) + 1):  # noqa: E741
        degree = np.where(top < c * tail, l, degree)  # tails shrink, so what fails once fails ever after
        largest, position = _largest(hist, keys)
        keys[position] = -1
        tail = tail - largest
    return degree


def _largest(hist: Histogram, keys: IntArray) -> tuple[IntArray, IntArray]:
    """Count of the entry with the largest key in every class, 0 if none is left, and where these entries are."""
    best = np.maximum.reduceat(np.append(keys, -1), hist.indptr[:-1]) if hist.n_classes else np.zeros(0, np.int64)
    best = np.where(hist.distinct() > 0, best, -1)
    is_left = best >= 0
    return np.where(is_left, best // max(1, len(keys)), 0), best[is_left] % max(1, len(keys))


def _is_any(hist: Histogram, labels: tuple[str, ...]) -> BoolArray:
    """Whether the value of an entry is one of the labels, (n_entries,)."""
    named = np.array([label in labels for label in hist.domain.labels], dtype=bool)
    return named[hist.codes]


def _least_share(hist: Histogram, labels: tuple[str, ...]) -> FloatArray:
    """The smallest share that any of the labels has in each class, (n_classes,)."""
    records = np.maximum(hist.records(), 1.0)
    shares = [hist.sum_by_class(hist.counts * _is_any(hist, (label,))) / records for label in labels]
    least: FloatArray = np.min(shares, axis=0)
    return least


def _just_above(c: float) -> float:
    """The next hundredth strictly above c."""
    return (math.floor(c * 100) + 1) / 100
