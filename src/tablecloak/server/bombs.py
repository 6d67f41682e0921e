"""Bombs: small files that unpack to enormous tables. They are refused before anything reads them whole."""

from __future__ import annotations

import gzip
import lzma
import zipfile
import zlib
from pathlib import Path

import polars as pl

from tablecloak.errors import CloakError, DataError
from tablecloak.io.sources import format_and_compression

__all__ = ["refuse_bombs"]

CHUNK = 1 << 20
HINT = "unpack it yourself, or ask for a higher limit: tablecloak serve --upload-limit"


def refuse_bombs(path: Path, *, limit_bytes: int, most_cells: int) -> None:
    """DataError if a file would unpack to more bytes or cells than allowed.

    Sizes that a file claims are not trusted where they can be counted: compressed text is unpacked, chunk by chunk.
    """
    kind, compression = format_and_compression(path, None, None)
    start = path.read_bytes()[:4] if path.stat().st_size < CHUNK else _start(path)
    try:
        if compression == "gz" or start.startswith(b"\x1f\x8b"):
            _count_gzip(path, limit_bytes)
        elif kind == "xlsx" or start.startswith(b"PK\x03\x04"):
            _count_zip(path, limit_bytes)
        elif kind == "parquet":
            _count_cells(pl.scan_parquet(path, glob=False), most_cells)
        elif kind == "arrow":
            _count_cells(pl.scan_ipc(path), most_cells)
    except CloakError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, lzma.LZMAError, pl.exceptions.PolarsError):
        raise DataError("the file is damaged or not what its name says", hint="check how it was exported") from None


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _count_gzip(path: Path, limit: int) -> None:
    n_bytes = 0
    with gzip.open(path) as file:
        while chunk := file.read(CHUNK):
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise DataError("the file unpacks to more than is allowed", hint=HINT)


def _count_zip(path: Path, limit: int) -> None:
    n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                while chunk := file.read(CHUNK):
                    n_bytes += len(chunk)
                    if n_bytes > limit:
                        raise DataError("the file unpacks to more than is allowed", hint=HINT)


def _count_cells(frame: pl.LazyFrame, most: int) -> None:
    n_columns = max(1, len(frame.collect_schema()))
    n_rows = int(frame.select(pl.len()).collect().item())
    if n_rows * n_columns > most:
        raise DataError(f"the table has {n_rows:,} rows and {n_columns:,} columns, more than is allowed", hint=HINT)
