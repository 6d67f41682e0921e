"""From a goal to the rules that kernels can judge."""

from __future__ import annotations

import numpy as np

from tablecloak.data.coded import CodedTable
from tablecloak.kernels.rules import Rules, only_size
from tablecloak.models.base import Goal, PrivacyModel, Rule
from tablecloak.stats.classes import Counted


def rules_of(goal: Goal, table: CodedTable) -> tuple[Rules, list[int], bool]:
    """The rules of a goal on a table, the sensitive attributes they count, and whether they are the whole goal."""
    models = [a_model.in_search for a_model in goal.models]
    every = [(_rule(m), _columns(m, table)) for m in models]
    # kernels count records, so where persons have several they judge nothing but a size, which no goal allows less of
    is_whole = not goal.counts_persons and all(rule is not None for rule, _ in every)
    judged = [] if goal.counts_persons else [each for each in every if each[0]]
    counted = sorted({i for _, columns in judged for i in columns})
    rules = only_size(max(1, goal.min_size))
    if not counted:
        return rules, [], is_whole
    starts = np.concatenate([[0], np.cumsum([table.sensitive[i].n_values for i in counted])]).tolist()
    rows = [
        (
            int(rule.kind),
            starts[counted.index(i)] + _skipped(rule, table, i),
            starts[counted.index(i) + 1],
            rule.limit,
            rule.order,
        )
        for rule, columns in judged
        if rule
        for i in columns
    ]
    kind, start, end, limit, order = (np.array(column) for column in zip(*rows, strict=True))
    totals = [table.totals[table.sensitive[i].name] for i in counted]
    shares = np.concatenate([t / max(1, int(t.sum())) for t in totals])
    return Rules(rules.min_size, kind, start, end, limit.astype(np.float64), order, shares), counted, is_whole


def _rule(a_model: PrivacyModel) -> Rule | tuple[()] | None:
    """The rule of a model, empty where the size decides, None where it has no such form."""
    return () if a_model.size_decides else a_model.rule()


def _skipped(rule: Rule, table: CodedTable, i: int) -> int:
    """How many values of an attribute a rule does not look at: the missing one, which comes first."""
    return int(rule.skips_missing and table.sensitive[i].labels[:1] == (None,))


def _columns(a_model: PrivacyModel, table: CodedTable) -> list[int]:
    """The sensitive attributes that a model speaks of."""
    names = a_model.sensitive_columns
    return [
        i for i, s in enumerate(table.sensitive) if s.kind is Counted.SENSITIVE and (names is None or s.name in names)
    ]
