"""Which original each published row is, where order was kept: a policy says so, or cells that never moved."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.attacks.case import Quasi, Sensitive

# Rows are compared with originals in blocks of this many.
BLOCK = 1 << 14
# Cells that a random order leaves in place more often than this say nothing about the order.
BY_CHANCE = math.log(0.01)


def stays_in_place(release: pl.DataFrame, original: pl.DataFrame | None) -> bool:
    """Whether columns are the same in both, row by row, that hardly any other order of rows leaves so."""
    if original is None or release.height != original.height:
        return False
    shared = [n for n in release.columns if n in original.columns]
    texts = ((release[n].cast(pl.String), original[n].cast(pl.String)) for n in shared)
    equal = [after for after, before in texts if after.equals(before, null_equal=True, check_names=False)]
    if not equal:
        return False
    counts = pl.DataFrame(equal).group_by(pl.all()).len()["len"].to_list()
    # orders that leave these columns as they are, among all
    return math.fsum(math.lgamma(n + 1) for n in counts) - math.lgamma(release.height + 1) <= BY_CHANCE


def in_order(columns: Sequence[Quasi], exact: Sequence[Sensitive], n_rows: int, n_originals: int) -> IntArray | None:
    """Originals that the rows cover in the same order, by taking the first that fits; None where there are none."""
    if n_rows > n_originals or any(c.codes is None or c.coverage is None for c in columns):
        return None
    row, original = 0, 0
    originals = np.zeros(n_rows, np.int64)
    while row < n_rows:
        n = min(BLOCK, n_rows - row, n_originals - original)
        if n <= 0:
            return None
        fits = _fits(columns, exact, slice(row, row + n), slice(original, original + n))
        length = n if fits.all() else int(np.argmin(fits))
        originals[row : row + length] = np.arange(original, original + length)
        row, original = row + length, original + length
        if length < n:
            original += 1  # this original was left out
            if n_originals - original < n_rows - row:
                return None
    return originals


def _fits(columns: Sequence[Quasi], exact: Sequence[Sensitive], rows: slice, originals: slice) -> BoolArray:
    ok = np.ones(rows.stop - rows.start, bool)
    for column in columns:
        assert column.codes is not None
        assert column.coverage is not None
        ok &= column.coverage.holds(column.labels[rows], column.codes[originals])
    for attribute in exact:
        if attribute.codes is not None and attribute.originals is not None:
            ok &= attribute.codes[rows] == attribute.originals[originals]
    return ok


def are_single_values(columns: Sequence[Quasi]) -> bool:
    """Whether no cell stands for several values, as in perturbed or averaged data."""
    return all(c.coverage is not None and bool((c.coverage.sizes() <= 1).all()) for c in columns)
