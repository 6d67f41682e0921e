"""What analysts can still say of perturbed columns: sums, products, variances and frequencies, and how sure they are.

Noise of a known variance is no secret: what it does to a statistic is taken out again, and what remains unsure is said
as an interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from tablecloak.arrays import FloatArray
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.release.moments import MomentFacts
from tablecloak.stats.moments import MomentChanges, Moments, MomentSums, changes_of, numbers_of

SAME = 1e-9  # adding up in another order changes less

# Estimates ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of the table before the noise, as far as it can be told."""

    value: float
    deviation: float  # standard deviation of the estimate
    low: float
    high: float


def estimate(value: float, variance: float, confidence: float = 0.95) -> Estimate:
    """An estimate of known variance with its normal confidence interval."""
    deviation = math.sqrt(max(variance, 0.0))
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * deviation
    return Estimate(value, deviation, value - reach, value + reach)


def noise_variance(distribution: str, scale: float) -> float:
    """The variance of noise by its distribution and scale: standard deviation, b of Laplace or half width.

    >>> noise_variance("laplace", 2.0)
    8.0
    """
    factor = {"normal": 1.0, "laplace": 2.0, "uniform": 1 / 3}
    if distribution not in factor:
        raise IncompatibleChoice(f"noise that is {distribution} has no variance of its own", hint=", ".join(factor))
    return factor[distribution] * scale**2


def factor_variance(values: ArrayLike, deviation: float) -> FloatArray:
    """Var(u | v) = v^2 sigma^2: how much values vary that are multiplied by factors of mean 1."""
    variance: FloatArray = _numbers(values) ** 2 * deviation**2
    return variance


def estimated_sum(noisy: ArrayLike, variance: float, *, zero_sum: bool = False, confidence: float = 0.95) -> Estimate:
    """The sum of a column before noise was added: its error has the deviation sigma sqrt(n), or 0 with zero-sum noise.

    Empty cells are left out, here and below. The relative error vanishes as rows are added, the absolute one grows.
    """
    cells = _present(noisy)
    return estimate(float(cells.sum()), 0.0 if zero_sum else variance * len(cells), confidence)


def estimated_mean(noisy: ArrayLike, variance: float, *, zero_sum: bool = False, confidence: float = 0.95) -> Estimate:
    """The mean of a column before noise was added."""
    cells = _present(noisy)
    _refuse_few(cells, 1)
    return estimate(float(cells.mean()), 0.0 if zero_sum else variance / len(cells), confidence)


def estimated_product(
    a: ArrayLike, b: ArrayLike, variances: tuple[float, float], *, zero_sum: bool = False, confidence: float = 0.95
) -> Estimate:
    """The scalar product of two columns before independent noise was added to both.

    Var = s_b^2 sum a^2 + s_a^2 sum b^2 + n s_a^2 s_b^2, where the sums of squares are those before the noise, which
    are estimated; with zero-sum noise, squares are taken around the means and n is n - 1.
    """
    x, y = _both(a, b)
    n = len(x) - 1 if zero_sum else len(x)
    of_x, of_y = variances
    squares_x, squares_y = (
        max(0.0, float(((cells - cells.mean() * zero_sum) ** 2).sum()) - n * own)
        for cells, own in ((x, of_x), (y, of_y))
    )
    variance = of_y * squares_x + of_x * squares_y + n * of_x * of_y
    return estimate(float(x @ y), variance, confidence)


def estimated_variance(noisy: ArrayLike, variance: float, confidence: float = 0.95) -> Estimate:
    """The variance of a column before noise was added: that of the release without that of the noise."""
    cells = _present(noisy)
    _refuse_few(cells, 2)
    around = cells - cells.mean()
    spread = float(cells.var(ddof=1))
    fourth = float((around**4).mean())
    return estimate(spread - variance, (fourth - spread**2) / len(cells), confidence)


def estimated_correlation(a: ArrayLike, b: ArrayLike, variances: tuple[float, float]) -> float:
    """Pearson's correlation before independent noise was added to both columns: noise makes it smaller.

    Raises: DataError where the noise is as large as what varies.
    """
    x, y = _both(a, b)
    _refuse_few(x, 2)
    spread = (float(x.var(ddof=1)) - variances[0]) * (float(y.var(ddof=1)) - variances[1])
    if not (spread > 0 and float(x.var(ddof=1)) > variances[0]):
        raise DataError("the columns vary no more than their noise: nothing is left to correlate", hint="less noise")
    return float(np.cov(x, y)[0, 1] / math.sqrt(spread))


# Frequencies --------------------------------------------------------------------------------------------------------


def invariant_matrix(shares: ArrayLike, keep: float) -> FloatArray:
    """(m, m) chances with which pram changes values (rows) into others and keeps their expected shares."""
    frequencies = _numbers(shares)
    matrix: FloatArray = keep * np.eye(len(frequencies)) + (1 - keep) * np.tile(frequencies, (len(frequencies), 1))
    return matrix


def response_matrix(n_values: int, truth: float) -> FloatArray:
    """(m, m) chances of randomised response: the true value with one chance, each other one with equal ones."""
    matrix = np.full((n_values, n_values), (1 - truth) / max(1, n_values - 1))
    np.fill_diagonal(matrix, truth)
    return matrix


def estimated_shares(counts: ArrayLike, matrix: ArrayLike, confidence: float = 0.95) -> tuple[Estimate, ...]:
    """The shares of values before a matrix of chances changed them, from how many cells have each value now.

    Unbiased, so that the share of a rare value may come out below 0.
    Reference: Chaudhuri, Mukerjee, Randomized response: theory and techniques, 1988.

    Args:
        counts: (m,) cells of every value.
        matrix: (m, m), rows are what a value was, columns what it became; rows add up to 1.
    """
    observed, chances = _numbers(counts), np.asarray(matrix, np.float64)
    if chances.shape != (len(observed), len(observed)):
        raise DataError(f"{len(observed)} values need a matrix of as many rows and columns", hint="a square matrix")
    n = float(observed.sum())
    if n <= 0:
        raise DataError("there are no cells to estimate shares from", hint="counts above 0")
    if np.linalg.matrix_rank(chances) < len(observed):
        raise IncompatibleChoice("what the matrix did cannot be undone: two values became the same", hint="keep more")
    back = np.linalg.inv(chances.T)
    now = observed / n
    spread = back @ (np.diag(now) - np.outer(now, now)) @ back.T / n
    return tuple(
        estimate(float(value), float(variance), confidence)
        for value, variance in zip(back @ now, np.diag(spread), strict=True)
    )


# Two tables ---------------------------------------------------------------------------------------------------------


def moment_changes(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str] | None = None) -> MomentChanges:
    """Totals, means, variances and correlations of the columns of numbers that two tables have, before and after.

    Empty cells are left out, for correlations rows with one of them; rows need not be in the same order. Dates that
    are named are days since 1970.

    Raises: DataError for a column that is not there, or not of numbers.
    """
    names = [c for c in before.columns if c in after.columns and before[c].dtype.is_numeric()]
    for name in columns or ():
        if name not in before.columns or name not in after.columns or not _is_line(before[name]):
            raise DataError(f"'{name}' is no column of numbers in both tables", hint=f"one of: {', '.join(names[:20])}")
    chosen = list(columns or names)
    sums = MomentSums(len(chosen)), MomentSums(len(chosen))
    for side, frame in zip(sums, (before, after), strict=True):
        side.add(frame, chosen)
    return changes_of(chosen, sums[0], sums[1])


def changed_moments(before: pl.DataFrame, after: pl.DataFrame, changed: Sequence[str] = ()) -> MomentFacts | None:
    """The same of columns that changed, or are said to have changed, with dates; None where there are none.

    Args:
        changed: columns that transforms changed, though maybe not their moments.
    """
    names = [n for n in before.columns if n in after.columns and _is_line(before[n]) and _are_numbers(after[n])]
    sums = MomentSums(len(names)), MomentSums(len(names))
    for side, frame in zip(sums, (before, after), strict=True):
        side.add(frame, names)
    told = [n for i, n in enumerate(names) if n in changed or not _are_same(sums[0].moments(i), sums[1].moments(i))]
    if not told:
        return None
    return MomentFacts(
        changes_of(names, sums[0], sums[1], told),
        {name: sums[0].moments(i) for i, name in enumerate(names)},
        frozenset(name for name in told if not before[name].dtype.is_numeric()),
    )


def _are_numbers(cells: pl.Series) -> bool:
    """Whether every cell that is not empty is a number or date, as it was."""
    present = cells.drop_nulls()
    return bool(len(present)) and bool(np.isfinite(numbers_of(present)).all())


def _are_same(a: Moments, b: Moments) -> bool:
    if a.n != b.n:
        return False
    sides = [(side.mean or 0.0, side.deviation or 0.0) for side in (a, b)]
    size = max(abs(value) for side in sides for value in side)
    return all(abs(x - y) <= SAME * size for x, y in zip(*sides, strict=True))


def _is_line(cells: pl.Series) -> bool:
    return cells.dtype.is_numeric() or cells.dtype in (pl.Date, pl.Datetime)


def _numbers(values: ArrayLike) -> FloatArray:
    return np.asarray(values, np.float64)


def _present(values: ArrayLike) -> FloatArray:
    cells = _numbers(values)
    return cells[~np.isnan(cells)]


def _both(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Cells of two columns in rows where both have one."""
    x, y = _numbers(a), _numbers(b)
    if len(x) != len(y):
        raise DataError(f"{len(x)} cells do not go with {len(y)}", hint="columns of one table")
    has_both = ~(np.isnan(x) | np.isnan(y))
    return x[has_both], y[has_both]


def _refuse_few(cells: FloatArray, least: int) -> None:
    if len(cells) < least:
        raise DataError(f"{len(cells)} cells are too few, {least} are needed", hint="more rows")
