"""Prices: what publishing a value costs a search, by the metric that it is to minimise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.cut_costs import node_prices
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.space import ClassCost
from tablecloak.metrics.cells import cell_losses

__all__ = ["CHOSEN_LOSSES", "CLASS_COSTS", "LEVEL_LOSSES", "priced"]

IntArray = NDArray[np.int64]
# Metrics that speak of steps up a hierarchy, so every column must have one.
LEVEL_LOSSES = ("minimal-distortion", "precision", "total", "total-il", "star-count", "height")
# Metrics of class sizes alone.
CLASS_COSTS = {
    "discernibility": ClassCost.DISCERNIBILITY,
    "ambiguity-data": ClassCost.DISCERNIBILITY,  # the same where classes do not overlap
    "average-class-size": ClassCost.AVERAGE_SIZE,
}
# Metrics that kernels do not know: every cut is priced in plain numpy.
CHOSEN_LOSSES = ("ambiguity", "non-uniform-entropy", "height", "classification", "hce-tdr", "igpl")


def priced(table: CodedTable, loss: str) -> CodedTable:
    """The same tuples with the prices of another metric, between 0 for an exact value and 1 for any value."""
    if loss in ("ncp", "gcp") or loss in CLASS_COSTS:
        return table
    tallest = max((d.hierarchy.height for d in table.domains if d.hierarchy), default=1)
    domains = tuple(_priced(d, loss, max(1, tallest), table.originals(i)) for i, d in enumerate(table.domains))
    return replace(table, domains=domains, space=make_space(domains, table.space.layout))


def _priced(domain: Domain, loss: str, tallest: int, originals: IntArray) -> Domain:
    tree = domain.hierarchy
    if tree is not None:
        prices = node_prices(domain, cell_losses()[loss], originals, loss)
        return replace(domain, hierarchy=tree.with_losses(prices / (tallest if loss == "minimal-distortion" else 1)))
    if loss in ("iloss", "iloss-domain"):
        n = len(domain.values)
        steps = pl.Series(domain.name, np.arange(n))  # values as far apart as their codes
        weight = domain.weight * (1.0 if loss == "iloss" else max(1, n - 1) / max(1, n))  # from n - 1 steps to n values
        first, last = ((side - int(domain.has_missing)) / max(1, n - 1) for side in domain.covers())
        spans = np.maximum(first, 0.0), np.maximum(last, 0.0)
        return replace(
            domain, kind=DomainKind.ORDERED, type=ColumnType.INTEGER, values=steps, weight=weight, spans=spans
        )
    raise IncompatibleChoice(f"column '{domain.name}' needs a hierarchy for the loss {loss}", hint="loss: ncp")
