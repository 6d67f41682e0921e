"""Where a table comes from, and what its file looks like."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, did_you_mean
from tablecloak.io.places import DatabaseTable, Place, named

__all__ = ["FORMATS", "WRITABLE", "ColumnSchema", "Layout", "Source", "check_readable", "format_and_compression"]

WRITABLE = ("csv", "tsv", "parquet", "jsonl", "arrow", "xlsx")
FORMATS = (*WRITABLE, "sets", "sas7bdat", "sav", "dta")
_ALIASES = {"ndjson": "jsonl", "feather": "arrow", "ipc": "arrow", "txt": "csv", "tab": "tsv", "pq": "parquet"}
_COMPRESSIONS = {"gz": "gz", "gzip": "gz", "zst": "zst", "zstd": "zst"}


@dataclass(frozen=True)
class Source:
    """A file, folder, pattern or table of a database, and what the user says about it; None means: find out."""

    path: Path  # of a table in a database: only what messages call it
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    compression: str | None = None
    quote: str = '"'
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)
    table: DatabaseTable | None = None
    expected: frozenset[str] = frozenset()  # columns that somebody counts on, which tell a header from a record

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", named(Path(self.path)))

    @classmethod
    def of(cls, place: Place, **said: Any) -> Source:
        """The source at a place."""
        if isinstance(place, DatabaseTable):
            return cls(Path(place.name), table=place, **said)
        return cls(place, **said)

    @property
    def location(self) -> str:
        """What messages call it."""
        return str(self.path if self.table is None else self.table)

    @property
    def is_on_spark(self) -> bool:
        """Whether only Spark can reach it."""
        return self.table is not None and self.table.scheme == "spark"

    def declared_type(self, column: str) -> ColumnType | None:
        """The type the user gave a column, also through a date format."""
        if column in self.types:
            return ColumnType(self.types[column])
        if column in self.date_formats:
            return ColumnType.DATETIME if "%H" in self.date_formats[column] else ColumnType.DATE
        return None


@dataclass(frozen=True)
class ColumnSchema:
    """A column's name and type."""

    name: str
    type: ColumnType
    is_empty: bool = False  # no cell was seen, so that the type says nothing
    is_folder: bool = False  # named by the folders that the files lie in


@dataclass(frozen=True)
class Layout:
    """How a file is written and which columns it has."""

    format: str
    columns: tuple[ColumnSchema, ...]
    n_bytes: int
    delimiter: str = ","
    encoding: str = "utf-8"
    header: bool = True
    compression: str | None = None
    eol: str = "\n"
    n_rows_hint: int | None = None  # an estimate from the sample, exact only for small files and Parquet

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names in file order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def types(self) -> dict[str, ColumnType]:
        """The type of each column by name."""
        return {column.name: column.type for column in self.columns}

    def type_of(self, name: str) -> ColumnType:
        """The type of a column by name."""
        return self.types[name]

    def column(self, name: str) -> ColumnSchema:
        """A column by name."""
        return self.columns[self.names.index(name)]


def format_and_compression(path: Path, format: str | None, compression: str | None) -> tuple[str, str | None]:  # noqa: A002
    """The format and compression of a file, by what is said or else by its name."""
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        compression = compression or _COMPRESSIONS[suffixes.pop()]
    name = (format or (suffixes[-1] if suffixes else "")).lower()
    name = _ALIASES.get(name, name)
    if name in FORMATS:
        return name, _COMPRESSIONS.get(compression or "")
    shown = f"format '{format}'" if format else f"file type of '{path.name}'"
    nearest = did_you_mean(name, [*FORMATS, *_ALIASES]) if name else None
    raise DataError(
        f"unknown {shown}",
        hint=f"{nearest or 'give a format'}; known formats: {', '.join(FORMATS)}",
        location=str(path),
    )


def check_readable(path: Path) -> None:
    """Raise unless the path is a readable file that is not empty."""
    if not path.exists():
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(
            "file not found", hint=did_you_mean(path.name, siblings) or "check the path", location=str(path)
        )
    if path.is_dir():
        raise DataError("is a folder, not a file", hint="name one file in it", location=str(path))
    if not os.access(path, os.R_OK):
        raise DataError("permission denied", hint="ask its owner for read access", location=str(path))
    if path.stat().st_size == 0:
        raise DataError("the file is empty", hint="check how it was exported", location=str(path))
