"""Proximity: learning a sensitive number approximately."""

from __future__ import annotations

from tablecloak.risks.attributes import (
    finding_of_groups,
    n_numbers,
    near_shares,
    numeric_histograms,
    range_of,
    united,
    window_share,
    worst_column,
)
from tablecloak.risks.base import LIKELY, Finding, attack
from tablecloak.risks.case import Case
from tablecloak.stats.classes import Histogram
from tablecloak.stats.numeric import by_number


@attack("proximity")
def proximity(case: Case) -> Finding:
    """The chance that a person's number lies near one number of their class, although few are equal.

    Near means within 5 % of the column's range; an empty cell is near nothing. A victim has more than half of the class
    near their own number.
    By guessing: the number that most of the whole table is near to.
    Stopped by: (epsilon, m)-anonymity, worst group protection, t-closeness with the ordered distance.
    Reference: Li, Tao, Xiao, Preservation of proximity privacy in publishing numerical sensitive data, SIGMOD 2008.
    """
    return worst_column(case, numeric_histograms(case), _proximity)


def _proximity(case: Case, hist: Histogram) -> Finding:
    ordered = by_number(hist)
    radius = case.attacker.radius * range_of(ordered)
    near = near_shares(ordered, radius)
    n_victims = int(ordered.counts[near > LIKELY].sum())
    whole = united(ordered)
    baseline = float(whole.max_by_class(near_shares(whole, radius)).max(initial=0.0))
    details = {"radius": radius, "exact_value": float(hist.shares().max(initial=0.0))}
    return finding_of_groups(case, hist, ordered.max_by_class(near), n_victims, baseline=baseline, details=details)


@attack("range-disclosure")
def range_disclosure(case: Case) -> Finding:
    """The chance that a person's number lies in the one narrow range that holds most of their class.

    Ranges are as wide as 10 % of the column's range; empty cells lie in none. Victims have a number in a class of which
    more than half lies in one range.
    By guessing: the range that holds most of the whole table.
    Stopped by: worst group protection, (k, e)-anonymity with a large e.
    Reference: Loukides, Shao, Preventing range disclosure in k-anonymised data, Expert Systems with Applications 2011.
    """
    return worst_column(case, numeric_histograms(case), _range_disclosure)


def _range_disclosure(case: Case, hist: Histogram) -> Finding:
    ordered = by_number(hist)
    width = 2 * case.attacker.radius * range_of(ordered)
    inside = window_share(ordered, width)
    whole = float(window_share(united(ordered), width).max(initial=0.0))
    n_victims = int(n_numbers(hist)[inside > LIKELY].sum())
    return finding_of_groups(case, hist, inside, n_victims, baseline=whole, details={"width": width})
