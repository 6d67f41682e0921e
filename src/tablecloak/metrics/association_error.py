"""Strength of association between two columns."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.compared_records import ComparedRecords
from tablecloak.metrics.joint_tables import MOST_BINS, joints, mean_of_pairs


@metric("association-error", on_request=True)
def association_error(counts: ReleaseCounts, *, bins: int = MOST_BINS) -> Amount:
    """Association error: how much Cramér's V between two columns changed, on average over all pairs.

      V = sqrt(chi square / (n * (smaller number of values - 1)))

    Of the same tables as the contingency error. V is 0 for independent columns and 1 where one determines the other.
    Lower is better.
    Reference: Cramér, Mathematical Methods of Statistics, 1946.
    """

    def distances(records: ComparedRecords) -> dict[tuple[int, int], float]:
        return {j.columns: abs(cramers_v(j.before) - cramers_v(j.after)) for j in joints(records, bins)}

    return mean_of_pairs(counts.records, distances)


def cramers_v(table: FloatArray) -> float:
    """Cramér's V of a table of shares; 0 where a column has one value."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    table, rows, columns = table[np.ix_(rows > 0, columns > 0)], rows[rows > 0], columns[columns > 0]
    smaller = min(len(rows), len(columns)) - 1
    if smaller < 1:
        return 0.0
    expected = np.outer(rows, columns) / table.sum()
    chi_square = float(((table - expected) ** 2 / expected).sum()) / float(table.sum())
    return float(np.sqrt(min(1.0, max(0.0, chi_square / smaller))))
