"""(X, Y)-anonymity: every group on X is linked to at least k different values on Y."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.table import Role
from tablecloak.models.base import Monotone, NamedColumn, PrivacyModel, grouped, model, named_as, names_in
from tablecloak.models.fields import Columns, MissingCounts
from tablecloak.stats.classes import ClassStats, Counted, Evidence
from tablecloak.stats.joint import combinations_held


class LinkingModel(PrivacyModel):
    """A model of what records that agree on the columns `x` have on the columns `y`."""

    x: tuple[str, ...] | None
    y: str | tuple[str, ...] | None
    k: int

    @property
    def min_size(self) -> int:
        return self.k if self.x is None else 1

    @property
    def in_search(self) -> PrivacyModel:
        # Records that agree on x are a union of classes. It has at least the values and persons of each part, and the
        # share of a value in it lies between its shares in the parts (a mediant; not so where classes share persons,
        # and then the recount decides).
        own: Any = self
        return cast(PrivacyModel, replace(own, x=None))

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


@model("xy-anonymity", requires="k", evidence=None, monotone=Monotone.BOTH)
class XYAnonymity(LinkingModel):
    """Every group of records that agree on the columns `x` is linked to at least `k` different values of `y`.

    Formula: #{Y values of records with X = x} >= k for every published combination x. With the person key as Y it is
    k-anonymity for people who have several records. With other columns as Y, and persons who have several records, k
    different persons must be found for k different values. Combinations with an empty cell are no value, unless
    `missing_counts`.

    Protects from: record linkage where a person has several records. Not from: one dominant value on Y.
    Reference: Wang, Fung, Anonymizing sequential releases, KDD 2006.
    """

    keeps_values_in_persons: ClassVar[bool] = True

    k: Annotated[int, Field(ge=1, description="different values of Y per group; 3 to 20 is usual")]
    x: Columns = None
    y: Annotated[
        tuple[str, ...] | str | None,
        Field(description="the person column, or sensitive columns whose combinations count; persons if left out"),
    ] = None
    missing_counts: MissingCounts = False

    @property
    def evidence(self) -> Evidence:  # type: ignore[override]
        if len(names_in(self.y) or ()) > 1:
            return Evidence.SENSITIVE | Evidence.JOINT
        # the person key or a sensitive column
        return Evidence.SIZE if self.y is None else Evidence.SIZE | Evidence.PERSONS

    def levels(self, stats: ClassStats) -> FloatArray:
        united, group = grouped(stats, self.x)
        return self._linked(united)[group].astype(np.float64)

    def _linked(self, stats: ClassStats) -> IntArray:
        names = list(names_in(self.y) or ())
        # a person with several combinations is still one person, so persons alone understate no risk
        if not names or any(name not in stats.hist_of(Counted.SENSITIVE) for name in names):
            return stats.persons
        return combinations_held(stats, names, missing_counts=self.missing_counts).different()
