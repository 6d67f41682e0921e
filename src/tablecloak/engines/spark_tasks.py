"""What workers of a cluster do with their share of the rows: values, packed codes, releases. Nothing here needs Spark.

A task is a value with a method that takes an iterator of Arrow batches and gives one, so that Spark can send it to
workers. Rows of files are read by the workers themselves, with the readers of the local engine; the batches they are
given then only say which slices.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.data.coded import CodedTable
from tablecloak.data.coder import Coder, Values
from tablecloak.data.domain import ANYTHING
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Answer, Publication, Search
from tablecloak.engines.solutions import compact
from tablecloak.errors import CloakError
from tablecloak.io.frames import normalize
from tablecloak.io.parts import Part
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_slice, write_frame
from tablecloak.kernels.space import Layout as Packing
from tablecloak.kernels.space import pack, unpack

__all__ = [
    "CodeTask",
    "CombineTask",
    "CountTask",
    "FileRows",
    "Guarded",
    "Lookup",
    "PublishTask",
    "ShardTask",
    "Slice",
    "SolveTask",
    "SummaryTask",
    "TableRows",
    "ValuesTask",
    "WriteTask",
    "decoded",
]

IntArray = NDArray[np.int64]
Frames: TypeAlias = Iterator[pl.DataFrame]
ROW = "__tablecloak_row__"  # the number of a row, in the order of the source
FILE_ROWS = 40  # bits for the rows of one file


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


# Values ------------------------------------------------------------------------------------------------------------

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
                yield from _batches(_encoded(i, values.series()))


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Rows (column -1) and empty cells of columns: (column, number)."""

    rows: Rows
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.rows.frames(batches, self.columns, numbered=True):
            found = [(-1, frame.height), *((i, frame[name].null_count()) for i, name in enumerate(self.columns))]
            yield from _batches(pl.DataFrame(found, schema={"column": pl.Int32, "n": pl.Int64}, orient="row"))


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


# Codes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Packed codes of rows, equal ones of a batch united: (words, person, records, first row)."""

    rows: Rows
    coders: tuple[Coder, ...]
    packing: Packing
    person: str | None = None

    @property
    def columns(self) -> list[str]:
        return [coder.name for coder in self.coders]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        wanted = list(dict.fromkeys([*self.columns, *([self.person] if self.person else [])]))
        for frame in self.rows.frames(batches, wanted, numbered=True):
            keys = self.keys(frame).with_columns(frame[ROW].alias("first"))
            words = [name for name in keys.columns if name != "first"]
            yield from _batches(keys.group_by(words).agg(pl.len().cast(pl.Int64).alias("n"), pl.col("first").min()))

    def keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What tells rows apart: their words and, where persons are counted, who they belong to."""
        codes = [coder.codes(frame[coder.name]) for coder in self.coders]
        packed = pack(codes, self.packing) if codes else np.zeros((1, frame.height), np.uint64)
        keys = pl.DataFrame({f"w{i}": word.view(np.int64) for i, word in enumerate(packed)})
        return keys if self.person is None else keys.with_columns(_person_keys(frame[self.person]))


def _person_keys(series: pl.Series) -> pl.Series:
    """A number for every person: equal for equal keys on every worker; an empty cell is one person."""
    if series.dtype == pl.Int64:
        return series.fill_null(-(1 << 62)).alias("person")
    distinct = series.unique()
    texts = distinct.cast(pl.String).to_list()
    numbers = [0 if text is None else _digest(text) for text in texts]
    known = pl.DataFrame({"key": distinct, "person": pl.Series(numbers, dtype=pl.Int64)})
    return series.to_frame("key").join(known, on="key", how="left", nulls_equal=True, maintain_order="left")["person"]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


# Shards ------------------------------------------------------------------------------------------------------------

COUNTED = "shard int, dim int, code bigint, n bigint"
SOLVED = "shard int, answer binary"


@dataclass(frozen=True, slots=True, eq=False)
class ShardTask:
    """Tuples with the shard that cuts lead them to."""

    packing: Packing
    tree: CutTree
    n_dims: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(_frame, batches):
            yield from _batches(frame.with_columns(pl.Series("shard", self.shards(frame), dtype=pl.Int32)))

    def shards(self, frame: pl.DataFrame) -> IntArray:
        """The shard of every tuple."""
        codes = np.stack([unpack(_words(frame, self.packing), self.packing, d) for d in range(self.n_dims)])
        return self.tree.classes_of(codes)


@dataclass(frozen=True, slots=True, eq=False)
class CountTask:
    """How often each code occurs in the shards of a tree."""

    shard: ShardTask
    n_columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(_frame, batches):
            words, shards = _words(frame, self.shard.packing), self.shard.shards(frame)
            for dim in range(self.n_columns):
                codes = unpack(words, self.shard.packing, dim)
                found = pl.DataFrame({"shard": shards, "code": codes, "n": frame["n"]}).group_by("shard", "code").sum()
                told = found.with_columns(pl.col("shard").cast(pl.Int32), pl.lit(dim, pl.Int32).alias("dim"))
                yield from _batches(told.select("shard", "dim", "code", "n"))


@dataclass(frozen=True, slots=True, eq=False)
class SolveTask:
    """The classes of one shard, found by the worker that holds it."""

    make_table: Callable[[pl.DataFrame], CodedTable]
    search: Search

    def __call__(self, table: Any) -> Any:
        found = _frame(table)
        coded = self.make_table(found.drop("shard"))
        solution = self.search(coded)
        answer = Answer(solution, solution.sizes(coded))
        codes = np.stack([coded.quasi_codes(d) for d in range(coded.space.n_dims)])
        leads = solution.tree is not None and np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple)
        told = pickle.dumps((compact(answer, int(coded.space.n_codes.max())), leads))
        said = pl.DataFrame({"shard": found["shard"].head(1), "answer": [told]})
        (batch,) = _batches(said)
        import pyarrow as pa

        return pa.Table.from_batches([batch])


def _words(frame: pl.DataFrame, packing: Packing) -> NDArray[np.uint64]:
    n_words = int(packing.word.max(initial=0)) + 1
    return np.stack([frame[f"w{i}"].to_numpy() for i in range(n_words)]).view(np.uint64)


# Releases ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The class of rows: by cuts where these lead to all classes, else by a table of keys."""

    packing: Packing
    n_dims: int
    tree: CutTree | None = None
    keys: pl.DataFrame | None = None  # the columns of `CodeTask.keys`, and the class

    def classes(self, keys: pl.DataFrame) -> IntArray:
        """The class of every row, -1 where it is suppressed."""
        if self.tree is not None:
            words = _words(keys, self.packing)
            codes = np.stack([unpack(words, self.packing, d) for d in range(self.n_dims)])
            return self.tree.classes_of(codes)
        assert self.keys is not None
        found = keys.join(self.keys, on=keys.columns, how="left", maintain_order="left")["class"]
        if found.null_count():
            raise ValueError("rows that were not there when they were counted")
        return found.to_numpy()


@dataclass(frozen=True, slots=True, eq=False)
class PublishTask:
    """Rows as they are published."""

    code: CodeTask
    lookup: Lookup
    labels: Mapping[str, ClassLabels]
    publication: Publication
    types: Mapping[str, ColumnType]

    def frames(self, batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
        """Published cells, with the numbers of their rows."""
        shown = self.publication
        kept = [c for c in shown.columns if c not in self.labels and c not in shown.starred]
        person = [self.code.person] if self.code.person else []
        wanted = list(dict.fromkeys([*self.code.columns, *person, *kept]))
        for rows in self.code.rows.frames(batches, wanted, numbered=True):
            classes = self.lookup.classes(self.code.keys(rows))
            is_shown = (classes >= 0) | shown.keeps_suppressed
            frame = rows if is_shown.all() else rows.filter(pl.Series(is_shown))
            cells = (self._cells(name, frame, classes[is_shown]) for name in shown.columns)
            yield pl.DataFrame([*cells, frame[ROW]])

    def _cells(self, name: str, frame: pl.DataFrame, classes: IntArray) -> pl.Series:
        if name in self.publication.starred:
            return pl.repeat(ANYTHING, len(classes), eager=True).alias(name)
        if name in self.labels:
            cells = self.labels[name].publish(name, classes)
            return cells if self.labels[name].are_numbers else cells.cast(pl.String)
        is_star = pl.Series(classes < 0)
        if not is_star.any():
            return frame[name]
        hidden = pl.lit(ANYTHING if self.types[name] is ColumnType.TEXT else None)
        return frame.select(pl.when(is_star).then(hidden).otherwise(pl.col(name)).alias(name)).to_series()

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.frames(batches):
            yield from _batches(frame)


@dataclass(frozen=True, slots=True, eq=False)
class WriteTask:
    """Writes rows to files of its own; says which, with their first row and number of rows.

    A worker that is lost is replaced by another one that writes other files, so only files that were said count.
    """

    publish: PublishTask | None  # None: batches hold published rows already
    folder: Path
    kind: str
    delimiter: str | None
    columns: tuple[str, ...] = field(default=())

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        frames = self.publish.frames(batches) if self.publish else map(_frame, batches)
        for frame in frames:
            if frame.height:
                path = self.folder / f"{secrets.token_hex(8)}.{self.kind}"
                write_frame(frame.select(self.columns), path, delimiter=self.delimiter)
                _sync(path)
                said = pl.DataFrame({"path": [str(path)], "first": [frame[ROW][0]], "n": [frame.height]})
                yield from _batches(said)


WRITTEN = "path string, first bigint, n bigint"


@dataclass(frozen=True, slots=True)
class CombineTask:
    """Joins files that workers wrote to one, in their order."""

    paths: tuple[Path, ...]
    target: Path
    kind: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                self._combine()
            yield batch

    def _combine(self) -> None:
        if self.kind == "parquet":
            pl.scan_parquet(list(self.paths), glob=False).sink_parquet(self.target)
            return
        with self.target.open("wb") as target:
            for number, path in enumerate(self.paths):
                with path.open("rb") as file:
                    header = file.readline()
                    if number == 0:
                        target.write(header)
                    shutil.copyfileobj(file, target, 1 << 20)


def _frame(batch: Any) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _batches(frame: pl.DataFrame) -> Iterator[Any]:
    """A frame as Arrow batches of the types that Spark expects."""
    import pyarrow as pa

    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    text = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    schema = pa.schema([(f.name, text.get(f.type, f.type)) for f in table.schema])
    yield from table.cast(schema).to_batches()
