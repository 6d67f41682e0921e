"""Read and write tables: files of every format, folders of files, tables of databases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from tablecloak.errors import DataError, require_columns
from tablecloak.io.atomic import writing
from tablecloak.io.cells import as_laid_out, typed, with_categories
from tablecloak.io.database import read_table, write_table
from tablecloak.io.formats import Reading, Writing, format_and_compression, format_called, writable_formats
from tablecloak.io.formats.delimited import read_block
from tablecloak.io.parts import Part, is_many, read_part, read_parts
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.record_blocks import Block
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source, truncated

ROWS_PER_FILE = 1_000_000


def read_frame(
    source: Source | Place | str | pl.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    categorical: Collection[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    is_sound: bool = False,
) -> pl.DataFrame:
    """The table in a file, a folder of files or a database, in row order, with only the given columns.

    Integers are Int64, decimals Float64 (NaN is missing), times naive microseconds, text String; text columns named in
    `categorical` are Categorical. An empty cell is missing.

    Args:
        labels: all values that text columns are expected to have, which makes reading them faster: such a column is an
            Enum of them if it holds nothing else.
        is_sound: the file was read before, so nobody needs to look again whether its rows are as wide as its header.

    Raises: DataError naming the file, the column and the row of what cannot be read, never the value.
    """
    source = Source.of(source)
    source = replace(source, expected=source.expected | set(columns or ()))
    layout = sniff(source)
    wanted = wanted_columns(layout, columns, source.location)
    if source.frame is not None:
        return with_categories(typed(source.frame.select(wanted), source, layout), layout, categorical)
    if source.table is not None:
        frames = [as_laid_out(batch, source, layout, categorical) for batch in read_table(source.table, layout, wanted)]
        return pl.concat(frames)
    if is_many(source.path):
        return read_parts(
            source, layout, wanted, lambda part, names: _read_one(part, sniff(part), names, categorical, labels)
        )
    return _read_one(source, layout, wanted, categorical, labels, is_sound=is_sound)


def _read_one(
    source: Source,
    layout: Layout,
    wanted: list[str],
    categorical: Collection[str],
    labels: Mapping[str, Sequence[str]] | None,
    *,
    is_sound: bool = False,
) -> pl.DataFrame:
    return format_called(layout.format).read(Reading(source, layout, wanted, categorical, labels or {}, is_sound))


def read_slice(
    source: Source, layout: Layout, part: Part, columns: Sequence[str], rows: slice | None, block: Block | None = None
) -> pl.DataFrame:
    """Some columns of one file of a source whose layout is known; text as String.

    All rows are read or, of Parquet, those in `rows`; of delimited text, those in a block of whole records.

    Types are those of the layout: a cell that has another one is an error, because other files were read by then.
    """

    def read_file(file: Source, names: list[str]) -> pl.DataFrame:
        if rows is None:
            inside = {c.name: c.type for c in layout.columns if not c.is_folder}
            typed_file = replace(file, types={**inside, **file.types})
            if block is None:
                return read_frame(typed_file, columns=names)
            expecting = replace(typed_file, expected=file.expected | set(names))
            return read_block(expecting, sniff(expecting), names, block)
        chosen_layout = replace(layout, columns=tuple(c for c in layout.columns if c.name in names))
        own = sniff(file) if file.repair else layout  # files may differ in what was repaired
        try:
            chosen = pl.scan_parquet(file.path, glob=False).slice(rows.start, rows.stop - rows.start)
            return as_laid_out(chosen.select(own.chosen(names)).collect(), file, chosen_layout, ())
        except (pl.exceptions.PolarsError, OSError) as exc:
            raise truncated(file.path, "Parquet") from exc

    return read_part(source, layout, part, list(columns), read_file)


def require_rows(frame: pl.DataFrame, path: Place | str) -> pl.DataFrame:
    """The frame itself, or a DataError if it has no rows."""
    refuse_empty(frame.height, str(path))
    return frame


def refuse_empty(n_rows: int, location: str) -> None:
    """Raise a DataError if a table has no rows."""
    if n_rows == 0:
        raise DataError("has a header but no rows", hint="check how it was exported", location=location)


def wanted_columns(layout: Layout, columns: Sequence[str] | None, location: str) -> list[str]:
    """The columns to read, all where none are named; raises DataError for one that is not there."""
    if columns is None:
        return list(layout.names)
    require_columns(columns, layout.names, location)
    return list(columns)


def write_frame(
    frame: pl.DataFrame,
    place: Place,
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    compression: str | None = None,
    rows_per_file: int | None = None,
) -> None:
    """Write a table; format and compression follow the file name unless given.

    A folder gets files of `rows_per_file` rows each, Parquet unless another format is given. In CSV and TSV, text that
    a spreadsheet would execute is protected by an apostrophe that `read_frame` removes.
    """
    if isinstance(place, DatabaseTable):
        write_table([frame], frame.schema, place)
        return
    path = Path(place)
    if path.is_dir():
        kind, step = format or "parquet", rows_per_file or ROWS_PER_FILE
        for number, start in enumerate(range(0, max(frame.height, 1), step)):
            file = path / f"part-{number:05d}.{kind}"
            write_frame(frame.slice(start, step), file, delimiter=delimiter, compression=compression)
        return
    kind, compression = format_and_compression(path, format, compression)
    write = format_called(kind).write
    if write is None:
        formats = ", ".join(writable_formats())
        raise DataError(f".{kind} files can be read, not written", hint=f"write one of {formats}", location=str(path))
    with writing(path):
        write(frame, path, Writing(delimiter, compression))
