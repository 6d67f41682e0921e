"""Ambiguity in the data: how many originals a published record may stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.ambiguity import mean_ambiguity
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.release_details import OriginalTuples
from tablecloak.stats.spread import spread

# Classes are held against originals in blocks of this many pairs, and not at all beyond so many.
PAIRS_AT_ONCE = 1 << 22
MOST_PAIRS = 1 << 29
# Records and originals that are held against each other where all would be too many.
SAMPLED = 2048


@metric("ambiguity-data", on_request=True)
def ambiguity_data(counts: ReleaseCounts) -> Amount:
    """Ambiguity in the data: records of the original that a published record may stand for, on average.

      AM = mean over published records of the number of originals that all its cells cover

    A suppressed record may stand for every original. Costs classes times different originals; where that is too much,
    a sample of records is held against one of originals, and the standard error is told. Lower is better.
    Reference: Zigomitros, Casino, Solanas, Patsakis, IEEE Access 2020, after Goldberger, Tassa, TDP 2010.
    """
    if counts.details.tuples is None:
        raise DoesNotApplyError("the originals were not kept")
    tuples = counts.details.tuples()
    is_sample = int(tuples.weights.sum()) < counts.n_rows
    if is_sample or len(counts.sizes) * len(tuples.weights) > MOST_PAIRS:
        return _estimated(counts, tuples)
    consistent = np.zeros(len(counts.sizes))
    step = max(1, PAIRS_AT_ONCE // max(1, len(tuples.weights)))
    for begin in range(0, len(counts.sizes), step):
        part = slice(begin, begin + step)
        pairs = zip(counts.cells, tuples.codes, strict=True)
        held = np.logical_and.reduce([column.coverage.holds(column.cell[part, None], codes) for column, codes in pairs])
        consistent[part] = held @ tuples.weights
    return mean_ambiguity(counts, consistent, float(counts.n_rows))


def _estimated(counts: ReleaseCounts, tuples: OriginalTuples) -> Amount:
    """The same from some records held against some originals, both spread over all."""
    classes, originals = spread(counts.sizes, SAMPLED), spread(tuples.weights, SAMPLED)
    pairs = zip(counts.cells, tuples.codes, strict=True)
    held = np.logical_and.reduce(
        [column.coverage.holds(column.cell[classes, None], codes[originals]) for column, codes in pairs]
    )
    error = float(np.sqrt(held.mean(axis=1).var() / len(classes) + held.mean(axis=0).var() / len(originals)))
    mean = mean_ambiguity(counts, np.full(len(counts.sizes), counts.n_rows * held.mean()), float(counts.n_rows))
    note = f"{len(classes):,} of {counts.n_records:,} records against {len(originals):,} originals"
    return replace(mean, error=counts.n_records * error, note=note)
