"""(X, Y)-privacy: every group on X has k records, and no value of Y is certain there."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.data.table import Role
from tablecloak.models.base import (
    Condition,
    Monotone,
    NamedColumn,
    PrivacyModel,
    Sense,
    grouped,
    histograms,
    model,
    named_as,
    names_in,
)
from tablecloak.models.fields import Columns, K, Strict, largest_share
from tablecloak.stats.classes import ClassStats, Evidence


@model("xy-privacy", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION)
class XYPrivacy(PrivacyModel):
    """Every group of records that agree on `x` has at least `k` persons, and each value of `y` a share below `h`.

    Formula: |g| >= k and n_g(s) / |g| < h for every group g of records with equal published values of X and every
    value s of Y; <= h if not strict. n_g(s) are the persons of g with s in any of their records there, |g| all of them.

    Protects from: record linkage and confident guesses of any value of Y. Not from: differences to the table.
    Reference: Wang, Fung, Anonymizing sequential releases, KDD 2006.
    """

    k: K
    h: Annotated[float, Field(gt=0, le=1, description="limit of the confidence; 0.2 to 0.8 is usual")]
    x: Columns = None
    y: Annotated[str | tuple[str, ...] | None, Field(description="sensitive columns it speaks of; all if left out")] = (
        None
    )
    strict: Strict = True

    @property
    def sense(self) -> Sense:
        return Sense.BELOW if self.strict else Sense.AT_MOST

    @property
    def required(self) -> float:
        return self.h

    @property
    def min_size(self) -> int:
        return self.k if self.x is None else 1

    @property
    def in_search(self) -> PrivacyModel:
        # Records that agree on x are a union of classes: its size is at least that of each part, and the share of a
        # value in it lies between its shares in the parts (a mediant; not so where classes share persons, and then
        # the recount decides).
        return XYPrivacy(k=self.k, h=self.h, y=self.y, strict=self.strict)

    @property
    def note(self) -> str | None:
        if self.x is None:
            return None
        return f"{self.name}: the search asks it of every class, which implies it for all records that agree on x"

    @property
    def sensitive_columns(self) -> tuple[str, ...] | None:
        return names_in(self.y)

    def named_columns(self) -> tuple[NamedColumn, ...]:
        return (*named_as("x", self.x, Role.QUASI), *named_as("y", self.y, Role.SENSITIVE, Role.PERSON))

    def levels(self, stats: ClassStats) -> FloatArray:
        united, group = grouped(stats, self.x)
        largest: FloatArray = np.max([largest_share(h) for h in histograms(united, self.y)], axis=0)
        return largest[group]

    def conditions(self, stats: ClassStats) -> list[Condition]:
        united, group = grouped(stats, self.x)
        size = united.persons[group].astype(np.float64)
        return [Condition("h", self.levels(stats), self.h, self.sense), Condition("k", size, self.k)]
