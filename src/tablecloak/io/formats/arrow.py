"""Arrow, also called Feather and IPC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.formats._typed import batches_of, reader, typed_layout
from tablecloak.io.sources import Layout, Source, truncated


def _sniff(source: Source, compression: str | None) -> Layout:
    del compression
    try:
        schema = pl.read_ipc_schema(source.path)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(source.path, "Arrow") from exc
    return typed_layout("arrow", schema, source.path, None)


def _read(path: Path, columns: list[str]) -> pl.DataFrame:
    try:
        return pl.read_ipc(path, columns=columns)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Arrow") from exc


def _stream(reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    path = reading.source.path
    try:
        yield from batches_of(pl.scan_ipc(path), reading, n_rows)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Arrow") from exc


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    del how
    frame.write_ipc(path)


def _sink(rows: pl.LazyFrame, path: Path, how: Writing) -> None:
    del how
    rows.sink_ipc(path)


add_format(
    Format(
        name="arrow",
        summary="Arrow files, also known as Feather (.arrow, .feather, .ipc).",
        suffixes=("feather", "ipc"),
        sniff=_sniff,
        read=reader(_read),
        stream=_stream,
        write=_write,
        sink=_sink,
    )
)
