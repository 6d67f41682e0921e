"""(p, alpha)-sensitive k-anonymity: k records, p values and a total weight of harmless values in every class."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Condition, Monotone, crowd, model, one_held
from tablecloak.models.fields import Categories, K, MissingCounts, OneSensitive, category_codes, named_in, present
from tablecloak.models.p_sensitive_k_anonymity import PSensitive
from tablecloak.stats.classes import ClassStats, Evidence, SensitiveDomain
from tablecloak.stats.persons import Held


@model("p-alpha-sensitive-k-anonymity", requires="alpha", evidence=Evidence.SENSITIVE, monotone=Monotone.BOTH)
class PAlphaSensitiveKAnonymity(PSensitive):
    """Every class has `k` persons, `p` different sensitive values, and persons of weight `alpha` or more in total.

    Formula: |E| >= k, #{s in E} >= p and sum of w(category) over the persons of E >= alpha, where the categories 1..m
    go from most to least sensitive and w(i) = (i - 1) / (m - 1). Values named in no category weigh 0. Where persons
    have several records, p different persons must be found for p different values, and a person weighs what the most
    sensitive of their values does. Empty cells weigh 0 and are no value; with `missing_counts` they are one that weighs
    0.

    Protects from: record linkage, and classes of nothing but very sensitive values. Not from: skewed classes.
    Reference: Sun, Wang, Li, Truta, Enhanced p-sensitive k-anonymity models, Transactions on Data Privacy 2008.
    """

    p: Annotated[int, Field(ge=1, description="different values in every class; 2 to 5 is usual")]
    alpha: Annotated[float, Field(ge=0, allow_inf_nan=False, description="least weight of a class; 1 to k/2 is usual")]
    k: K
    categories: Categories = None
    level: Annotated[int, Field(ge=0, description="level of the column's hierarchy that is a category; 1 is usual")] = 1
    sensitive: OneSensitive = None
    missing_counts: MissingCounts = False

    @property
    def monotone_in_persons(self) -> Monotone:
        return Monotone.NEITHER  # a person may weigh less in a union than in a part

    def levels(self, stats: ClassStats) -> FloatArray:
        held = self._present(stats)
        return held.least(self._weights(held.domain))

    def conditions(self, stats: ClassStats) -> list[Condition]:
        distinct = self._present(stats).different().astype(np.float64)
        weight = Condition("alpha", self.levels(stats), self.alpha)
        return [weight, Condition("p", distinct, self.p), crowd(stats, self.k)]

    def named_values(self) -> tuple[str, ...]:
        return named_in(self.categories)

    def _present(self, stats: ClassStats) -> Held:
        return present(one_held(stats, self.sensitive, self.name), missing_counts=self.missing_counts)

    def _weights(self, domain: SensitiveDomain) -> FloatArray:
        codes, n = category_codes(domain, self.categories, self.level)
        if self.categories is not None:
            last = n - 2  # the one after the named categories weighs nothing
            return np.where(codes <= last, codes / max(1, last), 0.0)
        if None in domain.labels:  # the first leaf of the tree, and in no category
            return np.maximum(codes - 1, 0) / max(1, n - 2)
        return codes / max(1, n - 1)
