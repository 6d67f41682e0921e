"""Tables of the Spark engine: which rows, how workers get at them and hand over what they found.

A task is a value with a method that takes an iterator of Arrow batches and gives one, so that Spark can send it to
workers. Rows of files are read by the workers themselves, with the readers of the local engine; the batches they are
given then only say which slices.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from tablecloak.data.changed_columns import CellRows, ColumnChange, made_columns, read_by
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import Table
from tablecloak.engines.equal_rows import Hidden
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import CloakError, DataError
from tablecloak.io.cells import parsed
from tablecloak.io.extras import require_package
from tablecloak.io.frames import normalize
from tablecloak.io.notation import Notation
from tablecloak.io.parts import Part, is_many, parts_of
from tablecloak.io.record_blocks import Block
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_slice

if TYPE_CHECKING:
    from tablecloak.engines.spark.publish import PublishTask

ROW = "__tablecloak_row__"  # the number of a row, in the order of the source


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """A task whose unexpected errors tell their kind only: Spark logs their text, which may show cells of the data."""

    task: Callable[[Iterator[Any]], Iterator[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from self.task(batches)
        except (CloakError, GeneratorExit):
            raise
        except Exception as exc:
            where = traceback.extract_tb(exc.__traceback__)[-1]
            raise RuntimeError(f"{type(exc).__name__} in {where.name}, line {where.lineno}") from None


class WorkerRows(Protocol):
    """How a worker gets its rows from the batches it is given."""

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        """The columns of its rows and, if asked for, their numbers."""


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """Reads texts of a table of Spark's catalog as they are written."""

    type: ColumnType
    notation: Notation
    location: str

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:  # noqa: ARG002 - a step is given them
        values = parsed(cells, self.type, self.notation)
        n_odd = int((values.is_null() & cells.is_not_null()).sum())
        if n_odd:
            message = f"column '{cells.name}' is declared {self.type.value}, but some cells are not written so"
            raise DataError(message, hint="correct them, or declare the column as text", location=self.location)
        return values


@dataclass(frozen=True, slots=True)
class Slice:
    """A file, or rows of it, that one worker reads at once."""

    part: Part
    begin: int  # number of its first row
    rows: tuple[int, int] | None = None  # of the file; None: all
    block: Block | None = None  # of the file, where it is delimited text; None: all


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows in files that every worker can open; batches hold numbers of slices."""

    source: Source
    layout: Layout
    slices: tuple[Slice, ...]
    drops: tuple[str, ...] = ()  # rows with an empty cell here are left out
    hidden: Hidden | None = None  # and rows that look so
    changes: tuple[tuple[ColumnChange, ...], ...] = ()  # columns that are made, each level of those before it

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self.read(self.slices[number], columns, numbered=numbered)

    def read(self, one: Slice, columns: Sequence[str], *, numbered: bool = False) -> pl.DataFrame:
        """The columns of the rows of a slice."""
        names = wanted_of(self, columns) or [self.layout.names[0]]
        rows = None if one.rows is None else slice(*one.rows)
        frame = read_slice(self.source, self.layout, one.part, names, rows, one.block)
        if numbered or self.changes:
            frame = frame.with_columns(pl.Series(ROW, np.arange(frame.height) + one.begin))
        return _kept(frame, self, [*columns, *([ROW] if numbered else [])])


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows that Spark reads and hands over in batches, their numbers in the last column."""

    drops: tuple[str, ...] = ()
    hidden: Hidden | None = None
    changes: tuple[tuple[ColumnChange, ...], ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)  # of columns that were changed, before that

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        for batch in batches:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            yield _kept(normalize(frame), self, [*columns, *([ROW] if numbered else [])])


def wanted_of(rows: FileRows | TableRows, columns: Sequence[str]) -> list[str]:
    """The columns that must be read to get some of them, and to know which rows are left out."""
    wanted = _asked(rows, columns)
    for level in reversed(rows.changes):
        wanted = read_by(level, wanted)[1]
    return wanted


def _asked(rows: FileRows | TableRows, columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*columns, *rows.drops, *(rows.hidden.columns if rows.hidden else ())]))


def _changed(frame: pl.DataFrame, rows: FileRows | TableRows, columns: Sequence[str]) -> pl.DataFrame:
    """Rows with the columns that changes make, as far as these are asked for."""
    levels, wanted = [], list(columns)
    for level in reversed(rows.changes):
        made, wanted = read_by(level, wanted)
        levels.append(made)
    for made in reversed(levels):
        frame = frame.with_columns(made_columns(frame, frame[ROW].to_numpy(), made)) if made else frame
    return frame


def _kept(frame: pl.DataFrame, rows: FileRows | TableRows, columns: Sequence[str]) -> pl.DataFrame:
    frame = _changed(frame, rows, _asked(rows, [name for name in columns if name != ROW]))
    frame = frame.drop_nulls(list(rows.drops)) if rows.drops else frame
    frame = frame.filter(~rows.hidden.rows(frame)) if rows.hidden else frame
    return frame.select(columns)


def frame_of(batch: Any) -> pl.DataFrame:
    """A batch or a table of Arrow as a frame."""
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def batches_of(frame: pl.DataFrame) -> Iterator[Any]:
    """A frame as Arrow batches of the types that Spark expects."""
    import pyarrow as pa

    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    text = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    schema = pa.schema([(f.name, text.get(f.type, f.type)) for f in table.schema])
    yield from table.cast(schema).to_batches()


def gathered(frames: Iterator[pl.DataFrame], n_rows: int) -> Iterator[pl.DataFrame]:
    """Small frames put together to some of at least so many rows."""
    held: list[pl.DataFrame] = []
    n_held = 0
    for frame in frames:
        held.append(frame)
        n_held += frame.height
        if n_held >= n_rows:
            yield pl.concat(held)
            held, n_held = [], 0
    if held:
        yield pl.concat(held)


SLICE_ROWS = 250_000
BLOCK_BYTES = 32 << 20  # of delimited text
SPARK_TYPES = {
    ColumnType.INTEGER: "bigint", ColumnType.FLOAT: "double", ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "date", ColumnType.DATETIME: "timestamp_ntz", ColumnType.TEXT: "string",
}  # fmt: skip
_OUR_TYPES = {
    "tinyint": ColumnType.INTEGER, "smallint": ColumnType.INTEGER, "int": ColumnType.INTEGER,
    "bigint": ColumnType.INTEGER, "float": ColumnType.FLOAT, "double": ColumnType.FLOAT,
    "boolean": ColumnType.BOOLEAN, "date": ColumnType.DATE, "timestamp": ColumnType.DATETIME,
    "timestamp_ntz": ColumnType.DATETIME, "string": ColumnType.TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SparkTable:
    """Rows on workers: which ones, how a worker gets at them, and what is published of them."""

    types: Mapping[str, ColumnType]
    name: str
    n_rows: int
    rows: FileRows | TableRows
    table: str | None = None  # of Spark's catalog, instead of files
    publish: PublishTask | None = None  # a release that was not written yet
    classes: Any = (
        None  # of such a release: a DataFrame with the classes and labels of tuples, where workers found them
    )
    order: Order = Order.KEEP  # in which such a release is written
    key: bytes | None = field(default=None, repr=False)  # of random orders

    def spelled(self, spelling: Spelling) -> SparkTable:
        """The release as a text file shows it."""
        assert self.publish is not None
        return replace(self, publish=replace(self.publish, spelling=spelling))


def spark_table(table: Table) -> SparkTable:
    """What every table of this engine is."""
    assert isinstance(table, SparkTable)
    return table


def file_parts(source: Source) -> list[Part]:
    """The files of a source, as every worker finds them."""
    parts = parts_of(source.path) if is_many(source.path) else [Part(source.path.absolute(), {})]
    return [Part(part.path.absolute(), part.keys) for part in parts]


def parquet_slices(source: Source) -> tuple[tuple[Slice, ...], int]:
    """What workers read at once of Parquet, and the number of rows."""
    parts = file_parts(source)
    slices, n_rows = [], 0
    for part in parts:
        for begin, end in _row_ranges(part.path):
            slices.append(Slice(part, n_rows + begin, (begin, end)))
        n_rows += slices[-1].rows[1] if slices and slices[-1].part is part and slices[-1].rows else 0
    return tuple(slices) or (Slice(parts[0], 0, (0, 0)),), n_rows


def _row_ranges(path: Path) -> Iterator[tuple[int, int]]:
    """Ranges of rows that are whole row groups, of about SLICE_ROWS rows."""
    parquet = require_package("pyarrow.parquet", extra="spark", purpose="the Spark engine")
    metadata = parquet.read_metadata(path)
    begin = at = 0
    for group in range(metadata.num_row_groups):
        at += metadata.row_group(group).num_rows
        if at - begin >= SLICE_ROWS or group == metadata.num_row_groups - 1:
            yield begin, at
            begin = at


def our_type(name: str, spark_type: str, source: Source) -> ColumnType:
    """The type that a type of Spark is read as."""
    column_type = ColumnType.FLOAT if spark_type.startswith("decimal") else _OUR_TYPES.get(spark_type)
    if column_type is None:
        raise DataError(
            f"column '{name}' has the unsupported type {spark_type}", hint="leave it out, or cast it to text",
            location=source.location,
        )  # fmt: skip
    return column_type


def escaped(name: str) -> str:
    """A name inside backquotes."""
    return name.replace("`", "``")


def quoted(functions: Any, name: str) -> Any:
    """A column by its name, whatever signs it has."""
    return functions.col(f"`{escaped(name)}`")
