"""(X, Y)-anonymity: every group on X is linked to at least k different values on Y."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.table import Role
from tablecloak.models.base import Monotone, NamedColumn, PrivacyModel, Sense, grouped, model, named_as, names_in
from tablecloak.models.fields import Columns, MissingCounts
from tablecloak.stats.classes import ClassStats, Counted, Evidence
from tablecloak.stats.joint import combinations_held


@model("xy-anonymity", evidence=None, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class XYAnonymity(PrivacyModel):
    """Every group of records that agree on the columns `x` is linked to at least `k` different values of `y`.

    Formula: #{Y values of records with X = x} >= k for every published combination x. With the person key as Y it is
    k-anonymity for people who have several records. With other columns as Y, and persons who have several records, k
    different persons must be found for k different values. Combinations with an empty cell are no value, unless
    `missing_counts`.

    Protects from: record linkage where a person has several records. Not from: one dominant value on Y.
    Reference: Wang, Fung, Anonymizing sequential releases, KDD 2006.
    """

    k: Annotated[int, Field(ge=1, description="different values of Y per group; 3 to 20 is usual")]
    x: Columns = None
    y: Annotated[
        tuple[str, ...] | str | None,
        Field(description="the person column, or sensitive columns whose combinations count; persons if left out"),
    ] = None
    missing_counts: MissingCounts = False

    @property
    def monotone_in_persons(self) -> Monotone:
        return self.monotone  # persons keep their values in a union

    @property
    def evidence(self) -> Evidence:  # type: ignore[override]
        several = not isinstance(self.y, str) and self.y is not None and len(self.y) > 1
        if several:
            return Evidence.SENSITIVE | Evidence.JOINT
        return (
            Evidence.SIZE if self.y is None else Evidence.SIZE | Evidence.PERSONS
        )  # the person key or a sensitive column

    @property
    def required(self) -> float:
        return self.k

    @property
    def min_size(self) -> int:
        return self.k if self.x is None else 1

    @property
    def in_search(self) -> PrivacyModel:
        return replace(self, x=None)

    @property
    def note(self) -> str | None:
        # Records that agree on x are a union of classes, and a union has at least the values of each part.
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
        return self._linked(united)[group].astype(np.float64)

    def _linked(self, stats: ClassStats) -> IntArray:
        names = [self.y] if isinstance(self.y, str) else list(self.y or ())
        # a person with several combinations is still one person, so persons alone understate no risk
        if not names or any(name not in stats.hist_of(Counted.SENSITIVE) for name in names):
            return stats.persons
        return combinations_held(stats, names, missing_counts=self.missing_counts).different()
