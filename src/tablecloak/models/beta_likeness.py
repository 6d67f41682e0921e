"""beta-likeness: no sensitive value is much more frequent in a class than in the table, relative to the table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.rules import RuleKind
from tablecloak.models.base import (
    MOST_BOUNDED,
    TOLERANCE,
    Condition,
    CountBounds,
    Monotone,
    PrivacyModel,
    Rule,
    Sense,
    histograms,
    model,
)
from tablecloak.models.fields import Sensitive
from tablecloak.stats.classes import ClassStats, Evidence, Histogram, SensitiveDomain


@model(
    "beta-likeness",
    requires="beta",
    evidence=Evidence.SENSITIVE | Evidence.TABLE,
    monotone=Monotone.GENERALIZATION,
    sense=Sense.AT_MOST,
)
class BetaLikeness(PrivacyModel):
    """No value is more frequent in a class than in the table by more than `beta` times its share in the table.

    Formula: (q - p) / p <= beta for every class and every value with q > p, where q is the share of the persons of the
    class who hold it (in any of their records there) and p that in the table; `enhanced` also asks
    (q - p) / p <= -ln p, which binds where p is large.

    Protects from: relative gains on rare values, which t-closeness may allow. Not from: learning that a value is rarer
    in a class than in the table, or record linkage.
    Reference: Cao, Karras, Publishing microdata with a robust privacy guarantee, PVLDB 2012.
    """

    holds_in_groups: ClassVar[bool] = True
    sentence: ClassVar[str | None] = (
        "No value of {sensitive} is more than {beta} times its usual share more frequent in a group."
    )

    beta: Annotated[float, Field(gt=0, allow_inf_nan=False, description="largest relative gain; 1 to 4 is usual")]
    enhanced: Annotated[bool, Field(description="also cap the gain of frequent values at -ln p")] = False
    sensitive: Sensitive = None

    @property
    def usual_limit(self) -> tuple[str, float] | None:
        return "beta", 1.0

    def levels(self, stats: ClassStats) -> FloatArray:
        largest: FloatArray = np.max([h.max_by_class(_gain(h)) for h in histograms(stats, self.sensitive)], axis=0)
        return largest

    def conditions(self, stats: ClassStats) -> list[Condition]:
        basic = Condition("beta", self.levels(stats), self.beta, Sense.AT_MOST)
        if not self.enhanced:
            return [basic]
        over = np.sum([_over_cap(h) for h in histograms(stats, self.sensitive)], axis=0)
        return [basic, Condition("values over -ln p", over.astype(np.float64), 0, Sense.AT_MOST)]

    def rule(self) -> Rule:
        return Rule(RuleKind.GAIN, self.beta, order=int(self.enhanced))

    def bounds(self, domain: SensitiveDomain, totals: IntArray) -> CountBounds | None:
        if domain.n_values > MOST_BOUNDED:
            return None
        p = totals / max(1, int(totals.sum()))
        gain = np.minimum(self.beta, -np.log(p, where=p > 0, out=np.zeros(len(p)))) if self.enhanced else self.beta
        return CountBounds(np.eye(domain.n_values), p * (1 + gain), 0.0)

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        if self.enhanced or not math.isfinite(achieved):
            return []
        beta = math.ceil((achieved - TOLERANCE) * 100) / 100
        return [replace(self, beta=beta)] if beta > self.beta else []


def _gain(hist: Histogram) -> FloatArray:
    """By how much of its share in the table each entry is more frequent in its class, (n_entries,); 0 if it is not."""
    p = hist.total_shares()[hist.codes]
    with np.errstate(divide="ignore"):
        return np.maximum((hist.shares() - p) / p, 0.0)


def _over_cap(hist: Histogram) -> FloatArray:
    """Values of each class that gain more than -ln p, (n_classes,)."""
    with np.errstate(divide="ignore"):
        cap = -np.log(hist.total_shares()[hist.codes])
    return hist.sum_by_class(_gain(hist) > cap + TOLERANCE)
