"""l-diversity: every class holds well represented sensitive values, in five senses of the word."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.rules import Kind
from tablecloak.models.base import TOLERANCE, Monotone, PrivacyModel, Sense, histograms, model
from tablecloak.stats.classes import ClassStats, FloatArray, Histogram, IntArray, Needs

__all__ = ["LDiversity"]

Variant: TypeAlias = Literal["distinct", "entropy", "recursive", "pd-recursive", "npd-recursive"]

# Parameters each variant understands besides l; those in the second set may be left out.
PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "distinct": (set(), set()),
    "entropy": (set(), set()),
    "recursive": ({"c"}, set()),
    "pd-recursive": ({"c"}, {"allowed"}),
    "npd-recursive": ({"c", "c2", "forbidden"}, {"allowed"}),
}


@model("l-diversity", needs=Needs.SENSITIVE)
class LDiversity(PrivacyModel):
    """Every class has at least `l` well represented values of each sensitive column.

    With the counts r1 >= r2 >= ... >= rm of a class:
      distinct       m >= l
      entropy        exp(entropy) >= l
      recursive      r1 < c (rl + ... + rm)
      pd-recursive   the same for the most frequent value outside `allowed`, whatever l - 2 other values are ruled out
      npd-recursive  pd-recursive, and every value of `forbidden` makes up a share of at least `c2`
    The level of the recursive variants is the infimum of the c that would do.

    Protects from: learning the sensitive value of a homogeneous class. Not from: skewed or similar values.
    Reference: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ACM TKDD 2007.
    """

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
    sensitive: Annotated[
        str | tuple[str, ...] | None, Field(description="sensitive columns it speaks of; all if left out")
    ] = None

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
    def sense(self) -> Sense:
        return Sense.BELOW if self.c is not None else Sense.AT_LEAST

    @property
    def required(self) -> float:
        return self.l if self.c is None else self.c

    @property
    def min_size(self) -> int:
        # a class of allowed values only passes whatever its size
        return 1 if self.allowed else math.ceil(self.l - TOLERANCE)

    def levels(self, stats: ClassStats) -> FloatArray:
        per_column = [self._column_levels(h) for h in self._histograms(stats)]
        worst: FloatArray = np.max(per_column, axis=0) if self.sense is Sense.BELOW else np.min(per_column, axis=0)
        return worst

    def degrees(self, stats: ClassStats) -> FloatArray:
        """The largest whole `l` that every class satisfies in all columns with its other parameters, (n_classes,)."""
        found: FloatArray = np.min([self._column_degrees(h) for h in self._histograms(stats)], axis=0)
        return found

    def _column_degrees(self, hist: Histogram) -> FloatArray:
        if self.c is None:
            return np.floor(self._column_levels(hist) + TOLERANCE)
        return recursive_degrees(hist, self.c)

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

    def rule(self) -> tuple[Kind, float, int] | None:
        kinds = {"distinct": Kind.DISTINCT, "entropy": Kind.ENTROPY, "recursive": Kind.RECURSIVE}
        kind = kinds.get(self.variant)
        return None if kind is None else (kind, float(self.required), int(self.l))

    def _histograms(self, stats: ClassStats) -> list[Histogram]:
        found = histograms(stats, self.sensitive)
        if (self.allowed or self.forbidden) and len(found) > 1:
            raise IncompatibleChoice(
                f"{self.variant} l-diversity names values, so it must speak of one sensitive column, not {len(found)}",
                hint="write one goal per column, each with sensitive: <column>",
            )
        return found

    def _column_levels(self, hist: Histogram) -> FloatArray:
        if self.variant == "distinct":
            return hist.distinct().astype(np.float64)
        if self.variant == "entropy":
            return effective_values(hist)
        least_c = infimum_c(hist, int(self.l), protected=~_is_any(hist, self.allowed or ()))
        if self.c2 is None:
            return least_c
        return np.where(_least_share(hist, self.forbidden or ()) < self.c2 - TOLERANCE, np.inf, least_c)


def effective_values(hist: Histogram) -> FloatArray:
    """exp(entropy) of every class, (n_classes,): the number of equally frequent values that would be as uncertain."""
    records = np.maximum(hist.sum_by_class(hist.counts), 1.0)
    surprise = hist.sum_by_class(hist.counts * np.log(hist.counts))
    return np.exp(np.log(records) - surprise / records)


def infimum_c(hist: Histogram, l: int, *, protected: NDArray[np.bool_]) -> FloatArray:  # noqa: E741
    """The c above which every class is recursive (c, l)-diverse, (n_classes,); infinite where none is.

    Args:
        protected: whether the value of an entry counts as disclosed, (n_entries,); pd-recursive leaves some out.
    """
    # one key orders entries by count and names the entry, so the largest can be taken out class by class
    keys = hist.counts * len(hist.counts) + np.arange(len(hist.counts))
    top, position = _largest(hist, np.where(protected, keys, -1))
    rest = hist.sum_by_class(hist.counts) - top
    for _ in range(l - 2):
        keys[position] = -1
        ruled_out, position = _largest(hist, keys)
        rest -= ruled_out
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(top > 0, top / rest, 0.0)


def recursive_degrees(hist: Histogram, c: float) -> FloatArray:
    """The largest l at which every class is recursive (c, l)-diverse, 0 where there is none, (n_classes,)."""
    keys = hist.counts * len(hist.counts) + np.arange(len(hist.counts))
    top, _ = _largest(hist, keys)
    tail = hist.sum_by_class(hist.counts)
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
    found = best >= 0
    return np.where(found, best // max(1, len(keys)), 0), best[found] % max(1, len(keys))


def _is_any(hist: Histogram, labels: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether the value of an entry is one of the labels, (n_entries,)."""
    named = np.array([label in labels for label in hist.domain.labels], dtype=bool)
    return named[hist.codes]


def _least_share(hist: Histogram, labels: tuple[str, ...]) -> FloatArray:
    """The smallest share that any of the labels has in each class, (n_classes,)."""
    records = np.maximum(hist.sum_by_class(hist.counts), 1.0)
    shares = [hist.sum_by_class(hist.counts * _is_any(hist, (label,))) / records for label in labels]
    least: FloatArray = np.min(shares, axis=0)
    return least


def _just_above(c: float) -> float:
    """The next hundredth strictly above c."""
    return (math.floor(c * 100) + 1) / 100
