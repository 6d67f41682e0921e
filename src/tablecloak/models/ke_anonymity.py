"""(k, e)-anonymity: k different numbers that span at least e in every class."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Condition, Monotone, PrivacyModel, model
from tablecloak.models.fields import OneSensitive, numbers_held
from tablecloak.stats.classes import ClassStats, Evidence
from tablecloak.stats.persons import Held


@model("ke-anonymity", requires="e", evidence=Evidence.SENSITIVE, monotone=Monotone.BOTH)
class KEAnonymity(PrivacyModel):
    """Every class has at least `k` different sensitive numbers of as many persons, and they span at least `e`.

    Formula: #{s in E} >= k and max |x - y| >= e over numbers x, y of two different persons of E, for every class E.
    Where persons have several records, #{s in E} are the most persons that can each be given another of their numbers.
    Empty cells count for neither; dates are measured in days, moments in microseconds.

    Protects from: learning a number exactly. Not from: many numbers close together and one far away; see em-anonymity.
    Reference: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables, ICDE 2007.
    """

    keeps_values_in_persons: ClassVar[bool] = True
    holds_in_groups: ClassVar[bool] = True

    k: Annotated[int, Field(ge=1, description="different numbers in every class; 3 to 10 is usual")]
    e: Annotated[float, Field(ge=0, allow_inf_nan=False, description="least span, in the unit of the column")]
    sensitive: OneSensitive = None

    @property
    def min_size(self) -> int:
        return max(self.k, 2 if self.e > 0 else 1)

    def levels(self, stats: ClassStats) -> FloatArray:
        held, numbers = self._present(stats)
        return held.span(numbers)

    def conditions(self, stats: ClassStats) -> list[Condition]:
        held, _ = self._present(stats)
        return [Condition("e", self.levels(stats), self.e), Condition("k", held.different().astype(np.float64), self.k)]

    def _present(self, stats: ClassStats) -> tuple[Held, FloatArray]:
        """Who holds which number, without empty cells, and the numbers by code."""
        held, numbers = numbers_held(stats, self.sensitive, self.name)
        codes = np.where(np.isnan(numbers), -1, np.arange(len(numbers)))
        return held.recoded(codes, held.domain), numbers
