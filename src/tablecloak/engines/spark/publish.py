"""Releases made by workers: the class of every row, its published cells, and files or a table of them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.arrays import IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import PERSON, Publication
from tablecloak.engines.row_order import sortable
from tablecloak.engines.spark.coding import CodeTask, codes_of, person_keys, words_in
from tablecloak.engines.spark.finished_phases import Phases
from tablecloak.engines.spark.rows import (
    ROW,
    SPARK_TYPES,
    Guarded,
    SparkTable,
    batches_of,
    escaped,
    frame_of,
    gathered,
    quoted,
)
from tablecloak.engines.spark.session import explained
from tablecloak.engines.spark.worker_jobs import mapped
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import IncompatibleChoice, PolicyError
from tablecloak.io.database import OTHER_NAME, OVER_INPUT, OVER_QUERY, Transaction
from tablecloak.io.frames import normalize
from tablecloak.io.places import DatabaseTable
from tablecloak.io.tabular import write_frame
from tablecloak.kernels.packed_codes import KeyLayout
from tablecloak.rng import BLOCK, drawn_words

__all__ = [
    "RANK", "SIZES", "WORD", "WRITTEN", "CombineTask", "DrawTask", "KeyTask", "Lookup", "PublishTask", "SizeTask",
    "WriteTask",
]  # fmt: skip

TOGETHER = 250_000  # rows that are written to one file
RANK, WORD = "__tablecloak_rank__", "__tablecloak_word__"  # what sorts rows
SAMPLE_SIZE = "spark.sql.execution.rangeExchange.sampleSizePerPartition"  # Spark draws three times as many
SAMPLES_PER_PART, MOST_SAMPLES = 20, 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The class of rows: by cuts where these lead to all classes, else by a table of keys."""

    packing: KeyLayout
    n_dims: int
    tree: CutTree | None = None
    keys: pl.DataFrame | None = None  # the columns of `CodeTask.keys`, and the class

    def classes(self, keys: pl.DataFrame) -> IntArray:
        """The class of every row, -1 where it is suppressed."""
        if self.tree is not None:
            return self.tree.classes_of(codes_of(keys, self.packing, self.n_dims))
        assert self.keys is not None
        classes = keys.join(self.keys, on=keys.columns, how="left", maintain_order="left")["class"]
        if classes.null_count():
            raise ValueError("rows that were not there when they were counted")
        return classes.to_numpy()


CLASS, LABEL = "__tablecloak_class__", "__tablecloak_label"  # the class of a tuple in its shard, and what it publishes


def labels_in(n_dims: int) -> list[str]:
    """Names of the columns that hold what tuples publish, by quasi-identifier."""
    return [f"{LABEL}{i}" for i in range(n_dims)]


@dataclass(frozen=True, slots=True, eq=False)
class KeyTask:
    """Rows with their packed keys and what is published of them as it is."""

    code: CodeTask
    kept: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for rows in self.code.rows.frames(batches, _needed(self.code, self.kept), numbered=True):
            yield from batches_of(self.code.keys(rows).with_columns(rows.select(*self.kept, ROW)))


@dataclass(frozen=True, slots=True, eq=False)
class PublishTask:
    """Rows as they are published."""

    code: CodeTask
    lookup: Lookup | None  # None: rows come with the class and the labels of their tuple
    labels: Mapping[str, ClassLabels]
    publication: Publication
    types: Mapping[str, ColumnType]
    is_sorted: bool = False  # rows get a new order
    ranks: NDArray[np.uint32] | None = None  # places of classes in the order of their labels, where these are here
    spelling: Spelling = field(default_factory=Spelling)

    def frames(self, batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
        """Published cells, with the numbers of their rows or what sorts them."""
        for cells, rows, classes in self._shown(batches):
            yield cells.with_columns(self._places(cells, rows, classes))

    def with_persons(self, batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
        """Published cells, with whose they are."""
        assert self.code.person is not None
        for cells, rows, _ in self._shown(batches):
            yield cells.with_columns(person_keys(rows[self.code.person]).alias(PERSON))

    def _shown(self, batches: Iterator[Any]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame, IntArray]]:
        """Published cells, the rows of the original that they show, and the classes of these."""
        for every, classes in self._classified(batches):
            is_shown = (classes >= 0) | self.publication.keeps_suppressed
            rows = every if is_shown.all() else every.filter(pl.Series(is_shown))
            of_rows = classes[is_shown]
            yield pl.DataFrame([self._cells(n, rows, of_rows) for n in self.publication.columns]), rows, of_rows

    def _places(self, cells: pl.DataFrame, frame: pl.DataFrame, classes: IntArray) -> list[pl.Series]:
        if not self.is_sorted:
            return [frame[ROW]]
        rank = [] if self.ranks is None else [pl.Series(RANK, self.ranks[classes].astype(np.int64))]
        return [*rank, *(_bits(cells[name], number) for name, number in self.bits.items())]

    @property
    def bits(self) -> dict[str, str]:
        """Decimal numbers that are published as they are, and the columns whose whole numbers sort them."""
        numbers = [name for name in self.kept if self.types[name] is ColumnType.FLOAT]
        return {name: f"{RANK}{i}" for i, name in enumerate(numbers)}

    @property
    def sorted_by(self) -> list[str]:
        """Columns that compare rows, the same way as `content_order` does."""
        shown = [name for name in self.publication.columns if name in self.labels]
        return [*(shown if self.ranks is None else [RANK]), *(self.bits.get(name, name) for name in self.kept)]

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are published as they are."""
        shown = self.publication
        return tuple(c for c in shown.columns if c not in self.labels and c not in shown.starred)

    @property
    def needed(self) -> list[str]:
        """Columns of the original that publishing looks at."""
        return _needed(self.code, self.kept)

    def _classified(self, batches: Iterator[Any]) -> Iterator[tuple[pl.DataFrame, IntArray]]:
        if self.lookup is None:  # batches hold what `KeyTask` said, classes and labels
            for rows in gathered(map(normalize, map(frame_of, batches)), TOGETHER):
                if rows[CLASS].null_count():
                    raise ValueError("rows that were not there when they were searched")
                yield rows, rows[CLASS].to_numpy().astype(np.int64)
            return
        for rows in self.code.rows.frames(batches, self.needed, numbered=True):
            yield rows, self.lookup.classes(self.code.keys(rows))

    def _cells(self, name: str, frame: pl.DataFrame, classes: IntArray) -> pl.Series:
        if name in self.publication.starred:
            return pl.repeat(ANYTHING, len(classes), eager=True).alias(name)
        if name in self.labels and self.lookup is None:
            return frame[f"{LABEL}{list(self.labels).index(name)}"].alias(name)
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
            yield from batches_of(frame)


@dataclass(frozen=True, slots=True)
class SizeTask:
    """How many rows every partition has: (part, n)."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        n = sum(batch.num_rows for batch in batches)
        yield from batches_of(pl.DataFrame({"part": [_partition()], "n": [n]}))


SIZES = "part bigint, n bigint"


@dataclass(frozen=True, slots=True, eq=False)
class DrawTask:
    """Sorted rows with the random words that the secret draws for them."""

    offsets: Mapping[int, int]  # number of the first row of every partition
    key: bytes = field(repr=False)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        at = self.offsets.get(_partition(), 0)
        for frame in map(frame_of, batches):
            blocks = range(at // BLOCK, (at + frame.height) // BLOCK + 1)
            words = np.concatenate([drawn_words(self.key, block) for block in blocks])[at % BLOCK :][: frame.height]
            at += frame.height
            yield from batches_of(frame.with_columns(pl.Series(WORD, _signed(words))))


@dataclass(frozen=True, slots=True, eq=False)
class WriteTask:
    """Writes rows to files of its own; says which, with their place among all.

    A worker that is lost is replaced by another one that writes other files, so only files that were said count.
    """

    publish: PublishTask | None  # None: batches hold published rows already, in their order
    folder: Path
    kind: str
    delimiter: str | None
    columns: tuple[str, ...] = field(default=())
    spelling: Spelling = field(default_factory=Spelling)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        if self.publish:
            frames = self.publish.frames(batches)
        else:
            frames = gathered((normalize(frame_of(batch)) for batch in batches), TOGETHER)
        for number, frame in enumerate(frames):
            if frame.height:
                path = self.folder / f"{secrets.token_hex(8)}.{self.kind}"
                write_frame(self.spelling.written(frame.select(self.columns)), path, delimiter=self.delimiter)
                _sync(path)
                first = frame[ROW][0] if self.publish else (_partition() << 32) + number
                yield from batches_of(pl.DataFrame({"name": [path.name], "first": [first]}))


WRITTEN = "name string, first bigint"


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


def _bits(numbers: pl.Series, name: str) -> pl.Series:
    """Whole numbers in the order of decimal ones, empty where these are."""
    bits = pl.Series(name, _signed(sortable(numbers.fill_null(0.0).to_numpy())))
    return bits.to_frame().select(pl.when(numbers.is_not_null()).then(name)).to_series()


def _signed(words: NDArray[np.uint64]) -> IntArray:
    """Numbers of 64 bits as Spark has them, in the same order."""
    return (words ^ np.uint64(1 << 63)).view(np.int64)


def _partition() -> int:
    """The number of the partition that this worker holds."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _needed(code: CodeTask, columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*code.columns, *([code.person] if code.person else []), *columns]))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def write_files(
    phases: Phases, release: SparkTable, place: Path, folder: Path, *, kind: str, delimiter: str | None
) -> None:
    """Write a release to a file, or to files of a folder; workers write theirs to `folder`, which is then removed."""
    folder.mkdir()
    try:
        is_kept = release.order is Order.KEEP
        publish = publishing(release)
        task = WriteTask(publish if is_kept else None, folder, kind, delimiter, tuple(release.types), publish.spelling)
        with explained("writing the release", str(place)), _few_samples(phases.session, _n_parts(release)):
            if is_kept:
                written = _published(phases.session, release, task, WRITTEN)
            else:
                written = _ordered(phases, release).mapInArrow(Guarded(task), WRITTEN)
            reports = frame_of(written.toArrow()).sort("first")
            paths = [folder / name for name in reports["name"].to_list()]
            if place.is_dir():
                for number, path in enumerate(paths):
                    path.replace(place / f"part-{number:05d}.{kind}")
            else:
                join = CombineTask(tuple(paths), place, kind)
                phases.session.range(0, 1, 1, 1).mapInArrow(Guarded(join), "id bigint").toArrow()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_table(phases: Phases, release: SparkTable, place: DatabaseTable) -> None:
    """Write a release to a table of Spark's catalog."""
    if place.scheme != "spark":
        raise IncompatibleChoice(f"Spark does not write {place.scheme} databases here", hint="--engine local")
    with explained("writing the release", str(place)), _few_samples(phases.session, _n_parts(release)):
        rows = _rows(phases.session, release) if release.order is Order.KEEP else _ordered(phases, release)
        rows.select(*(f"`{escaped(name)}`" for name in release.types)).write.saveAsTable(place.table)


def open_table(
    session: Any, target: DatabaseTable, force: bool, reads: Sequence[DatabaseTable] = ()
) -> tuple[DatabaseTable, Transaction]:
    """A temporary table for a release, which gets its name when it was recounted."""
    assert target.table is not None
    with explained("looking for the table", str(target)):
        exists = session.catalog.tableExists(target.table)
        if exists:
            _refuse_tables_read(session, target, [read for read in reads if read.scheme == target.scheme])
    if exists and not force:
        hint = "use --force to replace it, or another name"
        raise PolicyError("the output exists already", hint=hint, location=str(target))
    schema, dot, _ = target.table.rpartition(".")
    partial = f"{schema}{dot}tablecloak_{secrets.token_hex(6)}"
    return replace(target, table=partial), _Release(session, target, partial, force)


def _refuse_tables_read(session: Any, target: DatabaseTable, reads: Sequence[DatabaseTable]) -> None:
    for read in reads:
        source = None if read.table is None else session.catalog.getTable(read.table)
        if source is None or source.tableType not in ("MANAGED", "EXTERNAL"):
            raise PolicyError(OVER_QUERY, hint=OTHER_NAME, location=str(target))
        own = session.catalog.getTable(target.table)
        if (source.catalog, source.namespace, source.name) == (own.catalog, own.namespace, own.name):
            raise PolicyError(OVER_INPUT, hint=OTHER_NAME, location=str(target))


@dataclass(slots=True, eq=False)
class _Release:
    """A release in Spark's catalog that has a temporary name as yet."""

    session: Any
    target: DatabaseTable
    partial: str
    force: bool

    def commit(self) -> None:
        """Give the release its name, which nobody must have taken meanwhile unless it may be replaced."""
        with explained("renaming the release", str(self.target)):
            if self.force:
                self.session.sql(f"DROP TABLE IF EXISTS {self.target.table}")
            self.session.sql(f"ALTER TABLE {self.partial} RENAME TO {self.target.table}")

    def discard(self) -> None:
        """Drop it."""
        with contextlib.suppress(Exception):
            self.session.sql(f"DROP TABLE IF EXISTS {self.partial}")


def publishing(release: SparkTable) -> PublishTask:
    """The task that makes a release as its rows are read."""
    assert release.publish is not None
    return release.publish


def _rows(session: Any, release: SparkTable) -> Any:
    """Published rows, with their numbers or what sorts them, as a DataFrame."""
    publish = publishing(release)
    beside = [*([] if publish.ranks is None else [RANK]), *publish.bits.values()] if publish.is_sorted else [ROW]
    columns = [*(_declared(name, release.types) for name in release.types), *(f"`{name}` bigint" for name in beside)]
    return _published(session, release, publish, ", ".join(columns))


def _ordered(phases: Phases, release: SparkTable) -> Any:
    """Published rows in their order: every partition lies behind the one before it, and is sorted."""
    from pyspark.sql import functions as f

    by, n_parts = publishing(release).sorted_by, _n_parts(release)
    rows = _sorted(_rows(phases.session, release), by, by, n_parts, f)
    if release.order is not Order.RANDOM:
        return rows
    assert release.key is not None
    phases.hold(rows)
    sizes = frame_of(rows.mapInArrow(Guarded(SizeTask()), SIZES).toArrow()).sort("part")
    offsets = dict(zip(sizes["part"].to_list(), (sizes["n"].cum_sum() - sizes["n"]).to_list(), strict=True))
    schema = ", ".join([*(f"`{escaped(c.name)}` {c.dataType.simpleString()}" for c in rows.schema), f"{WORD} bigint"])
    return _sorted(rows.mapInArrow(Guarded(DrawTask(offsets, release.key)), schema), [WORD], [WORD, *by], n_parts, f)


def _sorted(rows: Any, ranges: Sequence[str], by: Sequence[str], n_parts: int, functions: Any) -> Any:
    """Rows in order, in parts that are ranges of its first columns."""
    cut, compared = ([quoted(functions, name) for name in names] for names in (ranges, by))
    return rows.repartitionByRange(n_parts, *cut).sortWithinPartitions(*compared)


def _n_parts(release: SparkTable) -> int:
    """In how many parts a release is sorted."""
    return max(1, release.n_rows // TOGETHER)


@contextmanager
def _few_samples(session: Any, n_parts: int) -> Iterator[None]:
    """Spark cuts ranges at samples of rows, which the driver gets: some for each part, no more than that in all."""
    before = session.conf.get(SAMPLE_SIZE)
    session.conf.set(SAMPLE_SIZE, str(max(1, min(SAMPLES_PER_PART, MOST_SAMPLES // n_parts))))
    try:
        yield
    finally:
        session.conf.set(SAMPLE_SIZE, before)


def _published(session: Any, release: SparkTable, task: Callable[..., Any], schema: str) -> Any:
    """The task on all rows that are published, as a DataFrame."""
    publish = publishing(release)
    if release.classes is None:
        return mapped(session, release, task, schema, publish.needed)
    words = words_in(publish.code.packing)
    columns = [*(f"{w} bigint" for w in words), *(_declared(c, publish.types) for c in publish.kept), f"`{ROW}` bigint"]
    keyed = mapped(session, release, KeyTask(publish.code, publish.kept), ", ".join(columns), publish.needed)
    of_tuples = release.classes.drop("shard", "n").hint("merge")  # small tables would be broadcast by the driver
    joined = keyed.join(of_tuples, words, "left")
    if not publish.is_sorted:  # else they are sorted when they are published, whatever their order before
        joined = joined.repartitionByRange(_n_parts(release), ROW).sortWithinPartitions(ROW)
    return joined.mapInArrow(Guarded(task), schema)


def _declared(name: str, types: Mapping[str, ColumnType]) -> str:
    return f"`{escaped(name)}` {SPARK_TYPES[types[name]]}"
