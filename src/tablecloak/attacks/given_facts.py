"""Background knowledge: what given facts about people, together with their class, say about their sensitive value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._sensitive_values import histograms, united
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack, mean_chance, success_of, worst_rows
from tablecloak.attacks.case import Case, Fact, Quasi
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.classes import Histogram
from tablecloak.values.cell_grammar import format_value


@attack("given-facts")
def given_facts(case: Case) -> AttackSuccess:
    """The chance of guessing a sensitive value by Bayes' rule from a person's class and facts that are given.

    A fact says how likely a value is for some people, as a factor: 0 rules it out, 1 changes nothing. The chance of a
    value is its count in the class times the factor, scaled to sum to 1. Targets are the people that facts speak of; a
    victim's own value gets a chance of more than one half, and a greater one than without the facts.
    By guessing: the same facts on the distribution of the whole table, instead of that of the class.
    Stopped by: l-diversity (l - 1 values must be ruled out), (c, k)-safety for any k facts.
    Reference: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    hists = histograms(case)
    spoken_of = {name: [f for f in case.facts if f.sensitive == name] for name in hists}
    names = [name for name, facts in spoken_of.items() if facts]
    if not names:
        raise DoesNotApplyError("needs facts (--facts FILE)")
    successes = [_finding(case, hists[name], spoken_of[name]) for name in names]
    return max(successes, key=lambda f: f.severity)


def _finding(case: Case, hist: Histogram, facts: list[Fact]) -> AttackSuccess:
    top, own, before, guess = (np.zeros(case.n_rows) for _ in range(4))
    truth = next((case.truth(s) for s in case.sensitive if s.name == hist.domain.name), None)
    plain = posterior_of_classes(hist, np.ones(hist.domain.n_values))
    whole = united(hist)
    profile, weights = _profiles(case, hist, facts)
    for number, factors in weights.items():
        rows = np.flatnonzero(profile == number)
        shares = posterior_of_classes(hist, factors)
        top[rows] = hist.max_by_class(shares)[case.groups[rows]]
        before[rows] = hist.max_by_class(plain)[case.groups[rows]]
        guess[rows] = posterior_of_classes(whole, factors).max(initial=0.0)
        if truth is not None:
            own[rows] = share_of(hist, shares, case.groups[rows], truth[rows])
    rows = np.flatnonzero(profile >= 0)
    belief = top if truth is None else own
    worst, rows_of = worst_rows(case, belief[rows], rows)
    without = mean_chance(before[rows])
    details = {"column": hist.domain.name, "facts": len(facts), "without_facts": without}
    n_victims = int(np.count_nonzero((belief[rows] > LIKELY) & (top[rows] > before[rows] + 1e-9)))
    success = success_of(case, top[rows], baseline=mean_chance(guess[rows]), rows=rows, details=details)
    return replace(success, n_victims=n_victims, worst=worst, rows_of=rows_of)


def _profiles(case: Case, hist: Histogram, facts: list[Fact]) -> tuple[IntArray, Mapping[int, FloatArray]]:
    """Which combination of facts applies to each row (-1: none), and the factors of all values in each."""
    applies = np.stack([rows_with(case, fact) for fact in facts])  # (n_facts, n_rows)
    combinations, profile = np.unique(applies, axis=1, return_inverse=True)
    weights = {}
    for number in range(combinations.shape[1]):
        factors = np.ones(hist.domain.n_values)
        for fact, holds in zip(facts, combinations[:, number], strict=True):
            if holds and fact.value in hist.domain.labels:
                factors[hist.domain.labels.index(fact.value)] *= fact.weight
        weights[number] = factors
    profile = np.where(applies.any(axis=0), profile.reshape(-1), -1).astype(np.int64)
    return profile, {n: w for n, w in weights.items() if combinations[:, n].any()}


def rows_with(case: Case, fact: Fact) -> BoolArray:
    """Published rows of the people that a fact speaks of."""
    chosen = np.ones(case.n_rows, bool)
    if fact.row is not None:
        if case.row_of is None:
            raise DoesNotApplyError("a fact speaks of a row of the original, and which row that became is not known")
        chosen &= case.row_of == fact.row - 1
    if fact.column is not None:
        column = next((q for q in case.quasi if q.name == fact.column), None)
        if column is None:
            raise DoesNotApplyError(f"a fact speaks of '{fact.column}', which is no quasi-identifier")
        chosen &= _has_value(case, column, fact.equals)
    return chosen


def _has_value(case: Case, column: Quasi, text: str | None) -> BoolArray:
    codes = case.codes_of_rows(column)
    if codes is None or column.domain is None:
        return np.array([shown == text for shown in column.texts], bool)[column.labels]
    offset = int(column.domain.has_missing)
    values = column.domain.hierarchy.leaf_labels if column.domain.hierarchy else None
    texts = list(values) if values else [*([None] * offset), *(format_value(v) for v in column.domain.values.to_list())]
    return np.array([shown == text for shown in texts], bool)[codes]


def posterior_of_classes(hist: Histogram, factors: FloatArray) -> FloatArray:
    """The chance of every entry: its count times the factor of its value, scaled by class, (n_entries,)."""
    weighted = hist.counts * factors[hist.codes]
    total = hist.sum_by_class(weighted)[hist.entry_class()]
    return np.divide(weighted, total, out=np.zeros(len(weighted)), where=total > 0)


def share_of(hist: Histogram, per_entry: FloatArray, groups: IntArray, codes: IntArray) -> FloatArray:
    """A quantity of the entry with the given group and code, 0 where there is no such entry."""
    n_values = max(1, hist.domain.n_values)
    keys = hist.entry_class() * n_values + hist.codes
    keys_of_rows = groups * n_values + codes
    at = np.minimum(np.searchsorted(keys, keys_of_rows), max(0, len(keys) - 1))
    return np.where(keys[at] == keys_of_rows, per_entry[at], 0.0) if len(keys) else np.zeros(len(keys_of_rows))
