"""Rank linkage: people among the rows whose ranks are as near as swapping moves values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._changed_columns import details_of, drawn_rows, moved_columns
from tablecloak.attacks._code_axes import PAIRS_AT_ONCE
from tablecloak.attacks.base import AttackSuccess, attack, mean_interval, success_of
from tablecloak.attacks.case import Case
from tablecloak.rng import child

MISSING = -1e18  # where missing cells are put: far from all others, and near each other


@attack("rank-linkage", on_request=True)
def rank_linkage(case: Case) -> AttackSuccess:
    """The chance of picking a person's row among those whose ranks are near that person's in all swapped columns.

    Whoever knows that swapping moves a value by so many ranks at most rules out every row farther away, column by
    column; few rows are left where several columns were swapped. The rank of a value is its middle place among the
    published ones, and the window the farthest that any value was moved. Columns of numbers and dates count that were
    perturbed in any way. Up to 2,000 people are targets, drawn where there are more.
    By guessing: one of all published rows.
    Stopped by: a wider window, windows that cannot be told (p-buckets), or fewer columns that are swapped one by one.
    Reference: Nin, Herranz, Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge
    Engineering 2008.
    """
    moved = moved_columns(case)
    ranks = [_ranks(before, after) for before, after in zip(moved.before.T, moved.after.T, strict=True)]
    rows = drawn_rows(case, child(case.attacker.seed, "rank-linkage"))
    step = max(1, PAIRS_AT_ONCE // max(1, len(moved.before)))
    parts = [_chances(ranks, rows[begin : begin + step]) for begin in range(0, len(rows), step)]
    chances = np.concatenate([*parts, np.zeros(0)])
    success = success_of(case, chances, rows=rows, details=details_of(moved))
    return (
        success if len(rows) == case.n_rows else replace(success, interval=mean_interval(chances), n_sampled=len(rows))
    )


def _ranks(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The rank of every value and of what is published of it, and by how many ranks values were moved at most."""
    ordered = np.sort(after[~np.isnan(after)])
    known, shown = _middle(before, ordered), _middle(after, ordered)
    both = ~np.isnan(before) & ~np.isnan(after)
    return known, shown, float(np.abs(known - shown)[both].max(initial=0.0))


def _middle(values: FloatArray, ordered: FloatArray) -> FloatArray:
    first, after_last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.where(np.isnan(values), MISSING, (first + after_last - 1) / 2)


def _chances(ranks: list[tuple[FloatArray, FloatArray, float]], rows: IntArray) -> FloatArray:
    """One of as many rows as are within the window everywhere, if the own one is, (n_targets,)."""
    fits: BoolArray = np.ones((len(rows), len(ranks[0][1])), bool)
    for known, shown, window in ranks:
        fits &= np.abs(known[rows][:, None] - shown) <= window
    is_own = fits[np.arange(len(rows)), rows]
    chances: FloatArray = np.where(is_own, 1 / np.maximum(1, fits.sum(axis=1)), 0.0)
    return chances
