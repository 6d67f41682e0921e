"""The largest individual risk of a record, by the weights of a survey."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.stats.individual_risk import individual_risk as risk_of
from tablecloak.values.amounts import show_amount


@metric("individual-risk", on_request=True)
def individual_risk(counts: ReleaseCounts) -> Amount:
    """Largest chance that a record is linked right with the population, estimated from the weights of a survey.

    Of a class of f records whose weights add up to F: p / f * 2F1(1, 1; f + 1; 1 - p) with p = f / F. The note says
    what it was in the original.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, PSD 2004.
    """
    after = float(risk_of(counts.sizes, counts.weighed.people).max(initial=0.0))
    before = float(risk_of(*counts.weighed.before).max(initial=0.0))
    return Amount(after, note=f"{show_amount(before)} in the original")
