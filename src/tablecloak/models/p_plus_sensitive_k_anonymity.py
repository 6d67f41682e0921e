"""p+-sensitive k-anonymity: k records and p different categories of sensitive values in every class."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, model, one_held
from tablecloak.models.fields import Categories, K, MissingCounts, OneSensitive, by_category, named_in, present
from tablecloak.models.p_sensitive_k_anonymity import PSensitive
from tablecloak.stats.classes import ClassStats, Evidence


@model("p-plus-sensitive-k-anonymity", requires="p", evidence=Evidence.SENSITIVE, monotone=Monotone.BOTH)
class PPlusSensitiveKAnonymity(PSensitive):
    """Every class has at least `k` persons and sensitive values of at least `p` different categories.

    Formula: |E| >= k and #{category(s) : s in E} >= p for every class E. Values named in no category share one. Where
    persons have several records, p different persons must be found for p different categories. Empty cells are in no
    category, unless `missing_counts`.

    Protects from: record linkage, and classes whose values are all of one kind. Not from: one dominant category.
    Reference: Sun, Wang, Li, Truta, Enhanced p-sensitive k-anonymity models, Transactions on Data Privacy 2008.
    """

    keeps_values_in_persons: ClassVar[bool] = True

    p: Annotated[int, Field(ge=1, description="different categories in every class; 2 to 4 is usual")]
    k: K
    categories: Categories = None
    level: Annotated[int, Field(ge=0, description="level of the column's hierarchy that is a category; 1 is usual")] = 1
    sensitive: OneSensitive = None
    missing_counts: MissingCounts = False

    def levels(self, stats: ClassStats) -> FloatArray:
        held = present(one_held(stats, self.sensitive, self.name), missing_counts=self.missing_counts)
        return by_category(held, self.categories, self.level).different().astype(float)

    def named_values(self) -> tuple[str, ...]:
        return named_in(self.categories)
