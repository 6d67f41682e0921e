"""Cells that move to other rows: whole columns are read, and steps hold what every row gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows
from tablecloak.errors import DataError
from tablecloak.transforms.base import Fitting


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """A step that gives every row a cell that was chosen for it."""

    column: str
    cells: pl.Series  # by row number

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        if len(rows.numbers) and int(rows.numbers.max()) >= len(self.cells):
            raise DataError(
                f"column '{self.column}': cells were moved among {len(self.cells)} rows, and there are more"
            )
        return self.cells.gather(rows.numbers).cast(cells.dtype)


def moved(fitting: Fitting, cells: pl.Series, source_of: IntArray) -> Moved:
    """The step after which row i holds what row source_of[i] held."""
    return Moved(fitting.column, cells.gather(source_of))


def group_codes(frame: pl.DataFrame, n: int) -> IntArray:
    """(n,) numbers that are equal where n rows are, missing cells like any other value."""
    codes = np.zeros(n, np.int64)
    for column in frame:
        here = _dense(column)
        codes = _dense(pl.Series(codes * (int(here.max(initial=0)) + 1) + here))
    return codes


def _dense(cells: pl.Series) -> IntArray:
    return cells.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()


def rotated(rows: IntArray, groups: IntArray, words: FloatArray, n: int) -> IntArray:
    """(n,) sources: in every group, rows in random order get the cell of the next one, and the last that of the first.

    So every row of a group of two or more gets a cell of another row, any of the group as likely as the others.

    Args:
        rows: (m,) numbers of the rows that move.
        groups: (m,) of these rows.
        words: (m,) random ones.
    """
    source_of = np.arange(n)
    order = np.lexsort((words, groups))
    rows, groups = rows[order], groups[order]
    is_last = np.append(groups[1:] != groups[:-1], True)[: len(rows)]
    first = np.flatnonzero(np.append(True, is_last[:-1])[: len(rows)])  # where groups begin
    next_ = np.arange(1, len(rows) + 1)
    next_[is_last] = first
    source_of[rows] = rows[next_]
    return source_of
