"""Global risk: few records of a survey are linked with people of the population, in expectation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models._averages import AverageModel
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model
from tablecloak.models.population_risk import PopulationRisk, about_weights, chances
from tablecloak.stats.classes import ClassStats, Evidence


@model("global-risk", requires="limit", evidence=Evidence.WEIGHTS, monotone=Monotone.BOTH, sense=Sense.AT_MOST)
class GlobalRisk(AverageModel):
    """Weights of a survey say that at most a share of `limit` of the records is linked right.

    Formula: (1 / n) * sum of r(E(x)) over the n records x <= limit, r(E) the individual risk of population-risk: the
    records that someone links right who links each of them once, in expectation, as a share of all. A person in several
    classes counts once, with the largest risk.

    Protects from: mass re-identification by someone who does not know who was asked. Not from: linking the most exposed
    record; add population-risk, and k-anonymity for records that are alone. It is an expectation that rests on the
    weights, not a bound.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, PSD 2004.
    """

    sentence: ClassVar[str | None] = "By the weights, at most a share of {limit} of the records is linked right."

    limit: Annotated[
        float, Field(gt=0, lt=1, description="largest share of records linked right; 0.001 to 0.02 is usual")
    ]

    @property
    def monotone_in_persons(self) -> Monotone:
        return Monotone.NEITHER  # one class with small weights may spoil those that make up for it

    @property
    def in_search(self) -> PrivacyModel:
        # a mean of risks that are all within the limit is within the limit
        return PopulationRisk(threshold=self.limit)

    @property
    def note(self) -> str | None:
        return (
            f"{self.name}: judges the whole table; searches ask it of every class, which implies it; auto also tries "
            "classes with larger risks where they save most, as long as the mean holds"
        )

    def remarks(self, whole: ClassStats) -> Iterable[str]:
        return about_weights(whole)

    def chance(self, persons: IntArray | FloatArray, people: FloatArray | None) -> FloatArray:
        """Their individual risk."""
        return chances(persons, people)
