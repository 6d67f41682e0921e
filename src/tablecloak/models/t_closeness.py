"""t-closeness: no class tells more about a sensitive value than the table does."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.rules import RuleKind
from tablecloak.models.base import (
    MOST_BOUNDED,
    TOLERANCE,
    CountBounds,
    Monotone,
    PrivacyModel,
    Rule,
    Sense,
    all_held,
    model,
)
from tablecloak.models.fields import Sensitive
from tablecloak.stats.classes import ClassStats, Evidence, Histogram, SensitiveDomain

# Values of a table from which on their running sums are kept as long as their counts are.
REMEMBERED_FROM = 1 << 14
_latest: dict[int, tuple[weakref.ref[IntArray], IntArray, IntArray]] = {}


@model(
    "t-closeness",
    requires="t",
    evidence=Evidence.SENSITIVE | Evidence.TABLE,
    monotone=Monotone.GENERALIZATION,
    sense=Sense.AT_MOST,
)
class TCloseness(PrivacyModel):
    """The distribution of each sensitive column in every class lies within `t` of its distribution in the table.

    The distance is the earth mover's, with ground distances between two values:
      equal         1
      ordered       ranks apart / (number of values - 1)
      hierarchical  height of their lowest common ancestor / height of the tree
    Every person has a mass of 1 in these distributions, spread over their records (in the class, and in the table).

    Protects from: learning more from a class than from the table. Not from: record linkage; add k-anonymity.
    Reference: Li, Li, Venkatasubramanian, ICDE 2007.
    """

    is_distance: ClassVar[bool] = True
    holds_in_groups: ClassVar[bool] = True
    sentence: ClassVar[str | None] = (
        "In each group, {sensitive} is mixed about as in the whole table: at most {t} apart."
    )
    level_name: ClassVar[str] = "largest distance"

    t: Annotated[float, Field(ge=0, le=1, description="largest distance; 0.1 to 0.3 is usual")]
    distance: Annotated[
        Literal["equal", "ordered", "hierarchical"], Field(description="how far apart two values are")
    ] = "equal"
    sensitive: Sensitive = None

    @property
    def usual_limit(self) -> tuple[str, float] | None:
        return "t", 0.2

    def levels(self, stats: ClassStats) -> FloatArray:
        distance = {"equal": equal_distance, "ordered": ordered_distance, "hierarchical": hierarchical_distance}
        masses = [held.masses() for held in all_held(stats, self.sensitive)]
        farthest: FloatArray = np.max([distance[self.distance](h) for h in masses], axis=0)
        return farthest

    def rule(self) -> Rule | None:
        kinds = {"equal": RuleKind.EQUAL_DISTANCE, "ordered": RuleKind.ORDERED_DISTANCE}
        kind = kinds.get(self.distance)
        return None if kind is None else Rule(kind, self.t)

    def bounds(self, domain: SensitiveDomain, totals: IntArray) -> CountBounds | None:
        if domain.n_values > MOST_BOUNDED:
            return None
        features = _features(domain, self.distance)
        return (
            None if features is None else CountBounds(features, totals / max(1, int(totals.sum())) @ features, self.t)
        )

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        t = math.ceil((achieved - TOLERANCE) * 100) / 100 if math.isfinite(achieved) else self.t
        return [replace(self, t=t)] if self.t < t < 1 else []


def equal_distance(hist: Histogram) -> FloatArray:
    """Half the sum of absolute differences between class and table shares, (n_classes,)."""
    return _excess(hist, hist.indptr, hist.codes, hist.counts, hist.total_shares())


def ordered_distance(hist: Histogram) -> FloatArray:
    """Mean absolute difference of the cumulative shares over all values but the last, (n_classes,).

    Between two values that occur in a class its cumulative share is constant and the table's only grows, so each gap
    is summed in closed form around the place where they cross. Cost: O(entries log values).
    """
    _require(hist.domain.is_ordered, hist, "ordered", "numbers or dates")
    if hist.domain.n_values < 2:
        return np.zeros(hist.n_classes)
    below, sums = _running(hist.totals)
    n_records = max(1, below[-1] + hist.totals[-1])
    records = np.maximum(hist.sum_by_class(hist.counts), 1.0)[hist.entry_class()]
    share = _running_totals(hist) / records
    start, end = np.minimum(hist.codes, len(below)), _next_codes(hist, len(below))
    cross = np.clip(np.searchsorted(below, share * n_records), start, end)
    above = share * (cross - start) - (sums[cross] - sums[start]) / n_records
    under = (sums[end] - sums[cross]) / n_records - share * (end - cross)
    distances: FloatArray = (hist.sum_by_class(above + under) + _before_first(hist, sums) / n_records) / len(below)
    return distances


def _running(totals: IntArray) -> tuple[IntArray, IntArray]:
    """Records of a table up to each value but the last, and sums of these: sums[b] - sums[a] adds up below[a:b].

    A search asks for classes of one table again and again, and a nearly unique number has as many values as rows.
    """
    known = _latest.get(id(totals))
    if known is not None and known[0]() is totals:
        return known[1:]
    below = np.cumsum(totals)[:-1]
    sums = np.concatenate([[0], np.cumsum(below)])
    if len(totals) >= REMEMBERED_FROM:
        place, totals.flags.writeable = id(totals), False  # whoever changed them would be judged by what they were
        _latest[place] = (weakref.ref(totals, lambda _: _latest.pop(place, None)), below, sums)
    return below, sums


def hierarchical_distance(hist: Histogram) -> FloatArray:
    """Mean over the levels of the tree, root excluded, of the equal distance on values generalised to that level.

    Equal to the sum over inner nodes of height / tree height * min(surplus, deficit of the children), because the
    ground distance, height of the common ancestor / tree height, adds up along the path to that ancestor.
    """
    hierarchy = hist.domain.hierarchy
    _require(hierarchy is not None, hist, "hierarchical", "a hierarchy")
    assert hierarchy is not None
    distances = np.zeros(hist.n_classes)
    n_levels = 0
    for group in _levels_below_root(hierarchy):
        distances += _grouped_distance(hist, group)
        n_levels += 1
    return distances / max(1, n_levels)


def _require(condition: bool, hist: Histogram, distance: str, what: str) -> None:
    if not condition:
        raise IncompatibleChoice(
            f"t-closeness with distance '{distance}' needs {what}; the sensitive column '{hist.domain.name}' has none",
            hint="use distance: equal, or give the column a hierarchy and use distance: hierarchical",
        )


def _excess(hist: Histogram, indptr: IntArray, codes: IntArray, counts: IntArray, shares: FloatArray) -> FloatArray:
    """How much the shares of a class exceed the table's, summed over the values of the class where they do."""
    grouped = Histogram(hist.domain, indptr, codes, counts, hist.totals)
    records = np.maximum(grouped.sum_by_class(counts), 1.0)[grouped.entry_class()]
    return grouped.sum_by_class(np.maximum(counts / records - shares[codes], 0.0))


def _running_totals(hist: Histogram) -> IntArray:
    """Records of the class up to and including each entry, (n_entries,)."""
    running = np.cumsum(hist.counts)
    before_class = np.concatenate([[0], running])[hist.indptr[:-1]]
    totals: IntArray = running - np.repeat(before_class, hist.distinct())
    return totals


def _next_codes(hist: Histogram, last: int) -> IntArray:
    """The code of the next entry of the same class, `last` after the last one, (n_entries,)."""
    following = np.append(hist.codes[1:], last)[: len(hist.codes)]
    following[hist.indptr[1:][hist.distinct() > 0] - 1] = last
    return following


def _before_first(hist: Histogram, sums: IntArray) -> IntArray:
    """Sum of the table's cumulative counts over the values before the first of each class, (n_classes,)."""
    first = np.zeros(hist.n_classes, dtype=np.int64)
    occupied = hist.distinct() > 0
    first[occupied] = hist.codes[hist.indptr[:-1][occupied]]
    return sums[first]


def _levels_below_root(hierarchy: Hierarchy) -> Iterator[IntArray]:
    """For each height below the root's: the group of every leaf under its highest ancestor not above that height."""
    height = hierarchy.heights
    node = np.arange(hierarchy.n_leaves)
    for level in range(int(height[-1])):
        parent = hierarchy.parent[node]
        node = np.where((parent >= 0) & (height[parent] <= level), parent, node)
        yield np.concatenate([[0], np.cumsum(np.diff(node) != 0)])


def _grouped_distance(hist: Histogram, group: IntArray) -> FloatArray:
    """Equal distance after neighbouring values are united: value `v` becomes part of `group[v]`, (n_classes,)."""
    codes = group[hist.codes]
    is_first = np.append(True, np.diff(codes) != 0)[: len(codes)]
    is_first[hist.indptr[:-1][hist.distinct() > 0]] = True
    starts = np.flatnonzero(is_first)
    counts = np.add.reduceat(hist.counts, starts) if len(starts) else hist.counts
    indptr = np.concatenate([[0], np.cumsum(is_first)])[hist.indptr]
    shares = np.add.reduceat(hist.total_shares(), np.flatnonzero(np.append(True, np.diff(group) != 0)))
    return _excess(hist, indptr, codes[starts], counts, shares)


def _features(domain: SensitiveDomain, distance: str) -> FloatArray | None:
    """Shares of which the positive differences between two distributions add up to their distance; None: not defined.

    (n_values, n_features): values; shares up to each rank, and less them; or nodes of each level of the hierarchy.
    """
    n = domain.n_values
    if distance == "equal":
        return np.eye(n)
    if distance == "ordered":
        below = np.triu(np.ones((n, n)))[:, : n - 1] / max(1, n - 1)  # of value v at rank r >= v
        return np.hstack([below, -below]) if domain.is_ordered else None
    if domain.hierarchy is None:
        return None
    groups = list(_levels_below_root(domain.hierarchy))
    return np.hstack([np.eye(int(g[-1]) + 1)[g] for g in groups]) / len(groups) if groups else np.zeros((n, 1))
