"""Probabilistic linkage: weighing which columns agree, as record linkage of registers does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._code_axes import CodeAxis, Pairs, pairs_of
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.attacks.distance_linkage import finding_of_links
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import child

ROUNDS = 100
MOST_COLUMNS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """How often each column agrees between a person and the own row (m) and any other row (u)."""

    m: FloatArray  # (n_columns,)
    u: FloatArray  # (n_columns,)

    def of_patterns(self, n_columns: int) -> FloatArray:
        """Log-likelihood ratio of every pattern of agreement, bit i for column i, (2 ** n_columns,)."""
        agrees = (np.arange(1 << n_columns)[:, None] >> np.arange(n_columns)) & 1
        weights: FloatArray = np.where(agrees, np.log(self.m / self.u), np.log((1 - self.m) / (1 - self.u))).sum(axis=1)
        return weights


@attack("probabilistic-linkage", on_request=True)
def probabilistic_linkage(case: Case) -> AttackSuccess:
    """The chance that the published row with the greatest weight of agreement with a person is theirs.

    A column agrees if the cell covers the person's value or, of numbers, its middle is within 5 % of the range. How
    often columns agree for the own row and for others is learned from the tables alone, by expectation maximisation;
    the weights are logarithms of the ratio. Among rows of equal weight one is drawn. Up to 2,000 people are targets.
    Where a run attacks the columns that it perturbed, numbers agree that are no farther apart than cells were moved on
    quadratic average, which an attacker is taken to know, or 5 % of a standard deviation.
    By guessing: one of all published rows.
    Stopped by: k-anonymity, more noise on the columns that tell most.
    Reference: Fellegi, Sunter, A theory for record linkage, Journal of the American Statistical Association 1969.
    """
    if len(case.changed or case.quasi) > MOST_COLUMNS:
        raise DoesNotApplyError(f"is tried with up to {MOST_COLUMNS} columns")
    pairs = pairs_of(case, child(case.attacker.seed, "probabilistic-linkage"))
    radius, n_columns = case.attacker.radius, len(pairs.axes)
    counts = np.zeros(1 << n_columns)
    for part in pairs.slices():
        patterns = _patterns(pairs, radius, part)
        counts += np.bincount(patterns.ravel(), weights=np.tile(pairs.sizes, len(patterns)), minlength=1 << n_columns)
    scores = fit_weights(counts, n_columns, len(pairs.rows)).of_patterns(n_columns)
    chances = [pairs.chances(-scores[_patterns(pairs, radius, part)], part) for part in pairs.slices()]
    return finding_of_links(case, pairs, np.concatenate([*chances, np.zeros(0)]))


def _patterns(pairs: Pairs, radius: float, part: slice) -> IntArray:
    """The pattern of agreement of some targets with every class, (n_targets, n_classes)."""
    patterns = np.zeros((part.stop - part.start, len(pairs.sizes)), np.int64)
    for i, (axis, codes, labels) in enumerate(zip(pairs.axes, pairs.codes, pairs.labels, strict=True)):
        patterns |= _agrees(axis, codes[part], labels, radius).astype(np.int64) << i
    return patterns


def _agrees(axis: CodeAxis, codes: IntArray, labels: IntArray, radius: float) -> BoolArray:
    """Whether each code agrees with each text, (n_codes, n_labels)."""
    if axis.covers is not None:
        return axis.covers[np.ix_(codes, labels)]
    gap = np.abs(axis.codes[codes][:, None] - axis.texts[labels])
    return np.asarray(gap <= np.maximum(axis.reach, radius)[labels] + 1e-12)


def fit_weights(counts: FloatArray, n_columns: int, n_targets: int) -> Weights:
    """The frequencies of agreement under which the patterns are most likely; a target has one own row."""
    agrees = ((np.arange(len(counts))[:, None] >> np.arange(n_columns)) & 1).astype(np.float64)
    total = max(counts.sum(), 1.0)
    m, u = np.full(n_columns, 0.9), np.clip(counts @ agrees / total, 1e-6, 1 - 1e-6)
    share = n_targets / total
    for _ in range(ROUNDS):
        own = share * np.prod(np.where(agrees, m, 1 - m), axis=1)
        other = (1 - share) * np.prod(np.where(agrees, u, 1 - u), axis=1)
        belief = own / np.maximum(own + other, 1e-300) * counts
        m = np.clip(belief @ agrees / max(belief.sum(), 1e-300), 1e-6, 1 - 1e-6)
        u = np.clip((counts - belief) @ agrees / max((counts - belief).sum(), 1e-300), 1e-6, 1 - 1e-6)
    return Weights(np.maximum(m, u), u)
