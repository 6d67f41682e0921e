"""Earth mover's distance."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.distributions import distributions


@metric("emd", on_request=True)
def emd(counts: ReleaseCounts) -> Amount:
    """Earth mover's distance of the columns between the original and what a reader rebuilds, 0 the same, 1 the most.

      EMD = least sum of (share moved * distance) that turns one distribution into the other

    Numbers and dates lie on a line from 0 (the smallest) to 1 (the largest); other values are 1 apart, and the missing
    value is 1 apart from every other. Cells are spread evenly over the values they cover, suppressed records over all.
    The mean over columns, each counting its weight. Lower is better.
    Reference: Rubner, Tomasi, Guibas, ICCV 1998; as a distance of columns Li, Li, Venkatasubramanian, ICDE 2007.
    """
    columns = counts.cells
    distances = np.array([emd_distance(*distributions(counts, column), column.places) for column in columns])
    return Amount(float(distances @ counts.importance()), counts.by_column(distances))


def emd_distance(p: FloatArray, q: FloatArray, places: FloatArray | None) -> float:
    """Least work between two distributions; `places` of codes on a line from 0 to 1, None where all are 1 apart.

    With a missing value (place NaN), what its share grew or shrank by moves a distance of 1 and the rest is compared as
    distributions of their own.
    """
    if places is None:
        return float(np.abs(p - q).sum()) / 2
    is_value = ~np.isnan(places)
    moved = abs(float(p[~is_value].sum() - q[~is_value].sum()))
    left, right = p[is_value], q[is_value]
    if not left.sum() or not right.sum():
        return moved
    order = np.argsort(places[is_value], kind="stable")
    running = np.cumsum(left[order] / left.sum() - right[order] / right.sum())[:-1]
    return moved + min(float(left.sum()), float(right.sum())) * float(
        np.abs(running) @ np.diff(places[is_value][order])
    )
