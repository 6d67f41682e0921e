"""Tables of the Spark engine: which rows, how workers get at them, and types in both languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import Table
from tablecloak.engines.spark.publish import PublishTask
from tablecloak.engines.spark.rows import FileRows, Slice, TableRows
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import DataError
from tablecloak.io.extras import require_package
from tablecloak.io.parts import Part, is_many, parts_of
from tablecloak.io.sources import Layout, Source

__all__ = ["SPARK_TYPES", "SparkTable", "escaped", "our_type", "quoted", "slices_of", "spark_table"]

SLICE_ROWS = 250_000
FILE_BITS = 40  # rows of one file, in numbers of rows
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
    classes: Any = None  # of such a release: a DataFrame with the class of tuples that no cuts lead to
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


def slices_of(source: Source, layout: Layout) -> tuple[tuple[Slice, ...], int | None]:
    """What workers read at once, and the number of rows where files say so."""
    parts = parts_of(source.path) if is_many(source.path) else [Part(source.path.absolute(), {})]
    parts = [Part(part.path.absolute(), part.keys) for part in parts]
    if layout.format != "parquet":
        return tuple(Slice(part, number << FILE_BITS) for number, part in enumerate(parts)), None
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
    known = ColumnType.FLOAT if spark_type.startswith("decimal") else _OUR_TYPES.get(spark_type)
    if known is None:
        raise DataError(
            f"column '{name}' has the unsupported type {spark_type}", hint="leave it out, or cast it to text",
            location=source.location,
        )  # fmt: skip
    return known


def escaped(name: str) -> str:
    """A name inside backquotes."""
    return name.replace("`", "``")


def quoted(functions: Any, name: str) -> Any:
    """A column by its name, whatever signs it has."""
    return functions.col(f"`{escaped(name)}`")
