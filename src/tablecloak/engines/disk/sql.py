"""DuckDB as a counter of packed keys: a hard memory limit, and a folder to spill to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.errors import EngineError
from tablecloak.kernels.packed_codes import Keys

LEAST_MEMORY = 64_000_000


class KeyCounter:
    """Counts equal keys, which are added in batches and may be more than memory holds."""

    def __init__(self, folder: Path, n_words: int, *, memory: int, threads: int) -> None:
        self._path = folder / "counter.duckdb"
        self._words = [f"w{i}" for i in range(n_words)]
        with failing("opening the counter", folder):
            self._connection = open_database(self._path, memory=memory, threads=threads)
            self._run(f"CREATE TABLE keys ({', '.join(f'{w} UBIGINT' for w in self._words)})")

    def _run(self, statement: str) -> Any:
        return self._connection.execute(statement)

    def add(self, keys: Keys) -> None:
        """Add rows, (n_words, n)."""
        frame = pl.DataFrame({w: np.ascontiguousarray(row) for w, row in zip(self._words, keys, strict=True)})
        with failing("storing keys", self._path.parent):
            self._connection.register("batch", frame)
            self._run("INSERT INTO keys SELECT * FROM batch")
            self._connection.unregister("batch")

    def counts(self) -> tuple[Keys, IntArray]:
        """Different keys in ascending order, with how often each occurs."""
        words = ", ".join(self._words)
        query = f"SELECT {words}, count(*)::BIGINT AS n FROM keys GROUP BY {words} ORDER BY {words}"
        with failing("counting keys", self._path.parent):
            columns = self._connection.sql(query).fetchnumpy()
        return np.stack([np.asarray(columns[w]) for w in self._words]), np.asarray(columns["n"], np.int64)

    def close(self) -> None:
        """Remove what was stored."""
        self._connection.close()
        remove_database(self._path)


def open_database(path: Path, *, memory: int, threads: int) -> Any:
    """A new database that spills to the folder it lies in; what a killed run left under its name is removed."""
    import duckdb

    remove_database(path)
    connection = duckdb.connect(str(path))
    connection.execute(f"SET memory_limit = '{max(memory, LEAST_MEMORY) // 1_000_000}MB'")
    connection.execute(f"SET threads = {threads}")
    connection.execute(f"SET temp_directory = '{str(path.parent).replace(chr(39), chr(39) * 2)}'")
    connection.execute("SET preserve_insertion_order = false")
    return connection


def remove_database(path: Path) -> None:
    """Remove the files of a database that is closed."""
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)


@contextmanager
def failing(step: str, folder: Path) -> Iterator[None]:
    """Say which step failed and why, without any value."""
    import duckdb

    try:
        yield
    except duckdb.Error as exc:
        reason = str(exc)
        is_full = "No space left" in reason or "could not write" in reason.lower() or "max_temp_directory" in reason
        if is_full:
            raise EngineError(
                f"{step} failed: the spill folder is full",
                hint="free some space, or name another folder with --spill",
                location=str(folder),
            ) from None
        if isinstance(exc, duckdb.OutOfMemoryException):
            raise EngineError(f"{step} failed: it needs more memory", hint="raise --memory") from None
        raise EngineError(f"{step} failed in DuckDB ({type(exc).__name__})", location=str(folder)) from None
