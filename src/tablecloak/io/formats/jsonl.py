"""JSON lines: one flat object a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type
from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.formats._text import HEAD_ROWS
from tablecloak.io.formats._typed import batches_of, reader, typed_layout
from tablecloak.io.formats.delimited import PACKING
from tablecloak.io.sources import ColumnSchema, Layout, Source


def _invalid(path: Path) -> DataError:
    return DataError("not valid JSON lines", hint="every line must be one flat JSON object", location=str(path))


def _sniff(source: Source, compression: str | None) -> Layout:
    try:
        frame = pl.scan_ndjson(source.path, infer_schema_length=HEAD_ROWS).head(HEAD_ROWS).collect()
    except (pl.exceptions.PolarsError, OSError):
        raise _invalid(source.path) from None
    layout = typed_layout("jsonl", frame.schema, source.path, None)
    columns = tuple(_json_dates(column, frame) for column in layout.columns)
    return replace(layout, columns=columns, compression=compression)


def _json_dates(column: ColumnSchema, frame: pl.DataFrame) -> ColumnSchema:
    """JSON has no dates: text that is all ISO dates is one."""
    if column.type is not ColumnType.TEXT or not isinstance(frame[column.name].dtype, pl.String):
        return column
    type_ = infer_type(set(frame[column.name].drop_nulls().unique()) - {""})
    return replace(column, type=type_) if type_ in (ColumnType.DATE, ColumnType.DATETIME) else column


def _read(path: Path, columns: list[str]) -> pl.DataFrame:
    try:
        return pl.scan_ndjson(path, infer_schema_length=None).select(columns).collect()
    except (pl.exceptions.PolarsError, OSError):
        raise _invalid(path) from None


def _stream(reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    path = reading.source.path
    try:
        yield from batches_of(pl.scan_ndjson(path, infer_schema_length=None), reading, n_rows)
    except (pl.exceptions.PolarsError, OSError):
        raise _invalid(path) from None


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    _refuse_infinities(frame, path)
    frame.write_ndjson(path, compression=PACKING[how.compression], check_extension=False)


def _refuse_infinities(frame: pl.DataFrame, path: Path) -> None:
    names = [s.name for s in frame if s.dtype.is_float() and s.is_infinite().any()]
    if names:
        raise DataError(
            f"JSON has no infinite numbers, and column '{names[0]}' has some",
            hint="write CSV or Parquet",
            location=str(path),
        )


def _sink(rows: pl.LazyFrame, path: Path, how: Writing) -> None:
    del how
    rows.sink_ndjson(path)


add_format(
    Format(
        name="jsonl",
        summary="JSON lines, one flat object a line (.jsonl, .ndjson), also compressed (.gz, .zst).",
        suffixes=("ndjson",),
        sniff=_sniff,
        read=reader(_read),
        stream=_stream,
        write=_write,
        sink=_sink,
        is_guessed=True,
        is_compressed=True,
    )
)
