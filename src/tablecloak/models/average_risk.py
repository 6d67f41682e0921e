"""Average risk: the mean chance of singling out a record stays below a limit."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models._averages import AverageModel
from tablecloak.models.base import TOLERANCE, Monotone, PrivacyModel, Sense, model
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.stats.classes import Evidence


@model("average-risk", requires="limit", evidence=Evidence.SIZE, monotone=Monotone.BOTH, sense=Sense.AT_MOST)
class AverageRisk(AverageModel):
    """The chance of singling out a person by all quasi-identifiers is at most `limit` on average over the table.

    Formula: (1 / n) * sum of 1 / |E(p)| over the n persons p <= limit, where |E(p)| are the persons of the class with
    the fewest that p is in. If every record is a person of its own, this is the number of classes / n.

    Protects from: mass re-identification (marketer attack). Not from: singling out the most exposed record; add
    k-anonymity.
    Reference: El Emam, Guide to the De-Identification of Personal Health Information, 2013.
    """

    sentence: ClassVar[str | None] = "On average, the chance to single somebody out is at most {limit}."

    limit: Annotated[float, Field(gt=0, le=1, description="largest mean chance; 0.05 to 0.2 is usual")]

    @property
    def in_search(self) -> PrivacyModel:
        # a mean of chances that are all within the limit is within the limit
        return KAnonymity(k=max(2, math.ceil(1 / self.limit - TOLERANCE)))

    @property
    def note(self) -> str | None:
        size = self.in_search.min_size
        return (
            f"{self.name}: judges the whole table; searches ask for classes of {size:,}, which implies it; auto "
            "also tries smaller ones where they save most, as long as the mean holds"
        )

    def chance(self, persons: IntArray | FloatArray, people: FloatArray | None) -> FloatArray:  # noqa: ARG002
        return np.asarray(1 / np.maximum(persons, 1))
