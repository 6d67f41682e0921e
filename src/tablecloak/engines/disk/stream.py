"""Tables as streams: rows that are read again, a batch at a time, whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from tablecloak.data.table import ColumnType
from tablecloak.io.atomic import writing
from tablecloak.io.cells import typed, with_text
from tablecloak.io.database import read_table, write_table
from tablecloak.io.formats import Reading, Writing, format_and_compression, format_called
from tablecloak.io.formats.parquet import rows_of
from tablecloak.io.frames import column_type, normalize
from tablecloak.io.parts import is_many, parts_of
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import ROWS_PER_FILE, read_frame, read_slice, write_frame
from tablecloak.progress import Progress

if TYPE_CHECKING:
    from tablecloak.engines.spelling import Spelling

Batches = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


@dataclass(frozen=True, slots=True, eq=False)
class StreamTable:
    """Rows in their order, read batch by batch."""

    types: Mapping[str, ColumnType]
    name: str
    n_rows: int
    open: Batches  # batches of some columns, from the first row on
    all_categories: bool = False  # values of an Enum count whether or not they occur, as in a frame

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns."""
        return self.open(list(columns))

    def spelled(self, spelling: Spelling) -> StreamTable:
        """The table as a text file shows it."""
        return replace(self, open=lambda columns: map(spelling.written, self.open(columns)))


def beside(stream: StreamTable, stored: StreamTable, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Columns of two tables of the same rows, each from the second one where that has it."""
    kept = [name for name in columns if name in stored.types]
    rest = [name for name in columns if name not in stored.types]
    if not kept or not rest:
        yield from (stored if kept else stream).batches(columns)
        return
    others, waiting = stored.batches(kept), pl.DataFrame()
    for batch in stream.batches(rest):
        parts, n_rows = [waiting] if waiting.height else [], waiting.height
        while n_rows < batch.height:
            parts.append(next(others))
            n_rows += parts[-1].height
        together = pl.concat(parts) if parts else waiting
        yield batch.with_columns(together.head(batch.height)).select(columns)
        waiting = together.slice(batch.height)


def from_frame(frame: pl.DataFrame, n_rows: int, name: str = "the table") -> StreamTable:
    """A frame in memory as a stream."""
    types = {c: column_type(c, dtype) for c, dtype in frame.schema.items()}

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return frame.select(columns).iter_slices(n_rows)

    return StreamTable(types, name, frame.height, batches, all_categories=True)


def stream_source(
    source: Source, names: Sequence[str], labels: Mapping[str, Sequence[str]], n_rows: int
) -> Iterator[pl.DataFrame]:
    """The wanted columns of any file, typed as `read_frame` would."""
    layout = sniff(source)
    if source.table is not None:
        for batch in read_table(source.table, layout, names):
            yield with_text(normalize(typed(batch, source, layout)), layout)
    elif is_many(source.path):
        for part in parts_of(source.path):
            for rows in _ranges(part.path, layout, n_rows):
                yield read_slice(source, layout, part, names, rows)
    elif (stream := format_called(layout.format).stream) is not None:
        yield from stream(Reading(source, layout, list(names), labels=labels), n_rows)
    else:  # small formats
        yield from read_frame(source, columns=names).iter_slices(n_rows)


def _ranges(path: Path, layout: Layout, n_rows: int) -> Iterator[slice | None]:
    """Which rows of a file are read at once; None: all, because only Parquet says how many there are."""
    if layout.format != "parquet":
        yield None
        return
    height = rows_of(path)
    yield from (slice(begin, min(height, begin + n_rows)) for begin in range(0, height, n_rows))


def open_parquet(source: Source, layout: Layout, names: Sequence[str], n_rows: int, hold: int) -> StreamTable:
    """A Parquet file as it lies there.

    Args:
        hold: bytes that batches may take which are kept for a second pass over the same columns.
    """
    types = {name: layout.type_of(name) for name in names}
    height, stream = rows_of(source.path), format_called("parquet").stream
    assert stream is not None

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return stream(Reading(source, layout, list(columns)), n_rows)

    return StreamTable(types, str(source.path), height, _HeldBatches(batches, hold).batches)


class _HeldBatches:
    """Batches of the latest pass, where all of them together are small."""

    def __init__(self, read: Batches, most_bytes: int) -> None:
        self._read, self._most_bytes = read, most_bytes
        self._kept: list[pl.DataFrame] = []

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns."""
        if columns and self._kept and set(columns) <= set(self._kept[0].columns):
            return (batch.select(columns) for batch in self._kept)
        return self._reading(columns)

    def _reading(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        held, n_bytes = [], 0
        for batch in self._read(columns):
            n_bytes += int(batch.estimated_size())
            if n_bytes <= self._most_bytes:
                held.append(batch)
            else:
                held.clear()
            yield batch
        if held:
            self._kept = held


def write_elsewhere(
    batches: Iterator[pl.DataFrame],
    schema: pl.Schema,
    place: Place,
    *,
    kind: str | None,
    delimiter: str | None,
    rows_per_file: int | None,
) -> None:
    """Write batches to a table of a database, or to files of a folder."""
    if isinstance(place, DatabaseTable):
        write_table(batches, schema, place)
        return
    form, step = kind or "parquet", rows_per_file or ROWS_PER_FILE
    held, number = schema.to_frame(), 0
    for batch in batches:
        held = pl.concat([held, batch])
        while held.height >= step:
            write_frame(held.head(step), place / f"part-{number:05d}.{form}", delimiter=delimiter)
            held, number = held.slice(step), number + 1
    if held.height or number == 0:
        write_frame(held, place / f"part-{number:05d}.{form}", delimiter=delimiter)


def write_stream(
    batches: Iterator[pl.DataFrame],
    schema: pl.Schema,
    path: Path,
    *,
    kind: str | None,
    delimiter: str | None,
    total: int,
    progress: Progress,
) -> None:
    """Write batches to a file as `write_frame` writes a frame, with memory for a few of them."""
    form, compression = format_and_compression(path, kind, None)
    entry = format_called(form)
    if entry.sink is None or (entry.is_compressed and compression):
        write_frame(pl.concat([schema.to_frame(), *batches]), path, format=kind, delimiter=delimiter)
        return
    safe, sink = entry.safe or (lambda frame: frame), entry.sink

    def counted() -> Iterator[pl.DataFrame]:
        done = 0
        for batch in batches:
            yield safe(batch)
            done += batch.height
            progress.advance(min(done, total))

    _sink(counted(), safe(schema.to_frame()).schema, path, lambda rows: sink(rows, path, Writing(delimiter)))


def store_stream(batches: Iterator[pl.DataFrame], schema: pl.Schema, path: Path) -> None:
    """Write batches to a Parquet file that later passes read: quick to write rather than small."""
    _sink(batches, schema, path, lambda rows: rows.sink_parquet(path, compression="lz4"))


def _sink(batches: Iterator[pl.DataFrame], schema: pl.Schema, path: Path, sink: Callable[[pl.LazyFrame], None]) -> None:
    failed: list[BaseException] = []

    def watched() -> Iterator[pl.DataFrame]:
        try:
            yield from batches
        except BaseException as exc:  # polars would wrap it
            failed.append(exc)
            raise

    try:
        with writing(path):
            sink(_lazy(watched, schema))
    except BaseException:
        if failed:
            raise failed[0] from None
        raise


def _lazy(batches: Callable[[], Iterator[pl.DataFrame]], schema: pl.Schema) -> pl.LazyFrame:
    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del predicate, n_rows, batch_size
        for batch in batches():
            yield batch.select(with_columns) if with_columns else batch

    return register_io_source(source, schema=schema)
