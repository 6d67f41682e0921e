"""Information gain per privacy loss."""

from __future__ import annotations

from tablecloak.metrics.base import Amount, DoesNotApplyError, ReleaseCounts, metric
from tablecloak.metrics.target import conditional_entropy, entropy, target_of

__all__ = ["igpl"]


@metric("igpl", on_request=True, higher_is_better=True)
def igpl(counts: ReleaseCounts, *, target: str | None = None) -> Amount:
    """IGPL: bits gained about the target for the anonymity given up, from one class of all records to the release.

      IG = H(target in the table) - sum over classes of |E| / n * H(target in E)
      PL = n - size of the smallest class
      IGPL = IG / (PL + 1)

    The target is the first sensitive column unless another is named; suppressed records are one class.
    Higher is better.
    Reference: Fung, Wang, Yu, Top-down specialization for information and privacy preservation, ICDE 2005.
    """
    if not len(counts.sizes):
        raise DoesNotApplyError("nothing is published")
    found = target_of(counts, target)
    gain = entropy(found.originals) - conditional_entropy(counts, found)
    return Amount(max(0.0, gain) / (counts.n_rows - int(counts.sizes.min()) + 1))
