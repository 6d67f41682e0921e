"""How a table comes in: bombs are refused, databases and images become files, the sample is written."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

from tablecloak.dicom import read_images
from tablecloak.errors import CloakError, DataError, did_you_mean
from tablecloak.io.atomic import writing
from tablecloak.io.database import read_table
from tablecloak.io.formats import format_and_compression
from tablecloak.io.formats._typed import unfolded_bytes
from tablecloak.io.places import DatabaseTable
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.progress import Progress
from tablecloak.server.tables import nameless, with_header
from tablecloak.values.amounts import show_size


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What a file may unpack to."""

    n_bytes: int
    n_cells: int


@dataclass(frozen=True, slots=True)
class FileToCheck:
    """A file that came in."""

    path: Path
    limits: UploadLimits


def check_file(request: FileToCheck, _progress: Progress) -> None:
    """Refuse bombs and files that cannot be read at all."""
    path = request.path
    refuse_bombs(path, request.limits)
    try:
        sniff(with_header(Source(path)))
    except CloakError as error:
        for other in (Source(path, repair=True), Source(path, format="sets")):
            with contextlib.suppress(CloakError):
                sniff(other)
                return
        raise nameless(error, Source(path)) from None


CHUNK = 1 << 20
HINT = "unpack it yourself, or start a server with a higher --upload-limit, of which tables may take four times as much"


def refuse_bombs(path: Path, limits: UploadLimits) -> None:
    """DataError if a file would unpack to more bytes or cells than allowed.

    Sizes that a file claims are not trusted where they can be counted: compressed text is unpacked, chunk by chunk.
    """
    kind, compression = format_and_compression(path, None, None)
    with path.open("rb") as file:
        start = file.read(4)
    try:
        if compression == "gz" or start.startswith(b"\x1f\x8b"):
            with gzip.open(path) as file:
                _count_bytes([file], limits.n_bytes)
        elif kind == "xlsx" or start.startswith(b"PK\x03\x04"):
            _count_bytes(_unpacked(path), limits.n_bytes)
        elif kind == "parquet":
            _count_cells(pl.scan_parquet(path, glob=False), limits)
        elif kind == "arrow":
            _count_cells(pl.scan_ipc(path), limits)
    except CloakError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, lzma.LZMAError, pl.exceptions.PolarsError):
        raise DataError("the file is damaged or not what its name says", hint="check how it was exported") from None


def _unpacked(source: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(source) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                with archive.open(entry) as file:
                    yield file


def _count_bytes(files: Iterable[IO[bytes] | gzip.GzipFile], limit: int) -> None:
    n_bytes = 0
    for file in files:
        while chunk := file.read(CHUNK):
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise DataError("the file unpacks to more than is allowed", hint=HINT)


def _count_cells(frame: pl.LazyFrame, limits: UploadLimits) -> None:
    n_columns = max(1, len(frame.collect_schema()))
    n_rows = int(frame.select(pl.len()).collect().item())
    if n_rows * n_columns > limits.n_cells:
        raise DataError(
            f"the table has {n_rows:,} rows and {n_columns:,} columns, more than the {limits.n_cells:,} cells that are "
            "allowed",
            hint=HINT,
        )
    if unfolded_bytes(frame, limits.n_bytes) > limits.n_bytes:
        raise DataError(
            f"the cells of the table take more than the {show_size(limits.n_bytes)} that are allowed, once all are "
            "written out",
            hint=HINT,
        )


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """A table or view of an SQLite file; without a name, its only one."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class TableToCopy:
    """A table of a database and the file it becomes."""

    table: DatabaseTable | SqliteTable
    target: Path
    most_cells: int


def copy_table(request: TableToCopy, _progress: Progress) -> None:
    """Copy a table of a database into a file."""
    table, most = request.table, request.most_cells
    if isinstance(table, SqliteTable):
        frame = read_database(table.path, table.name, most_cells=most)
    else:
        frame = read_server(table, most_cells=most)
    write_frame(frame, request.target)


@dataclass(frozen=True, slots=True)
class SampleToWrite:
    """Where made-up patients go, or shopping baskets."""

    folder: Path
    of_sets: bool = False


def write_sample(request: SampleToWrite, _progress: Progress) -> str:
    """Made-up patients, or shopping baskets, with their hierarchies; returns the policy that comes with them."""
    from tablecloak.sample import write_baskets, write_patients

    write = write_baskets if request.of_sets else write_patients
    return write(request.folder).read_text(encoding="utf-8")


ROWS_AT_ONCE = 100_000


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
    rows = connection.execute("select name from sqlite_master where type in ('table', 'view') order by name")
    return [name for (name,) in rows if not name.startswith("sqlite_")]


def _read(connection: sqlite3.Connection, table: str, most_cells: int) -> pl.DataFrame:
    quoted = '"' + table.replace('"', '""') + '"'
    cursor = connection.execute(f"select * from {quoted}")
    names = [column[0] for column in cursor.description]
    parts: list[pl.DataFrame] = []
    n_rows = 0
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
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


FOLDER, TABLE = "images", "images.parquet"
MOST_IMAGES = 200_000
TOO_MUCH = "the images are more than is allowed"
# What reading raises: a zip that is cut off, none at all, has a password or is packed in an unknown way (both are a
# RuntimeError); a file that may not be read.
DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile)


def is_image_table(path: Path) -> bool:
    """Whether a table was made of images, which lie beside it."""
    return path.name == TABLE and (path.parent / FOLDER).is_dir()


@dataclass(frozen=True, slots=True)
class ImagesToCopy:
    """A zip or a folder of images, and the file of the table that their metadata becomes."""

    source: Path
    table: Path
    limit_bytes: int


def copy_images(request: ImagesToCopy, progress: Progress) -> None:
    """Copy images out of a zip or a folder, under numbers instead of names, and write the table of their metadata."""
    source, path = request.source, request.table
    folder = path.parent / FOLDER
    folder.mkdir(mode=0o700)
    is_zip = source.is_file()
    try:
        _copy(_unpacked(source) if is_zip else _files_in(source), folder, request.limit_bytes)
    except DAMAGED:
        if is_zip:
            hint = "zip the folder of images again, without a password"
            raise DataError("the zip is damaged or locked", hint=hint) from None
        raise DataError("a file of the folder cannot be read", hint="look at who may read it") from None
    write_frame(read_images(folder, progress=progress).frame, path)


def _files_in(source: Path) -> Iterator[IO[bytes]]:
    root = source.resolve()
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(root):  # a link may lead anywhere
            with path.open("rb") as file:
                yield file


def _copy(files: Iterator[IO[bytes]], folder: Path, limit: int) -> None:
    n_bytes = 0
    for number, file in enumerate(files):
        if number >= MOST_IMAGES:
            raise DataError(TOO_MUCH, hint=f"at most {MOST_IMAGES:,} files")
        place = folder / f"{number:06d}"
        with writing(place):  # a full disk is no damaged zip
            target = place.open("xb")
        with target:
            while chunk := file.read(CHUNK):
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise DataError(TOO_MUCH, hint="tablecloak serve --upload-limit")
                with writing(place):
                    target.write(chunk)
                    target.flush()
