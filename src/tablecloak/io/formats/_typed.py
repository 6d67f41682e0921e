"""What formats with typed columns have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from tablecloak.errors import DataError
from tablecloak.io.cells import as_laid_out, typed, with_text
from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.frames import column_type, is_normal, normalize
from tablecloak.io.header import Header, repaired_names
from tablecloak.io.sources import ColumnSchema, Layout, Source


def typed_layout(
    kind: str, schema: Mapping[str, pl.DataType], source: Source, n_rows: int | None, header: Header | None = None
) -> Layout:
    """A layout with the types that the file itself names.

    Args:
        header: names that are not those of the schema.
    """
    if header is None:
        header = repaired_names(list(schema)) if source.repair else Header(tuple(schema))
    columns = tuple(
        ColumnSchema(
            name, column_type(name, dtype, str(source.path)), is_empty=isinstance(dtype, pl.Null),
            name_in_file=key if key != name else None,
        )
        for name, (key, dtype) in zip(header.names, schema.items(), strict=True)
    )  # fmt: skip
    return Layout(kind, columns, source.path.stat().st_size, repairs=header.repairs, n_rows_hint=n_rows)


def add_scanned_format(
    *,
    name: str,
    summary: str,
    suffixes: tuple[str, ...],
    damaged: Callable[[Path], DataError],
    sniff: Callable[[Source, str | None], Layout],
    scan: Callable[[Path], pl.LazyFrame],
    write: Callable[[pl.DataFrame, Path, Writing], None],
    sink: Callable[[pl.LazyFrame, Path], None],
    is_compressed: bool = False,
    is_guessed: bool = False,
) -> None:
    """Register a format that polars itself scans and sinks.

    Args:
        damaged: what is said of a file that polars cannot read.
    """

    def sniff_file(source: Source, compression: str | None) -> Layout:
        with explained(damaged, source.path):
            return sniff(source, compression)

    def read(reading: Reading) -> pl.DataFrame:
        with explained(damaged, reading.source.path):
            return scan(reading.source.path).select(reading.layout.chosen(reading.columns)).collect()

    def stream(reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
        with explained(damaged, reading.source.path):
            yield from batches_of(scan(reading.source.path), reading, n_rows)

    add_format(Format(
        name=name, summary=summary, suffixes=suffixes, sniff=sniff_file, read=reader(read), stream=stream, write=write,
        sink=lambda rows, path, _: sink(rows, path), is_guessed=is_guessed, is_compressed=is_compressed,
    ))  # fmt: skip


@contextmanager
def explained(damaged: Callable[[Path], DataError], path: Path) -> Iterator[None]:
    """Errors of polars in our words: theirs may show cells of the data."""
    try:
        yield
    except pl.exceptions.DuplicateError:
        hint = "give every column its own name where the file is written"
        raise DataError("two columns of the file have the same name", hint=hint, location=str(path)) from None
    except (pl.exceptions.PolarsError, OSError):
        raise damaged(path) from None


def read_untold(read: Callable[[], pl.DataFrame], error: DataError) -> pl.DataFrame:
    """What another library reads, or our error alone: its own are of any kind, and their text may show a cell."""
    with suppress(Exception):
        return read()
    raise error


def reader(read: Callable[[Reading], pl.DataFrame]) -> Callable[[Reading], pl.DataFrame]:
    """The reader of a format, from a function that reads the wanted columns with the types that the file has."""

    def read_typed(reading: Reading) -> pl.DataFrame:
        return as_laid_out(read(reading), reading.source, reading.layout, reading.categorical)

    return read_typed


def batches_of(rows: pl.LazyFrame, reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    """The wanted columns in batches, typed as the reader would."""
    layout, odd = reading.layout, None  # columns that may have to be changed: the same in every batch
    for batch in rows.select(layout.chosen(reading.columns)).collect_batches(chunk_size=n_rows, maintain_order=True):
        if odd is None:
            odd = [name for name, dtype in batch.schema.items() if not is_normal(dtype, layout.type_of(name))]
        changed = with_text(normalize(typed(batch.select(odd), reading.source, layout)), layout)
        yield batch.with_columns(changed) if odd else batch


def unfolded_bytes(rows: pl.LazyFrame, most: int) -> int:
    """What the cells of a table take once every one is written out, counted until it is more than `most`.

    What a file says about its size does not help: a text that a dictionary holds once may stand in every row.
    """
    n_bytes = 0
    for batch in rows.collect_batches(chunk_size=_COUNTED_ROWS):
        n_bytes += sum(map(_written_bytes, batch))
        if n_bytes > most:
            break
    return n_bytes


def _written_bytes(cells: pl.Series) -> int:
    if isinstance(cells.dtype, pl.String):
        return int(cells.str.len_bytes().sum())
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):  # each category once, and how often it stands there
        counts = cells.drop_nulls().value_counts(name="n")
        return int((counts[cells.name].cast(pl.String).str.len_bytes() * counts["n"]).sum())
    return int(cells.bin.size().sum() if isinstance(cells.dtype, pl.Binary) else cells.estimated_size())


_COUNTED_ROWS = 1 << 16
