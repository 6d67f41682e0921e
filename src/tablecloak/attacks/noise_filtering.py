"""Noise filtering: correlated columns give away much of the noise that was added to them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray
from tablecloak.attacks.base import MOST_ROWS, AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError


@attack("noise-filtering")
def noise_filtering(case: Case) -> AttackSuccess:
    """The share of added noise that a spectral filter removes again, because columns go together and noise does not.

    For columns of numbers that were perturbed: the covariance of the original is estimated as that of the release minus
    that of the noise, whose variance an attacker is taken to know, and rows are pulled towards it (the best linear
    estimate). The average is over all columns, which the details list; a victim's row is
    estimated better than the release shows it.
    By guessing: no noise is removed.
    Stopped by: noise that is correlated like the data, or differential privacy.
    Reference: Huang, Du, Chen, Deriving private information from randomized data, SIGMOD 2005.
    """
    names, before, after = _numbers(case)
    noise = after - before
    variance = noise.var(axis=0)
    estimate = filtered(after, variance)
    error, added = ((estimate - before) ** 2).mean(axis=0), (noise**2).mean(axis=0)
    removed = np.maximum(0.0, 1.0 - error / np.maximum(added, 1e-300))
    scale = np.maximum(before.std(axis=0), 1e-300)
    gain = (np.abs(noise) / scale).sum(axis=1) - (np.abs(estimate - before) / scale).sum(axis=1)
    order = np.argsort(-gain, kind="stable")[:MOST_ROWS]
    return AttackSuccess(
        highest=None,
        average=float(removed.mean()),
        n_targets=len(before),
        n_victims=int(np.count_nonzero(gain > 0)),
        worst=tuple((order[gain[order] > 0] + 1).tolist()),
        rows_of="original",
        baseline=0.0,
        details={"columns": names, "noise_removed": dict(zip(names, removed.tolist(), strict=True))},
    )


def filtered(after: FloatArray, variance: FloatArray) -> FloatArray:
    """The best linear estimate of numbers to which independent noise of known variance was added."""
    mean = after.mean(axis=0)
    total = np.cov(after, rowvar=False, bias=True).reshape(after.shape[1], after.shape[1])
    values, vectors = np.linalg.eigh(total - np.diag(variance))
    signal = (vectors * np.maximum(values, 0.0)) @ vectors.T
    gain = signal @ np.linalg.pinv(signal + np.diag(variance))
    estimate: FloatArray = mean + (after - mean) @ gain.T
    return estimate


def _numbers(case: Case) -> tuple[list[str], FloatArray, FloatArray]:
    """Columns of numbers that were changed everywhere, before and after, rows in the same order."""
    before, after = case.original, case.frame
    if before is None or after is None or before.height != after.height:
        raise DoesNotApplyError("needs the original, and a release with the same rows")
    if not case.is_in_order:
        raise DoesNotApplyError("cannot be told: nothing says that rows are in the order of the original")
    names, left, right = [], [], []
    for name in after.columns:
        if name not in before.columns or not before[name].dtype.is_numeric():
            continue
        shown = after[name].cast(pl.String).cast(pl.Float64, strict=False)
        old = before[name].cast(pl.Float64)
        is_changed = shown.null_count() == old.null_count() == 0 and float((shown != old).mean() or 0.0) > 0.5  # type: ignore[arg-type]
        if is_changed and shown.n_unique() > after.height // 4:
            names.append(name)
            left.append(old.to_numpy())
            right.append(shown.to_numpy())
    if len(names) < 2:
        raise DoesNotApplyError("needs two columns of numbers to which noise was added")
    return names, np.stack(left, axis=1), np.stack(right, axis=1)
