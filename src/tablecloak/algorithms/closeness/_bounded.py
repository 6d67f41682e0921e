"""Columns of sensitive values of which a goal bounds the counts, and what classes of tuples have of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.models.base import CountBounds, PrivacyModel
from tablecloak.stats.classes import Counted, SensitiveDomain


@dataclass(frozen=True, slots=True, eq=False)
class BoundedColumn:
    """One sensitive column and what one model asks of its counts."""

    model: PrivacyModel
    domain: SensitiveDomain
    bounds: CountBounds
    shares: FloatArray  # (n_values,) of the table
    codes: IntArray  # (n_tuples,)

    def featured(self, table: CodedTable, classes: IntArray, n_classes: int) -> FloatArray:
        """Counts of every class times the features of the bounds, (n_classes, n_features)."""
        weights = table.weights if len(table.weights) else None
        places = classes * self.domain.n_values + self.codes
        counts = np.bincount(places, weights=weights, minlength=n_classes * self.domain.n_values)
        return np.asarray(counts.reshape(n_classes, -1) @ self.bounds.features)


def bounded_columns(problem: Problem) -> list[BoundedColumn]:
    """What the goal bounds, model by model and column by column; nothing of models that have no such form."""
    table, columns = problem.table, []
    for a_model in problem.goal.models:
        named = a_model.sensitive_columns
        for i, domain in enumerate(table.sensitive):
            if domain.kind is not Counted.SENSITIVE or (named is not None and domain.name not in named):
                continue
            totals = table.totals[domain.name]
            bounds = a_model.in_search.bounds(domain, totals)
            if bounds is not None:
                shares = totals / max(1, int(totals.sum()))
                columns.append(BoundedColumn(a_model, domain, bounds, shares, table.sensitive_codes(i)))
    return columns
