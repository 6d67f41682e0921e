"""Homogeneity: a class whose records all have the same sensitive value."""

from __future__ import annotations

import numpy as np

from tablecloak.attacks._sensitive_values import finding_of_groups, histograms, worst_column
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.stats.classes import Histogram


@attack("homogeneity")
def homogeneity(case: Case) -> AttackSuccess:
    """How many people are in a class whose records all have the same sensitive value, which is thereby disclosed.

    By guessing: nobody's value is known, unless the whole table has a single one.
    Stopped by: l-diversity, p-sensitive k-anonymity, (alpha, k)-anonymity, confidence bounding.
    Reference: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    return worst_column(case, histograms(case), _homogeneity)


def _homogeneity(case: Case, hist: Histogram) -> AttackSuccess:
    alone = (hist.distinct() == 1).astype(np.float64)
    n_victims = int(hist.records()[alone > 0].sum())
    whole = float(np.count_nonzero(hist.totals) == 1)
    details = {"homogeneous_classes": int(alone.sum())}
    return finding_of_groups(case, hist, alone, n_victims, baseline=whole, details=details)
