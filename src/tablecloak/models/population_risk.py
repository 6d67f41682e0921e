"""Population risk: no record of a survey is likely to be linked with a person of the population."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model
from tablecloak.stats.classes import ClassStats, Evidence
from tablecloak.stats.individual_risk import individual_risk

# Weights that add up to hardly more than the records were scaled: they say who counts more, not for how many.
SCALED = 1.05


@model("population-risk", requires="threshold", evidence=Evidence.WEIGHTS, monotone=Monotone.BOTH, sense=Sense.AT_MOST)
class PopulationRisk(PrivacyModel):
    """Weights of a survey say that no record is linked right with a chance above `threshold`.

    Formula: r(E) = E[1 / F | f] <= threshold for every class E of f records. The people F of the population who would
    fall in E follow a negative binomial distribution with p = f / (sum of weights of E), at most 1, so that r(E) =
    p / f * 2F1(1, 1; f + 1; 1 - p): p / (1 - p) * ln(1 / p) for a single record, 1 / f where everybody was asked. A
    person with several records in a class counts once, with the mean weight of the class. Where no weights were
    counted, r(E) = 1 / f.

    Protects from: record linkage with a register, by someone who does not know who was asked. Not from: someone who
    knows that a person was asked, nor where a record is alone because hardly anybody is like it, of which weights know
    nothing; add k-anonymity for both. It is an expectation that rests on the weights, not a bound.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, PSD 2004.
    """

    sentence: ClassVar[str | None] = (
        "By the weights, nobody is linked with the population with a chance above {threshold}."
    )

    threshold: Annotated[
        float, Field(gt=0, lt=1, description="largest individual risk of a record; 0.01 to 0.1 is usual")
    ]

    # The risk falls with records and with weights of a class (stats/individual_risk.py), so that any union lowers it.
    @property
    def monotone_in_persons(self) -> Monotone:
        # a union has no fewer persons than either class, and no smaller mean weight than the one with the smaller; a
        # class that fails may have a mean so small that the union fails
        return Monotone.GENERALIZATION

    def remarks(self, whole: ClassStats) -> Iterable[str]:
        return about_weights(whole)

    def levels(self, stats: ClassStats) -> FloatArray:
        return risks(stats)

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        enough = math.ceil(achieved * 1000) / 1000
        if self.threshold < enough < 1:
            yield PopulationRisk(threshold=enough)


def risks(stats: ClassStats) -> FloatArray:
    """The individual risk of the records of every class, (n_classes,)."""
    persons, weighed = stats.persons, stats.weighed
    return chances(persons, None if weighed is None else weighed * (persons / np.maximum(stats.size, 1)))


def chances(persons: IntArray | FloatArray, people: FloatArray | None) -> FloatArray:
    """The individual risk of so many persons who stand for so many people; None: for themselves."""
    return np.asarray(1 / np.maximum(persons, 1)) if people is None else individual_risk(persons, people)


def about_weights(whole: ClassStats) -> Iterable[str]:
    """What weights say of the population, for people to hold against what they know."""
    if whole.weighed is None:
        return
    total, n = float(whole.weighed.sum()), whole.n_records
    if total > SCALED * n:
        yield f"weights of {n:,} records add up to a population of {total:,.0f}, on which the population risk rests"
    else:
        yield (
            f"weights of {n:,} records add up to {total:,.0f}: they are scaled and say nothing of the population, so "
            "that the risk is that of someone who knows who was asked; multiply them by its size over their sum"
        )
