"""Excel workbooks: the first sheet in; out, one with the table and one with its codebook."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from tablecloak.data.published_columns import codebook
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type
from tablecloak.io.extras import require_package
from tablecloak.io.formats import Format, Writing, add_format
from tablecloak.io.formats._text import HEAD_ROWS, is_header
from tablecloak.io.formats._typed import read_untold, reader, typed_layout
from tablecloak.io.sources import Layout, Source

MOST_ROWS = 1_048_575  # below the header


def _sniff(source: Source, compression: str | None) -> Layout:
    """Types are known only when all rows were read."""
    del compression
    frame = _read(source.path)
    if source.header is None:
        _refuse_record(frame, source)
    return typed_layout("xlsx", frame.schema, source.path, frame.height)


def _refuse_record(frame: pl.DataFrame, source: Source) -> None:
    """Refuse a sheet whose first row, which is read as the header, is a record."""
    head = frame.head(HEAD_ROWS)
    below = [{str(v) for v in head[name].drop_nulls().unique().to_list()} for name in head.columns]
    names = [name if not _made_twice(name) else "" for name in head.columns]
    if not is_header(names, below, [infer_type(cells) for cells in below], source):
        hint = "add a row with the names of the columns"
        raise DataError("the first row of the sheet is a record", hint=hint, location=source.location)


_made_twice = re.compile(r"__UNNAMED__\d+").fullmatch


def _read(path: Path) -> pl.DataFrame:
    """The first sheet of a workbook; its first row is the header."""
    require_package("fastexcel", extra="excel", purpose="reading Excel files")
    hint = "save it again as .xlsx, with one table on the first sheet"
    damaged = DataError("not a readable Excel workbook", hint=hint, location=str(path))
    return read_untold(lambda: pl.read_excel(path, engine="calamine", infer_schema_length=None), damaged)


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    """A sheet with a header, and a codebook of it; text stays text, whatever it begins with."""
    del how
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
        codebook(text).head(MOST_ROWS).write_excel(workbook, "codebook", autofilter=False, autofit=True)


add_format(
    Format(
        name="xlsx",
        summary="The first sheet of an Excel workbook (.xlsx); written with a codebook; needs tablecloak[excel].",
        sniff=_sniff,
        read=reader(lambda path, columns: _read(path).select(columns)),
        write=_write,
        is_guessed=True,
    )
)
