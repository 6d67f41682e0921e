"""Information gain per privacy loss."""

from __future__ import annotations

from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.target_column import class_entropies, entropy, target_of


@metric("igpl", on_request=True, higher_is_better=True)
def igpl(counts: ReleaseCounts, *, target: str | None = None) -> Amount:
    """IGPL: bits gained about the target for the anonymity given up, from one class of all records to the release.

      IG = sum over published classes of |E| / n * (H(target in the table) - H(target in E))
      PL = n - size of the smallest published class
      IGPL = IG / (PL + 1)

    The target is the first sensitive column unless another is named. A suppressed record says nothing, so nothing is
    gained by it, and no anonymity given up.
    Higher is better.
    Reference: Fung, Wang, Yu, Top-down specialization for information and privacy preservation, ICDE 2005.
    """
    if not len(counts.sizes):
        raise DoesNotApplyError("nothing is published")
    column = target_of(counts, target)
    whole = entropy(column.originals)
    gain = sum(float(h.records() @ (whole - class_entropies(h))) for h in column.parts) / max(1, counts.n_rows)
    return Amount(max(0.0, gain) / (counts.n_rows - int(counts.sizes.min()) + 1))
