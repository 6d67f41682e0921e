"""(alpha, k)-anonymity: k records and no protected value above a share of alpha in every class."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import TOLERANCE, Condition, Monotone, PrivacyModel, Sense, crowd, histograms, model
from tablecloak.models.fields import K, Sensitive, Values, largest_shares
from tablecloak.stats.classes import ClassStats, Evidence


@model(
    "alpha-k-anonymity",
    requires="alpha",
    evidence=Evidence.SENSITIVE,
    monotone=Monotone.GENERALIZATION,
    sense=Sense.AT_MOST,
)
class AlphaKAnonymity(PrivacyModel):
    """Every class has at least `k` persons, and at most a share of `alpha` of them hold any protected value.

    Formula: |E| >= k and n_E(s) / |E| <= alpha for every class E and protected value s, where n_E(s) are the persons of
    E with s in any of their records there, and |E| all its persons.

    Protects from: record linkage and confident guesses of a protected value. Not from: learning that a value is rarer
    or more common in a class than in the table; add t-closeness or beta-likeness.
    Reference: Wong, Li, Fu, Wang, (alpha, k)-anonymity, KDD 2006.
    """

    sentence: ClassVar[str | None] = (
        "Each record looks like at least {k}, and no value of {sensitive} has a share above {alpha}."
    )

    alpha: Annotated[float, Field(gt=0, lt=1, description="largest share of a protected value; 0.2 to 0.5 is usual")]
    k: K
    values: Values = None
    sensitive: Sensitive = None

    @property
    def min_size(self) -> int:
        # a class that holds any value holds it once, which is a share of 1 / size
        return self.k if self.values else max(self.k, math.ceil(1 / self.alpha - TOLERANCE))

    def levels(self, stats: ClassStats) -> FloatArray:
        return largest_shares(histograms(stats, self.sensitive), self.values)

    def conditions(self, stats: ClassStats) -> list[Condition]:
        return [Condition("alpha", self.levels(stats), self.alpha, Sense.AT_MOST), crowd(stats, self.k)]
