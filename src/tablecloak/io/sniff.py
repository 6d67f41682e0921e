"""Find out how a file, a folder or a table of a database is written: format details and column types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, require_columns
from tablecloak.io.database import read_table, sniff_table
from tablecloak.io.formats import Reading, format_and_compression, format_called
from tablecloak.io.formats.delimited import sniff_bytes
from tablecloak.io.header import REPAIR_HINT, Header
from tablecloak.io.notation import PLAIN, CellEvidence, Written
from tablecloak.io.parts import files_of, is_many, sniff_parts
from tablecloak.io.sources import ColumnSchema, Layout, Source, check_readable, identity_of, layout_of_frame


def sniff(source: Source) -> Layout:
    """The layout of a file; what the user declared is taken as given.

    Folders and patterns have the layout that fits all of their files, tables of databases that of their columns.

    Raises: DataError if the file is missing, empty, unreadable, of an unknown format or has duplicate column names.
    """
    if source.frame is not None:
        return _checked(source, layout_of_frame(source.frame))
    if source.table is not None:
        return _checked(source, source.openings.layout(source, sniff_table))
    if is_many(source.path):
        return _checked(source, sniff_parts(source, sniff_file))
    return _checked(source, sniff_file(source))


def proposed_header(data: Source | str) -> Header:
    """The names that a repair would give to the columns of a file, or of a table given as text, and why.

    Nothing is repaired by asking. Reasons contain no cell; what may be a record is not taken for names.
    """
    if isinstance(data, Source):
        layout = sniff(replace(data, repair=True))
    else:
        layout = sniff_bytes(data.encode(), (), Source(Path("the text"), repair=True), "utf-8", is_whole=True)
    return Header(layout.names, layout.repairs)


def sniff_file(source: Source) -> Layout:
    """The layout of one file, by what is in it."""
    check_readable(source.path)
    return source.openings.layout(source, _looked_into)


def _looked_into(source: Source) -> Layout:
    kind, compression = format_and_compression(source.path, source.format, source.compression)
    layout = format_called(kind).sniff(source, compression)
    _refuse_duplicates(source, layout)
    return layout


def _checked(source: Source, layout: Layout) -> Layout:
    require_columns([*source.types, *source.notations], layout.names, source.location)
    written = _written(source, layout)
    return replace(layout, columns=tuple(_as_said(source, column, written) for column in layout.columns))


def _as_said(source: Source, column: ColumnSchema, written: Mapping[str, Written]) -> ColumnSchema:
    """A column as it is declared, and where nothing is declared as all of its cells are written."""
    name, type_ = column.name, source.declared_type(column.name)
    if name in source.notations:
        return replace(column, type=type_ or column.type, notation=source.notations[name])
    answer = written.get(name, PLAIN)
    if type_ is None:
        return replace(
            column, type=answer.type or column.type, notation=answer.notation, question=answer.question
        )  # fmt: skip
    is_meant = answer.type is type_ or (type_ is ColumnType.FLOAT and answer.type is ColumnType.INTEGER)
    return replace(column, type=type_, notation=answer.notation if is_meant else None, question=answer.question)


# How columns are written ---------------------------------------------------------------------------------------------

_LOOKED_AT = (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.FLOAT)
# Formats that know whole numbers: what they call a float is meant so.
_HAS_INTEGERS = ("parquet", "arrow", "frame", "postgresql", "sqlite")
_BATCH_ROWS = 1 << 16


def _written(source: Source, layout: Layout) -> Mapping[str, Written]:
    """How the columns that somebody counts on are written, by all of their cells."""
    if source.is_settled or layout.format == "sets" or source.is_on_spark:
        return {}
    wanted = source.named_columns or set(layout.names)
    said = {*source.notations, *source.as_written, *(n for n, t in source.types.items() if t is ColumnType.TEXT)}
    names = [c.name for c in layout.columns if c.name in wanted - said and _is_looked_at(c, layout)]
    if not names:
        return {}
    return source.openings.written(
        _identity_of_all(source), names, lambda unknown: _decided(source, layout, unknown)
    )  # fmt: skip


def _is_looked_at(column: ColumnSchema, layout: Layout) -> bool:
    if column.is_folder or column.is_empty or not column.may_be_odd:
        return False
    return column.type in _LOOKED_AT and (column.type is not ColumnType.FLOAT or layout.format not in _HAS_INTEGERS)


def _identity_of_all(source: Source) -> Hashable:
    if source.frame is not None:
        return id(source.frame)
    if source.table is not None or not is_many(source.path):
        return identity_of(source)
    return tuple(identity_of(replace(source, path=path)) for path in files_of(source))


def _decided(source: Source, layout: Layout, names: list[str]) -> dict[str, Written]:
    evidence = {name: CellEvidence(name, layout.type_of(name)) for name in names}
    try:
        for batch in _cells(source.as_texts(names), layout, names):
            for name in names:
                if evidence[name].is_open:
                    evidence[name].add(batch[name])
            if not any(each.is_open for each in evidence.values()):
                break
    except DataError:  # whatever is wrong is said when the table is read
        return dict.fromkeys(names, PLAIN)
    return {name: each.decided() for name, each in evidence.items()}


def _cells(source: Source, layout: Layout, names: list[str]) -> Iterator[pl.DataFrame]:
    """Columns as texts, batch by batch."""
    if source.frame is not None:
        yield source.frame.select(names)
    elif source.table is not None:
        yield from read_table(source.table, layout, names)
    elif is_many(source.path):
        for path in files_of(source):
            part = replace(source, path=path)
            yield from _cells(part, sniff_file(part), names)
    else:
        text = replace(
            layout, columns=tuple(replace(c, type=ColumnType.TEXT) if c.name in names else c for c in layout.columns)
        )  # fmt: skip
        entry, reading = format_called(layout.format), Reading(source, text, names)
        yield from entry.stream(reading, _BATCH_ROWS) if entry.stream else [entry.read(reading)]


def _refuse_duplicates(source: Source, layout: Layout) -> None:
    repeated = [name for name, count in Counter(layout.names).items() if count > 1]
    if repeated and source.header is None and not set(layout.names) & source.expected and _may_be_record(layout):
        places = [str(i + 1) for i, name in enumerate(layout.names) if name == repeated[0]]
        raise DataError(
            f"the first row has the same name in the columns {' and '.join(places)}",
            hint=f"give every column its own name, or {REPAIR_HINT}; if the row is a record, say input.header: false",
            location=str(source.path),
        )
    if repeated:
        raise DataError(
            f"duplicate column names: {', '.join(map(repr, repeated))}",
            hint=f"give every column its own name, or {REPAIR_HINT}",
            location=str(source.path),
        )


def _may_be_record(layout: Layout) -> bool:
    """Whether nothing but its place says that the first row of a file has names: there are no numbers below it."""
    return layout.format in ("csv", "tsv", "xlsx") and all(c.type is ColumnType.TEXT for c in layout.columns)
