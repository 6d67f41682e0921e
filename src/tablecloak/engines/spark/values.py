"""What workers say of columns: their different values, their rows and their empty cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coder import Values
from tablecloak.engines.alike import KeyArray, keys_of, shown_rows, some_of, words_of
from tablecloak.engines.spark.publish import PublishTask
from tablecloak.engines.spark.rows import Rows, batches_of

__all__ = ["VALUES", "AlikeTask", "SomeRowsTask", "SummaryTask", "ValuesTask", "decoded"]

VALUES = "column int, number bigint, real double, text string"


@dataclass(frozen=True, slots=True)
class ValuesTask:
    """The different values of columns: rows of (column, whole number, decimal number, text), all empty for missing."""

    rows: Rows
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        found = [Values(name) for name in self.columns]
        for frame in self.rows.frames(batches, self.columns):
            for values in found:
                values.add(frame[values.name])
        for i, values in enumerate(found):
            if len(values):
                yield from batches_of(_encoded(i, values.series()))


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Rows (column -1) and empty cells of columns: (column, number)."""

    rows: Rows
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.rows.frames(batches, self.columns, numbered=True):
            found = [(-1, frame.height), *((i, frame[name].null_count()) for i, name in enumerate(self.columns))]
            yield from batches_of(pl.DataFrame(found, schema={"column": pl.Int32, "n": pl.Int64}, orient="row"))


@dataclass(frozen=True, slots=True)
class AlikeTask:
    """Keys of rows on sets of columns and whose they are, equal ones of a slice united: (set, key, who, number)."""

    rows: Rows | PublishTask  # as they lie in a table, or as a release was made of them
    columns: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    stars: tuple[str, ...]
    person: str | None = None  # None: everybody is 0

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if isinstance(self.rows, PublishTask):
            frames = self.rows.with_persons(batches)
        else:
            frames = self.rows.frames(batches, self.columns)
        for frame in frames:
            shown = shown_rows(frame, self.stars)
            whose = pl.lit(0, pl.Int64) if self.person is None else pl.Series(_signed(words_of(shown[self.person])))
            for number, keys in enumerate(keys_of(shown, self.sets)):
                pairs = pl.DataFrame({"key": _signed(keys)}).with_columns(whose.alias("who"))
                found = pairs.group_by("key", "who").agg(n=pl.len().cast(pl.Int64))
                yield from batches_of(found.select(pl.lit(number, pl.Int32).alias("set"), "key", "who", "n"))


@dataclass(frozen=True, slots=True)
class SomeRowsTask:
    """About a share of the rows; those equal in the column `together` all or none."""

    rows: Rows
    columns: tuple[str, ...]
    together: str | None
    share: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.rows.frames(batches, self.columns):
            some = some_of(frame, self.together, self.share)
            yield from batches_of(some.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))


def _signed(words: KeyArray) -> NDArray[np.int64]:
    """Numbers of 64 bits as Spark has them."""
    return words.view(np.int64)


def _encoded(column: int, values: pl.Series) -> pl.DataFrame:
    kinds: dict[str, Any] = {"number": pl.Int64, "real": pl.Float64, "text": pl.String}
    kind = "text" if values.dtype == pl.String else "real" if values.dtype.is_float() else "number"
    cells = values.to_physical() if kind == "number" and values.dtype != pl.Boolean else values
    frame = pl.DataFrame({kind: cells.cast(kinds.pop(kind))})
    empty = {other: pl.lit(None, dtype) for other, dtype in kinds.items()}
    return frame.with_columns(**empty, column=pl.lit(column, pl.Int32)).select("column", "number", "real", "text")


def decoded(found: pl.DataFrame, columns: Sequence[str], dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.Series]:
    """The different values of columns, ascending, the missing one last, from what workers found."""
    return {name: _decoded(found.filter(pl.col("column") == i), name, dtypes[name]) for i, name in enumerate(columns)}


def _decoded(found: pl.DataFrame, name: str, dtype: pl.DataType) -> pl.Series:
    kind = "text" if dtype == pl.String else "real" if dtype.is_float() else "number"
    values = found[kind].unique().rename(name)
    values = values if dtype in (pl.String, pl.Float64, pl.Int64) else _from_physical(values, dtype)
    return values.sort(nulls_last=True)


def _from_physical(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    return values.cast(pl.Int32).cast(dtype) if dtype == pl.Date else values.cast(dtype)
