"""Find out how a file, a folder or a table of a database is written: format details and column types."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, require_columns
from tablecloak.io.database import sniff_table
from tablecloak.io.formats import format_and_compression, format_called
from tablecloak.io.formats.delimited import sniff_bytes
from tablecloak.io.header import REPAIR_HINT, Header
from tablecloak.io.parts import is_many, sniff_parts
from tablecloak.io.sources import ColumnSchema, Layout, Source, check_readable, layout_of_frame


def sniff(source: Source) -> Layout:
    """The layout of a file; what the user declared is taken as given.

    Folders and patterns have the layout that fits all of their files, tables of databases that of their columns.

    Raises: DataError if the file is missing, empty, unreadable, of an unknown format or has duplicate column names.
    """
    if source.frame is not None:
        return layout_of_frame(source.frame)
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
    require_columns([*source.types, *source.date_formats], layout.names, source.location)
    return replace(layout, columns=tuple(_declared(source, column) for column in layout.columns))


def _declared(source: Source, column: ColumnSchema) -> ColumnSchema:
    return replace(column, type=source.declared_type(column.name) or column.type)


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
    return layout.format in ("csv", "tsv") and all(c.type is ColumnType.TEXT for c in layout.columns)
