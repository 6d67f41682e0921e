"""Joint distributions of every two columns, in the original and as a reader of the release would rebuild them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.metrics.base import Amount, DoesNotApplyError
from tablecloak.metrics.records import Records, bins_of, pairs_of, weighted_counts
from tablecloak.stats.classes import FloatArray, IntArray

__all__ = ["MOST_BINS", "Joint", "joints", "mean_of_pairs"]

MOST_BINS = 16
# Published records are spread over bins this many cells at a time.
CELLS_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The joint distribution of two columns before and after, as shares of all records."""

    columns: tuple[int, int]
    before: FloatArray  # (bins of the first, bins of the second)
    after: FloatArray


def joints(records: Records, most_bins: int = MOST_BINS) -> Iterator[Joint]:
    """Joint distributions of every two columns; columns with more values are joined to bins of neighbors."""
    columns = records.columns
    if len(columns) < 2:
        raise DoesNotApplyError("there is only one column")
    binned = [bins_of(weighted_counts(c.before, records.weights_before, c.n_codes), most_bins) for c in columns]
    widths = [n for _, n in binned]
    start = np.concatenate([[0], np.cumsum(widths)])
    product = _spread_product(records, binned, int(start[-1])) / max(1, records.n_after)
    before = [bins[c.before] for c, (bins, _) in zip(columns, binned, strict=True)]
    for i, j in pairs_of(columns):
        key = before[i] * widths[j] + before[j]
        counted = np.bincount(key, weights=records.weights_before, minlength=widths[i] * widths[j])
        shares = counted.reshape(widths[i], widths[j]) / max(1, records.n_before)
        yield Joint((i, j), shares, product[start[i] : start[i + 1], start[j] : start[j + 1]])


def _spread_product(records: Records, binned: list[tuple[IntArray, int]], width: int) -> NDArray[np.float64]:
    """Expected records in every bin of every column together with every other, (width, width).

    One matrix product gives all pairs at once.
    """
    shares = [c.over_bins(bins, n) for c, (bins, n) in zip(records.columns, binned, strict=True)]
    product = np.zeros((width, width))
    step = max(1, CELLS_AT_ONCE // max(1, width))
    for begin in range(0, len(records.weights_after), step):
        part = slice(begin, begin + step)
        parts = zip(records.columns, shares, strict=True)
        block = np.concatenate([share[column.cells[part]] for column, share in parts], axis=1)
        product += block.T @ (block * records.weights_after[part, None])
    return product


def mean_of_pairs(records: Records, distances: dict[tuple[int, int], float]) -> Amount:
    """The mean over pairs, and for every column the mean over the pairs it is in."""
    if not distances:
        raise DoesNotApplyError("no two columns can be compared")
    parts: dict[str, float] = {}
    for i, column in enumerate(records.columns):
        own = [found for pair, found in distances.items() if i in pair]
        if own:
            parts[column.name] = float(np.mean(own))
    note = None
    if records.n_sampled_from is not None:
        note = f"originals: a sample of {records.n_before:,} of {records.n_sampled_from:,}"
    return Amount(float(np.mean(list(distances.values()))), parts, None, note)
