"""Range disclosure: learning the narrow range that a sensitive number lies in."""

from __future__ import annotations

from tablecloak.attacks import _sensitive_values as sensitive
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.stats.classes import Histogram
from tablecloak.stats.numeric import by_number


@attack("range-disclosure")
def range_disclosure(case: Case) -> AttackSuccess:
    """The chance that a person's number lies in the one narrow range that holds most of their class.

    Ranges are as wide as 10 % of the column's range; empty cells lie in none. Victims have a number in a class of which
    more than half lies in one range.
    By guessing: the range that holds most of the whole table.
    Stopped by: worst group protection, (k, e)-anonymity with a large e.
    Reference: Loukides, Shao, Preventing range disclosure in k-anonymised data, Expert Systems with Applications 2011.
    """
    return sensitive.worst_column(case, sensitive.numeric_histograms(case), _range_disclosure)


def _range_disclosure(case: Case, hist: Histogram) -> AttackSuccess:
    ordered = by_number(hist)
    width = 2 * case.attacker.radius * sensitive.range_of(ordered)
    inside = sensitive.window_share(ordered, width)
    whole = float(sensitive.window_share(sensitive.united(ordered), width).max(initial=0.0))
    n_victims = int(sensitive.n_numbers(hist)[inside > LIKELY].sum())
    return sensitive.finding_of_groups(case, hist, inside, n_victims, baseline=whole, details={"width": width})
