"""Goals as compiled kernels know them: a least size and rules about counts of sensitive values."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.jit import jit

__all__ = ["admitted"]

DISTINCT, ENTROPY, RECURSIVE, EQUAL_DISTANCE, ORDERED_DISTANCE = 0, 1, 2, 3, 4
TOLERANCE = 1e-9


@jit
def _distinct(counts):  # type: ignore[no-untyped-def]
    n = 0
    for c in counts:
        n += c > 0
    return n


@jit
def _effective_values(counts, size):  # type: ignore[no-untyped-def]
    surprise = 0.0
    for c in counts:
        if c > 0:
            surprise += c * np.log(c)
    return np.exp(np.log(size) - surprise / size)


@jit
def _infimum_c(counts, size, l):  # type: ignore[no-untyped-def]  # noqa: E741
    """Largest count over what remains without the l - 1 largest; infinite where nothing remains."""
    ranked = np.sort(counts)
    rest = float(size)
    for r in range(min(l - 1, ranked.size)):
        rest -= ranked[ranked.size - 1 - r]
    return ranked[-1] / rest if rest > 0 else np.inf


@jit
def _equal_distance(counts, shares, size):  # type: ignore[no-untyped-def]
    excess = 0.0
    for v in range(counts.size):
        if counts[v] > 0:
            excess += max(0.0, counts[v] / size - shares[v])
    return excess


@jit
def _ordered_distance(counts, shares, size):  # type: ignore[no-untyped-def]
    if counts.size < 2:
        return 0.0
    distance = 0.0
    own = 0.0
    table = 0.0
    for v in range(counts.size - 1):
        own += counts[v] / size
        table += shares[v]
        distance += abs(own - table)
    return distance / (counts.size - 1)


@jit
def admitted(rules, hist, size):  # type: ignore[no-untyped-def]
    """Whether a class of this size and with these sensitive counts satisfies every rule."""
    if size < rules.min_size:
        return False
    for r in range(rules.kind.size):
        begin, end = rules.start[r], rules.end[r]
        counts = hist[begin:end]
        limit = rules.limit[r]
        kind = rules.kind[r]
        if kind == DISTINCT:
            ok = _distinct(counts) >= limit - TOLERANCE
        elif kind == ENTROPY:
            ok = _effective_values(counts, size) >= limit - TOLERANCE
        elif kind == RECURSIVE:
            ok = _infimum_c(counts, size, rules.order[r]) < limit - TOLERANCE
        elif kind == EQUAL_DISTANCE:
            ok = _equal_distance(counts, rules.shares[begin:end], size) <= limit + TOLERANCE
        else:
            ok = _ordered_distance(counts, rules.shares[begin:end], size) <= limit + TOLERANCE
        if not ok:
            return False
    return True
