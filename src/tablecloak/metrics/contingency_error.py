"""Contingency tables of two columns."""

from __future__ import annotations

import numpy as np

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.compared_records import ComparedRecords
from tablecloak.metrics.joint_tables import MOST_BINS, joints, mean_of_pairs


@metric("contingency-error", on_request=True)
def contingency_error(counts: ReleaseCounts, *, bins: int = MOST_BINS) -> Amount:
    """Contingency error: share of records that stand in the wrong cell of a table of two columns, on average.

      error(A, B) = 1/2 * sum over pairs of values of |original share - rebuilt share|

    Every cell is spread evenly over the values it covers, suppressed records over all. Columns with more than 10 values
    are joined to 10 groups of neighbors with about as many records. The mean over all pairs of quasi-identifiers and
    sensitive columns; by column, over the pairs it is in. Lower is better: 0 the same tables, 1 disjoint ones.
    Reference: total variation distance of two-way marginals.
    """

    def distances(records: ComparedRecords) -> dict[tuple[int, int], float]:
        return {j.columns: float(np.abs(j.before - j.after).sum()) / 2 for j in joints(records, bins)}

    return mean_of_pairs(counts.records, distances)
