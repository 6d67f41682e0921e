"""Joint distributions of every two columns, in the original and as a reader of the release would rebuild them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount
from tablecloak.metrics.compared_records import ComparedRecords, RecordGroups, bins_of, pairs_of, weighted_counts

Distances = Mapping[tuple[int, int], float]

MOST_BINS = 10
# Groups are spread over bins this many cells at a time.
CELLS_AT_ONCE = 1 << 20
MANY_GROUPS = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The joint distribution of two columns before and after, as shares of all records."""

    columns: tuple[int, int]
    before: FloatArray  # (bins of the first, bins of the second)
    after: FloatArray


def joints(records: ComparedRecords, most_bins: int = MOST_BINS) -> tuple[Joint, ...]:
    """Joint distributions of every two columns; columns with more values are joined to bins of neighbors."""
    if len(records.columns) < 2:
        raise DoesNotApplyError("there is only one column")
    remembered = _known.get(records)
    if remembered is None or remembered[0] != most_bins:
        remembered = most_bins, tuple(_joints(records, most_bins))
        _known[records] = remembered
    return remembered[1]


# Several metrics ask for the same tables.
_known: WeakKeyDictionary[ComparedRecords, tuple[int, tuple[Joint, ...]]] = WeakKeyDictionary()


def _joints(records: ComparedRecords, most_bins: int) -> Iterator[Joint]:
    columns, weights = records.columns, records.counted_before
    binned = [bins_of(weighted_counts(c.before, records.weights_before, c.n_codes), most_bins) for c in columns]
    widths = [n for _, n in binned]
    start = np.concatenate([[0], np.cumsum(widths)])
    product = _spread_product(records, binned, start) / max(1, records.n_after)
    before = [bins.astype(np.uint16)[c.before] for c, (bins, _) in zip(columns, binned, strict=True)]
    for i, j in pairs_of(columns):
        counted = np.bincount(before[i] * np.uint16(widths[j]) + before[j], weights, widths[i] * widths[j])
        shares = counted.reshape(widths[i], widths[j]) / max(1, records.n_before)
        yield Joint((i, j), shares, product[start[i] : start[i + 1], start[j] : start[j + 1]])


def _spread_product(records: ComparedRecords, binned: list[tuple[IntArray, int]], start: IntArray) -> FloatArray:
    """Expected records in every bin of every column together with every other, (all bins, all bins).

    Matrix products over groups give all pairs at once; exact columns are counted, by group and with each other.
    """
    groups = records.groups
    product = np.zeros((int(start[-1]), int(start[-1])))
    places = {i: np.arange(start[i], start[i + 1]) for i in range(len(binned))}
    exact = {i: binned[i][0][records.columns[i].coverage.lo[records.columns[i].cells]] for i in groups.exact}
    for i, j in ((i, j) for i in groups.exact for j in groups.exact if i < j):
        n = binned[j][1]
        counted = np.bincount(exact[i] * n + exact[j], records.weights_after, binned[i][1] * n)
        product[np.ix_(places[i], places[j])] = counted.reshape(-1, n)
        product[np.ix_(places[j], places[i])] = counted.reshape(-1, n).T
    if not groups.spread:
        return product
    # half the digits are enough where many groups are added up, and take half the time
    kind = np.float64 if len(groups.weights) < MANY_GROUPS else np.float32
    shares = [records.columns[i].over_bins(*binned[i]).astype(kind) for i in groups.spread]
    cells = [records.columns[i].cells[groups.firsts] for i in groups.spread]
    tallies = {i: _by_group(groups, exact[i], binned[i][1], records.weights_after) for i in groups.exact}
    rows = np.concatenate([places[i] for i in groups.spread])
    step = max(1, CELLS_AT_ONCE // max(1, len(rows)))
    for begin in range(0, len(groups.weights), step):
        part = slice(begin, begin + step)
        block = np.concatenate([share[c[part]] for share, c in zip(shares, cells, strict=True)], axis=1)
        product[np.ix_(rows, rows)] += block.T @ (block * groups.weights[part, None].astype(kind))
        for i, tally in tallies.items():
            product[np.ix_(rows, places[i])] += block.T @ tally[part].astype(kind)
    for i in groups.exact:
        product[np.ix_(places[i], rows)] = product[np.ix_(rows, places[i])].T
    return product


def _by_group(groups: RecordGroups, bins: IntArray, n_bins: int, weights: IntArray) -> FloatArray:
    """Records in every bin of an exact column, by group, (n_groups, n_bins)."""
    n_groups = len(groups.weights)
    counted = np.bincount(groups.of_record * n_bins + bins, weights, n_groups * n_bins)
    return counted.reshape(n_groups, n_bins).astype(np.float64)


def mean_of_pairs(records: ComparedRecords, distances: Callable[[ComparedRecords], Distances]) -> Amount:
    """The mean over pairs, and for every column the mean over the pairs it is in; of a sample also its error."""
    by_pair = distances(records)
    if not by_pair:
        raise DoesNotApplyError("no two columns can be compared")
    parts: dict[str, float] = {}
    for i, column in enumerate(records.columns):
        own = [distance for pair, distance in by_pair.items() if i in pair]
        if own:
            parts[column.name] = float(np.mean(own))
    return Amount(_mean(by_pair), parts, _sampling_error(records, distances), records.note)


def _mean(distances: Distances) -> float:
    return float(np.mean(list(distances.values())))


def _sampling_error(records: ComparedRecords, distances: Callable[[ComparedRecords], Distances]) -> float | None:
    """Standard error by leaving out a part of the sample in turn (jackknife); None where nothing was sampled."""
    left = [_mean(by_pair) for part in records.parts if (by_pair := distances(part))]
    if len(left) < 2:
        return None
    return float(np.sqrt((len(left) - 1) * np.var(left)))
