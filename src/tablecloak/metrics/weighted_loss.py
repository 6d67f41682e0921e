"""Global certainty penalty of the people that records stand for."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric


@metric("weighted-loss", on_request=True)
def weighted_loss(counts: ReleaseCounts) -> Amount:
    """Mean loss over all cells of the quasi-identifiers, each record counting as often as its weight says.

    The global certainty penalty (gcp) of the population that a survey speaks of: 0 nothing lost, 1 everything; a
    suppressed record loses 1. Above gcp, detail is lost on those who stand for many.
    """
    weighed = counts.weighed
    lost = weighed.people @ counts.losses + (weighed.total - weighed.people.sum())
    losses = lost / weighed.total if weighed.total else counts.column_losses()
    return Amount(float(losses @ counts.importance()), counts.by_column(losses))
