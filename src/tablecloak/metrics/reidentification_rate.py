"""The global risk of a release, by the weights of a survey."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.stats.individual_risk import expected_reidentifications
from tablecloak.values.amounts import show_amount


@metric("reidentification-rate", on_request=True)
def reidentification_rate(counts: ReleaseCounts) -> Amount:
    """Share of records linked right with the population in expectation (global risk), from the weights of a survey.

    The mean over published records of their individual risk; times the records, the number of expected
    re-identifications, which the note says with what it was in the original.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, PSD 2004.
    """
    after = expected_reidentifications(counts.sizes, counts.weighed.people)
    before = expected_reidentifications(*counts.weighed.before)
    left, were = show_amount(after), show_amount(before)
    note = f"{left} of {counts.n_records:,} records; {were} of {counts.n_rows:,} in the original"
    return Amount(after / max(1, counts.n_records), note=note)
