"""Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.formats._typed import batches_of, reader, typed_layout
from tablecloak.io.sources import Layout, Source, truncated


def rows_of(path: Path) -> int:
    """How many rows a file has."""
    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Parquet") from exc


def _sniff(source: Source, compression: str | None) -> Layout:
    del compression
    try:
        schema = pl.read_parquet_schema(source.path)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(source.path, "Parquet") from exc
    return typed_layout("parquet", schema, source.path, rows_of(source.path))


def _read(path: Path, columns: list[str]) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, columns=columns, glob=False)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Parquet") from exc


def _stream(reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    path = reading.source.path
    try:
        yield from batches_of(pl.scan_parquet(path, glob=False), reading, n_rows)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Parquet") from exc


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    del how
    frame.write_parquet(path)


def _sink(rows: pl.LazyFrame, path: Path, how: Writing) -> None:
    del how
    rows.sink_parquet(path)


add_format(
    Format(
        name="parquet",
        summary="Parquet files (.parquet, .pq).",
        suffixes=("pq",),
        sniff=_sniff,
        read=reader(_read),
        stream=_stream,
        write=_write,
        sink=_sink,
    )
)
