"""Amounts that are drawn for rows by their numbers: noise of known distributions, alone or together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.rng import Secret
from tablecloak.transforms.base import random_of


class Distribution(StrEnum):
    """What noise is drawn from, around 0."""

    NORMAL = "normal"
    LAPLACE = "laplace"
    UNIFORM = "uniform"
    DISCRETE = "discrete"  # another value of the column


class Draw(Protocol):
    """Draws an amount for every row, the same whichever rows are asked for together."""

    def __call__(self, numbers: IntArray) -> FloatArray:
        """(n,) amounts for rows of these numbers."""


@dataclass(frozen=True, slots=True)
class Alone:
    """Amounts of one column."""

    secret: Secret = field(repr=False)
    distribution: Distribution
    scale: float

    def __call__(self, numbers: IntArray) -> FloatArray:
        with np.errstate(over="ignore"):  # what is infinite is refused
            return self.scale * quantiles(self.distribution, _centered(self.secret, numbers))


@dataclass(frozen=True, slots=True)
class Together:
    """Normal amounts that go with those of other columns: every column weighs the same draws in its own way."""

    secrets: tuple[Secret, ...] = field(repr=False)  # one for each of the columns
    weights: tuple[float, ...]

    def __call__(self, numbers: IntArray) -> FloatArray:
        amounts = np.zeros(len(numbers))
        for secret, weight in zip(self.secrets, self.weights, strict=True):
            amounts += weight * quantiles(Distribution.NORMAL, _centered(secret, numbers))
        return amounts


def correlated_weights(values: FloatArray) -> FloatArray:
    """(n_columns, n_columns) weights of standard draws that give noise with the covariance of (n, n_columns) values.

    The symmetric root of the correlations, which is one only, times standard deviations.
    """
    spread = values.std(axis=0)
    correlations = np.atleast_2d(np.corrcoef(values, rowvar=False))
    sizes, vectors = np.linalg.eigh(correlations)
    root = (vectors * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T
    weights: FloatArray = spread[:, None] * root
    return weights


def _centered(secret: Secret, numbers: IntArray) -> FloatArray:
    """(n,) numbers between -1/2 and 1/2, neither of them nor 0: odd multiples of 2^-54, exactly."""
    return random_of(secret, numbers) - (0.5 - 2.0**-54)


def quantiles(distribution: Distribution, centered: FloatArray) -> FloatArray:
    """Values below which a share of 1/2 + centered lies: of a distribution with scale 1, around 0."""
    if distribution is Distribution.UNIFORM:
        return 2.0 * centered
    if distribution is Distribution.LAPLACE:
        return -np.sign(centered) * np.log1p(-2.0 * np.abs(centered))
    return _normal_quantiles(centered)


def share_below(distribution: Distribution, values: FloatArray) -> FloatArray:
    """Shares of a distribution of scale 1 that lie below some values."""
    if distribution is Distribution.UNIFORM:
        return np.clip((values + 1) / 2, 0.0, 1.0)
    if distribution is Distribution.LAPLACE:
        tail = np.exp(-np.abs(values)) / 2
        return np.where(values < 0, tail, 1 - tail)
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in values.tolist()])


# Normal quantiles ----------------------------------------------------------------------------------------------------

# Numerators and denominators, highest power first: for the middle, for tails, for far tails.
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def _normal_quantiles(centered: FloatArray) -> FloatArray:
    """Reference: Wichura, Algorithm AS 241: the percentage points of the normal distribution, Appl. Stat. 37, 1988."""
    distance = np.abs(centered)
    made = np.empty(len(centered))
    is_middle = distance <= 0.425
    middle = centered[is_middle]
    made[is_middle] = middle * _ratio(_MIDDLE, 0.180625 - middle * middle)
    depth = np.sqrt(-np.log(0.5 - distance[~is_middle]))
    tails = np.where(depth <= 5.0, _ratio(_TAIL, depth - 1.6), _ratio(_FAR, depth - 5.0))
    made[~is_middle] = np.copysign(tails, centered[~is_middle])
    return made


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], at: FloatArray) -> FloatArray:
    above, below = (np.polyval(np.array(coefficients), at) for coefficients in polynomials)
    ratio: FloatArray = above / below
    return ratio
