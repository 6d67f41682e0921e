"""(p, alpha)-sensitive k-anonymity: k records, p values and a total weight of harmless values in every class."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.models.base import Condition, Monotone, PrivacyModel, Sense, crowd, model, one_histogram
from tablecloak.models.fields import Categories, K, OneSensitive, category_codes
from tablecloak.stats.classes import ClassStats, FloatArray, Histogram, Needs

__all__ = ["PAlphaSensitiveKAnonymity"]


@model("p-alpha-sensitive-k-anonymity", needs=Needs.SENSITIVE, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class PAlphaSensitiveKAnonymity(PrivacyModel):
    """Every class has `k` records, `p` different sensitive values, and records of weight `alpha` or more in total.

    Formula: |E| >= k, #{s in E} >= p and sum of w(category) over the records of E >= alpha, where the categories
    1..m go from most to least sensitive and w(i) = (i - 1) / (m - 1). Values named in no category weigh 0.

    Protects from: record linkage, and classes of nothing but very sensitive values. Not from: skewed classes.
    Reference: Sun, Wang, Li, Truta, Enhanced p-sensitive k-anonymity models, Transactions on Data Privacy 2008.
    """

    p: Annotated[int, Field(ge=1, description="different values in every class; 2 to 5 is usual")]
    alpha: Annotated[float, Field(ge=0, allow_inf_nan=False, description="least weight of a class; 1 to k/2 is usual")]
    k: K
    categories: Categories = None
    level: Annotated[int, Field(ge=0, description="level of the column's hierarchy that is a category; 1 is usual")] = 1
    sensitive: OneSensitive = None

    @property
    def required(self) -> float:
        return self.alpha

    @property
    def min_size(self) -> int:
        return max(self.k, self.p)

    def levels(self, stats: ClassStats) -> FloatArray:
        hist = one_histogram(stats, self.sensitive, self.name)
        return hist.sum_by_class(hist.counts * self._weights(hist)[hist.codes])

    def conditions(self, stats: ClassStats) -> list[Condition]:
        distinct = one_histogram(stats, self.sensitive, self.name).distinct().astype(np.float64)
        return [
            Condition("alpha", self.levels(stats), self.alpha),
            Condition("p", distinct, self.p),
            crowd(stats, self.k),
        ]

    def _weights(self, hist: Histogram) -> FloatArray:
        codes, n = category_codes(hist.domain, self.categories, self.level)
        last = n - 1 if self.categories is None else n - 2  # the one after the named categories weighs nothing
        return np.where(codes <= last, codes / max(1, last), 0.0)
