"""What clustering kernels know about each dimension: the cost of an interval of codes, in whole units.

Costs are whole numbers, so sums do not depend on the order of additions and equal costs are equal exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAR", "Centroids", "Lines", "Wishes"]

IntArray = NDArray[np.int64]
FAR = 1 << 60  # dearer than any box


class Lines(NamedTuple):
    """Dimensions one after the other; entry `start[d] + c` belongs to code `c` of dimension `d`.

    The interval lo < hi of a line costs `upper[hi] - lower[lo]`, but at most `full`, and `full` if it mixes missing and
    other values; of a tree it costs what the lowest ancestor that reaches `hi` costs.
    """

    is_tree: NDArray[np.bool_]  # (n_dims,)
    has_missing: NDArray[np.bool_]  # (n_dims,) code 0 of a line is the missing value
    n_codes: IntArray  # (n_dims,)
    start: IntArray  # (n_dims,)
    step: IntArray  # (n_dims,) what two neighboring values of a set cost beyond their distance; 0 of numbers and trees
    full: IntArray  # (n_dims,)
    line: IntArray  # (sum of codes,) the place of each code
    lower: IntArray  # (sum of codes,) where an interval begins, as published, that begins with each code
    upper: IntArray  # (sum of codes,) where one ends that ends with each code
    begins: NDArray[np.int32]  # (sum of codes, depth) first code of the ancestor at each depth, root first
    ends: NDArray[np.int32]  # (sum of codes, depth) last code of that ancestor
    costs: IntArray  # (sum of codes, depth) cost of that ancestor


class Centroids(NamedTuple):
    """The first `n` columns are the boxes of clusters with the mean place of their members on every line."""

    lo: NDArray[np.int32]  # (n_dims, room)
    hi: NDArray[np.int32]  # (n_dims, room)
    mean: NDArray[np.float64]  # (n_dims, room) meaningless in trees
    n: int


class Wishes(NamedTuple):
    """The points that boxes would take next, cheapest first, as they were when all points were last looked at."""

    rows: IntArray  # (n_boxes, n_wishes) -1 where there are no more
    bound: IntArray  # (n_boxes,) no point that is not listed cost less
    is_fresh: NDArray[np.bool_]  # (n_boxes,) the box has not grown since
