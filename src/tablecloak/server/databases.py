"""Tables of SQLite databases; other databases need drivers that tablecloak does not bring."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl

from tablecloak.errors import DataError, MissingExtra, did_you_mean

__all__ = ["read_database", "split_uri"]

CHUNK = 100_000


def split_uri(uri: str) -> tuple[Path, str]:
    """File and table of `sqlite:///folder/file.db#table`."""
    scheme, _, rest = uri.partition("://")
    if scheme != "sqlite":
        raise MissingExtra(
            f"'{scheme}' databases cannot be read here",
            hint="export the table as Parquet or CSV, or use sqlite:///FILE#TABLE",
        )
    path, _, table = rest.partition("#")
    return Path(path), table


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
        if n_rows * len(names) > most_cells:
            raise DataError("the table has more cells than is allowed", hint="export a part of it")
        columns = {name: [_plain(row[i]) for row in rows] for i, name in enumerate(names)}
        parts.append(pl.DataFrame(columns, strict=False))
    return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame({name: [] for name in names})


def _plain(value: object) -> object:
    return None if isinstance(value, bytes) else value
