"""l+-diversity: every sensitive value has its own largest share of a class."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model, one_histogram
from tablecloak.models.fields import Limits, OneSensitive
from tablecloak.stats.classes import ClassStats, Evidence


@model("l-plus-diversity", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION, sense=Sense.AT_MOST)
class LPlusDiversity(PrivacyModel):
    """No sensitive value makes up more of a class than its own threshold.

    Formula: n_E(s) / |E| <= thresholds[s] for every class E and every value s that has one, where n_E(s) are the
    persons of E with s in any of their records there, and |E| all its persons. The level is the largest share relative
    to its threshold, at most 1.

    Protects from: confident guesses, strictest where a value is most sensitive. Not from: values without a threshold,
    or record linkage.
    Reference: Liu, Wang, On optimal anonymization for l+-diversity, ICDE 2010.
    """

    holds_in_groups: ClassVar[bool] = True

    thresholds: Annotated[Limits, Field(description="largest share by value, such as {HIV: 0.1, Flu: 0.5}")]
    sensitive: OneSensitive = None

    @property
    def required(self) -> float:
        return 1.0

    def levels(self, stats: ClassStats) -> FloatArray:
        hist = one_histogram(stats, self.sensitive, self.name)
        limit = dict(self.thresholds)
        limits = np.array([limit.get(str(label), np.inf) for label in hist.domain.labels])
        return hist.max_by_class(hist.shares() / limits[hist.codes])

    def named_values(self) -> tuple[str, ...]:
        return tuple(value for value, _ in self.thresholds)
