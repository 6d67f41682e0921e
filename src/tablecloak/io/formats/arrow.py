"""Arrow, also called Feather and IPC."""

from __future__ import annotations

from functools import partial

import polars as pl

from tablecloak.io.formats._typed import add_scanned_format, typed_layout
from tablecloak.io.sources import truncated

add_scanned_format(
    name="arrow",
    summary="Arrow files, also known as Feather (.arrow, .feather, .ipc).",
    suffixes=("feather", "ipc"),
    damaged=partial(truncated, kind="Arrow"),
    sniff=lambda source, _: typed_layout("arrow", pl.read_ipc_schema(source.path), source, None),
    scan=partial(pl.scan_ipc, glob=False),
    write=lambda frame, path, _: frame.write_ipc(path),
    sink=lambda rows, path: rows.sink_ipc(path),
)
