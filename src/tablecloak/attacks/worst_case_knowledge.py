"""Worst-case background knowledge: a few facts about people, chosen as badly as possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.attacks._sensitive_values import finding_of_groups, histograms, worst_column
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.models.ck_safety import disclosure
from tablecloak.stats.classes import Histogram


@attack("worst-case-knowledge")
def worst_case_knowledge(case: Case) -> AttackSuccess:
    """The certainty that the worst few pieces of background knowledge give about somebody's sensitive value.

    Knowledge is any set of implications "if p has s, then p' has s'", up to 3 unless said otherwise, together with who
    is in which class. The details list the certainty for every smaller number; the average is that without any.
    By guessing: the most frequent value of the whole table.
    Stopped by: (c, k)-safety; l-diversity needs l - 1 facts to be broken.
    Reference: Martin, Kifer, Machanavajjhala, Gehrke, Halpern, Worst-case background knowledge, ICDE 2007.
    """
    return worst_column(case, histograms(case), _worst_case)


def _worst_case(case: Case, hist: Histogram) -> AttackSuccess:
    by_k = {k: disclosure(hist, k) for k in range(case.attacker.implications + 1)}
    alone = _alone(hist, case.attacker.implications)
    n_victims = int(hist.records()[alone > 1 - 1e-9].sum())
    details = {f"implications_{k}": value for k, value in by_k.items()}
    success = finding_of_groups(
        case, hist, alone, n_victims, baseline=float(hist.total_shares().max(initial=0.0)), details=details
    )
    top = hist.max_by_class(hist.shares())
    average = float((top * hist.records()).sum()) / max(1.0, float(hist.records().sum()))
    return replace(success, highest=by_k[case.attacker.implications], average=average)


def _alone(hist: Histogram, k: int) -> FloatArray:
    """Certainty that k negative facts about one person give: the next most frequent values are ruled out."""
    order = np.lexsort((-hist.counts, hist.entry_class()))
    rank = np.arange(len(order)) - hist.indptr[hist.entry_class()]
    counts = hist.counts[order].astype(np.float64)
    top = hist.sum_by_class(np.where(rank == 0, counts, 0.0))
    ruled_out = hist.sum_by_class(np.where((rank > 0) & (rank <= k), counts, 0.0))
    return top / np.maximum(hist.records() - ruled_out, 1.0)
