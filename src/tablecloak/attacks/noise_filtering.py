"""Noise filtering: correlated columns give away much of the noise that was added to them."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.attacks._changed_columns import details_of, moved_columns
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
    By guessing: what pulling each column towards its own mean removes, which takes no other column.
    Stopped by: noise that is correlated like the data, or differential privacy.
    Reference: Huang, Du, Chen, Deriving private information from randomized data, SIGMOD 2005.
    """
    moved = moved_columns(case)
    names, before, after = moved.names, moved.complete.before, moved.complete.after
    if len(names) < 2 or len(before) < 2:
        raise DoesNotApplyError("needs two columns of numbers to which noise was added")
    noise = after - before
    variance = noise.var(axis=0)
    estimate = filtered(after, variance)
    removed = _removed(estimate, before, after)
    alone = [filtered(after[:, [i]], variance[[i]]) for i in range(len(names))]
    by_itself = _removed(np.concatenate(alone, axis=1), before, after)
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
        baseline=float(by_itself.mean()),
        details={**details_of(moved), "noise_removed": dict(zip(names, removed.tolist(), strict=True))},
    )


def _removed(estimate: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """The share of the noise of every column that an estimate is without, (n_columns,)."""
    error, added = (((side - before) ** 2).mean(axis=0) for side in (estimate, after))
    share: FloatArray = np.maximum(0.0, 1.0 - error / np.maximum(added, 1e-300))
    return share


def filtered(after: FloatArray, variance: FloatArray) -> FloatArray:
    """The best linear estimate of numbers to which independent noise of known variance was added."""
    mean = after.mean(axis=0)
    total = np.cov(after, rowvar=False, bias=True).reshape(after.shape[1], after.shape[1])
    values, vectors = np.linalg.eigh(total - np.diag(variance))
    signal = (vectors * np.maximum(values, 0.0)) @ vectors.T
    gain = signal @ np.linalg.pinv(signal + np.diag(variance))
    estimate: FloatArray = mean + (after - mean) @ gain.T
    return estimate
