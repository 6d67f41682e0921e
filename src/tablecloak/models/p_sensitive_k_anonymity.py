"""p-sensitive k-anonymity: k records and p different sensitive values in every class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.base import Condition, Monotone, PrivacyModel, all_held, crowd, model
from tablecloak.models.fields import K, MissingCounts, Sensitive, present
from tablecloak.stats.classes import ClassStats, Evidence
from tablecloak.stats.persons import Held


class PSensitive(PrivacyModel):
    """What models share that ask for `k` persons and `p` different values, or kinds of them, in every class."""

    p: int
    k: int

    @property
    def min_size(self) -> int:
        return max(self.k, self.p)

    def conditions(self, stats: ClassStats) -> list[Condition]:
        return [Condition("p", self.levels(stats), self.p), crowd(stats, self.k)]


@model("p-sensitive-k-anonymity", requires="p", evidence=Evidence.SENSITIVE, monotone=Monotone.BOTH)
class PSensitiveKAnonymity(PSensitive):
    """Every class has at least `k` persons and at least `p` different values of each sensitive column.

    Formula: |E| >= k and #{s in E} >= p for every class E and every sensitive column; the same as k-anonymity with
    distinct p-diversity. Where persons have several records, p different persons must be found for p different values.
    Empty cells are no value, unless `missing_counts`.

    Protects from: record linkage and homogeneous classes. Not from: one dominant value, or p values that are alike.
    Reference: Truta, Vinay, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops 2006.
    """

    keeps_values_in_persons: ClassVar[bool] = True
    sentence: ClassVar[str | None] = (
        "Each record looks like at least {k}, which have at least {p} values of {sensitive}."
    )

    p: Annotated[int, Field(ge=1, description="different values in every class, at most k; 2 to 5 is usual")]
    k: K
    sensitive: Sensitive = None
    missing_counts: MissingCounts = False

    def levels(self, stats: ClassStats) -> FloatArray:
        fewest: FloatArray = np.min([h.different() for h in self._present(stats)], axis=0)
        return fewest.astype(np.float64)

    def remarks(self, whole: ClassStats) -> Iterable[str]:
        most = min(most_classes(h.holders().totals, self.p) for h in self._present(whole))
        return [f"{self.name}: at most {most:,} classes can hold {self.p} different values each"]

    def _present(self, stats: ClassStats) -> list[Held]:
        return [present(h, missing_counts=self.missing_counts) for h in all_held(stats, self.sensitive)]


def most_classes(counts: IntArray, p: int) -> int:
    """The largest number of classes that can each hold p different values, given how often each value occurs.

    Leave out the p - i most frequent values: every class still needs i of the records that remain.
    """
    ranked = np.sort(counts)[::-1]
    if np.count_nonzero(ranked) < p:
        return 0
    total = int(ranked.sum())
    return min((total - int(ranked[: p - i].sum())) // i for i in range(1, p + 1))
