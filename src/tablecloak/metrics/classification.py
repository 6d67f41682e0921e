"""Classification metric."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.target_column import minorities, target_of


@metric("classification", on_request=True)
def classification(counts: ReleaseCounts, *, target: str | None = None) -> Amount:
    """Classification metric: share of records whose target is not the most frequent one of their class.

      CM = (1 / n) * sum over records of penalty
      penalty = 1 if the record is suppressed or its target is not the majority of its class, else 0

    The target is the first sensitive column unless another is named. Lower is better.
    Reference: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
    """
    wrong = sum(float(minorities(hist).sum()) for hist in target_of(counts, target).parts) + counts.n_suppressed
    return Amount(wrong / max(1, counts.n_rows))
