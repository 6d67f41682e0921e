"""Deal records out: every class gets so many of each bucket, near each other in the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.algorithms.clustering._unite_clusters import Clustering
from tablecloak.algorithms.clustering.base import Points
from tablecloak.arrays import IntArray
from tablecloak.kernels.clustering import FAR
from tablecloak.progress import Progress

# Records that were dealt are swept out when they are so large a share of those that are looked at.
SWEPT = 0.2


class Dealing(Clustering):
    """What algorithms that deal records out share."""

    def comparisons(self, n_records: int, size: int) -> float | None:  # noqa: ARG002
        return n_records**2 / 2


def proportional_quotas(sizes: IntArray, passes: Callable[[IntArray], bool]) -> IntArray:
    """How many records each class takes from each bucket, (n_classes, n_buckets), all buckets used up.

    The records of a bucket are spread evenly along a line, all buckets along the same one, and each class is the
    shortest stretch that passes; what is left at the end joins the last one, and further ones before it until it passes
    or is all there is. Stretches of a line are in proportion to the buckets but for less than one record of each.
    """
    of = np.repeat(np.arange(len(sizes)), sizes)
    place = np.concatenate([(np.arange(n) + 0.5) / n for n in sizes.tolist()]) if len(of) else np.zeros(0)
    quotas, own = [], np.zeros(len(sizes), np.int64)
    for bucket in of[np.lexsort((of, place))].tolist():
        own[bucket] += 1
        if passes(own):
            quotas.append(own)
            own = np.zeros(len(sizes), np.int64)
    while quotas and own.any() and not passes(own):
        own = own + quotas.pop()
    return np.array([*quotas, own] if own.any() else quotas, np.int64).reshape(-1, len(sizes))


def deal(points: Points, buckets: IntArray, quotas: IntArray, progress: Progress) -> IntArray:
    """The class of every record: each grows from a record far from the last one, by what widens it least.

    Args:
        buckets: (n,) the bucket of every record.
        quotas: (n_classes, n_buckets) how many records of each bucket a class takes; together all there are.
    """
    labels = np.full(points.n, -1, np.int64)
    rows, codes, bucket = np.arange(points.n), points.codes, buckets
    is_free = np.ones(points.n, bool)
    last = points.codes[:, 0] if points.n else np.zeros(points.n_dims, np.int32)
    for number, quota in enumerate(quotas):
        left = quota.copy()
        costs = points.joined(codes, last, last)
        new = int(np.argmax(np.where(is_free & (left[bucket] > 0), costs, -1)))
        lo = hi = codes[:, new]
        while True:
            labels[rows[new]], is_free[new] = number, False
            left[bucket[new]] -= 1
            last = codes[:, new]
            lo, hi = np.minimum(lo, last), np.maximum(hi, last)
            if not left.any():
                break
            costs = points.joined(codes, lo, hi)
            new = int(np.argmin(np.where(is_free & (left[bucket] > 0), costs, FAR)))
        if np.count_nonzero(~is_free) > SWEPT * len(rows):
            rows, codes = rows[is_free], np.ascontiguousarray(codes[:, is_free])
            bucket, is_free = bucket[is_free], np.ones(len(rows), bool)
            progress.advance(points.n - len(rows))
    return labels
