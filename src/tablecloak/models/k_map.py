"""k-map: every record hides among at least k people of the population."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, PrivacyModel, model
from tablecloak.models.k_anonymity import KAnonymity, smaller
from tablecloak.stats.classes import ClassStats, Evidence


@model("k-map", requires="k", evidence=Evidence.POPULATION, monotone=Monotone.BOTH)
class KMap(PrivacyModel):
    """Every class covers at least `k` people of the population, so nobody is linked with more than a chance of 1/k.

    Formula: #{x in X : x covered by E} >= k for every class E and the population X. A search counts everybody for one
    class at most, also where several cover them, which is fewer; the finished table is recounted exactly. Where no
    population was counted, the persons of the class stand for it.

    Protects from: record linkage with a register, by someone who does not know who is in the table. Not from: someone
    who knows that a person is in it; use k-anonymity.
    Reference: Sweeney, k-anonymity: a model for protecting privacy, IJUFKS 2002.
    """

    k: Annotated[int, Field(ge=2, description="people that each class covers; 3 to 20 is usual")]

    def levels(self, stats: ClassStats) -> FloatArray:
        people = stats.people
        return stats.persons.astype(np.float64) if people is None else people

    @property
    def among_records(self) -> PrivacyModel:
        return KAnonymity(k=self.k)

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        return [KMap(k=k) for k in smaller(self.k, achieved)]
