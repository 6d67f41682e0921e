"""Tables of databases: SQLite files, which need nothing else, and PostgreSQL servers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl

from tablecloak.errors import DataError, did_you_mean
from tablecloak.io.database import read_table
from tablecloak.io.places import DatabaseTable
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame

__all__ = ["read_database", "read_server", "split_uri"]

CHUNK = 100_000


def split_uri(uri: str) -> tuple[Path, str]:
    """File and table of `sqlite:///folder/file.db#table`."""
    path, _, table = uri.partition("://")[2].partition("#")
    return Path(path), table


def read_server(table: DatabaseTable, *, most_cells: int) -> pl.DataFrame:
    """A table of a PostgreSQL server; its rows are counted before they are taken."""
    source = Source.of(table)
    layout = sniff(source)
    n_rows = 0
    for batch in read_table(table, layout, layout.names[:1]):
        n_rows += batch.height
        _refuse_more(n_rows * len(layout.names), most_cells)
    return read_frame(source)


def read_database(path: Path, table: str, *, most_cells: int) -> pl.DataFrame:
    """A table or view of an SQLite file, opened for reading only."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        names = _tables(connection)
        if not table and len(names) == 1:
            table = names[0]
        if table not in names:
            hint = did_you_mean(table, names) or f"it has: {', '.join(names[:20])}"
            raise DataError(f"the database has no table '{table}'", hint=hint)
        return _read(connection, table, most_cells)
    except sqlite3.DatabaseError:
        raise DataError("this is not an SQLite database", hint="check the path") from None
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("select name from sqlite_master where type in ('table', 'view') order by name")
    return [name for (name,) in found if not name.startswith("sqlite_")]


def _read(connection: sqlite3.Connection, table: str, most_cells: int) -> pl.DataFrame:
    quoted = '"' + table.replace('"', '""') + '"'
    cursor = connection.execute(f"select * from {quoted}")
    names = [column[0] for column in cursor.description]
    parts: list[pl.DataFrame] = []
    n_rows = 0
    while rows := cursor.fetchmany(CHUNK):
        n_rows += len(rows)
        _refuse_more(n_rows * len(names), most_cells)
        columns = {name: [_plain(row[i]) for row in rows] for i, name in enumerate(names)}
        parts.append(pl.DataFrame(columns, strict=False))
    return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame({name: [] for name in names})


def _refuse_more(n_cells: int, most: int) -> None:
    if n_cells > most:
        raise DataError("the table has more cells than is allowed", hint="export a part of it")


def _plain(value: object) -> object:
    return None if isinstance(value, bytes) else value
