"""Conditional entropy of top-down refinement."""

from __future__ import annotations

import numpy as np

from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.target_column import conditional_entropy, target_of


@metric("hce-tdr", on_request=True)
def hce_tdr(counts: ReleaseCounts, *, target: str | None = None) -> Amount:
    """HCE-TDR: what remains unknown about the target once the class of a record is known, in nats.

      H(D|B) = - sum over classes X of p(X) * sum over values Y of p(Y|X) * ln p(Y|X)

    The target is the first sensitive column unless another is named; suppressed records are one class.
    Lower is better.
    Reference: hierarchical conditional entropy for top-down refinement, as cited by Zigomitros, Casino, Solanas,
    Patsakis, IEEE Access 2020.
    """
    return Amount(conditional_entropy(counts, target_of(counts, target)) * float(np.log(2)))
