"""Parquet."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from tablecloak.io.formats._typed import add_scanned_format, explained, typed_layout, unfolded_bytes
from tablecloak.io.sources import Layout, Source, truncated

damaged = partial(truncated, kind="Parquet")
scan = partial(pl.scan_parquet, glob=False)


def rows_of(path: Path) -> int:
    """How many rows a file has."""
    with explained(damaged, path):
        return int(scan(path).select(pl.len()).collect().item())


def _sniff(source: Source, _: str | None) -> Layout:
    n_rows, few = rows_of(source.path), scan(source.path).head(_FEW_ROWS)
    share = max(1.0, n_rows / _FEW_ROWS)
    layout = typed_layout("parquet", pl.read_parquet_schema(source.path), source, n_rows)
    return replace(layout, n_unfolded_bytes=int(share * unfolded_bytes(few, sys.maxsize)))


_FEW_ROWS = 10_000


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
