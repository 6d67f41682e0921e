"""(k, e)-anonymity: k different numbers that span at least e in every class."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.models.base import Condition, Monotone, PrivacyModel, Sense, model
from tablecloak.models.fields import OneSensitive
from tablecloak.models.numbers import numeric_histogram
from tablecloak.stats.classes import ClassStats, FloatArray, Histogram, Needs

__all__ = ["KEAnonymity"]


@model("ke-anonymity", needs=Needs.SENSITIVE, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class KEAnonymity(PrivacyModel):
    """Every class has at least `k` different sensitive numbers, and they span at least `e`.

    Formula: #{s in E} >= k and max(E) - min(E) >= e for every class E. Empty cells count for neither; dates are
    measured in days, moments in microseconds.

    Protects from: learning a number exactly. Not from: many numbers close together and one far away; see em-anonymity.
    Reference: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables, ICDE 2007.
    """

    k: Annotated[int, Field(ge=1, description="different numbers in every class; 3 to 10 is usual")]
    e: Annotated[float, Field(ge=0, allow_inf_nan=False, description="least span, in the unit of the column")]
    sensitive: OneSensitive = None

    @property
    def required(self) -> float:
        return self.e

    @property
    def min_size(self) -> int:
        return max(self.k, 2 if self.e > 0 else 1)

    def levels(self, stats: ClassStats) -> FloatArray:
        numbers, hist = self._present(stats)
        highest, lowest = hist.max_by_class(numbers[hist.codes]), -hist.max_by_class(-numbers[hist.codes])
        return highest - lowest

    def conditions(self, stats: ClassStats) -> list[Condition]:
        _, hist = self._present(stats)
        return [
            Condition("e", self.levels(stats), self.e),
            Condition("k", hist.distinct().astype(np.float64), self.k),
        ]

    def _present(self, stats: ClassStats) -> tuple[FloatArray, Histogram]:
        """The numbers by code, and their histogram without empty cells."""
        hist = numeric_histogram(stats, self.sensitive, self.name)
        assert hist.domain.numbers is not None
        codes = np.where(np.isnan(hist.domain.numbers), -1, np.arange(hist.domain.n_values))
        return hist.domain.numbers, hist.recoded(codes, hist.domain)
