"""Goals as kernels know them: a least size and rules about counts of sensitive values, flat, for loops."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.dispatch import kernel, leaf_jit
from tablecloak.kernels.small_loops import sort_up

# Shares and entropies are sums of floats; a difference this small is rounding, not a violation.
TOLERANCE = 1e-9
# The shortfall of a class in which nothing remains without its largest counts.
FAR = 1e6
# Places for which classes keep counts, at most: a row is as long, for every class.
MOST_KEPT = 256


class RuleKind(enum.IntEnum):
    """What a rule compares with its limit."""

    DISTINCT = 0  # number of different values, at least
    ENTROPY = 1  # exp(entropy), at least
    RECURSIVE = 2  # largest count / what remains without the `order` - 1 largest, below
    EQUAL_DISTANCE = 3  # earth mover's distance from the table, every step 1, at most
    ORDERED_DISTANCE = 4  # the same with steps by rank, at most
    GAIN = 5  # (share in the class - that in the table) / that in the table, at most; of order 1 also at most -ln of it


DISTINCT, ENTROPY, RECURSIVE, EQUAL_DISTANCE, ORDERED_DISTANCE, GAIN = (int(kind) for kind in RuleKind)


class Rules(NamedTuple):
    """A least class size and rules about counts of sensitive values.

    Every value of every attribute that a rule counts has a place, attributes one behind the other. Those with few
    values come first: each class keeps a row of counts for them. Of others, which may have as many values as there are
    records, a class has few, and its counts are made from its members when they are asked for.
    """

    min_size: int
    kind: IntArray  # (n_rules,) RuleKind
    column: IntArray  # (n_rules,) which attribute
    start: IntArray  # (n_rules,) its first place that counts
    end: IntArray  # (n_rules,)
    limit: FloatArray  # (n_rules,)
    order: IntArray  # (n_rules,) l of recursive diversity; 1: gains are capped
    shares: FloatArray  # (n_places,) distribution of each attribute in the whole table
    sums: FloatArray  # (2, n_places + 1) of the shares before a place; of these sums up to the places before it
    n_kept: int  # places for which every class keeps its counts


def make_rules(
    min_size: int,
    rules: Sequence[tuple[int, int, int, int, float, int]],
    shares: FloatArray,
    *,
    n_kept: int | None = None,
) -> Rules:
    """Rules, each given as (kind, column, start, end, limit, order).

    Args:
        n_kept: None: every class keeps counts for all places.
    """
    reach = np.concatenate([[0.0], np.cumsum(shares)])
    sums = np.stack([reach, np.concatenate([[0.0], np.cumsum(reach[1:])])])
    kind, column, start, end, order = (np.array([r[i] for r in rules], np.int64) for i in (0, 1, 2, 3, 5))
    limit = np.array([r[4] for r in rules], np.float64)
    n_kept = len(shares) if n_kept is None else n_kept
    return Rules(min_size, kind, column, start, end, limit, order, shares, sums, n_kept)


def only_size(min_size: int) -> Rules:
    """The rules of a goal that asks for a size and nothing else."""
    return make_rules(min_size, [], np.zeros(0))


def new_spare(rules: Rules) -> IntArray:
    """Room to list counts, (3, n_places): counts by place, all 0 between uses; then places, and the count at each.

    One is enough for a thread. Most of it is never touched, and costs nothing.
    """
    return np.zeros((3, len(rules.shares)), np.int64)


# Before a rule is asked, counts are listed in `spare`: places with a count above 0, as many as the rule needs.


@leaf_jit
def _enough(rules, r):
    """How many different values a rule needs to see."""
    return np.int64(np.ceil(rules.limit[r] - TOLERANCE)) if rules.kind[r] == DISTINCT else np.int64(1) << 62


@leaf_jit
def _list_row(rules, r, hist, place, change, spare):
    """List the counts of a row after one of them has changed; how many places."""
    n, enough = np.int64(0), _enough(rules, r)
    for p in range(rules.start[r], rules.end[r]):
        count = hist[p] + change if p == place else hist[p]
        if count > 0:
            spare[1, n] = p
            spare[2, n] = count
            n += 1
            if n >= enough:
                break
    return n


@leaf_jit
def _note(spare, n, place, weight):
    """Count a tuple; how many different places there are then."""
    if spare[0, place] == 0:
        spare[1, n] = place
        n += 1
    spare[0, place] += weight
    return n


@leaf_jit
def _take_notes(rules, r, spare, n):
    """List the counts that were noted, and forget them."""
    if rules.kind[r] == ORDERED_DISTANCE:
        sort_up(spare[1, :n])
    for q in range(n):
        place = spare[1, q]
        spare[2, q] = spare[0, place]
        spare[0, place] = 0


@leaf_jit
def _list_chain(rules, r, values, weights, following, first, i, sign, spare):
    """List the counts of a chain of tuples once a tuple has joined (sign 1) or left (sign -1); how many places."""
    n, enough = np.int64(0), _enough(rules, r)
    column, start = rules.column[r], rules.start[r]
    if sign > 0 and values[i, column] >= start:
        n = _note(spare, n, values[i, column], weights[i])
    j = first
    while j >= 0 and n < enough:
        if values[j, column] >= start and (j != i or sign >= 0):
            n = _note(spare, n, values[j, column], weights[j])
        j = following[j]
    _take_notes(rules, r, spare, n)
    return n


@leaf_jit
def _list_tuples(rules, r, values, weights, tuples, spare):
    """List the counts of some tuples; how many places."""
    n, enough = np.int64(0), _enough(rules, r)
    column, start = rules.column[r], rules.start[r]
    for q in range(tuples.size):
        if values[tuples[q], column] >= start:
            n = _note(spare, n, values[tuples[q], column], weights[tuples[q]])
            if n >= enough:
                break
    _take_notes(rules, r, spare, n)
    return n


@leaf_jit
def _list_counts(rules, r, hist, values, weights, following, first, i, sign, spare):
    """List the counts of a class once a tuple has joined (sign 1) or left (sign -1); how many places.

    Args:
        hist: (n_kept,) the counts that it keeps.
        first: of its members, a chain.
    """
    if rules.end[r] > rules.n_kept:
        return _list_chain(rules, r, values, weights, following, first, i, sign, spare)
    if sign == 0:
        return _list_row(rules, r, hist, np.int64(-1), np.int64(0), spare)
    return _list_row(rules, r, hist, values[i, rules.column[r]], sign * weights[i], spare)


@leaf_jit
def _effective_values(counts):
    surprise = 0.0
    n = np.int64(0)
    for c in counts:
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
def _equal_distance(rules, places, counts, size):
    excess = 0.0
    for q in range(places.size):
        excess += max(0.0, counts[q] / size - rules.shares[places[q]])
    return excess


@leaf_jit
def _gap(sums, begin, end, own):
    """How far the table's shares up to each of some places are from that of a class, which has none of these values."""
    low, high = begin, end
    while low < high:  # to the first place where the table has more
        middle = (low + high) // 2
        if sums[0, middle + 1] < own:
            low = middle + 1
        else:
            high = middle
    return own * (2 * low - begin - end) + sums[1, begin] + sums[1, end] - 2 * sums[1, low]


@leaf_jit
def _ordered_distance(rules, r, places, counts, size):
    """Sum of differences of shares up to each place; between values of the class its own share stays the same."""
    begin, last = rules.start[r], rules.end[r] - 1
    if last - begin < 1:
        return 0.0
    steps = last - begin
    own = rules.sums[0, begin]
    distance = 0.0
    for q in range(places.size):
        distance += _gap(rules.sums, begin, places[q], own)
        own += counts[q] / size
        begin = places[q]
    return (distance + _gap(rules.sums, begin, last, own)) / steps


@leaf_jit
def _beyond(rules, r, share):
    """By how much the cap of a gain lies below the limit: values that are frequent in the table may gain less."""
    return max(0.0, rules.limit[r] + np.log(share)) if rules.order[r] > 0 else 0.0


@leaf_jit
def _largest_gain(rules, r, places, counts, size):
    """Largest gain of a value, those that are capped lower raised to the limit of the others."""
    largest = 0.0
    for q in range(places.size):
        share = rules.shares[places[q]]
        if counts[q] / size > share:
            largest = max(largest, (counts[q] / size - share) / share + _beyond(rules, r, share))
    return largest


@leaf_jit
def _gained_too_much(rules, r, places, counts, size):
    """Share of a class that exceeds what its values may gain."""
    excess = 0.0
    for q in range(places.size):
        share = rules.shares[places[q]]
        most = share * (1.0 + rules.limit[r] - _beyond(rules, r, share))
        excess += max(0.0, counts[q] / size - most)
    return excess


@leaf_jit
def _level(rules, r, spare, n, size):
    """What a rule compares with its limit, of a class of this size with the counts that are listed."""
    kind, places, counts = rules.kind[r], spare[1, :n], spare[2, :n]
    if kind == DISTINCT:
        return float(n)
    if kind == ENTROPY:
        return _effective_values(counts)
    if kind == RECURSIVE:
        return _infimum_c(counts, rules.order[r])
    if kind == EQUAL_DISTANCE:
        return _equal_distance(rules, places, counts, size)
    if kind == GAIN:
        return _largest_gain(rules, r, places, counts, size)
    return _ordered_distance(rules, r, places, counts, size)


@leaf_jit
def _holds(rules, r, spare, n, size):
    level, limit, kind = _level(rules, r, spare, n, size), rules.limit[r], rules.kind[r]
    if kind <= ENTROPY:
        return level >= limit - TOLERANCE
    if kind == RECURSIVE:
        return level < limit - TOLERANCE
    return level <= limit + TOLERANCE


@leaf_jit
def _missing(rules, r, spare, n, size):
    """How far the level of a class is from the limit, 0 on the right side of it; of gains all that are too large."""
    if rules.kind[r] == GAIN:
        return _gained_too_much(rules, r, spare[1, :n], spare[2, :n], size)
    level, limit, kind = _level(rules, r, spare, n, size), rules.limit[r], rules.kind[r]
    if kind <= ENTROPY:
        return max(0.0, limit - level)
    if kind == RECURSIVE and level >= FAR:
        return FAR - n
    return max(0.0, level - limit)


@leaf_jit
def admits(rules, hist, values, weights, following, first, size, i, sign, spare):
    """Whether a class satisfies every rule once a tuple has joined (sign 1) or left (sign -1).

    Args:
        hist: (n_kept,) the counts that it keeps.
        first: of its members, a chain.
        size: its records then.
    """
    if size < rules.min_size:
        return False
    for r in range(rules.kind.size):
        n = _list_counts(rules, r, hist, values, weights, following, first, i, sign, spare)
        if not _holds(rules, r, spare, n, size):
            return False
    return True


@leaf_jit
def admits_tuples(rules, values, weights, tuples, size, spare):
    """Whether a class of these tuples satisfies every rule."""
    if size < rules.min_size:
        return False
    for r in range(rules.kind.size):
        n = _list_tuples(rules, r, values, weights, tuples, spare)
        if not _holds(rules, r, spare, n, size):
            return False
    return True


@leaf_jit
def shortfall(rules, hist, values, weights, following, first, size, i, sign, spare):
    """How far a class is from satisfying its rules about values, 0 if it does; the size is not counted."""
    total = 0.0
    for r in range(rules.kind.size):
        n = _list_counts(rules, r, hist, values, weights, following, first, i, sign, spare)
        total += _missing(rules, r, spare, n, size)
    return total


@kernel(is_loop=True)
def judge(rules: Rules, hist: IntArray, size: int, spare: IntArray) -> tuple[bool, float]:
    """Whether a class of this size and with these counts, (n_places,), satisfies every rule, and its shortfall."""
    is_admitted, total = size >= rules.min_size, 0.0
    for r in range(rules.kind.size):
        n = _list_row(rules, r, hist, np.int64(-1), np.int64(0), spare)
        is_admitted = is_admitted and _holds(rules, r, spare, n, size)
        total += _missing(rules, r, spare, n, size)
    return is_admitted, total
