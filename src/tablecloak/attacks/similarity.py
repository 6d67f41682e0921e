"""Similarity: classes whose sensitive values differ but are all of one kind."""

from __future__ import annotations

from tablecloak.attacks import _sensitive_values as sensitive
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.models.fields import by_category
from tablecloak.stats.classes import Histogram
from tablecloak.stats.numeric import by_number

NEEDS_CATEGORIES = "needs a sensitive column of numbers, or one with a hierarchy"


@attack("similarity")
def similarity(case: Case) -> AttackSuccess:
    """How well a class gives away what kind of sensitive value a person has, although the exact ones differ.

    Values are alike if they share a node one level up the column's hierarchy, numbers if they lie within less than a
    quarter of the column's range. Victims are in classes whose values are all alike.
    By guessing: the kind, or the range, that most of the whole table is in.
    Stopped by: t-closeness with a hierarchical or ordered distance, p+-sensitive k-anonymity, worst group protection.
    Reference: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007.
    """
    hists = sensitive.histograms(case)
    usable = {n: h for n, h in hists.items() if h.domain.hierarchy or h.domain.numbers is not None}
    if not usable:
        raise DoesNotApplyError(NEEDS_CATEGORIES)
    return sensitive.worst_column(case, usable, _similarity)


def _similarity(case: Case, hist: Histogram) -> AttackSuccess:
    if hist.domain.hierarchy is not None:
        level = min(case.attacker.level, hist.domain.hierarchy.height)
        kinds = by_category(hist, None, level)
        top = kinds.max_by_class(kinds.shares())
        whole = float(kinds.total_shares().max(initial=0.0))
        n_alike = int(hist.records()[kinds.distinct() == 1].sum())
        return sensitive.finding_of_groups(case, hist, top, n_alike, baseline=whole, details={"level": level})
    ordered = by_number(hist)
    width = case.attacker.spread * sensitive.range_of(ordered)
    inside = sensitive.window_share(ordered, width)
    spread = sensitive.spreads(ordered)
    is_alike = (spread < width - 1e-12) & (hist.records() > 0)
    whole = float(sensitive.window_share(sensitive.united(ordered), width).max(initial=0.0))
    return sensitive.finding_of_groups(
        case, hist, inside, int(hist.records()[is_alike].sum()), baseline=whole, details={"width": width}
    )
