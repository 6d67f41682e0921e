"""Delta-presence: nobody of the population can be told to be in the table, or not to be, with near certainty."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Condition, Monotone, PrivacyModel, Sense, model
from tablecloak.stats.classes import ClassStats, Evidence

DeltaMin = Annotated[float, Field(ge=0, lt=1, description="least chance of being in the table; 0 is usual")]
DeltaMax = Annotated[float, Field(gt=0, le=1, description="greatest chance of being in the table; 0.1 to 0.7 is usual")]


@model(
    "delta-presence",
    requires="delta_max",
    evidence=Evidence.POPULATION,
    monotone=Monotone.GENERALIZATION,
    sense=Sense.AT_MOST,
)
class DeltaPresence(PrivacyModel):
    """Everybody of the population is in the table with a chance of at least `delta_min` and at most `delta_max`.

    Formula: delta_min <= |E| / #{x in X : x covered by E} <= delta_max for every class E, |E| in persons, and the
    population X; people whom no class covers have the chance 0, so a `delta_min` above 0 asks that every one be
    covered. A search counts everybody for one class at most, also where several cover them, which overstates the
    chance, so that `delta_max` is kept; for `delta_min` it is repeated with larger classes until it holds for
    everybody. Where no population was counted, the chance is 1.

    Protects from: learning who is in the table (table linkage). Not from: record or attribute linkage.
    Reference: Nergiz, Atzori, Clifton, Hiding the presence of individuals from shared databases, SIGMOD 2007.
    """

    delta_max: DeltaMax
    delta_min: DeltaMin = 0.0

    @property
    def in_search(self) -> PrivacyModel:
        return self if self.delta_min == 0 else DeltaPresence(delta_max=self.delta_max)

    @property
    def monotone_in_persons(self) -> Monotone:
        # persons of a union are at most those of its parts together, so its chance may be smaller than that of each
        return Monotone.GENERALIZATION if self.delta_min == 0 else Monotone.NEITHER

    @property
    def note(self) -> str | None:
        if self.delta_min == 0:
            return None
        return f"{self.name}: classes are made larger until everybody has a chance of at least delta_min"

    @property
    def asks_for_everybody(self) -> bool:
        return self.delta_min > 0

    def levels(self, stats: ClassStats) -> FloatArray:
        return presence(stats)

    def conditions(self, stats: ClassStats) -> list[Condition]:
        chances = presence(stats)
        conditions = [Condition("delta_max", chances, self.delta_max, Sense.AT_MOST)]
        if self.delta_min == 0:
            return conditions
        return [*conditions, Condition("delta_min", _least(stats, chances), self.delta_min, Sense.AT_LEAST)]


def presence(stats: ClassStats) -> FloatArray:
    """Chance that the people a class covers are in the table, (n_classes,)."""
    people = stats.people
    if people is None:
        return np.ones(stats.n_classes)
    return np.minimum(1.0, stats.persons / np.maximum(people, 1e-300))


def _least(stats: ClassStats, chances: FloatArray) -> FloatArray:
    """The same, but 0 everywhere if somebody is covered by no class."""
    counted = stats.population
    return chances if counted is None or not counted.domain.n_outside else np.zeros(stats.n_classes)
