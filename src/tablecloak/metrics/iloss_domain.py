"""ILoss by domain."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.cell_losses import Prices, cell_loss
from tablecloak.metrics.iloss import iloss_prices, iloss_with
from tablecloak.metrics.release_details import ColumnDetails


@metric("iloss-domain", on_request=True)
def iloss_domain(counts: ReleaseCounts) -> Amount:
    """ILoss by domain: for every cell the share of the values of its column that it may stand for as well, added up.

      ILoss(cell) = (values it covers - 1) / values of the column

    As iloss, with the denominator that its definition prints: a suppressed cell costs a little less than 1, and a
    column counts the less the fewer values it has. Lower is better.
    Reference: Xiao, Tao, Personalized privacy preservation, SIGMOD 2006.
    """
    return iloss_with(counts, 0)


@cell_loss("iloss-domain")
def _domain_price(column: ColumnDetails) -> Prices:
    return iloss_prices(column, 0)
