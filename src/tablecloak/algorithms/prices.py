"""Prices: what publishing a value costs a search, by the metric that it is to minimise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.space import ClassCost

__all__ = ["CLASS_COSTS", "LEVEL_LOSSES", "priced"]

FloatArray = NDArray[np.float64]
# Metrics that speak of steps up a hierarchy, so every column must have one.
LEVEL_LOSSES = ("minimal-distortion", "precision", "total", "total-il", "star-count")
# Metrics of class sizes alone.
CLASS_COSTS = {"discernibility": ClassCost.DISCERNIBILITY, "average-class-size": ClassCost.AVERAGE_SIZE}


def priced(table: CodedTable, loss: str) -> CodedTable:
    """The same tuples with the prices of another metric, between 0 for an exact value and 1 for any value."""
    if loss == "ncp" or loss in CLASS_COSTS:
        return table
    tallest = max((d.hierarchy.height for d in table.domains if d.hierarchy), default=1)
    domains = tuple(_priced(d, loss, max(1, tallest)) for d in table.domains)
    return replace(table, domains=domains, space=make_space(domains, table.space.layout))


def _priced(domain: Domain, loss: str, tallest: int) -> Domain:
    tree = domain.hierarchy
    if tree is not None:
        return replace(domain, hierarchy=tree.with_losses(_node_prices(tree, domain, loss, tallest)))
    if loss == "iloss":
        steps = pl.Series(domain.name, np.arange(len(domain.values)))  # values as far apart as their codes
        return replace(domain, kind=DomainKind.ORDERED, type=ColumnType.INTEGER, values=steps)
    raise IncompatibleChoice(f"column '{domain.name}' needs a hierarchy for the loss {loss}", hint="loss: ncp")


def _node_prices(tree: Hierarchy, domain: Domain, loss: str, tallest: int) -> FloatArray:
    leaves = tree.last - tree.first + 1
    if loss == "iloss":
        values = tree.n_leaves - tree.has_missing
        return np.where(leaves == tree.n_leaves, float(tree.n_leaves > 1), (leaves - 1) / max(1, values - 1))
    if loss == "star-count":
        return np.where((leaves == tree.n_leaves) & (leaves > 1), 1.0, 0.0)
    if loss == "total-il" and domain.type.is_ordered:
        return tree.losses
    return tree.heights / (tallest if loss == "minimal-distortion" else max(1, tree.height))
