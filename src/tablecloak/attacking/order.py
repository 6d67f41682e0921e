"""Which original each published row is, where rows keep their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.attacking.columns import Attribute
from tablecloak.risks.case import Quasi, Sensitive

__all__ = ["covers", "row_of_rows"]

IntArray = NDArray[np.int64]
# Rows are compared with originals in blocks of this many.
BLOCK = 1 << 14


def row_of_rows(
    columns: Sequence[Quasi], attributes: Sequence[Attribute], n_rows: int, original: pl.DataFrame | None,
    is_grouped: bool,
) -> IntArray | None:  # fmt: skip
    """The original of every row where rows keep their order, all or some of them; None where that is not so."""
    if original is None or n_rows > original.height:
        return None
    exact = [] if is_grouped else [a.column for a in attributes if a.column.codes is not None]
    found = _subsequence(columns, exact, n_rows, original.height)
    if found is None and exact:  # sensitive values may have been changed
        found = _subsequence(columns, [], n_rows, original.height)
    if found is None and n_rows == original.height and _are_single_values(columns):
        return np.arange(n_rows)  # perturbed cells: nothing but the order says which is which
    return found


def _subsequence(
    columns: Sequence[Quasi], exact: Sequence[Sensitive], n_rows: int, n_originals: int
) -> IntArray | None:
    """Originals that the rows cover in the same order, by taking the first that fits; None where there are none."""
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


def _are_single_values(columns: Sequence[Quasi]) -> bool:
    """Whether no cell stands for several values, as in perturbed or averaged data."""
    return all(c.coverage is not None and bool((c.coverage.sizes() <= 1).all()) for c in columns)


def covers(columns: Sequence[Quasi], row_of: IntArray) -> bool:
    """Whether every cell covers its original."""
    return all(c.codes is not None and bool(_covered(c, c.labels, c.codes[row_of]).all()) for c in columns)
