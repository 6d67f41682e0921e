"""Outliers: people whose unusual numbers still show after anonymisation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray
from tablecloak.attacks.base import AttackSuccess, attack, mean_chance, success_of
from tablecloak.attacks.case import Case, Quasi
from tablecloak.data.coverage import places_of
from tablecloak.errors import DoesNotApplyError

# The usual cut-off of the modified z-score.
CUT_OFF = 3.5


@attack("outliers")
def outliers(case: Case) -> AttackSuccess:
    """How many people with unusual numbers can be told by their published cells, and how well they can be found.

    A number is unusual if its modified z-score, 0.6745 |x - median| / MAD, exceeds 3.5; a cell gives it away if it
    covers unusual numbers only. Victims are the people behind such cells; the chance is 1 / (size of the class).
    By guessing: one of all published rows.
    Stopped by: top and bottom coding, suppression of outliers, larger k.
    Reference: Iglewicz, Hoaglin, How to detect and handle outliers, ASQC Quality Press 1993.
    """
    shown = np.zeros(case.n_rows, bool)
    n_unusual = np.zeros(case.n_rows, bool)
    n_columns = 0
    for column in case.quasi:
        unusual = _told(case, column)
        if unusual is not None:
            n_columns += 1
            shown |= unusual[0]
            n_unusual |= unusual[1]
    if not n_columns:
        raise DoesNotApplyError("needs the original, and a quasi-identifier of numbers")
    chances = np.where(shown, 1.0 / case.sizes, 0.0)
    success = success_of(case, chances, details={"columns": n_columns})
    average, n_targets = mean_chance(chances[n_unusual]), int(n_unusual.sum())
    return replace(success, average=average, n_targets=n_targets, n_victims=int(shown.sum()))


def _told(case: Case, column: Quasi) -> tuple[BoolArray, BoolArray] | None:
    """Rows whose cell covers unusual numbers only, and rows whose original is unusual."""
    if column.domain is None or not column.domain.type.is_ordered or column.coverage is None:
        return None
    if column.codes is None or case.row_of is None:
        return None
    places = _places(column)
    weights = np.bincount(column.codes, minlength=len(places)).astype(np.float64)
    unusual = robust_scores(places, weights) > CUT_OFF
    usual = np.concatenate([[0], np.cumsum(~unusual & (weights > 0))])
    lo, hi = column.coverage.lo, column.coverage.hi
    none_usual = (usual[np.maximum(hi + 1, 0)] - usual[lo] == 0) & (hi >= lo)
    return none_usual[column.labels], unusual[column.codes[case.row_of]]


def _places(column: Quasi) -> FloatArray:
    assert column.domain is not None
    places = places_of(column.domain).astype(np.float64)
    return np.concatenate([np.full(column.domain.n_codes - len(places), np.nan), places])


def robust_scores(places: FloatArray, weights: FloatArray) -> FloatArray:
    """Modified z-scores of numbers, each occurring so often; 0 for what is no number."""
    is_known = ~np.isnan(places) & (weights > 0)
    if not is_known.any():
        return np.zeros(len(places))
    middle = _median(places[is_known], weights[is_known])
    distance = np.abs(places - middle)
    spread = _median(distance[is_known], weights[is_known])
    scores = 0.6745 * distance / spread if spread > 0 else np.zeros(len(places))
    return np.nan_to_num(scores, nan=0.0)


def _median(numbers: FloatArray, weights: FloatArray) -> float:
    """The number below and above which at most half of the records lie; the mean of two where both do."""
    order = np.argsort(numbers, kind="stable")
    running = np.cumsum(weights[order])
    half = running[-1] / 2
    at = int(np.searchsorted(running, half, side="left"))
    if running[at] == half and at + 1 < len(order):
        return float((numbers[order[at]] + numbers[order[at + 1]]) / 2)
    return float(numbers[order[at]])
