"""Correlation of numbers."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.compared_records import ComparedRecords, RecordColumn, pairs_of
from tablecloak.metrics.joint_tables import mean_of_pairs


@metric("correlation-error", on_request=True)
def correlation_error(counts: ReleaseCounts) -> Amount:
    """Correlation error: how much the correlation of two numeric columns or dates changed, on average over pairs.

      error(A, B) = |Pearson's r in the original - Pearson's r in the release|

    In the release a cell has the mean and the mean square of the values it covers; two cells of a record are taken as
    independent inside what they cover. Empty cells are left out. Lower is better.
    Reference: Pearson's product-moment correlation.
    """
    records = counts.records
    numeric = [i for i, column in enumerate(records.columns) if column.places is not None]
    if len(numeric) < 2:
        raise DoesNotApplyError("there are no two columns of numbers or dates")
    return mean_of_pairs(records, _differences)


def _differences(records: ComparedRecords) -> dict[tuple[int, int], float]:
    differences = {}
    for i, j in pairs_of(records.columns):
        a, b = records.columns[i], records.columns[j]
        if a.places is None or b.places is None:
            continue
        before, after = _correlations(records, a, b)
        if np.isfinite(before):
            differences[i, j] = abs(before - (after if np.isfinite(after) else 0.0))
    return differences


def _correlations(records: ComparedRecords, a: RecordColumn, b: RecordColumn) -> tuple[float, float]:
    assert a.places is not None
    assert b.places is not None
    x, y = a.places[a.before], b.places[b.before]
    before = _pearson(x, y, x * x, y * y, records.weights_before)
    (mean_a, square_a), (mean_b, square_b) = _moments(a), _moments(b)
    return before, _pearson(
        mean_a[a.cells], mean_b[b.cells], square_a[a.cells], square_b[b.cells], records.weights_after
    )


def _moments(column: RecordColumn) -> tuple[FloatArray, FloatArray]:
    """Mean and mean square of the values of every cell, NaN where it covers none, (n_cells,) each."""
    assert column.places is not None
    is_value = ~np.isnan(column.places)
    places = np.where(is_value, column.places, 0.0)
    coverage = column.coverage
    sums = []
    for quantity in (is_value.astype(np.float64), places, places**2):
        running = np.concatenate([[0.0], np.cumsum(quantity)])
        of_cells = running[coverage.hi + 1] - running[coverage.lo]
        for cell, members in coverage.sets.items():
            of_cells[cell] = quantity[sorted(members)].sum()
        sums.append(of_cells)
    n = np.where(sums[0] > 0, sums[0], np.nan)
    return sums[1] / n, sums[2] / n


def _pearson(x: FloatArray, y: FloatArray, xx: FloatArray, yy: FloatArray, weights: IntArray) -> float:
    """Pearson's r from values and their squares; NaN where a column does not vary."""
    has_both = ~(np.isnan(x) | np.isnan(y))
    w = weights[has_both].astype(np.float64)
    if not w.sum():
        return np.nan
    share = w / w.sum()
    mean_x, mean_y = float(share @ x[has_both]), float(share @ y[has_both])
    spread = (float(share @ xx[has_both]) - mean_x**2) * (float(share @ yy[has_both]) - mean_y**2)
    if spread <= 1e-24:
        return np.nan
    return float((share @ (x[has_both] * y[has_both]) - mean_x * mean_y) / np.sqrt(spread))
