"""Where a table comes from, and what its file looks like."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, did_you_mean
from tablecloak.io.frames import FrameKind, column_type, from_frame, kind_of_frame
from tablecloak.io.header import Repair
from tablecloak.io.notation import Notation, Question, Written
from tablecloak.io.places import DatabaseTable, named, place_of
from tablecloak.io.private import spooled

FRAME = "the table"  # what messages call a frame


def is_place(data: Any) -> bool:
    """Whether something names a file, a folder, a pattern or a table of a database, instead of holding rows."""
    return isinstance(data, (str, os.PathLike, DatabaseTable)) or (isinstance(data, Source) and not data.is_frame)


class HeaderUnclear(DataError):  # noqa: N818 - a question, not a fault
    """Whether a file has a header has to be said by somebody who knows it."""


class Openings:
    """What was seen when the files of a source were opened: each is looked into once, however often it is read.

    Sources that differ in what is said about columns share it, because `replace` hands it on.
    """

    def __init__(self) -> None:
        self._layouts: dict[Hashable, tuple[frozenset[str], Layout]] = {}
        self._written: dict[Hashable, dict[str, Written]] = {}
        self._canonical: dict[Hashable, set[str]] = {}

    def layout(self, source: Source, sniff: Callable[[Source], Layout]) -> Layout:
        """The layout as the file or table itself has it; found out again if the file changed.

        So it is if there are names that nobody knew of, which may tell that a header is one.
        """
        key = identity_of(source)
        columns, layout = self._layouts.get(key, (frozenset[str](), None))
        if layout is None or not source.named_columns <= columns | set(layout.names):
            layout = sniff(source)
            self._layouts[key] = (source.named_columns, layout)
        return layout

    def written(
        self, identity: Hashable, columns: Collection[str], decide: Callable[[list[str]], Mapping[str, Written]]
    ) -> Mapping[str, Written]:
        """How columns are written; each is looked through once."""
        known = self._written.setdefault(identity, {})
        if unknown := [name for name in columns if name not in known]:
            known.update(decide(unknown))
        return known

    def add_canonical(self, source: Source, columns: Iterable[str]) -> None:
        """Remember columns of which all cells were seen, each written as the whole number it is by itself."""
        self._canonical.setdefault(identity_of(source), set()).update(columns)

    def canonical(self, source: Source) -> Collection[str]:
        """Columns that are known to be written so."""
        return self._canonical.get(identity_of(source), ())


@dataclass(frozen=True)
class Source:
    """Where a table comes from, and what the user says about it; None means: find out.

    It is a file, a folder or a pattern of files, a table of a database, or a frame in memory, which is as it is:
    nothing has to be found out about it.
    """

    path: Path  # of a table in a database and of a frame: only what messages call it
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    compression: str | None = None
    quote: str = '"'
    repair: bool = False  # a header that is missing or spoilt gets names
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    notations: Mapping[str, Notation] = field(default_factory=dict)  # how columns are written
    as_written: frozenset[str] = frozenset()  # columns of which no notation is looked for
    is_settled: bool = False  # nor of any other: what is said is all
    table: DatabaseTable | None = None
    expected: frozenset[str] = frozenset()  # columns that somebody counts on, which tell a header from a record
    frame: pl.DataFrame | None = field(default=None, compare=False, repr=False)
    kind: FrameKind = field(default=FrameKind(), compare=False, repr=False)  # whose frame it is
    openings: Openings = field(default_factory=Openings, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", named(Path(self.path)))

    @classmethod
    def of(cls, data: Any, **about: Any) -> Source:
        """The one door: a place or its name, a frame of any library, or a source, with what is said about it."""
        if isinstance(data, Source):
            return replace(data, **about)
        if isinstance(data, (str, os.PathLike, DatabaseTable)):
            place = place_of(Path(data) if isinstance(data, os.PathLike) else data)
            return (
                cls(Path(place.name), table=place, **about) if isinstance(place, DatabaseTable) else cls(place, **about)
            )
        return cls(Path(FRAME), frame=from_frame(data), kind=kind_of_frame(data), **about)

    @classmethod
    def in_memory(cls, frame: pl.DataFrame) -> Source:
        """A frame of ours as it is."""
        return cls(Path(FRAME), frame=frame, is_settled=True)

    @property
    def is_frame(self) -> bool:
        """Whether its rows are in memory already."""
        return self.frame is not None

    @property
    def location(self) -> str:
        """What messages call it."""
        return str(self.path if self.table is None else self.table)

    @property
    def is_on_spark(self) -> bool:
        """Whether only Spark can reach it."""
        return self.table is not None and self.table.scheme == "spark"

    @property
    def named_columns(self) -> frozenset[str]:
        """Columns that somebody counts on or says something about."""
        return self.expected | set(self.types) | set(self.notations)

    def declared_type(self, column: str) -> ColumnType | None:
        """The type the user gave a column, also through how it is written."""
        if column in self.types:
            return ColumnType(self.types[column])
        return (self.notations[column].type or ColumnType.FLOAT) if column in self.notations else None

    def settled(self, layout: Layout) -> Source:
        """The same with everything said that was found out about how columns are written."""
        noted = {c.name: c.notation for c in layout.columns if c.notation is not None and not c.is_folder}
        types = {**{name: layout.type_of(name) for name in noted}, **self.types}
        return replace(self, types=types, notations={**noted, **self.notations}, is_settled=True)

    def as_texts(self, columns: Iterable[str]) -> Source:
        """The same with some columns read letter by letter."""
        names = set(columns)
        notations = {name: notation for name, notation in self.notations.items() if name not in names}
        return replace(self, types={**self.types, **dict.fromkeys(names, ColumnType.TEXT)}, notations=notations)


@contextmanager
def open_source(data: Any, *, format: str = "csv", **about: Any) -> Iterator[Source]:  # noqa: A002
    """The same door for a binary stream, too, whose content is a file of the given format."""
    if not hasattr(data, "read"):
        yield Source.of(data, **about)
        return
    with spooled(data, name=f"stream.{format}") as copy:
        yield Source.of(copy, **about)


@dataclass(frozen=True)
class ColumnSchema:
    """A column's name and type."""

    name: str
    type: ColumnType
    is_empty: bool = False  # no cell was seen, so that the type says nothing
    is_folder: bool = False  # named by the folders that the files lie in
    may_be_odd: bool = True  # cells that were seen may have a notation of their own
    repeats: bool = field(default=False, compare=False)  # the cells that were seen are few values, many times each
    notation: Notation | None = None  # how its values are written, where that is not as usual
    question: Question | None = None  # what its cells do not say about that
    name_in_file: str | None = None  # by which a format finds it, where its name was repaired or made

    @property
    def key(self) -> str:
        """The name by which a format with typed columns finds it."""
        return self.name if self.name_in_file is None else self.name_in_file


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
    skip: int = 0  # lines at the start that hold no records, where that is not just the header
    repairs: tuple[Repair, ...] = ()  # of the header, where they were asked for
    n_unfolded_bytes: int = 0  # about what cells take once all are written out, where a file holds equal ones once
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

    def notation_of(self, name: str) -> Notation | None:
        """How a column is written, where that is not as usual."""
        return self.column(name).notation

    def column(self, name: str) -> ColumnSchema:
        """A column by name."""
        return self.columns[self.names.index(name)]

    def chosen(self, names: Iterable[str]) -> list[pl.Expr]:
        """Columns of a file with typed columns, under the names that they have now."""
        return [pl.col(self.column(name).key).alias(name) for name in names]


def identity_of(source: Source) -> Hashable:
    """A table of a database, or a file as it is now and how it is to be read."""
    if source.table is not None:
        return source.table
    state = source.path.stat()
    return (
        source.path, state.st_ino, state.st_mtime_ns, state.st_size, source.format, source.delimiter, source.encoding,
        source.header, source.compression, source.quote, source.repair,
    )  # fmt: skip


def layout_of_frame(frame: pl.DataFrame) -> Layout:
    """The layout of a frame: names and types as they are."""
    columns = tuple(ColumnSchema(name, column_type(name, dtype)) for name, dtype in frame.schema.items())
    return Layout("frame", columns, int(frame.estimated_size()), n_rows_hint=frame.height)


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


def truncated(path: Path, kind: str) -> DataError:
    """The error for a compressed file that ends too early or is damaged."""
    kind = {"gz": "gzip", "zst": "zstd"}.get(kind, kind)
    return DataError(f"the {kind} data is damaged or cut off", hint="copy or export the file again", location=str(path))
