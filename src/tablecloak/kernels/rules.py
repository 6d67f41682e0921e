"""Goals as kernels know them: a least size and rules about counts of sensitive values, flat, for loops."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.dispatch import kernel, leaf_jit

# Shares and entropies are sums of floats; a difference this small is rounding, not a violation.
TOLERANCE = 1e-9
# The shortfall of a class in which nothing remains without its largest counts.
FAR = 1e6


class RuleKind(enum.IntEnum):
    """What a rule compares with its limit."""

    DISTINCT = 0  # number of different values, at least
    ENTROPY = 1  # exp(entropy), at least
    RECURSIVE = 2  # largest count / what remains without the `order` - 1 largest, below
    EQUAL_DISTANCE = 3  # earth mover's distance from the table, every step 1, at most
    ORDERED_DISTANCE = 4  # the same with steps by rank, at most


DISTINCT, ENTROPY, RECURSIVE, EQUAL_DISTANCE = (int(kind) for kind in list(RuleKind)[:4])


class Rules(NamedTuple):
    """A least class size and rules about ranges of a class histogram that holds all sensitive attributes in a row."""

    min_size: int
    kind: IntArray  # (n_rules,) RuleKind
    start: IntArray  # (n_rules,) first place of the attribute in a class histogram
    end: IntArray  # (n_rules,)
    limit: FloatArray  # (n_rules,)
    order: IntArray  # (n_rules,) l of recursive diversity
    shares: FloatArray  # (n_places,) distribution of each attribute in the whole table


def only_size(min_size: int) -> Rules:
    """The rules of a goal that asks for a size and nothing else."""
    none = np.zeros(0, np.int64)
    return Rules(min_size, none, none, none, np.zeros(0), none, np.zeros(0))


@leaf_jit
def _distinct(counts):
    n = 0
    for c in counts:
        n += c > 0
    return n


@leaf_jit
def _effective_values(counts):
    surprise = 0.0
    n = np.int64(0)
    for c in counts:
        if c > 0:
            n += c
            surprise += c * np.log(c)
    return np.exp(np.log(n) - surprise / n) if n > 0 else 0.0


@leaf_jit
def _infimum_c(counts, l):  # noqa: E741
    """Largest count over what remains without the l - 1 largest; infinite where nothing remains."""
    largest = np.int64(0)
    rest = np.int64(0)
    for c in counts:
        largest = max(largest, c)
        rest += c
    last, last_place = largest, np.int64(-1)
    for _ in range(min(l - 1, counts.size)):  # the next largest, equal ones by their place
        top = np.int64(-1)
        for v in range(counts.size):
            is_left = counts[v] < last or (counts[v] == last and v > last_place)
            if is_left and (top < 0 or counts[v] > counts[top]):
                top = np.int64(v)
        last, last_place = counts[top], top
        rest -= last
    return largest / rest if rest > 0 else np.inf


@leaf_jit
def _equal_distance(counts, shares, size):
    excess = 0.0
    for v in range(counts.size):
        if counts[v] > 0:
            excess += max(0.0, counts[v] / size - shares[v])
    return excess


@leaf_jit
def _ordered_distance(counts, shares, size):
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


@leaf_jit
def admits(rules, hist, size):
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
            ok = _effective_values(counts) >= limit - TOLERANCE
        elif kind == RECURSIVE:
            ok = _infimum_c(counts, rules.order[r]) < limit - TOLERANCE
        elif kind == EQUAL_DISTANCE:
            ok = _equal_distance(counts, rules.shares[begin:end], size) <= limit + TOLERANCE
        else:
            ok = _ordered_distance(counts, rules.shares[begin:end], size) <= limit + TOLERANCE
        if not ok:
            return False
    return True


@leaf_jit
def shortfall(rules, hist, size):
    """How far a class is from satisfying its rules about values, 0 if it does; the size is not counted."""
    total = 0.0
    for r in range(rules.kind.size):
        begin, end = rules.start[r], rules.end[r]
        counts = hist[begin:end]
        kind = rules.kind[r]
        limit = rules.limit[r]
        if kind == DISTINCT:
            total += max(0.0, limit - _distinct(counts))
        elif kind == ENTROPY:
            total += max(0.0, limit - _effective_values(counts))
        elif kind == RECURSIVE:
            c = _infimum_c(counts, rules.order[r])
            total += max(0.0, c - limit) if c < FAR else FAR - _distinct(counts)
        elif kind == EQUAL_DISTANCE:
            total += max(0.0, _equal_distance(counts, rules.shares[begin:end], size) - limit)
        else:
            total += max(0.0, _ordered_distance(counts, rules.shares[begin:end], size) - limit)
    return total


@kernel(is_loop=True)
def judge(rules: Rules, hist: IntArray, size: int) -> tuple[bool, float]:
    """Whether a class of this size and with these sensitive counts satisfies every rule, and what it falls short by."""
    return admits(rules, hist, size), shortfall(rules, hist, size)
