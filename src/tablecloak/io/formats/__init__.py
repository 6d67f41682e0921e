"""Formats of files: each is one entry, registered as those of other packages are.

A format says which files are of it, how their layout is found out, and how rows are read and written, at once and in
batches. What is sniffed, read and written of any file goes through its entry; nobody else knows formats by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tablecloak.errors import DataError, did_you_mean
from tablecloak.registry import known, register

if TYPE_CHECKING:
    from tablecloak.io.sources import Layout, Source

# In the order in which messages list them; those of other packages follow.
_OURS = ("csv", "tsv", "parquet", "jsonl", "arrow", "xlsx", "sets", "sas7bdat", "sav", "dta")
_COMPRESSIONS = {"gz": "gz", "gzip": "gz", "zst": "zst", "zstd": "zst"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What is wanted from a file whose layout is known."""

    source: Source
    layout: Layout
    columns: list[str]
    categorical: Collection[str] = ()  # text columns that become Categorical
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values that text columns are expected to have
    is_sound: bool = False  # its rows were looked at before: all are as wide as the header


@dataclass(frozen=True, slots=True)
class Writing:
    """How a file is to be written."""

    delimiter: str | None = None
    compression: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How tables of one format are read and written."""

    name: str
    summary: str  # for users: which files these are, what can be done with them, what has to be installed
    sniff: Callable[[Source, str | None], Layout]  # the layout of a file, given its compression
    read: Callable[[Reading], pl.DataFrame]
    stream: Callable[[Reading, int], Iterator[pl.DataFrame]] | None = None  # batches of so many rows; None: not
    write: Callable[[pl.DataFrame, Path, Writing], None] | None = None  # None: such files are only read
    sink: Callable[[pl.LazyFrame, Path, Writing], None] | None = None  # None: only whole frames are written
    safe: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # what is done to every batch before it is written
    suffixes: tuple[str, ...] = ()  # how names of files may end beside `.name`, without the dot
    is_guessed: bool = False  # types are guessed from cells, so that one file may see less than all do
    is_compressed: bool = False  # files may be compressed as a whole, as .gz or .zst says
    is_table: bool = True  # it has named columns


def add_format(entry: Format) -> Format:
    """Register a format under its name."""
    return register("formats", entry.name)(entry)


def formats() -> tuple[Format, ...]:
    """All formats, those of other packages last."""
    entries = known("formats")
    return tuple(entries[name] for name in (*_OURS, *(name for name in entries if name not in _OURS)))


def format_called(name: str) -> Format:
    """The format of a name."""
    return next(entry for entry in formats() if entry.name == name)


def writable_formats() -> tuple[str, ...]:
    """Names of the formats that a table can be written in."""
    return tuple(entry.name for entry in formats() if entry.write and entry.is_table)


def format_and_compression(path: Path, format: str | None, compression: str | None) -> tuple[str, str | None]:  # noqa: A002
    """The format and compression of a file, by what is said or else by its name."""
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        compression = compression or _COMPRESSIONS[suffixes.pop()]
    name = (format or (suffixes[-1] if suffixes else "")).lower()
    names = [entry.name for entry in formats()]
    aliases = {suffix: entry.name for entry in formats() for suffix in entry.suffixes}
    name = aliases.get(name, name)
    if name in names:
        return name, _COMPRESSIONS.get(compression or "")
    shown = f"format '{format}'" if format else f"file type of '{path.name}'"
    nearest = did_you_mean(name, [*names, *aliases]) if name else None
    raise DataError(
        f"unknown {shown}", hint=f"{nearest or 'give a format'}; known formats: {', '.join(names)}", location=str(path)
    )
