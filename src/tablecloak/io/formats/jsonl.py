"""JSON lines: one flat object a line."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type
from tablecloak.io.formats import Writing
from tablecloak.io.formats._text import HEAD_ROWS
from tablecloak.io.formats._typed import add_scanned_format, typed_layout
from tablecloak.io.formats.delimited import PACKING
from tablecloak.io.sources import ColumnSchema, Layout, Source


def _invalid(path: Path) -> DataError:
    return DataError("not valid JSON lines", hint="every line must be one flat JSON object", location=str(path))


def _sniff(source: Source, compression: str | None) -> Layout:
    frame = pl.scan_ndjson(source.path, infer_schema_length=HEAD_ROWS).head(HEAD_ROWS).collect()
    layout = typed_layout("jsonl", frame.schema, source, None)
    columns = tuple(_json_dates(column, frame) for column in layout.columns)
    return replace(layout, columns=columns, compression=compression)


def _json_dates(column: ColumnSchema, frame: pl.DataFrame) -> ColumnSchema:
    """JSON has no dates: text that is all ISO dates is one."""
    if column.type is not ColumnType.TEXT or not isinstance(frame[column.key].dtype, pl.String):
        return column
    type_ = infer_type(set(frame[column.key].drop_nulls().unique()) - {""})
    return replace(column, type=type_) if type_ in (ColumnType.DATE, ColumnType.DATETIME) else column


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    names = [s.name for s in frame if s.dtype.is_float() and s.is_infinite().any()]
    if names:
        raise DataError(
            f"JSON has no infinite numbers, and column '{names[0]}' has some",
            hint="write CSV or Parquet",
            location=str(path),
        )
    frame.write_ndjson(path, compression=PACKING[how.compression], check_extension=False)


add_scanned_format(
    name="jsonl",
    summary="JSON lines, one flat object a line (.jsonl, .ndjson), also compressed (.gz, .zst).",
    suffixes=("ndjson",),
    damaged=_invalid,
    sniff=_sniff,
    scan=partial(pl.scan_ndjson, infer_schema_length=None),
    write=_write,
    sink=lambda rows, path: rows.sink_ndjson(path),
    is_guessed=True,
    is_compressed=True,
)
