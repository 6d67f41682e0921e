"""Bins: how a column is shown before and after without showing anyone.

Every bin holds at least `floor` records of the original. Bounds of ordered bins are round numbers, never values of the
data; bins of categories are called by published labels or by nodes above them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coverage import Coverage, places_of
from tablecloak.data.domain import Domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.values.cell_grammar import format_exact, format_value

MOST_BINS = 12
OTHER = "other values"
EMPTY = "empty"
EPOCH = date(1970, 1, 1)
DAY_US = 86_400_000_000  # microseconds, the unit of times
YEAR_STEPS = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class BinShares:
    """Shares of the records in each bin, before and after; both sum to 1 over the bins shown."""

    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    edges: tuple[str, ...] = ()  # what parts the bins of an ordered column


def quasi_bins(
    domain: Domain, before: IntArray, published: Coverage, *, names: Sequence[str | None], counts: IntArray, floor: int
) -> BinShares | None:
    """Bins of a quasi-identifier; None where too little was published to compare.

    Args:
        before: records of the original by code.
        published: the codes that each published label covers.
        names: published labels, and `counts` their records.
    """
    if domain.type.is_ordered:
        places = places_of(domain)
        if np.all(np.diff(places) >= 0):
            return _quasi_on_a_line(domain, places, before, published, counts, floor)
    after = _spread_over_codes(published, counts, domain.n_codes)
    group, labels = _categories(domain, before, {n for n, c in zip(names, counts, strict=True) if c >= floor})
    return _grouped(group, labels, before, after, floor)


def category_bins(labels: Sequence[str | None], before: IntArray, after: IntArray, floor: int) -> BinShares | None:
    """Bins of a sensitive column, whose values are published as they are."""
    order = np.argsort(-before, kind="stable")  # common values first
    shown = [EMPTY if labels[i] is None else str(labels[i]) for i in order]
    before, after = before[order], after[order]
    group = np.where((before >= floor) & (after >= floor), np.arange(len(shown)), len(shown))
    return _grouped(group, [*shown, OTHER], before, after.astype(np.float64), floor)


def ordered_bins(
    places: FloatArray, column: ColumnType, before: IntArray, after: IntArray, floor: int
) -> BinShares | None:
    """Bins of a sensitive column of numbers or dates."""
    edges = _edges(places, before, column)
    inside = np.searchsorted(edges, places, side="right")
    counted = [_summed(inside, c, len(edges) + 1) for c in (before, after)]
    return _joined(edges, column, counted[0], counted[1], floor)


def _quasi_on_a_line(
    domain: Domain, places: FloatArray, before: IntArray, published: Coverage, counts: IntArray, floor: int
) -> BinShares | None:
    offset = int(domain.has_missing)
    edges = _edges(places, before[offset:], domain.type)
    inside = np.searchsorted(edges, places, side="right")
    in_bins = _summed(inside, before[offset:], len(edges) + 1)
    first = np.maximum(published.lo, offset)  # `*` covers the missing value too
    is_value = published.hi >= first
    begin, end = places[first[is_value] - offset], places[published.hi[is_value] - offset]
    after = _spread_over_line(begin, end + _unit(domain.type), counts[is_value], edges)
    return _joined(edges, domain.type, in_bins, after, floor)


def _unit(column: ColumnType) -> float:
    """What an interval reaches beyond its last value: whole numbers and days have a width."""
    return 1.0 if column in (ColumnType.INTEGER, ColumnType.DATE) else 0.0


def _spread_over_line(begin: FloatArray, end: FloatArray, counts: IntArray, edges: FloatArray) -> FloatArray:
    """Records in each bin if those of an interval are spread evenly over it, (n_edges + 1,)."""
    width = end / 2 - begin / 2  # of halves: the largest numbers are further apart than a float can say
    below = []
    for edge in edges.tolist():
        share = np.clip(edge / 2 - begin / 2, 0, width) / np.where(width > 0, width, 1)
        below.append(float(counts @ np.where(width > 0, share, begin < edge)))
    return np.diff([0.0, *below, float(counts.sum())])


def _spread_over_codes(published: Coverage, counts: IntArray, n_codes: int) -> FloatArray:
    """Records of each code if those of a label are spread evenly over what it covers, (n_codes,)."""
    is_interval = published.hi >= published.lo
    is_interval[list(published.sets)] = False
    lo, hi = published.lo[is_interval], published.hi[is_interval]
    each = counts[is_interval] / (hi - lo + 1)
    steps = np.bincount(lo, each, n_codes + 1) - np.bincount(hi + 1, each, n_codes + 1)
    spread = np.cumsum(steps, dtype=np.float64)[:n_codes]  # without any interval, steps are whole numbers
    for label, members in published.sets.items():
        spread[list(members)] += counts[label] / len(members)
    return spread


def _edges(places: FloatArray, counts: IntArray, column: ColumnType) -> FloatArray:
    """Round numbers that part the bulk of a column; what lies beyond the first and the last is left open."""
    if len(places) == 0 or counts.sum() == 0:
        return np.zeros(0)
    running = np.cumsum(counts) / counts.sum()
    low, high = (float(places[min(int(np.searchsorted(running, q)), len(places) - 1)]) for q in (0.01, 0.99))
    if column in (ColumnType.DATE, ColumnType.DATETIME):
        return _date_edges(low, high, DAY_US if column is ColumnType.DATETIME else 1)
    step = _round_step(high / MOST_BINS - low / MOST_BINS)
    if column is ColumnType.INTEGER:
        step = max(1.0, step)
    if high <= low:
        return np.zeros(0)
    edges = [number * step for number in range(math.floor(low / step) + 1, math.ceil(high / step) + 1)]
    return np.array([edge for edge in edges if math.isfinite(edge)])


def _round_step(least: float) -> float:
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _date_edges(low: float, high: float, per_day: int) -> FloatArray:
    first, last = (EPOCH + timedelta(days=math.floor(at / per_day)) for at in (low, high))
    years = last.year - first.year
    if years >= 3:
        step = next((s for s in YEAR_STEPS if years / s < MOST_BINS), 1000)
        starts = [date(y, 1, 1) for y in range((first.year // step + 1) * step, last.year + 1, step)]
    else:
        months = range(first.year * 12 + first.month, last.year * 12 + last.month)
        starts = [date(m // 12, m % 12 + 1, 1) for m in months][:: max(1, math.ceil(len(months) / MOST_BINS))]
    return np.array([(d - EPOCH).days * per_day for d in starts], np.float64)


def _joined(
    edges: FloatArray, column: ColumnType, before: FloatArray, after: FloatArray, floor: int
) -> BinShares | None:
    """Neighbours joined until each bin holds enough records of the original."""
    cuts: list[int] = []  # edges that stay
    held = 0.0
    for at, count in enumerate(before[:-1]):
        held += count
        if held >= floor:
            cuts.append(at)
            held = 0.0
    if held + before[-1] < floor and cuts:
        cuts.pop()
    if not cuts:
        return None
    parts = [np.add.reduceat(c, [0, *(at + 1 for at in cuts)]) for c in (before, after)]
    bounds = tuple(_bound(edge, column) for edge in edges[cuts])
    return BinShares(_bin_labels(edges[cuts], column), _shares(parts[0]), _shares(parts[1]), bounds)


def _bin_labels(edges: FloatArray, column: ColumnType) -> tuple[str, ...]:
    starts = [_bound(edge, column) for edge in edges]
    ends = [_bound(edge - _unit(column), column) for edge in edges]
    between = zip(starts[:-1], ends[1:], strict=True)
    ranges = [a if a == b else f"{a} – {b}" for a, b in between]
    first, last = ("before", "and later") if _is_time(column) else ("below", "and more")
    return (f"{first} {starts[0]}", *ranges, f"{starts[-1]} {last}")


def _is_time(column: ColumnType) -> bool:
    return column in (ColumnType.DATE, ColumnType.DATETIME)


def _bound(at: float, column: ColumnType) -> str:
    if not _is_time(column):
        return f"{at:,.10g}"
    day = EPOCH + timedelta(days=math.floor(at / (DAY_US if column is ColumnType.DATETIME else 1)))
    is_new_year, is_year_end = (day.month, day.day) == (1, 1), (day.month, day.day) == (12, 31)
    return str(day.year) if is_new_year or is_year_end else f"{day:%Y-%m}"


def _categories(domain: Domain, before: IntArray, published: set[str | None]) -> tuple[IntArray, list[str]]:
    """A group for every code and what the groups are called; the last group is of other values."""
    if domain.hierarchy is None:
        offset = int(domain.has_missing)
        texts = [None] * offset + [str(format_value(v)) for v in domain.values.to_list()]
        common = set(np.argsort(-before, kind="stable")[: MOST_BINS - 1].tolist())
        is_shown = [(t is None or format_exact(t) in published) and c in common for c, t in enumerate(texts)]
        group = np.where(is_shown, np.arange(len(texts)), len(texts))
        return group, [*(EMPTY if t is None else t for t in texts), OTHER]
    return _tree_groups(domain.hierarchy, before, published)


def _tree_groups(tree: Hierarchy, before: IntArray, published: set[str | None]) -> tuple[IntArray, list[str]]:
    """Nodes of one level, where they are published or lie above what is: the deepest level that shows most records."""
    published_nodes = [node for label in published if (node := tree.find(label)) is not None]
    is_allowed = np.zeros(tree.n_nodes, bool)
    is_allowed[[node for start in published_nodes for node in tree.ancestors(start)]] = True
    levels = tree.ancestors_by_depth()  # (n_leaves, depth) root first
    nodes = levels[:, 0]
    for level in levels.T:
        if len(np.unique(level)) <= MOST_BINS and 2 * before[is_allowed[level]].sum() >= before.sum():
            nodes = level
    group = np.where(is_allowed[nodes], nodes, tree.n_nodes)
    return group, [*(EMPTY if label is None else label for label in tree.labels), OTHER]


def _grouped(
    group: IntArray, labels: Sequence[str], before: IntArray, after: FloatArray, floor: int
) -> BinShares | None:
    """Groups that hold enough records, the rest as other values if these are enough together."""
    other = len(labels) - 1
    n_before = _summed(group, before, other + 1)
    group = np.where(n_before[group] < floor, other, group)
    n_before, n_after = (_summed(group, c, other + 1) for c in (before, after))
    shown = [g for g in range(other) if n_before[g] >= floor]
    if len(shown) >= MOST_BINS:
        rare = sorted(shown, key=lambda g: n_before[g])[: len(shown) - MOST_BINS + 1]
        n_before[other] += n_before[rare].sum()
        n_after[other] += n_after[rare].sum()
        shown = [g for g in shown if g not in set(rare)]
    if n_before[other] >= floor:
        shown.append(other)
    if len(shown) < 2:
        return None
    return BinShares(tuple(labels[g] for g in shown), _shares(n_before[shown]), _shares(n_after[shown]))


def _shares(counts: FloatArray) -> tuple[float, ...]:
    return tuple((counts / max(float(counts.sum()), 1e-12)).tolist())


def _summed(group: IntArray, amounts: NDArray[np.generic], n_groups: int) -> FloatArray:
    sums: FloatArray = np.bincount(group, weights=amounts, minlength=n_groups).astype(np.float64)
    return sums
