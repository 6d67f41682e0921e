"""The Spark engine: rows stay on the workers of a cluster, counts and classes travel.

Workers read the files themselves, so files must lie where all of them find them; tables of Spark's catalog are read and
written by Spark. Only the DataFrame interface is used, so that classic sessions and Spark Connect both work.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.cleanup import unfinished
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.engines import spark_counts as counts
from tablecloak.engines.base import (
    Answer,
    Coding,
    Publication,
    QuasiColumn,
    Recount,
    Search,
    SensitiveColumn,
    StandsAlone,
    Summary,
    Table,
)
from tablecloak.engines.java import provide_java
from tablecloak.engines.shards import Node, cut_apart_by
from tablecloak.engines.solutions import join
from tablecloak.engines.spark_tasks import (
    COUNTED,
    ROW,
    SOLVED,
    VALUES,
    WRITTEN,
    CodeTask,
    CombineTask,
    CountTask,
    FileRows,
    Guarded,
    Lookup,
    PublishTask,
    ShardTask,
    Slice,
    SolveTask,
    SummaryTask,
    TableRows,
    ValuesTask,
    WriteTask,
    decoded,
)
from tablecloak.errors import CloakError, DataError, EngineError, IncompatibleChoice, PolicyError
from tablecloak.io.database import Transaction, openers
from tablecloak.io.extras import require_package
from tablecloak.io.frames import DTYPES
from tablecloak.io.parts import Part, is_many, parts_of
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import ColumnSchema, Layout, Source, format_and_compression
from tablecloak.kernels.space import Layout as Packing
from tablecloak.progress import Progress, silent

__all__ = ["SparkEngine", "SparkTable"]

IntArray = NDArray[np.int64]
DEFAULT_MASTER = "local[*]"
SLICE_ROWS = 250_000
DRIVER_MEMORY = 4 << 30
BYTES_PER_TUPLE = 200
FILE_BITS = 40  # rows of one file, in numbers of rows
_SPARK_TYPES = {
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


@dataclass(slots=True, eq=False)
class _Rows:
    """What the engine remembers of a coded table, to find its rows again."""

    table: SparkTable
    task: CodeTask
    tuples: counts.Tuples | None  # None: they are on the workers, in shards
    make_table: counts.MakeTable | None = None
    answer: Answer | None = None
    labels: Mapping[str, ClassLabels] = field(default_factory=dict)


class SparkEngine:
    """Everything on a cluster.

    Args:
        master: `local[2]`, `spark://host:port` or another master, or `sc://host:port` for Spark Connect.
        memory: bytes for the driver; None leaves it to Spark.
        session: one that is there already; it is not stopped at the end.
        most_tuples: different tuples that the driver searches itself; more are cut apart and searched by workers.
    """

    name = "spark"

    def __init__(
        self,
        master: str | None = None,
        *,
        memory: int | None = None,
        session: Any = None,
        most_tuples: int | None = None,
    ) -> None:
        self.most_tuples = most_tuples or (memory or DRIVER_MEMORY) // BYTES_PER_TUPLE
        self._is_own = session is None
        self._folders: list[Path] = []
        self.session = session or _session(master or DEFAULT_MASTER, memory)
        openers["spark"] = self.open_table
        unfinished.add(self)

    # Reading -------------------------------------------------------------------------------------------------------

    def layout(self, source: Source) -> Layout:
        """Names and types of a source, also of tables in Spark's catalog."""
        if source.table is None or source.table.scheme != "spark":
            return sniff(source)
        with _explained("looking for the table", str(source.table)):
            fields = [(f.name, f.dataType.simpleString()) for f in self.session.table(source.table.table).schema]
        columns = tuple(ColumnSchema(n, source.declared_type(n) or _our_type(n, t, source)) for n, t in fields)
        return Layout("spark", columns, 0)

    def read(
        self,
        source: Source | pl.DataFrame,
        *,
        columns: Sequence[str] | None,
        categorical: Collection[str],  # noqa: ARG002
        labels: Mapping[str, Sequence[str]] | None = None,  # noqa: ARG002
    ) -> SparkTable:
        if isinstance(source, pl.DataFrame):
            raise IncompatibleChoice("Spark reads files and tables, not frames in memory", hint="the local engine")
        if source.table is not None and source.table.scheme != "spark":
            raise IncompatibleChoice(
                f"Spark does not read {source.table.scheme} databases here", hint="--engine local or duckdb"
            )
        layout = self.layout(source)
        types = {name: layout.type_of(name) for name in columns or layout.names}
        if source.table is not None:
            found = SparkTable(types, source.location, 0, TableRows(), table=source.table.table)
            return replace(found, n_rows=self._n_rows(found))
        slices, n_rows = _slices(source, layout)
        found = SparkTable(types, source.location, n_rows or 0, FileRows(source, layout, slices))
        return found if n_rows is not None else replace(found, n_rows=self._n_rows(found))

    def _n_rows(self, table: SparkTable) -> int:
        return self._summaries(table, ())[0]

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> SparkTable:
        found = _spark(table)
        chosen = replace(found, types={c: found.types[c] for c in columns})
        if not without_missing:
            return chosen
        chosen = replace(chosen, rows=replace(found.rows, drops=(*found.rows.drops, *without_missing)))
        return replace(chosen, n_rows=self._n_rows(chosen))

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        missing = self._summaries(_spark(table), columns)[1]
        n_distinct = self._n_distinct(_spark(table), columns) if distinct else {}
        return {name: Summary(missing[name], n_distinct.get(name)) for name in columns}

    def _summaries(self, table: SparkTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Rows, and empty cells by column."""
        task = SummaryTask(table.rows, tuple(columns))
        with _explained("counting rows", table.name):
            found = self._mapped(table, task, "column int, n bigint", columns).groupBy("column").sum("n").toArrow()
        by_column = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
        return int(by_column.get(-1, 0)), {name: int(by_column.get(i, 0)) for i, name in enumerate(columns)}

    def _n_distinct(self, table: SparkTable, columns: Sequence[str]) -> dict[str, int]:
        with _explained("counting values", table.name):
            found = self._values(table, columns).groupBy("column").count().toArrow()
        by_column = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
        return {name: int(by_column.get(i, 0)) for i, name in enumerate(columns)}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:  # noqa: ARG002
        raise IncompatibleChoice(
            "this choice needs all rows in one memory, and Spark keeps them on its workers",
            hint="--engine local, or another algorithm; output.shuffle needs all rows, too",
        )

    # Jobs ----------------------------------------------------------------------------------------------------------

    def _mapped(self, table: SparkTable, task: Callable[..., Any], schema: str, columns: Sequence[str]) -> Any:
        """The task on all rows of a table, as a DataFrame that is computed when it is asked for."""
        if isinstance(table.rows, FileRows):
            n = len(table.rows.slices)
            return self.session.range(0, n, 1, n).mapInArrow(Guarded(task), schema)
        from pyspark.sql import functions as f

        names = dict.fromkeys([*columns, *table.rows.drops])
        types = table.publish.types if table.publish else table.types  # of the original
        casts = [_quoted(f, n).cast(_SPARK_TYPES[types[n]]).alias(n) for n in names if n in types]
        casts += [_quoted(f, n) for n in names if n not in types]
        chosen = self.session.table(table.table).select(*casts, f.monotonically_increasing_id().alias(ROW))
        return chosen.mapInArrow(Guarded(task), schema)

    def _values(self, table: SparkTable, columns: Sequence[str]) -> Any:
        return self._mapped(table, ValuesTask(table.rows, tuple(columns)), VALUES, columns).distinct()

    def _distinct(self, table: SparkTable, columns: Sequence[str]) -> dict[str, pl.Series]:
        with _explained("collecting values", table.name):
            found = _frame(self._values(table, columns).toArrow())
        return decoded(found, columns, {name: DTYPES[table.types[name]] for name in columns})

    def _tuples(self, table: SparkTable, task: CodeTask, columns: counts.Columns) -> counts.Tuples:
        with _explained("counting tuples", table.name):
            return counts.Tuples.of(_frame(self._grouped(table, task).toArrow()), columns)

    def _grouped(self, table: SparkTable, task: CodeTask) -> Any:
        """Different tuples with their number, as a DataFrame."""
        words = [f"w{i}" for i in range(int(task.packing.word.max(initial=0)) + 1)]
        names = [*words, *(["person"] if task.person else [])]
        schema = ", ".join(f"{name} bigint" for name in [*names, "n", "first"])
        from pyspark.sql import functions as f

        wanted = [*task.columns, *([task.person] if task.person else [])]
        coded = self._mapped(table, task, schema, wanted)
        return coded.groupBy(*names).agg(f.sum("n").alias("n"), f.min("first").alias("first"))

    # Searching -----------------------------------------------------------------------------------------------------

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, progress: Progress = silent,  # noqa: ARG002
    ) -> Coding:  # fmt: skip
        if by_row:
            raise IncompatibleChoice(
                "this algorithm tells equal rows apart, and Spark sends only different ones to it",
                hint="--engine local, or algorithm: auto or mondrian",
            )
        found = _spark(table)
        names = [*(q.name for q in quasi), *(s.name for s in counts.plain(sensitive))]
        values = self._distinct(found, list(dict.fromkeys(names)))
        columns = counts.fit_columns(values, found.types, quasi, sensitive, found.name)
        person = next((s.name for s in sensitive if s.is_person), None)
        task = CodeTask(found.rows, columns.coders, columns.packing, person)
        may_shard = stands_alone is not None and person is None and not any(s.joins for s in sensitive)
        if stands_alone is not None and may_shard and found.n_rows > self.most_tuples:
            grouped = self._grouped(found, task).persist()
            with _explained("counting tuples", found.name):
                n_tuples = int(grouped.count())
            if n_tuples > self.most_tuples:
                return self._sharded(found, task, columns, sensitive, grouped, n_tuples, stands_alone)
        tuples = counts.in_local_order(self._tuples(found, task, columns), columns, sensitive)
        coded = counts.coded_tuples(tuples, columns, sensitive)
        return Coding(
            coded.domains, coded.sensitive, found.n_rows, coded.n_tuples, coded.totals, (coded,),
            rows=_Rows(found, task, tuples),
        )  # fmt: skip

    def _sharded(
        self,
        table: SparkTable,
        task: CodeTask,
        columns: counts.Columns,
        sensitive: Sequence[SensitiveColumn],
        grouped: Any,
        n_tuples: int,
        stands_alone: StandsAlone,
    ) -> Coding:
        """Cuts by counts of codes, so that each shard fits a worker."""
        n_dims, packing = len(columns.domains), columns.packing

        def count(tree: CutTree, n_shards: int) -> list[Node]:
            asked = CountTask(ShardTask(packing, tree, n_dims), len(columns.coders))
            with _explained("counting codes", table.name):
                told = grouped.mapInArrow(Guarded(asked), COUNTED).groupBy("shard", "dim", "code").sum("n").toArrow()
            found = _frame(told.rename_columns(["shard", "dim", "code", "n"]))
            return counts.nodes_of(found, columns.widths, n_shards, n_dims)

        (root,) = count(CutTree(*(np.zeros(0, np.int64) for _ in range(4))), 1)
        totals = {s.name: root.counts[n_dims + i] for i, s in enumerate(columns.sensitive)}
        most = max(1, int(self.most_tuples * table.n_rows / n_tuples))
        space = make_space(columns.domains, packing)
        cuts, _ = cut_apart_by(count, space, columns.sensitive, totals, most_rows=most, stands_alone=stands_alone)
        make = counts.MakeTable(columns, tuple(SensitiveColumn(s.name) for s in sensitive), totals)
        by_shard = grouped.mapInArrow(Guarded(ShardTask(packing, cuts, n_dims)), _shard_schema(packing))
        return Coding(
            columns.domains, columns.sensitive, table.n_rows, n_tuples, totals,
            _Shards(by_shard, make, len(cuts.dim) + 1), cuts, rows=_Rows(table, task, None, make),
        )  # fmt: skip

    def _solve_shards(self, coding: Coding, search: Search) -> Answer:
        shards = coding.shards
        assert isinstance(shards, _Shards)
        task = SolveTask(shards.make, search)

        def solve(table: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
            return task(table)

        with _explained("searching", coding.rows.table.name):
            told = shards.tuples.groupBy("shard").applyInArrow(solve, SOLVED).toArrow()
        found = sorted(zip(told.column("shard").to_pylist(), told.column("answer").to_pylist(), strict=True))
        answers = [pickle.loads(answer) for _, answer in found]
        if not all(leads for _, leads in answers):
            raise IncompatibleChoice(
                f"{coding.n_tuples:,} different tuples are more than the driver takes, and this algorithm finds "
                "classes that no cuts lead to",
                hint="algorithm: mondrian without suppression_limit, or more --memory",
            )
        return join([answer for answer, _ in answers], coding.cuts) if coding.cuts else answers[0][0]

    def solve(self, coding: Coding, search: Search) -> Answer:
        if isinstance(coding.shards, _Shards):
            return self._solve_shards(coding, search)
        solution = search(coding.table)
        return Answer(solution, solution.sizes(coding.table))

    # Releasing -----------------------------------------------------------------------------------------------------

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[SparkTable, IntArray | None]:
        kept = _spark(table)
        rows: _Rows = coding.rows
        rows.answer, rows.labels = answer, labels
        lookup = _lookup(coding, rows, answer)
        types = {name: _published_type(name, labels, publication, rows.table.types) for name in publication.columns}
        publish = PublishTask(rows.task, lookup, labels, publication, rows.table.types)
        n_rows = coding.n_rows if publication.keeps_suppressed else int(answer.sizes.sum())
        source = replace(rows.table, types={**rows.table.types, **kept.types})
        return replace(source, types=types, name="the release", n_rows=n_rows, publish=publish), None

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> None:  # fmt: skip
        release = _spark(table)
        if isinstance(place, DatabaseTable):
            self._write_table(release, place)
            return
        if place.is_dir():
            known = kind or "parquet"
        else:
            known, compression = format_and_compression(place, kind, None)
            if compression:
                raise IncompatibleChoice("Spark joins files that are not compressed", hint="write Parquet")
        if known not in ("parquet", "csv", "tsv"):
            raise IncompatibleChoice(f"Spark writes Parquet and CSV here, not {known}", hint="output.format: parquet")
        self._write_files(release, place, known, delimiter)

    def _write_files(self, release: SparkTable, place: Path, kind: str, delimiter: str | None) -> None:
        folder = place.with_name(f".{secrets.token_hex(6)}.parts")
        folder.mkdir()
        self._folders.append(folder)
        try:
            task = WriteTask(_publishing(release), folder, kind, delimiter, tuple(release.types))
            with _explained("writing the release", str(place)):
                said = _frame(self._mapped(release, task, WRITTEN, _wanted(release)).toArrow()).sort("first")
                paths = [Path(path) for path in said["path"].to_list()]
                if place.is_dir():
                    for number, path in enumerate(paths):
                        path.replace(place / f"part-{number:05d}.{kind}")
                else:
                    join = CombineTask(tuple(paths), place, kind)
                    self.session.range(0, 1, 1, 1).mapInArrow(Guarded(join), "id bigint").toArrow()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write_table(self, release: SparkTable, place: DatabaseTable) -> None:
        if place.scheme != "spark":
            raise IncompatibleChoice(f"Spark does not write {place.scheme} databases here", hint="--engine local")
        schema = ", ".join(f"`{_escaped(n)}` {_SPARK_TYPES[t]}" for n, t in release.types.items())
        published = self._mapped(release, _publishing(release), f"{schema}, `{ROW}` bigint", _wanted(release))
        with _explained("writing the release", str(place)):
            published.drop(ROW).write.saveAsTable(place.table)

    def open_table(self, target: DatabaseTable, force: bool) -> tuple[DatabaseTable, Transaction]:
        """A temporary table for a release, which gets its name when it was recounted."""
        assert target.table is not None
        with _explained("looking for the table", str(target)):
            exists = self.session.catalog.tableExists(target.table)
        if exists and not force:
            hint = "use --force to replace it, or another name"
            raise PolicyError("the output exists already", hint=hint, location=str(target))
        schema, dot, _ = target.table.rpartition(".")
        partial = f"{schema}{dot}tablecloak_{secrets.token_hex(6)}"
        return replace(target, table=partial), _Release(self.session, target, partial)

    # Recounting ----------------------------------------------------------------------------------------------------

    def class_stats(
        self,
        release: Table,
        quasi: Sequence[str],
        sensitive: Sequence[SensitiveColumn],
        *,
        stars_are_suppressed: bool,
        originals: Coding | None = None,
        progress: Progress = silent,  # noqa: ARG002
    ) -> Recount:
        found = _spark(release)
        if found.publish is not None:
            raise IncompatibleChoice("Spark recounts what was written", hint="no --dry-run with --engine spark")
        asked = counts.plain(sensitive)
        values = self._distinct(found, [*quasi, *(s.name for s in asked)])
        columns = counts.fit_labels(values, found.types, quasi, sensitive, found.name)
        tuples = self._tuples(found, CodeTask(found.rows, columns.coders, columns.packing), columns)
        recount = counts.recounted(
            tuples, columns, values, quasi, sensitive, stars_are_suppressed=stars_are_suppressed,
            hidden=[(s.name, found.types[s.name]) for s in asked],
        )  # fmt: skip
        rows = originals.rows if originals else None
        if originals is None or rows is None or rows.answer is None:
            return recount
        if rows.tuples is None:
            return replace(recount, covers=counts.boxes_are_covered(recount, originals, rows.answer, rows.labels))
        recount = counts.with_persons(recount, originals, rows.answer, rows.labels)
        return replace(recount, covers=counts.covers_originals(recount, originals, rows.answer, rows.labels))

    def discard(self) -> None:
        """Remove what is on disk; a second call does nothing."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()

    def close(self) -> None:
        self.discard()
        openers.pop("spark", None)
        if self._is_own:
            with contextlib.suppress(Exception):
                self.session.stop()
            self._is_own = False


@dataclass(slots=True, eq=False)
class _Release:
    """A release in Spark's catalog that has a temporary name as yet."""

    session: Any
    target: DatabaseTable
    partial: str

    def commit(self) -> None:
        """Give the release its name."""
        with _explained("renaming the release", str(self.target)):
            self.session.sql(f"DROP TABLE IF EXISTS {self.target.table}")
            self.session.sql(f"ALTER TABLE {self.partial} RENAME TO {self.target.table}")

    def discard(self) -> None:
        """Drop it."""
        with contextlib.suppress(Exception):
            self.session.sql(f"DROP TABLE IF EXISTS {self.partial}")


@dataclass(frozen=True, slots=True, eq=False)
class _Shards(Sequence[CodedTable]):
    """Shards on the workers; each one is fetched when it is asked for."""

    tuples: Any  # a DataFrame
    make: counts.MakeTable
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < self.n:
            raise IndexError(index)
        with _explained("fetching a shard", "the table"):
            found = _frame(self.tuples.where(f"shard = {index}").toArrow())
        return self.make(found.drop("shard"))


def _shard_schema(packing: Packing) -> str:
    words = [f"w{i}" for i in range(int(packing.word.max(initial=0)) + 1)]
    return ", ".join([*(f"{name} bigint" for name in [*words, "n", "first"]), "shard int"])


def _spark(table: Table) -> SparkTable:
    assert isinstance(table, SparkTable)
    return table


def _publishing(release: SparkTable) -> PublishTask:
    assert release.publish is not None
    return release.publish


def _wanted(release: SparkTable) -> list[str]:
    """The columns of the original that publishing looks at."""
    publish = _publishing(release)
    shown = [c for c in publish.publication.columns if c not in publish.labels and c not in publish.publication.starred]
    person = [publish.code.person] if publish.code.person else []
    return list(dict.fromkeys([*publish.code.columns, *person, *shown]))


def _lookup(coding: Coding, rows: _Rows, answer: Answer) -> Lookup:
    """Cuts where these lead to the class of every tuple, else the table of tuples."""
    solution, packing = answer.solution, rows.task.packing
    n_dims = len(coding.domains)
    if rows.tuples is None:
        return Lookup(packing, n_dims, tree=solution.tree)
    table = coding.table
    if solution.tree is not None:
        codes = np.stack([table.quasi_codes(d) for d in range(n_dims)])
        if np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple):
            return Lookup(packing, n_dims, tree=solution.tree)
    keys = rows.tuples.keys.with_columns(pl.Series("class", solution.class_of_tuple.astype(np.int64)))
    return Lookup(packing, n_dims, keys=keys)


def _published_type(
    name: str, labels: Mapping[str, ClassLabels], publication: Publication, types: Mapping[str, ColumnType]
) -> ColumnType:
    if name in publication.starred:
        return ColumnType.TEXT
    if name in labels:
        return ColumnType.FLOAT if labels[name].are_numbers else ColumnType.TEXT
    return types[name]


def _slices(source: Source, layout: Layout) -> tuple[tuple[Slice, ...], int | None]:
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


def _our_type(name: str, spark_type: str, source: Source) -> ColumnType:
    known = ColumnType.FLOAT if spark_type.startswith("decimal") else _OUR_TYPES.get(spark_type)
    if known is None:
        raise DataError(
            f"column '{name}' has the unsupported type {spark_type}", hint="leave it out, or cast it to text",
            location=source.location,
        )  # fmt: skip
    return known


def _escaped(name: str) -> str:
    return name.replace("`", "``")


def _quoted(functions: Any, name: str) -> Any:
    return functions.col(f"`{_escaped(name)}`")


def _frame(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


# Sessions ----------------------------------------------------------------------------------------------------------


def _session(master: str, memory: int | None) -> Any:
    sql = require_package("pyspark.sql", extra="spark", purpose="the Spark engine")
    require_package("pyarrow", extra="spark", purpose="the Spark engine")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("tablecloak").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.caseSensitive", "true")
    with _explained("connecting", master):
        if master.startswith("sc://"):
            require_package("grpc", extra="spark", purpose="Spark Connect")
            return builder.remote(master).getOrCreate()
        provide_java()
        for key, value in _settings(master, memory).items():
            builder = builder.config(key, value)
        return builder.master(master).getOrCreate()


def _settings(master: str, memory: int | None) -> dict[str, str]:
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    shuffles = {"spark.sql.shuffle.partitions": "8"} if master.startswith("local") else {}
    limits = {"spark.driver.memory": f"{max(512, memory >> 20)}m"} if memory else {}
    return {**quiet, **shuffles, **limits, "spark.driver.maxResultSize": "0"}


@contextmanager
def _explained(step: str, location: str) -> Iterator[None]:
    """Errors of Spark in our words: theirs may show cells of the data."""
    try:
        yield
    except CloakError:
        raise
    except (AssertionError, LookupError, TypeError):
        raise
    except Exception as exc:  # Spark, its gateway and gRPC have their own trees of errors
        raise _problem(str(exc), step, location) from None


def _problem(text: str, step: str, location: str) -> CloakError:
    ours = re.search(r"tablecloak\.errors\.DataError: (?:\S+  )?([^\n]*)(?:\n  try  ([^\n]*))?", text)
    if ours:
        return DataError(ours[1], hint=ours[2], location=location)
    if "TABLE_OR_VIEW_NOT_FOUND" in text:
        return DataError("there is no such table", hint="check its name and schema", location=location)
    if step == "connecting":
        hint = "check the address after --spark, and that the master runs"
        return EngineError("Spark cannot be reached", hint=hint, location=location)
    kind = re.search(r"\[([A-Z_.]{6,})\]", text)
    shown = f" ({kind[1]})" if kind else ""
    return EngineError(f"Spark failed while {step}{shown}", hint="the log of Spark says more", location=location)
