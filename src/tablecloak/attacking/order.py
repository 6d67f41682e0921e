"""Which original each published row is, where the order of rows was kept or nothing but the order can say it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.risks.case import Quasi, Sensitive

__all__ = ["are_single_values", "in_order"]

IntArray = NDArray[np.int64]
# Rows are compared with originals in blocks of this many.
BLOCK = 1 << 14


def in_order(columns: Sequence[Quasi], exact: Sequence[Sensitive], n_rows: int, n_originals: int) -> IntArray | None:
    """Originals that the rows cover in the same order, by taking the first that fits; None where there are none."""
    if n_rows > n_originals or any(c.codes is None or c.coverage is None for c in columns):
        return None
    row, original = 0, 0
    found = np.zeros(n_rows, np.int64)
    while row < n_rows:
        n = min(BLOCK, n_rows - row, n_originals - original)
        if n <= 0:
            return None
        fits = _fits(columns, exact, slice(row, row + n), slice(original, original + n))
        length = n if fits.all() else int(np.argmin(fits))
        found[row : row + length] = np.arange(original, original + length)
        row, original = row + length, original + length
        if length < n:
            original += 1  # this original was left out
            if n_originals - original < n_rows - row:
                return None
    return found


def _fits(columns: Sequence[Quasi], exact: Sequence[Sensitive], rows: slice, originals: slice) -> NDArray[np.bool_]:
    ok = np.ones(rows.stop - rows.start, bool)
    for column in columns:
        assert column.codes is not None
        ok &= _covered(column, column.labels[rows], column.codes[originals])
    for attribute in exact:
        if attribute.codes is not None and attribute.originals is not None:
            ok &= attribute.codes[rows] == attribute.originals[originals]
    return ok


def _covered(column: Quasi, labels: IntArray, codes: IntArray) -> NDArray[np.bool_]:
    coverage = column.coverage
    assert coverage is not None
    ok = (codes >= coverage.lo[labels]) & (codes <= coverage.hi[labels])
    if coverage.sets:
        listed = np.isin(labels, list(coverage.sets))
        for at in np.flatnonzero(ok & listed).tolist():
            ok[at] = int(codes[at]) in coverage.sets[int(labels[at])]
    return np.asarray(ok)


def are_single_values(columns: Sequence[Quasi]) -> bool:
    """Whether no cell stands for several values, as in perturbed or averaged data."""
    return all(c.coverage is not None and bool((c.coverage.sizes() <= 1).all()) for c in columns)
