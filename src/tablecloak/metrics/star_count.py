"""Star count."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss, sum_of_cells
from tablecloak.metrics.release_details import ColumnDetails


@metric("star-count", on_request=True)
def star_count(counts: ReleaseCounts) -> Amount:
    """Star count: cells that say nothing, because they stand for every value of their column.

      stars = number of cells that cover all values

    A suppressed record has a star in every column that has more than one value. Column weights are scaled to a mean
    of 1. Lower is better.
    Reference: Meyerson, Williams, On the complexity of optimal k-anonymity, PODS 2004.
    """
    return sum_of_cells(counts, _price)


@cell_loss("star-count")
def _price(column: ColumnDetails) -> Prices:
    is_star = (column.values() >= column.n_values) & (column.covered() > 1)
    return is_star.astype(float), float(column.n_codes > 1)
