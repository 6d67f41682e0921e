"""How workers of a cluster get at rows and hand over what they found. Nothing here needs Spark.

A task is a value with a method that takes an iterator of Arrow batches and gives one, so that Spark can send it to
workers. Rows of files are read by the workers themselves, with the readers of the local engine; the batches they are
given then only say which slices.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from tablecloak.errors import CloakError
from tablecloak.io.frames import normalize
from tablecloak.io.parts import Part
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_slice

__all__ = ["ROW", "FileRows", "Guarded", "Rows", "Slice", "TableRows", "batches_of", "frame_of"]

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


class Rows(Protocol):
    """How a worker gets its rows from the batches it is given."""

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        """The columns of its rows and, if asked for, their numbers."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A file, or rows of it, that one worker reads at once."""

    part: Part
    begin: int  # number of its first row
    rows: tuple[int, int] | None = None  # of the file; None: all


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows in files that every worker can open; batches hold numbers of slices."""

    source: Source
    layout: Layout
    slices: tuple[Slice, ...]
    drops: tuple[str, ...] = ()  # rows with an empty cell here are left out

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self._read(self.slices[number], columns, numbered=numbered)

    def _read(self, one: Slice, columns: Sequence[str], *, numbered: bool) -> pl.DataFrame:
        wanted = list(dict.fromkeys([*columns, *self.drops])) or [self.layout.names[0]]
        rows = None if one.rows is None else slice(*one.rows)
        frame = read_slice(self.source, self.layout, one.part, wanted, rows)
        if numbered:
            frame = frame.with_columns(pl.Series(ROW, np.arange(frame.height) + one.begin))
        return _kept(frame, self.drops, [*columns, *([ROW] if numbered else [])])


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows that Spark reads and hands over in batches, their numbers in the last column."""

    drops: tuple[str, ...] = ()

    def frames(
        self, batches: Iterator[Any], columns: Sequence[str], *, numbered: bool = False
    ) -> Iterator[pl.DataFrame]:
        for batch in batches:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            yield _kept(normalize(frame), self.drops, [*columns, *([ROW] if numbered else [])])


def _kept(frame: pl.DataFrame, drops: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    return (frame.drop_nulls(list(drops)) if drops else frame).select(columns)


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
