"""Propensity scores: can a model tell originals from released records?"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.compared_records import ComparedRecords, bins_of, pairs_of, weighted_counts
from tablecloak.rng import child

SINGLE_BINS, PAIR_BINS = 10, 2
STEPS, RIDGE = 12, 1e-3
CLOSE = 1e-4  # a step this short is the last


@metric("propensity", on_request=True)
def propensity(counts: ReleaseCounts, *, sample: int = 2000, seed: int = 0) -> Amount:
    """Propensity score: how well a model tells released records from originals, 0 not at all, 1 always.

      pMSE = mean over records of (score - 1/2)^2;  value = (pMSE - e) / (1/4 - e),  e = (parameters - 1) / (8 N)

    A logistic regression over the values of every column and the halves of every two scores 2,000 originals and as
    many released records; a released cell is replaced by a random value that it covers. e is what pMSE would be on
    average if both came from one source, and 1/4 the most it can be. Lower is better.
    Reference: Woo, Reiter, Oganian, Karr, JPC 2009; Snoke, Raab, Nowok, Dibben, Slavkovic, JRSS A 2018.
    """
    records = counts.records
    if not records.n_before or not records.n_after:
        raise DoesNotApplyError("there is nothing to compare")
    sample = min(sample, records.n_before, records.n_after)
    random = child(seed, "propensity")
    codes = records.drawn(sample, random)
    features = _features(records, codes)
    is_release = np.repeat([0.0, 1.0], sample)
    scores = logistic_scores(features, is_release)
    squares = (scores - 0.5) ** 2
    chance = (features.shape[1] - 1) / (8 * len(is_release))
    scale = 0.25 - chance
    if scale <= 0:
        raise DoesNotApplyError("the sample is too small for so many columns")
    value = float(np.clip((squares.mean() - chance) / scale, 0.0, 1.0))
    error = float(squares.std(ddof=1) / np.sqrt(len(squares)) / scale)
    return Amount(value, None, error, f"on {sample:,} originals and {sample:,} released records")


def _features(records: ComparedRecords, codes: list[IntArray]) -> FloatArray:
    """A constant, one column per bin but the first of every column, and one per combination of coarse bins."""
    columns = records.columns
    weights = [weighted_counts(c.before, records.weights_before, c.n_codes) for c in columns]
    fine = [_binned(w, code, SINGLE_BINS) for w, code in zip(weights, codes, strict=True)]
    coarse = [_binned(w, code, PAIR_BINS) for w, code in zip(weights, codes, strict=True)]
    singles = [_indicators(code, n) for code, n in fine]
    pairs = [
        _indicators(coarse[i][0], coarse[i][1])[:, :, None] * _indicators(coarse[j][0], coarse[j][1])[:, None, :]
        for i, j in pairs_of(columns)
    ]
    flat = [pair.reshape(len(pair), pair.shape[1] * pair.shape[2]) for pair in pairs]
    return np.concatenate([np.ones((len(codes[0]), 1)), *singles, *flat], axis=1)


def _binned(weights: FloatArray, codes: IntArray, most: int) -> tuple[IntArray, int]:
    bins, n = bins_of(weights, most)
    return bins[codes], n


def _indicators(codes: IntArray, n: int) -> FloatArray:
    """One column per code but the first, (n_records, n - 1)."""
    return np.asarray(codes[:, None] == np.arange(1, n), dtype=np.float64)


def logistic_scores(features: FloatArray, is_one: FloatArray) -> FloatArray:
    """Fitted probabilities of a logistic regression with a slight ridge, by Newton steps."""
    weights = np.zeros(features.shape[1])
    ridge = RIDGE * np.eye(features.shape[1])
    for _ in range(STEPS):
        scores = _logistic(features @ weights)
        gradient = features.T @ (is_one - scores) - ridge @ weights
        curvature = (features * (scores * (1 - scores))[:, None]).T @ features + ridge
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    return _logistic(features @ weights)


def _logistic(x: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))
