"""Parquet."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from tablecloak.io.formats._typed import add_scanned_format, explained, typed_layout
from tablecloak.io.sources import Layout, Source, truncated

damaged = partial(truncated, kind="Parquet")
scan = partial(pl.scan_parquet, glob=False)


def rows_of(path: Path) -> int:
    """How many rows a file has."""
    with explained(damaged, path):
        return int(scan(path).select(pl.len()).collect().item())


def _sniff(source: Source, _: str | None) -> Layout:
    return typed_layout("parquet", pl.read_parquet_schema(source.path), source.path, rows_of(source.path))


add_scanned_format(
    name="parquet",
    summary="Parquet files (.parquet, .pq).",
    suffixes=("pq",),
    damaged=damaged,
    sniff=_sniff,
    scan=scan,
    write=lambda frame, path, _: frame.write_parquet(path),
    sink=lambda rows, path: rows.sink_parquet(path),
)
