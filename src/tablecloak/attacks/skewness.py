"""Skewness: classes in which a sensitive value is far more frequent than in the whole table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.attacks._sensitive_values import finding_of_groups, histograms, worst_column
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.models.t_closeness import equal_distance
from tablecloak.stats.classes import Histogram


@attack("skewness")
def skewness(case: Case) -> AttackSuccess:
    """How much more likely a person's own sensitive value becomes by looking at their class instead of the whole table.

    A victim's value becomes at least twice as likely; the chance is the share that it then has in the class, and 0 for
    other people. The details have the mean share of people's own values in their class and in the whole table.
    By guessing: 0, since without the release no value becomes more likely.
    Stopped by: t-closeness, beta-likeness, delta-disclosure privacy.
    Reference: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007.
    """
    return worst_column(case, histograms(case), _skewness)


def _skewness(case: Case, hist: Histogram) -> AttackSuccess:
    shares, prior = hist.shares(), hist.total_shares()
    ratio = shares / np.maximum(prior[hist.codes], 1e-300)
    learned = ratio >= case.attacker.gain - 1e-9
    n = max(1.0, float(hist.counts.sum()))
    kl = hist.sum_by_class(shares * np.log(np.maximum(ratio, 1e-300)))
    details = {
        "largest_factor": float(ratio.max(initial=0.0)),
        "largest_distance": float(equal_distance(hist).max(initial=0.0)),
        "largest_kl": float(kl.max(initial=0.0)),
        "own_share": float((hist.counts * shares).sum()) / n,
        "own_share_in_table": float((prior**2).sum()),
    }
    worst = hist.max_by_class(np.where(learned, ratio, 0.0))
    success = finding_of_groups(case, hist, worst, int(hist.counts[learned].sum()), baseline=0.0, details=details)
    average = float((hist.counts * shares)[learned].sum()) / n
    return replace(success, highest=float(shares[learned].max(initial=0.0)), average=average)
