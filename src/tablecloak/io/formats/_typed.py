"""What formats with typed columns have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from tablecloak.io.cells import as_laid_out, typed, with_text
from tablecloak.io.formats import Reading
from tablecloak.io.frames import column_type, is_normal, normalize
from tablecloak.io.sources import ColumnSchema, Layout


def typed_layout(kind: str, schema: Mapping[str, pl.DataType], path: Path, n_rows: int | None) -> Layout:
    """A layout with the types that the file itself names."""
    columns = tuple(
        ColumnSchema(name, column_type(name, dtype, str(path)), is_empty=isinstance(dtype, pl.Null))
        for name, dtype in schema.items()
    )
    return Layout(kind, columns, path.stat().st_size, n_rows_hint=n_rows)


def reader(read: Callable[[Path, list[str]], pl.DataFrame]) -> Callable[[Reading], pl.DataFrame]:
    """The reader of a format, from a function that reads some columns as the file has them."""

    def read_typed(reading: Reading) -> pl.DataFrame:
        frame = read(reading.source.path, reading.columns)
        return as_laid_out(frame, reading.source, reading.layout, reading.categorical)

    return read_typed


def batches_of(rows: pl.LazyFrame, reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    """The wanted columns in batches, typed as the reader would."""
    layout, odd = reading.layout, None  # columns that may have to be changed: the same in every batch
    for batch in rows.select(reading.columns).collect_batches(chunk_size=n_rows, maintain_order=True):
        if odd is None:
            odd = [name for name, dtype in batch.schema.items() if not is_normal(dtype, layout.type_of(name))]
        changed = with_text(normalize(typed(batch.select(odd), reading.source, layout)), layout)
        yield batch.with_columns(changed) if odd else batch
