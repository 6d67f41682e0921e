"""Excel workbooks: the first sheet in, one sheet out."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tablecloak.errors import DataError
from tablecloak.io.extras import require_package

__all__ = ["read_excel", "write_excel"]

MOST_ROWS = 1_048_575  # below the header


def read_excel(path: Path) -> pl.DataFrame:
    """The first sheet of a workbook; its first row is the header."""
    require_package("fastexcel", extra="excel", purpose="reading Excel files")
    frame, is_damaged = pl.DataFrame(), False
    try:
        frame = pl.read_excel(path, engine="calamine", infer_schema_length=None)
    except Exception:  # the reader has its own errors, and their text may show a cell
        is_damaged = True
    if is_damaged:
        raise DataError(
            "not a readable Excel workbook",
            hint="save it again as .xlsx, with one table on the first sheet",
            location=str(path),
        )
    return frame


def write_excel(frame: pl.DataFrame, path: Path) -> None:
    """One sheet with a header; text stays text, whatever it begins with."""
    workbooks = require_package("xlsxwriter", extra="excel", purpose="writing Excel files")
    if frame.height > MOST_ROWS:
        raise DataError(
            f"{frame.height:,} rows do not fit an Excel sheet of {MOST_ROWS:,}",
            hint="write CSV or Parquet",
            location=str(path),
        )
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    text = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    with workbooks.Workbook(str(path), options) as workbook:
        text.write_excel(workbook, autofilter=False)
