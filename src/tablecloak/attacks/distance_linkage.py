"""Distance-based linkage: taking the published row that is nearest to a person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.attacks._changed_columns import details_of, moved_columns
from tablecloak.attacks._code_axes import CodeAxis, Pairs, pairs_of
from tablecloak.attacks.base import AttackSuccess, attack, mean_interval, success_of
from tablecloak.attacks.case import Case
from tablecloak.rng import child


@attack("distance-linkage", on_request=True)
def distance_linkage(case: Case) -> AttackSuccess:
    """The chance that the published row nearest to a person is theirs; it works on perturbed and averaged data too.

    The distance is the mean over columns: of numbers the difference to the middle of the cell over the column's
    range, of categories 1 - 1 / (values the cell covers), or 1 where it does not cover the person's. Among equally
    near rows one is drawn. Up to 2,000 people are targets, drawn where there are more. Where a run attacks the columns
    that it perturbed, these are all that is compared, and differences count in standard deviations of the original.
    By guessing: one of all published rows.
    Stopped by: k-anonymity, microaggregation of all quasi-identifiers together, more noise.
    Reference: Pagliuca, Seri, Some results of individual ranking method on the system of enterprise accounts annual
    survey, Esprit SDC Project 1999.
    """
    pairs = pairs_of(case, child(case.attacker.seed, "distance-linkage"))
    chances = [pairs.chances(distances(pairs, part), part) for part in pairs.slices()]
    return finding_of_links(case, pairs, np.concatenate([*chances, np.zeros(0)]))


def distances(pairs: Pairs, part: slice) -> FloatArray:
    """Mean distance over columns of some targets to every class, (n_targets, n_classes)."""
    total = np.zeros((part.stop - part.start, len(pairs.sizes)))
    for axis, codes, labels in zip(pairs.axes, pairs.codes, pairs.labels, strict=True):
        total += _distance(axis, codes[part], labels)
    return total / max(1, len(pairs.axes))


def _distance(axis: CodeAxis, codes: np.ndarray, labels: np.ndarray) -> FloatArray:
    if axis.is_ordered:
        gap: FloatArray = np.abs(axis.codes[codes][:, None] - axis.texts[labels][None, :])
        return gap
    assert axis.covers is not None
    assert axis.sizes is not None
    table = np.where(axis.covers, 1.0 - 1.0 / axis.sizes, 1.0)
    distances: FloatArray = table[np.ix_(codes, labels)]
    return distances


def finding_of_links(case: Case, pairs: Pairs, chances: FloatArray) -> AttackSuccess:
    """What links are worth, from the chance of each target."""
    details = details_of(moved_columns(case)) if case.changed else None
    success = success_of(case, chances, rows=pairs.rows, details=details)
    if len(pairs.rows) == case.n_rows:
        return success
    return replace(success, interval=mean_interval(chances), n_sampled=len(chances))
