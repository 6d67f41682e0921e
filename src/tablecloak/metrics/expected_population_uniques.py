"""Records of a release that are alone in the population, by the weights of a survey."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.stats.individual_risk import expected_population_uniques as uniques_of
from tablecloak.values.amounts import show_amount


@metric("expected-population-uniques", on_request=True)
def expected_population_uniques(counts: ReleaseCounts) -> Amount:
    """Records that nobody else of the population looks like, in expectation, from the weights of a survey.

    A record that is alone in its class and has the weight w is alone in the population with the chance 1 / w; others
    are not. The note says how many there were in the original.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, PSD 2004.
    """
    before = uniques_of(*counts.weighed.before)
    return Amount(uniques_of(counts.sizes, counts.weighed.people), note=f"{show_amount(before)} in the original")
