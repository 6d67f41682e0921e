"""How many records that are unique in a sample are unique in the population, estimated from class sizes alone.

All three estimators take the sizes of the classes of the sample and the number of people in the population.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np

from tablecloak.arrays import IntArray

GOLDEN = 0.6180339887498949
STEPS = 80


@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """An estimate of how many people are unique in the population."""

    method: str
    n_unique: float  # people who are unique in the population
    given_sample_unique: float  # chance that a record that is unique in the sample is so in the population
    unique_share: float  # people unique in the population among all of it

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "population_uniques": self.n_unique,
            "unique_share": self.unique_share,
            "given_sample_unique": self.given_sample_unique,
        }


@dataclass(frozen=True, slots=True)
class _SizeCounts:
    """Sizes that occur, how many classes have each, and the totals."""

    sizes: list[int]
    counts: list[int]
    n: int
    population: int

    @classmethod
    def of(cls, sizes: IntArray, population: int) -> _SizeCounts:
        values, counts = np.unique(sizes[sizes > 0], return_counts=True)
        n = int((values * counts).sum())
        return cls(values.tolist(), counts.tolist(), n, max(int(population), n))

    @property
    def n_classes(self) -> int:
        return sum(self.counts)

    @property
    def n_unique(self) -> int:
        return self.counts[0] if self.sizes and self.sizes[0] == 1 else 0

    def estimate(self, method: str, n_unique: float) -> PopulationUniqueness:
        """From people unique in the population, each of whom is in the sample with chance n / N."""
        bounded = float(min(max(n_unique, 0.0), self.population))
        in_sample = bounded * self.n / max(1, self.population)
        chance = min(1.0, in_sample / self.n_unique) if self.n_unique else 0.0
        return PopulationUniqueness(method, bounded, chance, bounded / max(1, self.population))


def estimate_all(sizes: IntArray, population: int) -> list[PopulationUniqueness]:
    """Every estimate for one sample."""
    return [estimator(sizes, population) for estimator in (pitman, zayatz, negative_binomial)]


def zayatz(sizes: IntArray, population: int) -> PopulationUniqueness:
    """Classes of the population are taken to have the sizes of those of the sample; Bayes' rule gives the rest.

    A class of j people has one record in the sample with the hypergeometric chance j C(N - j, n - 1) / C(N, n).
    Reference: Zayatz, Estimation of the percent of unique population elements on a microdata file using the sample,
    US Bureau of the Census, Statistical Research Division Report 91/08, 1991.
    """
    sample = _SizeCounts.of(sizes, population)
    if not sample.n_unique:
        return sample.estimate("zayatz", 0.0)
    chances = [
        count * exp(_log_one_drawn(size, sample.n, sample.population))
        for size, count in zip(sample.sizes, sample.counts, strict=True)
    ]
    chance = chances[0] / sum(chances)
    return sample.estimate("zayatz", sample.n_unique * chance * sample.population / sample.n)


def _log_one_drawn(size: int, n: int, population: int) -> float:
    """Logarithm of the chance that exactly one of `size` people is among `n` drawn from the population."""
    if population - size < n - 1:
        return -np.inf
    ways = log(size) + _log_choose(population - size, n - 1)
    return ways - _log_choose(population, n)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def pitman(sizes: IntArray, population: int) -> PopulationUniqueness:
    """Class sizes follow Pitman's sampling formula, whose two parameters are fitted by maximum likelihood.

    Expected uniques among N people: N times the product over i = 0 ... N - 2 of (theta + alpha + i) / (theta + 1 + i).
    Reference: Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal of Official
    Statistics 2001.
    """
    sample = _SizeCounts.of(sizes, population)
    if not sample.n_unique:
        return sample.estimate("pitman", 0.0)
    if sample.n_unique == sample.n:  # every class is a single record: the likelihood grows without limit
        return sample.estimate("pitman", float(sample.population))
    alpha, theta = pitman_fit(sample.sizes, sample.counts)
    return sample.estimate("pitman", pitman_uniques(alpha, theta, sample.population))


def pitman_uniques(alpha: float, theta: float, n: int) -> float:
    """Expected classes of one among n records."""
    rising = lgamma(theta + alpha + n - 1) - lgamma(theta + alpha) - lgamma(theta + n) + lgamma(theta + 1)
    return n * exp(rising)


def pitman_fit(sizes: list[int], counts: list[int]) -> tuple[float, float]:
    """The alpha in (0, 1) and theta > 0 under which the class sizes are most likely."""
    n, n_classes = sum(s * c for s, c in zip(sizes, counts, strict=True)), sum(counts)

    def likelihood(alpha: float, log_theta: float) -> float:
        theta = exp(log_theta)
        new = (n_classes - 1) * log(alpha) + lgamma(theta / alpha + n_classes) - lgamma(theta / alpha + 1)
        drawn = lgamma(theta + n) - lgamma(theta + 1)
        inside = sum(c * (lgamma(s - alpha) - lgamma(1 - alpha)) for s, c in zip(sizes, counts, strict=True))
        return new - drawn + inside

    alpha, log_theta = _best_pair(likelihood, (1e-6, 1 - 1e-6), (-10.0, log(n) + 15.0))
    return alpha, exp(log_theta)


def negative_binomial(sizes: IntArray, population: int) -> PopulationUniqueness:
    """Class sizes follow a negative binomial distribution, fitted to the sample, whose empty classes are not seen.

    The Poisson-gamma model: a cell with shape r and mean m in the sample has mean m N / n in the population.
    Reference: Bethlehem, Keller, Pannekoek, Disclosure control of microdata, Journal of the American Statistical
    Association 1990.
    """
    sample = _SizeCounts.of(sizes, population)
    if not sample.n_unique:
        return sample.estimate("negative-binomial", 0.0)
    if sample.n_unique == sample.n:  # no class has a second record, so the mean of a cell is as good as nothing
        return sample.estimate("negative-binomial", float(sample.population))
    shape, mean = negative_binomial_fit(sample.sizes, sample.counts)
    cells = sample.n_classes / -np.expm1(-shape * log1p(mean / shape))
    wide = mean * sample.population / sample.n
    unique = exp(log(wide) - (shape + 1) * log1p(wide / shape))
    return sample.estimate("negative-binomial", cells * unique)


def negative_binomial_fit(sizes: list[int], counts: list[int]) -> tuple[float, float]:
    """Shape and mean of the negative binomial under which the sizes of the classes that are not empty are likeliest."""

    def likelihood(log_shape: float, log_mean: float) -> float:
        shape, mean = exp(log_shape), exp(log_mean)
        log_any = log(-np.expm1(-shape * log1p(mean / shape)))
        ratio = log(mean) - log(shape + mean)
        return sum(
            c * (lgamma(shape + s) - lgamma(shape) - lgamma(s + 1) - shape * log1p(mean / shape) + s * ratio - log_any)
            for s, c in zip(sizes, counts, strict=True)
        )

    log_shape, log_mean = _best_pair(likelihood, (-12.0, 8.0), (-16.0, log(max(sizes)) + 1.0))
    return exp(log_shape), exp(log_mean)


def _best_pair(
    likelihood: Callable[[float, float], float], first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """The pair of parameters with the greatest likelihood, by golden-section search inside golden-section search."""

    def profile(a: float) -> float:
        return likelihood(a, _best(lambda b: likelihood(a, b), *second))

    a = _best(profile, *first)
    return a, _best(lambda b: likelihood(a, b), *second)


def _best(value: Callable[[float], float], low: float, high: float) -> float:
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = value(left)
        if high - low < 1e-9:
            break
    return (low + high) / 2
