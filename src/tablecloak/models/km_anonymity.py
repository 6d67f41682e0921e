"""km-anonymity: whoever knows a few items of somebody's set finds at least k records that hold them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.data.itemsets import ItemsetStats
from tablecloak.models.base import Condition, Monotone, Verdict, model, parameters
from tablecloak.stats.classes import Evidence


@model("km-anonymity", requires="k", evidence=Evidence.ITEMS, monotone=Monotone.GENERALIZATION)
class KmAnonymity:
    """Every combination of at most `m` items that occurs in a set of the column occurs in at least `k` records.

    Formula: support(S) = 0 or support(S) >= k for every set S of 1 to m items, where support(S) is the number of
    records whose published set holds S. Items are quasi-identifiers and sensitive values at once, and there are no
    classes.

    Protects from: record linkage by up to m items of a set. Not from: those who know more than m items, or who know
    which items somebody does not have; learning the other items of a set, where all that hold S agree.
    Reference: Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 2008.
    """

    sentence: ClassVar[str | None] = (
        "Whoever knows up to {m} items of somebody finds at least {k} records that hold them all."
    )
    level_name: ClassVar[str] = "rarest itemset"

    k: Annotated[int, Field(ge=2, description="records that hold a combination; 3 to 20 is usual")]
    m: Annotated[int, Field(ge=1, le=8, description="items that an attacker knows; 2 or 3 is usual")] = 2
    multiset: Annotated[
        bool, Field(description="the same item several times in a set counts, and is published, several times")
    ] = False

    def levels(self, stats: ItemsetStats) -> FloatArray:
        """The support of the rarest itemset of every size that occurs, (n_sizes,)."""
        return np.array([low for low in stats.lowest if low], np.float64)

    def measure(self, stats: ItemsetStats) -> int | None:
        """The largest k that the counted records reach; None where there is no item at all."""
        return stats.rarest

    def check(self, stats: ItemsetStats) -> bool:
        """Whether the counted records satisfy the model."""
        return bool((Condition("k", self.levels(stats), self.k).margin() >= 0).all())

    def verdict(self, stats: ItemsetStats) -> Verdict:
        """What a count of itemsets says."""
        reached = self.measure(stats)
        achieved = float("nan") if reached is None else float(reached)
        params = parameters(cast(Any, self))  # what it asks of itemsets, others ask of classes
        return Verdict("km-anonymity", params, self.check(stats), achieved, self.k, achieved - self.k, reached or 0)
