"""C-confident delta-presence: the same as delta-presence, where only statistics of the population are known."""

from __future__ import annotations

from math import erf, sqrt
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Monotone, PrivacyModel, model
from tablecloak.models.delta_presence import DeltaMax, DeltaMin
from tablecloak.models.fields import may_be_missed
from tablecloak.stats.classes import ClassStats, Evidence

EXACT_UP_TO = 10_000


@model("c-confident-delta-presence", requires="c", evidence=Evidence.POPULATION, monotone=Monotone.NEITHER)
class ConfidentDeltaPresence(PrivacyModel):
    """With a confidence of at least `c`, people are in the table with a chance from `delta_min` to `delta_max`.

    For populations of which only statistics are known: `people` of them, with quasi-identifiers distributed as in the
    population file. Of the people who are not among the n persons of the table, Binomial(people - n, p) fall into class
    E, where p is the share of the file that E covers. |E| are persons, too.
    Formula: Pr(delta_min <= |E| / (|E| + Binomial(people - n, p)) <= delta_max) >= c for every class E. Binomial sums
    of more than 10,000 terms are taken from the normal distribution.

    Protects from: learning who is in the table, where attackers know a population that the publisher does not.
    Not from: record or attribute linkage.
    Reference: Nergiz, Clifton, Delta-presence without complete world knowledge, IEEE TKDE 2010.
    """

    c: Annotated[float, Field(gt=0, le=1, description="confidence; 0.9 to 0.99 is usual")]
    people: Annotated[int, Field(ge=1, description="how many people there are in the population")]
    delta_max: DeltaMax
    delta_min: DeltaMin = 0.0

    @property
    def note(self) -> str | None:
        return may_be_missed(self.name)

    def levels(self, stats: ClassStats) -> FloatArray:
        sizes = stats.persons.astype(np.float64)
        counted, covered = stats.population, stats.people
        if counted is None or covered is None:
            return np.where(sizes > 0, float(self.delta_min <= 1.0 <= self.delta_max), 1.0)
        n_file = max(counted.domain.n_people, 1)
        others = max(0, self.people - stats.n_persons)
        chance = np.clip(covered / n_file, 0.0, 1.0)
        least = np.ceil(sizes * (1 / self.delta_max - 1) - 1e-9)
        below = binomial_below(least, others, chance)
        if self.delta_min == 0:
            return 1.0 - below
        most = np.floor(sizes * (1 / self.delta_min - 1) + 1e-9)
        return np.maximum(binomial_below(most + 1, others, chance) - below, 0.0)


def binomial_below(limits: FloatArray, n: int, chances: FloatArray) -> FloatArray:
    """Pr(Binomial(n, chance) < limit) for every pair of limit and chance."""
    chances_below = np.zeros(len(limits))
    chances_below[limits > n] = 1.0
    open_ = (limits > 0) & (limits <= n)
    large = open_ & (limits > EXACT_UP_TO)
    chances_below[large] = _normal_below(
        limits[large] - 0.5, n * chances[large], n * chances[large] * (1 - chances[large])
    )
    small = np.flatnonzero(open_ & ~large)
    if len(small):
        chances_below[small] = _summed_below(limits[small], n, chances[small])
    return chances_below


def _summed_below(limits: FloatArray, n: int, chances: FloatArray) -> FloatArray:
    """Sums of binomial chances term by term, in logarithms because a first term may be too small for a float."""
    inside = np.clip(chances, 1e-300, 1 - 1e-16)
    log_term = n * np.log1p(-inside)
    odds = np.log(inside) - np.log1p(-inside)
    total = np.full(len(limits), -np.inf)
    for i in range(int(limits.max())):
        total = np.where(i < limits, np.logaddexp(total, log_term), total)
        log_term = log_term + np.log((n - i) / (i + 1)) + odds if i < n else np.full(len(limits), -np.inf)
    summed = np.minimum(np.exp(total), 1.0)
    return np.where(chances <= 0, 1.0, np.where(chances >= 1, 0.0, summed))


def _normal_below(limits: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    scaled = (limits - mean) / np.sqrt(np.maximum(variance, 1e-300))
    return np.array([0.5 * (1 + erf(z / sqrt(2))) for z in scaled.tolist()])
