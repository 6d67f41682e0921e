"""Sample uniqueness: few records are alone in their class."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models._averages import AverageModel
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.stats.classes import Evidence


@model("sample-uniqueness", requires="limit", evidence=Evidence.SIZE, monotone=Monotone.BOTH, sense=Sense.AT_MOST)
class SampleUniqueness(AverageModel):
    """At most a share of `limit` of the persons are unique on their quasi-identifiers in the table.

    Formula: #{persons who are alone in a class} / n <= limit, n the number of persons.

    Protects from: many certain matches. Not from: the few persons who stay unique, or any other linkage.
    Reference: Skinner, Elliot, A measure of disclosure risk for microdata, JRSS B 2002.
    """

    sentence: ClassVar[str | None] = "At most a share of {limit} of the records stands alone."

    limit: Annotated[float, Field(ge=0, lt=1, description="largest share of unique persons; 0 to 0.05 is usual")]

    @property
    def in_search(self) -> PrivacyModel:
        return KAnonymity(k=2)  # nobody is unique, so no share of them is too large

    @property
    def note(self) -> str | None:
        return (
            f"{self.name}: judges the whole table; searches make no class of one person, which implies it; auto also "
            "tries as many as are allowed where they save most"
        )

    def chance(self, persons: IntArray | FloatArray, people: FloatArray | None) -> FloatArray:  # noqa: ARG002
        """Whether they are unique."""
        return np.asarray(persons == 1, np.float64)
