"""Proximity: learning a sensitive number approximately."""

from __future__ import annotations

from tablecloak.attacks import _sensitive_values as sensitive
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.stats.classes import Histogram
from tablecloak.stats.numeric import by_number


@attack("proximity")
def proximity(case: Case) -> AttackSuccess:
    """The chance that a person's number lies near one number of their class, although few are equal.

    Near means within 5 % of the column's range; an empty cell is near nothing. A victim has more than half of the class
    near their own number.
    By guessing: the number that most of the whole table is near to.
    Stopped by: (epsilon, m)-anonymity, worst group protection, t-closeness with the ordered distance.
    Reference: Li, Tao, Xiao, Preservation of proximity privacy in publishing numerical sensitive data, SIGMOD 2008.
    """
    return sensitive.worst_column(case, sensitive.numeric_histograms(case), _proximity)


def _proximity(case: Case, hist: Histogram) -> AttackSuccess:
    ordered = by_number(hist)
    radius = case.attacker.radius * sensitive.range_of(ordered)
    near = sensitive.near_shares(ordered, radius)
    n_victims = int(ordered.counts[near > LIKELY].sum())
    whole = sensitive.united(ordered)
    baseline = float(whole.max_by_class(sensitive.near_shares(whole, radius)).max(initial=0.0))
    details = {"radius": radius, "exact_value": float(hist.shares().max(initial=0.0))}
    top = ordered.max_by_class(near)
    return sensitive.finding_of_groups(case, hist, top, n_victims, baseline=baseline, details=details)
