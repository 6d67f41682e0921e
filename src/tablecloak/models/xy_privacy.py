"""(X, Y)-privacy: every group on X has k records, and no value of Y is certain there."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Condition, Monotone, Sense, grouped, histograms, model
from tablecloak.models.fields import Columns, K, Sensitive, Strict, largest_shares
from tablecloak.models.xy_anonymity import LinkingModel
from tablecloak.stats.classes import ClassStats, Evidence


@model("xy-privacy", requires="h", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION)
class XYPrivacy(LinkingModel):
    """Every group of records that agree on `x` has at least `k` persons, and each value of `y` a share below `h`.

    Formula: |g| >= k and n_g(s) / |g| < h for every group g of records with equal published values of X and every
    value s of Y; <= h if not strict. n_g(s) are the persons of g with s in any of their records there, |g| all of them.

    Protects from: record linkage and confident guesses of any value of Y. Not from: differences to the table.
    Reference: Wang, Fung, Anonymizing sequential releases, KDD 2006.
    """

    k: K
    h: Annotated[float, Field(gt=0, le=1, description="limit of the confidence; 0.2 to 0.8 is usual")]
    x: Columns = None
    y: Sensitive = None
    strict: Strict = True

    @property
    def sense(self) -> Sense:
        return Sense.BELOW if self.strict else Sense.AT_MOST

    def levels(self, stats: ClassStats) -> FloatArray:
        united, group = grouped(stats, self.x)
        return largest_shares(histograms(united, self.y))[group]

    def conditions(self, stats: ClassStats) -> list[Condition]:
        united, group = grouped(stats, self.x)
        size = united.persons[group].astype(np.float64)
        return [Condition("h", self.levels(stats), self.h, self.sense), Condition("k", size, self.k)]
