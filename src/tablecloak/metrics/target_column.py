"""Target metrics in common: the column that recipients want to predict, and the entropy of its values."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import ReleaseCounts
from tablecloak.metrics.release_details import Target
from tablecloak.stats.classes import Histogram


def target_of(counts: ReleaseCounts, name: str | None) -> Target:
    """The named target, or the first sensitive column."""
    targets = counts.details.targets
    if targets is None:
        raise DoesNotApplyError("the table is too large to hold the target of every class")
    if not targets:
        raise DoesNotApplyError("there is no target: no sensitive column was counted")
    if name is not None and name not in targets:
        raise DoesNotApplyError(f"column '{name}' was not counted")
    return targets[name] if name is not None else next(iter(targets.values()))


def conditional_entropy(counts: ReleaseCounts, target: Target) -> float:
    """Bits that the target keeps once the class of a record is known; suppressed records are one class."""
    suppressed = target.suppressed()
    total = sum(float(hist.records() @ class_entropies(hist)) for hist in target.parts)
    return (total + float(suppressed.sum()) * entropy(suppressed)) / max(1, counts.n_rows)


def class_entropies(hist: Histogram) -> FloatArray:
    """Entropy in bits of the target in every class, (n_classes,)."""
    shares = hist.shares()
    return hist.sum_by_class(-shares * np.log2(shares))


def minorities(hist: Histogram) -> FloatArray:
    """Records of every class whose target is not the most frequent one there, (n_classes,)."""
    return hist.records() - hist.max_by_class(hist.counts)


def entropy(records: IntArray) -> float:
    """Entropy in bits of a distribution given by counts."""
    shares: FloatArray = records[records > 0] / max(1, int(records.sum()))
    return float(-(shares * np.log2(shares)).sum()) + 0.0
