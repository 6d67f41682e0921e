"""Digests of tables in databases: what a certificate vouches for where there is no file."""

from __future__ import annotations

import hashlib
import json

import polars as pl

from tablecloak.io.database import read_table
from tablecloak.io.delimited import typed
from tablecloak.io.frames import normalize
from tablecloak.io.places import DatabaseTable
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source

__all__ = ["digest_of_table"]


def digest_of_table(table: DatabaseTable) -> str | None:
    """SHA-256 of a table as hexadecimal text: of its columns, and of its rows whatever their order.

    Rows are hashed one by one and their hashes added up, because a database may return them in another order each time.
    None: only Spark can reach the table.
    """
    if table.scheme == "spark":
        return None
    source = Source.of(table)
    layout = sniff(source)
    columns = {name: layout.type_of(name).value for name in layout.names}
    n_rows = total = 0
    for batch in read_table(table, layout, list(columns)):
        for text in _texts(normalize(typed(batch, source, layout))):
            total += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        n_rows += batch.height
    about = {"columns": columns, "rows": n_rows, "sum": total % 2**256}
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def _texts(frame: pl.DataFrame) -> list[str]:
    """Every row as one text: cells with their length, so that no two rows share it."""
    cells = [pl.col(name).cast(pl.String) for name in frame.columns]
    marked = [pl.concat_str(cell.str.len_bytes(), pl.lit(":"), cell).fill_null("-") for cell in cells]
    return frame.select(pl.concat_str(marked).alias("text"))["text"].to_list() if frame.width else []
