"""Rules about counts of sensitive values in plain numpy, equal to `compiled/rules.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.kernels.rules import TOLERANCE, Kind, Rules
from tablecloak.kernels.space import FloatArray, IntArray

__all__ = ["admitted", "shortfall"]

FAR = 1e6


def admitted(rules: Rules, hist: IntArray, size: int) -> bool:
    """Whether a class of this size and with these sensitive counts satisfies every rule."""
    if size < rules.min_size:
        return False
    for kind, a, b, limit, order in zip(rules.kind, rules.start, rules.end, rules.limit, rules.order, strict=True):
        if not _HOLDS[Kind(kind)](hist[a:b], rules.shares[a:b], size, float(limit), int(order)):
            return False
    return True


def _distinct(counts: IntArray, _shares: FloatArray, _size: int, limit: float, _order: int) -> bool:
    return bool(np.count_nonzero(counts) >= limit - TOLERANCE)


def _entropy(counts: IntArray, _shares: FloatArray, _size: int, limit: float, _order: int) -> bool:
    return bool(_effective_values(counts) >= limit - TOLERANCE)


def _effective_values(counts: IntArray) -> float:
    found = counts[counts > 0]
    n = int(found.sum())
    return float(np.exp(np.log(n) - (found * np.log(found)).sum() / n)) if n else 0.0


def _recursive(counts: IntArray, _shares: FloatArray, _size: int, limit: float, order: int) -> bool:
    ranked = np.sort(counts)[::-1]
    rest = int(ranked[order - 1 :].sum())
    return rest > 0 and bool(ranked[0] / rest < limit - TOLERANCE)


def _equal_distance(counts: IntArray, shares: FloatArray, size: int, limit: float, _order: int) -> bool:
    return bool(np.maximum(counts / size - shares, 0.0).sum() <= limit + TOLERANCE)


def _ordered_distance(counts: IntArray, shares: FloatArray, size: int, limit: float, _order: int) -> bool:
    if len(counts) < 2:
        return True
    return bool(np.abs(np.cumsum(counts / size - shares)[:-1]).sum() / (len(counts) - 1) <= limit + TOLERANCE)


_HOLDS: dict[Kind, Callable[[IntArray, FloatArray, int, float, int], bool]] = {
    Kind.DISTINCT: _distinct,
    Kind.ENTROPY: _entropy,
    Kind.RECURSIVE: _recursive,
    Kind.EQUAL_DISTANCE: _equal_distance,
    Kind.ORDERED_DISTANCE: _ordered_distance,
}


def shortfall(rules: Rules, hist: IntArray, size: int) -> float:
    """How far a class is from satisfying its rules about values, 0 if it does; the size is not counted."""
    total = 0.0
    for kind, a, b, limit, order in zip(rules.kind, rules.start, rules.end, rules.limit, rules.order, strict=True):
        counts, shares = hist[a:b], rules.shares[a:b]
        found = counts[counts > 0]
        if kind == Kind.DISTINCT:
            total += max(0.0, limit - len(found))
        elif kind == Kind.ENTROPY:
            total += max(0.0, limit - _effective_values(counts))
        elif kind == Kind.RECURSIVE:
            ranked = np.sort(counts)[::-1]
            rest = int(ranked[order - 1 :].sum())
            total += max(0.0, ranked[0] / rest - limit) if rest > 0 else FAR - len(found)
        elif kind == Kind.EQUAL_DISTANCE:
            total += max(0.0, np.maximum(counts / size - shares, 0.0).sum() - limit)
        elif len(counts) > 1:
            total += max(0.0, np.abs(np.cumsum(counts / size - shares)[:-1]).sum() / (len(counts) - 1) - limit)
    return float(total)
