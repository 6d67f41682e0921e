"""Sample uniqueness: few records are alone in their class."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.models.base import Monotone, PrivacyModel, Sense, model
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.stats.classes import ClassStats, FloatArray, Needs

__all__ = ["SampleUniqueness"]


@model("sample-uniqueness", needs=Needs.SIZE, monotone=Monotone.BOTH, sense=Sense.AT_MOST)
class SampleUniqueness(PrivacyModel):
    """At most a share of `limit` of the records are unique on their quasi-identifiers in the table.

    Formula: (records in classes of one person) / n <= limit.

    Protects from: many certain matches. Not from: the few records that stay unique, or any other linkage.
    Reference: Skinner, Elliot, A measure of disclosure risk for microdata, JRSS B 2002.
    """

    limit: Annotated[float, Field(ge=0, lt=1, description="largest share of unique records; 0 to 0.05 is usual")]

    @property
    def required(self) -> float:
        return self.limit

    @property
    def in_search(self) -> PrivacyModel:
        return KAnonymity(k=2)  # no record is unique, so no share of them is too large

    @property
    def note(self) -> str | None:
        return f"{self.name}: judges the whole table; the search makes no class of one person, which implies it"

    def levels(self, stats: ClassStats) -> FloatArray:
        """Share of unique records in the table, (1,)."""
        if stats.n_classes == 0:
            return np.zeros(0)
        return np.array([np.sum(stats.size[stats.persons == 1]) / max(1, stats.n_records)])
