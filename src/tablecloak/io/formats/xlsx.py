"""Excel workbooks: the first sheet in; out, one with the table and one with its codebook."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.data.published_columns import codebook
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type
from tablecloak.io.extras import require_package
from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.formats._text import HEAD_ROWS, header_of
from tablecloak.io.formats._typed import read_untold, reader, typed_layout
from tablecloak.io.header import Header, left_out_above
from tablecloak.io.sources import Layout, Source
from tablecloak.values.cell_grammar import format_value

MOST_ROWS = 1_048_575  # below the header


@dataclass(frozen=True)
class _SheetTop:
    """The first rows of a sheet."""

    first: tuple[str, ...]  # cells of the row that may be the header
    at: int  # which row of the sheet that is, from 0
    n_above: int  # rows above it that hold something


def _sniff(source: Source, compression: str | None) -> Layout:
    """Types are known only when all rows were read."""
    del compression
    top = _top_of(source)
    sheet = _sheet(source.path, top.at, has_names=True)
    # A column without a name and without a cell is none.
    chosen = [i for i, (name, cells) in enumerate(zip(top.first, sheet, strict=True)) if name or cells.count()]
    first, body = [top.first[i] for i in chosen], sheet[:, chosen]
    below = [_texts(cells) for cells in body.head(HEAD_ROWS)]
    header = header_of(first, below, [infer_type(texts) for texts in below], source)
    if not header.is_there:
        body = _sheet(source.path, top.at, has_names=False)[:, chosen]
    named = Header(header.names, (*left_out_above(top.n_above, "row"), *header.repairs))
    layout = typed_layout("xlsx", body.schema, source, body.height, named)
    return replace(layout, header=header.is_there, skip=top.at)


def _texts(cells: pl.Series) -> set[str]:
    return {text for value in cells.unique().to_list() if (text := format_value(value))}


def _top_of(source: Source) -> _SheetTop:
    """The first row that holds something; in repairs, titles are left out: rows of one cell above wider ones."""
    options = {"skip_rows": 0, "n_rows": HEAD_ROWS, "dtypes": "string"}
    head = _read(source.path, has_header=False, drop_empty_rows=False, read_options=options)
    filled = [(at, row, sum(cell is not None for cell in row)) for at, row in enumerate(head.iter_rows()) if any(row)]
    if not filled:
        raise DataError("the first sheet is empty", hint="put the table on the first sheet", location=source.location)
    is_wide = source.repair and any(n_cells > 1 for _, _, n_cells in filled)
    n_above = next(number for number, (_, _, n_cells) in enumerate(filled) if n_cells > 1 or not is_wide)
    at, row, _ = filled[n_above]
    return _SheetTop(tuple((cell or "").removesuffix(" 00:00:00") for cell in row), at, n_above)


def _sheet(path: Path, at: int, *, has_names: bool) -> pl.DataFrame:
    """The rows from one on, which has the names or is the first record; columns as many as the sheet has."""
    return _read(path, has_header=has_names, read_options={"header_row" if has_names else "skip_rows": at})


def _read(path: Path, **how: Any) -> pl.DataFrame:
    """The first sheet of a workbook."""
    require_package("fastexcel", extra="excel", purpose="reading Excel files")
    hint = "save it again as .xlsx, with one table on the first sheet"
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of columns without a cell
    damaged = DataError("not a readable Excel workbook", hint=hint, location=str(path))
    return read_untold(
        lambda: pl.read_excel(path, engine="calamine", infer_schema_length=None, drop_empty_cols=False, **how), damaged
    )


def _read_columns(reading: Reading) -> pl.DataFrame:
    layout = reading.layout
    sheet = _sheet(reading.source.path, layout.skip, has_names=layout.header)
    return sheet.select(layout.chosen(reading.columns))


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
        read=reader(_read_columns),
        write=_write,
        is_guessed=True,
    )
)
