"""k-anonymity: every record hides among at least k."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, PrivacyModel, model
from tablecloak.stats.classes import ClassStats, Evidence


@model("k-anonymity", requires="k", evidence=Evidence.SIZE, monotone=Monotone.BOTH)
class KAnonymity(PrivacyModel):
    """Every class has at least `k` records, so linking finds one person with probability at most 1/k.

    Formula: |E| >= k for every class E; where a column has the role person, |E| counts different persons.

    Protects from: record linkage by all quasi-identifiers. Not from: learning the sensitive value of a uniform class.
    Reference: Samarati, Sweeney, 1998; Sweeney, IJUFKS 2002.
    """

    sentence: ClassVar[str | None] = "Each record looks like at least {k} records, itself included."
    level_name: ClassVar[str] = "smallest class"
    size_decides: ClassVar[bool] = True

    k: Annotated[int, Field(ge=2, description="smallest class size; 3 to 20 is usual")]

    @property
    def min_size(self) -> int:
        return self.k

    def levels(self, stats: ClassStats) -> FloatArray:
        return stats.persons.astype(np.float64)

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        return [KAnonymity(k=k) for k in smaller(self.k, achieved)]


def smaller(k: int, achieved: float) -> list[int]:
    """What a table reaches of k, and half of it."""
    weaker = (int(achieved), max(2, int(achieved) // 2)) if np.isfinite(achieved) else ()
    return [each for each in dict.fromkeys(weaker) if 2 <= each < k]
