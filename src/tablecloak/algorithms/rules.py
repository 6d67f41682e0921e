"""From a goal to the rules that kernels can judge."""

from __future__ import annotations

import numpy as np

from tablecloak.data.coded import CodedTable
from tablecloak.kernels.rules import Rules, only_size
from tablecloak.models.base import Goal, PrivacyModel

__all__ = ["rules_of"]


def rules_of(goal: Goal, table: CodedTable) -> tuple[Rules, bool]:
    """The rules of a goal on a table, and whether they are the whole goal."""
    rules = only_size(max(1, goal.min_size))
    rows = []
    is_whole = True
    for a_model in goal.models:
        found = _rows(a_model, table)
        is_whole &= found is not None
        rows += found or []
    if not rows:
        return rules, is_whole
    kind, start, end, limit, order = (np.array(column) for column in zip(*rows, strict=True))
    shares = [table.totals[s.name] / max(1, int(table.totals[s.name].sum())) for s in table.sensitive]
    return Rules(rules.min_size, kind, start, end, limit.astype(np.float64), order, np.concatenate(shares)), is_whole


def _rows(a_model: PrivacyModel, table: CodedTable) -> list[tuple[int, int, int, float, int]] | None:
    """(kind, start, end, limit, order) for every column a model speaks of; None if it has no such form."""
    if a_model.size_decides:
        return []
    rule = a_model.rule()
    if rule is None:
        return None
    wanted = getattr(a_model, "sensitive", None)
    names = [wanted] if isinstance(wanted, str) else wanted
    starts = np.concatenate([[0], np.cumsum([s.n_values for s in table.sensitive])]).tolist()
    kind, limit, order = rule
    return [
        (int(kind), starts[i], starts[i + 1], limit, order)
        for i, s in enumerate(table.sensitive)
        if names is None or s.name in names
    ]
