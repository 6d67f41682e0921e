"""Attribute linkage: guessing the most frequent sensitive value of a class."""

from __future__ import annotations

from tablecloak.attacks._sensitive_values import finding_of_groups, histograms, worst_column
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.stats.classes import Histogram


@attack("attribute-linkage")
def attribute_linkage(case: Case) -> AttackSuccess:
    """The chance that the most frequent sensitive value of a person's class is theirs.

    A victim's own value makes up more than half of the class, and more than in the whole table.
    By guessing: the most frequent value of the whole table.
    Stopped by: entropy and recursive l-diversity, (alpha, k)-anonymity, t-closeness, beta-likeness.
    Reference: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    return worst_column(case, histograms(case), _attribute_linkage)


def _attribute_linkage(case: Case, hist: Histogram) -> AttackSuccess:
    shares, prior = hist.shares(), hist.total_shares()
    learned = (shares > LIKELY) & (shares > prior[hist.codes] + 1e-9)
    top = hist.max_by_class(shares)
    return finding_of_groups(case, hist, top, int(hist.counts[learned].sum()), baseline=float(prior.max(initial=0.0)))
