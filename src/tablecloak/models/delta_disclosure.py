"""delta-disclosure privacy: the share of every value in every class is within a factor of its share in the table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, PrivacyModel, Sense, histograms, model
from tablecloak.models.fields import Sensitive
from tablecloak.stats.classes import ClassStats, Evidence, Histogram


@model(
    "delta-disclosure",
    requires="delta",
    evidence=Evidence.SENSITIVE | Evidence.TABLE,
    monotone=Monotone.GENERALIZATION,
    sense=Sense.BELOW,
)
class DeltaDisclosure(PrivacyModel):
    """The share of every sensitive value in every class differs from its share in the table by a factor below e^delta.

    Formula: |ln(q / p)| < delta for every class and every value of the table, where q is the share of the persons of
    the class who hold it (in any of their records there) and p that in the table. A class that lacks a value has
    the level infinity.

    Protects from: learning that a value is more or less likely in a class. Not from: record linkage; add k-anonymity.
    Reference: Brickell, Shmatikov, The cost of privacy, KDD 2008.
    """

    holds_in_groups: ClassVar[bool] = True
    sentence: ClassVar[str | None] = (
        "Shares of {sensitive} in a group differ from the table by a factor below e^{delta}."
    )

    delta: Annotated[float, Field(gt=0, allow_inf_nan=False, description="limit of |ln(q / p)|; 0.5 to 2 is usual")]
    sensitive: Sensitive = None

    def levels(self, stats: ClassStats) -> FloatArray:
        largest: FloatArray = np.max([_surprise(h) for h in histograms(stats, self.sensitive)], axis=0)
        return largest

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        if not math.isfinite(achieved):
            return []
        delta = (math.floor(achieved * 100) + 1) / 100
        return [replace(self, delta=delta)] if delta > self.delta else []


def _surprise(hist: Histogram) -> FloatArray:
    """The largest |ln(q / p)| over all values of the table, (n_classes,)."""
    with np.errstate(divide="ignore"):
        ratio = np.abs(np.log(hist.shares() / hist.total_shares()[hist.codes]))
    lacks = hist.distinct() < np.count_nonzero(hist.totals)
    return np.where(lacks, np.inf, hist.max_by_class(ratio))
