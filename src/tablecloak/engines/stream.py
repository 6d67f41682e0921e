"""Tables as streams: rows that are read again, a batch at a time, whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.atomic import writing
from tablecloak.io.database import read_table, write_table
from tablecloak.io.delimited import stream_delimited, typed
from tablecloak.io.frames import column_type, is_normal, normalize
from tablecloak.io.parts import is_many, parts_of
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.protect import protect_frame
from tablecloak.io.sniff import sniff, truncated
from tablecloak.io.sources import Layout, Source, format_and_compression
from tablecloak.io.tabular import ROWS_PER_FILE, read_frame, read_slice, write_frame
from tablecloak.progress import Progress

if TYPE_CHECKING:
    from tablecloak.engines.spelling import Spelling

__all__ = ["Batches", "StreamTable", "from_frame", "open_parquet", "stream_source", "write_elsewhere", "write_stream"]

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


def from_frame(frame: pl.DataFrame, n_rows: int, name: str = "the table") -> StreamTable:
    """A frame in memory as a stream."""
    types = {c: column_type(c, dtype) for c, dtype in frame.schema.items()}

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return frame.select(columns).iter_slices(n_rows)

    return StreamTable(types, name, frame.height, batches, all_categories=True)


def stream_source(
    source: Source, wanted: Sequence[str], labels: Mapping[str, Sequence[str]], n_rows: int
) -> Iterator[pl.DataFrame]:
    """The wanted columns of any file, typed as `read_frame` would."""
    layout = sniff(source)
    if source.table is not None:
        for batch in read_table(source.table, layout, wanted):
            yield _as_text(normalize(typed(batch, source, layout)), layout)
    elif is_many(source.path):
        for part in parts_of(source.path):
            for rows in _ranges(part.path, layout, n_rows):
                yield read_slice(source, layout, part, wanted, rows)
    elif layout.format in ("csv", "tsv"):
        yield from stream_delimited(source, layout, list(wanted), labels, n_rows)
    elif layout.format in ("parquet", "arrow", "jsonl"):
        yield from _typed_batches(source, layout, wanted, n_rows)
    else:  # small formats
        yield from read_frame(source, columns=wanted).iter_slices(n_rows)


def _ranges(path: Path, layout: Layout, n_rows: int) -> Iterator[slice | None]:
    """Which rows of a file are read at once; None: all, because only Parquet says how many there are."""
    if layout.format != "parquet":
        yield None
        return
    height = _height(path)
    yield from (slice(begin, min(height, begin + n_rows)) for begin in range(0, height, n_rows))


def open_parquet(source: Source, layout: Layout, wanted: Sequence[str], n_rows: int, hold: int) -> StreamTable:
    """A Parquet file as it lies there.

    Args:
        hold: bytes that batches may take which are kept for a second pass over the same columns.
    """
    types = {name: layout.type_of(name) for name in wanted}
    height = _height(source.path)

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return _typed_batches(source, layout, columns, n_rows)

    return StreamTable(types, str(source.path), height, _Held(batches, hold).batches)


class _Held:
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
        kept, n_bytes = [], 0
        for batch in self._read(columns):
            n_bytes += int(batch.estimated_size())
            if n_bytes <= self._most_bytes:
                kept.append(batch)
            else:
                kept.clear()
            yield batch
        if kept:
            self._kept = kept


def _height(path: Path) -> int:
    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "Parquet") from exc


def _typed_batches(source: Source, layout: Layout, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
    path = source.path
    try:
        if layout.format == "parquet":
            lazy = pl.scan_parquet(path, glob=False)
        elif layout.format == "arrow":
            lazy = pl.scan_ipc(path)
        else:
            lazy = pl.scan_ndjson(path, infer_schema_length=None)
        odd: list[str] | None = None  # columns that may have to be changed: the same in every batch
        for batch in lazy.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True):
            if odd is None:
                odd = [name for name, dtype in batch.schema.items() if not is_normal(dtype, layout.type_of(name))]
            changed = _as_text(normalize(typed(batch.select(odd), source, layout)), layout)
            yield batch.with_columns(changed) if odd else batch
    except (pl.exceptions.PolarsError, OSError) as exc:
        if layout.format == "jsonl":
            raise DataError(
                "not valid JSON lines", hint="every line must be one flat JSON object", location=str(path)
            ) from None
        raise truncated(path, layout.format.capitalize()) from exc


def _as_text(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Text columns that the file knows as something else, as text."""
    other = [
        name for name, dtype in frame.schema.items()
        if layout.type_of(name) is ColumnType.TEXT and not isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    ]  # fmt: skip
    return frame.with_columns(pl.col(other).cast(pl.String)) if other else frame


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
    if form == "xlsx" or (form not in ("parquet", "arrow") and compression):
        write_frame(pl.concat([schema.to_frame(), *batches]), path, format=kind, delimiter=delimiter)
        return
    is_delimited = form in ("csv", "tsv")
    failed: list[BaseException] = []

    def safe() -> Iterator[pl.DataFrame]:
        done = 0
        try:
            for batch in batches:
                yield protect_frame(batch) if is_delimited else batch
                done += batch.height
                progress.advance(min(done, total))
        except BaseException as exc:  # polars would wrap it
            failed.append(exc)
            raise

    shape = protect_frame(schema.to_frame()).schema if is_delimited else schema
    try:
        with writing(path):
            _sink(_lazy(safe, shape), path, form, delimiter)
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


def _sink(lazy: pl.LazyFrame, path: Path, form: str, delimiter: str | None) -> None:
    if form == "parquet":
        lazy.sink_parquet(path)
    elif form == "arrow":
        lazy.sink_ipc(path)
    elif form == "jsonl":
        lazy.sink_ndjson(path)
    else:
        separator = delimiter or ("\t" if form == "tsv" else ",")
        lazy.sink_csv(path, separator=separator, check_extension=False, datetime_format="%Y-%m-%dT%H:%M:%S%.f")
