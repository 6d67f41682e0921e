"""Files of SAS, SPSS and Stata."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tablecloak.errors import DataError
from tablecloak.io.extras import require_package

__all__ = ["READERS", "read_stats_file"]

# By format, the function of pyreadstat that reads it.
READERS = {"sas7bdat": "read_sas7bdat", "sav": "read_sav", "dta": "read_dta"}


def read_stats_file(path: Path, kind: str) -> pl.DataFrame:
    """The table of a file: codes as they are stored, not their labels; whole numbers as integers.

    These formats store every number as a decimal, so a column of whole numbers is read as what it means.
    """
    pyreadstat = require_package("pyreadstat", extra="stats-files", purpose=f"reading .{kind} files")
    frame, is_damaged = pl.DataFrame(), False
    try:
        frame, _ = getattr(pyreadstat, READERS[kind])(str(path), output_format="polars")
    except Exception:  # the reader has its own errors, and their text may show a cell
        is_damaged = True
    if is_damaged:
        raise DataError(f"not a readable .{kind} file", hint="export it again", location=str(path))
    return frame.with_columns(_whole(series) for series in frame)


def _whole(series: pl.Series) -> pl.Series:
    if not series.dtype.is_float():
        return series
    numbers = series.fill_nan(None)
    present = numbers.drop_nulls()
    is_whole = (
        len(present) and present.is_finite().all() and ((present == present.round()) & (present.abs() < 2**53)).all()
    )
    return numbers.cast(pl.Int64) if is_whole else numbers
