"""The Spark engine: rows stay on the workers of a cluster, counts and classes travel.

Workers read the files themselves, so files must lie where all of them find them; tables of Spark's catalog are read and
written by Spark. Only the DataFrame interface is used, so that classic sessions and Spark Connect both work.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellTest, ColumnChange
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import (
    PERSON,
    Answer,
    BytesPerTuple,
    Coding,
    Publication,
    QuasiColumn,
    Recount,
    SensitiveColumn,
    ShardSearch,
    StandsAlone,
    Summary,
    Table,
)
from tablecloak.engines.disk.external_sort import Ranks
from tablecloak.engines.equal_rows import Alike, Hidden
from tablecloak.engines.run_folder import Opening, RunFolder
from tablecloak.engines.spark import coding as counts
from tablecloak.engines.spark import worker_jobs
from tablecloak.engines.spark.coding import CodeTask, words_in
from tablecloak.engines.spark.finished_phases import Phases
from tablecloak.engines.spark.publish import PublishTask, open_table, write_files, write_table
from tablecloak.engines.spark.recount import ReleaseClasses, StarsShown, covers_originals, recounted, with_persons
from tablecloak.engines.spark.rows import (
    FileRows,
    ReadTexts,
    SparkTable,
    TableRows,
    our_type,
    parquet_slices,
    spark_table,
)
from tablecloak.engines.spark.search import CodedState, WorkerShards, lookup_of, sharded, solve_shards
from tablecloak.engines.spark.session import explained, has_session, open_session, task_bytes
from tablecloak.engines.spark.text_files import text_slices
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.database import Transaction, openers
from tablecloak.io.extras import require_installed
from tablecloak.io.formats import format_and_compression
from tablecloak.io.parts import files_of
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.private import unfinished
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import ColumnSchema, Layout, Source
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret
from tablecloak.stats.moments import MomentSums

DEFAULT_MASTER = "local[*]"
DRIVER_MEMORY = 4 << 30
# What Python holds before the first tuple, and for each tuple beside the search: as it came, in the order that a search
# numbers tuples in, and what is told of it. In all that is BYTES_PER_TUPLE where only the sizes of classes are counted.
RESIDENT = 350 << 20
BESIDE_SEARCH = 300
BYTES_PER_TUPLE = 400


def tuples_in(memory: int) -> int:
    """Different tuples that a process may hold while it searches for classes of a size."""
    return max(1, max(memory - RESIDENT, memory // 8) // BYTES_PER_TUPLE)


def _share(searched: float, columns: counts.CodedColumns) -> float:
    """How many of these tuples fit where one of a search by sizes does.

    Args:
        searched: bytes that the search holds for each, besides three copies of its key.
    """
    n_words = len(words_in(columns.packing))
    return min(1.0, BYTES_PER_TUPLE / (BESIDE_SEARCH + 24 * n_words + searched))


class SparkEngine:
    """Everything on a cluster.

    Args:
        master: `local[2]`, `spark://host:port` or another master, or `sc://host:port` for Spark Connect.
        memory: bytes for the driver; None leaves it to Spark.
        session: one that is there already; it is not stopped at the end.
        most_tuples: different tuples that the driver searches itself; more are cut apart and searched by workers.
        folder: keeps what phases found, where workers find it, too; None: nothing is kept.
    """

    name = "spark"
    recounts_unwritten = tells_rows_apart = False  # rows lie with workers, who send counts of equal ones
    room = 0  # no row reaches the driver
    scratch = None

    def __init__(
        self,
        master: str | None = None,
        *,
        memory: int | None = None,
        session: Any = None,
        most_tuples: int | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        self.most_tuples = most_tuples or tuples_in(memory or DRIVER_MEMORY)
        self._is_own = not has_session() and session is None  # one that somebody works with is not ours to stop
        self._folders: list[Path] = []
        self.session = session or open_session(master or DEFAULT_MASTER, memory)
        self.shard_tuples = tuples_in(task_bytes(self.session))
        self.phases = Phases(self.session, folder)
        self._looked: worker_jobs.Looked | None = None
        self._opener_before = openers.get("spark")
        openers["spark"] = self.open_table
        unfinished.add(self)

    # Reading -------------------------------------------------------------------------------------------------------

    def remembered(self, secret: Secret, *, is_new: bool) -> Secret:
        """Kept in the folder of the run, if it has one."""
        folder = self.phases.folder
        return secret if folder is None else folder.remembered(secret, is_new=is_new)

    def layout(self, source: Source) -> Layout:
        """Names and types of a source, also of tables in Spark's catalog."""
        if source.table is None or source.table.scheme != "spark":
            return sniff(source)
        with explained("looking for the table", str(source.table)):
            fields = [(f.name, f.dataType.simpleString()) for f in self.session.table(source.table.table).schema]
        columns = tuple(
            ColumnSchema(n, source.declared_type(n) or our_type(n, t, source), notation=source.notations.get(n))
            for n, t in fields
        )
        return Layout("spark", columns, 0)

    def read(
        self, source: Source, *, columns: Sequence[str] | None, categorical: Collection[str],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> SparkTable:  # fmt: skip
        if source.is_frame:
            raise IncompatibleChoice("Spark reads files and tables, not frames in memory", hint="the local engine")
        if source.table is not None and source.table.scheme != "spark":
            raise IncompatibleChoice(
                f"Spark does not read {source.table.scheme} databases here", hint="--engine local or duckdb"
            )
        layout = self.layout(source)
        types = {name: layout.type_of(name) for name in columns or layout.names}
        if source.table is not None:
            noted = {name: notation for name in types if (notation := layout.notation_of(name)) is not None}
            texts = {**types, **dict.fromkeys(noted, ColumnType.TEXT)}
            spark = SparkTable(texts, source.location, 0, TableRows(), table=source.table.table)
            spark = replace(spark, n_rows=self._n_rows(spark))
            reads = [
                ColumnChange(n, types[n], ReadTexts(types[n], how, source.location), n) for n, how in noted.items()
            ]
            return self.changed(spark, reads) if reads else spark
        if layout.format == "parquet":
            slices, n_rows = parquet_slices(source)
        else:
            slices, n_rows = text_slices(self.session, source, layout, self.phases)
        return SparkTable(types, source.location, n_rows, FileRows(source, layout, slices))

    def _n_rows(self, table: SparkTable) -> int:
        return int(self._counted(table, ())["rows"])

    def _counted(self, table: SparkTable, columns: Sequence[str]) -> dict[str, Any]:
        """Rows, and empty cells by column."""

        def count() -> dict[str, Any]:
            self._looked = worker_jobs.looked(self.session, table, columns, self.phases.hold)
            return {"rows": self._looked.n_rows, "missing": self._looked.missing}

        return self.phases.facts(
            f"count {[*columns]} {[*table.rows.drops]} {table.rows.hidden} {len(table.rows.changes)}",
            count,
            is_input=self._is_input(table),
        )

    def _is_input(self, table: SparkTable) -> bool:
        folder, rows = self.phases.folder, table.rows
        return folder is not None and isinstance(rows, FileRows) and folder.reads(files_of(rows.source))

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> SparkTable:
        spark = spark_table(table)
        chosen = replace(spark, types={c: spark.types[c] for c in columns})
        if not without_missing:
            return chosen
        chosen = replace(chosen, rows=replace(spark.rows, drops=(*spark.rows.drops, *without_missing)))
        return replace(chosen, n_rows=self._n_rows(chosen))

    def changed(self, table: Table, changes: Sequence[ColumnChange]) -> SparkTable:
        spark = spark_table(table)
        rows = replace(spark.rows, changes=(*spark.rows.changes, tuple(changes)))
        if isinstance(rows, TableRows):
            rows = replace(rows, types={**spark.types, **rows.types})
        return replace(spark, types={**spark.types, **{c.name: c.type for c in changes}}, rows=rows)

    def settled(self, table: Table, columns: Sequence[str]) -> SparkTable:
        return spark_table(table)  # workers make them where they need them

    def without_hidden(self, table: Table, hidden: Hidden) -> SparkTable:
        original = spark_table(table)
        shown = replace(original, rows=replace(original.rows, hidden=hidden))
        n_rows = self._n_rows(shown)
        return replace(shown, n_rows=n_rows) if 0 < n_rows < original.n_rows else original

    def batches(self, table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        raise IncompatibleChoice("Spark keeps rows on its workers", hint="--engine duckdb")

    def sorted(self, table: Table) -> SparkTable:
        return spark_table(table)  # tuples are counted, whatever their order

    def value_counts(self, table: Table, column: str, where: CellTest | None = None) -> pl.DataFrame:
        return worker_jobs.value_counts(self.session, spark_table(table), column, where)

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        missing = self._counted(spark_table(table), columns)["missing"]
        n_distinct = worker_jobs.n_distinct(self.session, spark_table(table), columns) if distinct else {}
        return {name: Summary(missing[name], n_distinct.get(name)) for name in columns}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
        raise IncompatibleChoice(
            "this choice needs all rows in one memory, and Spark keeps them on its workers",
            hint="--engine local, or another algorithm",
        )

    # Searching -----------------------------------------------------------------------------------------------------

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, bytes_per_tuple: BytesPerTuple | None = None,
        progress: Progress = silent,
    ) -> Coding:  # fmt: skip
        if by_row:
            raise IncompatibleChoice(
                "this algorithm tells equal rows apart, and Spark sends only different ones to it",
                hint="--engine local, or algorithm: auto or mondrian",
            )
        spark = spark_table(table)
        names = [*(q.name for q in quasi), *(s.name for s in counts.plain(sensitive))]
        values = self._values(spark, list(dict.fromkeys(names)))
        columns = counts.fit_columns(values, spark.types, quasi, sensitive, spark.name)
        person = next((s.name for s in sensitive if s.is_person), None)
        task = CodeTask(spark.rows, columns.coders, columns.packing, person)
        may_shard = person is None and not any(s.joins for s in sensitive)
        share = 1.0 if bytes_per_tuple is None else _share(bytes_per_tuple(columns.sensitive), columns)
        most = int(self.most_tuples * share)
        if stands_alone is not None and may_shard and spark.n_rows > most:
            grouped = self.phases.spread("code", worker_jobs.grouped(self.session, spark, task), reads_input=True)
            n_tuples = self._n_tuples(grouped, spark.name)
            if n_tuples > most:
                of_shard = max(1, int(self.shard_tuples * share))
                return sharded(spark, task, columns, sensitive, grouped, n_tuples, stands_alone, of_shard, self.phases)
            counted = worker_jobs.collected(grouped, spark.name)
        else:
            counted = self.phases.frame(
                "code", lambda: worker_jobs.counted(self.session, spark, task, most=self.most_tuples), reads_input=True
            )
        tuples = counts.in_local_order(counts.CountedTuples.of(counted, columns), columns, sensitive)
        coded = counts.coded_tuples(tuples, columns, sensitive)
        return Coding(
            coded.domains, coded.sensitive, spark.n_rows, coded.n_tuples, coded.totals, (coded,),
            rows=CodedState(spark, task, tuples),
        )  # fmt: skip

    def _values(self, table: SparkTable, names: list[str]) -> dict[str, pl.Series]:
        def find() -> pl.DataFrame:
            if self._looked is not None and self._looked.knows(table.rows, names):
                return self._looked.distinct(names, table.name)
            return worker_jobs.distinct(self.session, table, names)

        frame = self.phases.frame("values", find)
        return worker_jobs.values_in(frame, table, names)

    def _n_tuples(self, grouped: Any, location: str) -> int:
        def count() -> dict[str, Any]:
            with explained("counting tuples", location):
                return {"n": int(grouped.count())}

        return int(self.phases.facts("tuples", count)["n"])

    def solve(self, coding: Coding, search: ShardSearch) -> Answer:
        if isinstance(coding.shards, WorkerShards):
            return solve_shards(coding, search, self.phases, search.min_size)

        def searched() -> Answer:
            solution = search(coding.table)
            return Answer(solution, solution.sizes(coding.table))

        return self.phases.answer(searched)

    # Releasing -----------------------------------------------------------------------------------------------------

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[SparkTable, IntArray | None]:
        spark = spark_table(table)
        rows: CodedState = coding.rows
        rows.answer, rows.labels = answer, labels
        lookup = rows.lookup = lookup_of(coding, rows, answer)
        types = publication.types(labels, rows.table.types)
        publish = PublishTask(rows.task, lookup, labels, publication, rows.table.types)
        n_rows = coding.n_rows if publication.keeps_suppressed else answer.n_records
        source = replace(rows.table, types={**rows.table.types, **spark.types})
        rows.release = replace(
            source, types=types, name="the release", n_rows=n_rows, publish=publish, classes=rows.classes
        )
        return rows.release, None

    def arrange(
        self, release: Table, publication: Publication, secret: Secret, *, progress: Progress = silent
    ) -> tuple[SparkTable, IntArray | None]:
        spark = spark_table(release)
        if publication.order is Order.KEEP:
            return spark, None
        assert spark.publish is not None
        labels, ranks = spark.publish.labels, None
        n_classes = max((len(column.of_class) for column in labels.values()), default=0)
        if spark.publish.lookup is not None:
            ranks = Ranks.of([labels[c] for c in publication.columns if c in labels], n_classes + 1).of_class
        publish = replace(spark.publish, is_sorted=True, ranks=ranks)  # rows are sorted when they are written
        return replace(spark, publish=publish, order=publication.order, key=secret.derived("order")), None

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,
        progress: Progress = silent,
    ) -> None:  # fmt: skip
        release = spark_table(table)
        if isinstance(place, DatabaseTable):
            write_table(self.phases, release, place)
            return
        if place.is_dir():
            file_kind = kind or "parquet"
        else:
            file_kind, compression = format_and_compression(place, kind, None)
            if compression:
                raise IncompatibleChoice("Spark joins files that are not compressed", hint="write Parquet")
        if file_kind not in ("parquet", "csv", "tsv"):
            raise IncompatibleChoice(
                f"Spark writes Parquet and CSV here, not {file_kind}", hint="output.format: parquet"
            )
        if self.phases.put_release(place):
            return
        folder = place.with_name(f"{place.name}.parts")
        self._folders.append(folder)
        write_files(self.phases, release, place, folder, kind=file_kind, delimiter=delimiter)
        self.phases.keep_release(place)

    def open_table(
        self, target: DatabaseTable, force: bool, reads: Sequence[DatabaseTable]
    ) -> tuple[DatabaseTable, Transaction]:
        """A temporary table for a release, which gets its name when it was recounted."""
        return open_table(self.session, target, force, reads)

    # Recounting ----------------------------------------------------------------------------------------------------

    def class_stats(
        self, release: Table, quasi: Sequence[str], sensitive: Sequence[SensitiveColumn], *, stars_are_suppressed: bool,
        originals: Coding | None = None, progress: Progress = silent,
    ) -> Recount:  # fmt: skip
        spark = spark_table(release)
        if spark.publish is not None:
            raise IncompatibleChoice("Spark recounts what was written", hint="no --dry-run with --engine spark")
        plain = counts.plain(sensitive)
        names = [*quasi, *(s.name for s in plain)]
        values = worker_jobs.values_in(worker_jobs.distinct(self.session, spark, names), spark, names)
        columns = counts.fit_labels(values, spark.types, quasi, sensitive, spark.name)
        task = CodeTask(spark.rows, columns.coders, columns.packing)
        rows: CodedState | None = originals.rows if originals else None
        hidden = [(s.name, spark.types[s.name]) for s in plain]
        shows = StarsShown.of(columns, values, quasi, hidden) if stars_are_suppressed else None
        # a release whose originals the driver holds as tuples has no more combinations than these
        is_spread = spark.n_rows > self.most_tuples if rows is None else rows.classes is not None
        if is_spread and len(plain) == len(sensitive):
            grouped = worker_jobs.grouped(self.session, spark, task)
            self.phases.hold(grouped)
            of_release = ReleaseClasses(columns, tuple(quasi), shows)
            recount = of_release.recounted(grouped, values, self.shard_tuples, spark.name)
            if originals is None or rows is None:
                return recount
            return replace(recount, covers=of_release.cover(grouped, recount, originals, spark.name))
        counted = worker_jobs.counted(self.session, spark, task, most=self.most_tuples)
        tuples = counts.CountedTuples.of(counted, columns)
        recount = recounted(tuples, columns, values, quasi, sensitive, shows)
        if originals is None or rows is None or rows.answer is None:
            return recount
        recount = with_persons(recount, originals, rows.answer, rows.labels)
        return replace(recount, covers=covers_originals(recount, originals, rows.answer, rows.labels))

    # What stands alone ----------------------------------------------------------------------------------------------

    def with_persons(self, release: Table, originals: Coding, row_of: IntArray | None) -> SparkTable | None:
        rows: CodedState | None = originals.rows
        if rows is None or rows.release is None or rows.task.person is None:
            return None
        # as it was made: what was written does not tell whose its rows are
        return replace(rows.release, types={**rows.release.types, PERSON: ColumnType.INTEGER})

    def alike(
        self, table: Table, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = (), person: str | None = None
    ) -> list[Alike]:
        return worker_jobs.alike(self.session, spark_table(table), sets, stars, person)

    def moment_sums(self, table: Table, sides: Sequence[Sequence[str]]) -> list[MomentSums]:
        return worker_jobs.moment_sums(self.session, spark_table(table), sides)

    def some_rows(
        self, table: Table, columns: Sequence[str], *, most: int, together: str | None = None
    ) -> pl.DataFrame:
        spark = spark_table(table)
        return worker_jobs.some_rows(self.session, spark, columns, together, most / max(1, spark.n_rows))

    def discard(self) -> None:
        """Remove what is on disk and let workers forget what they hold; a second call does nothing."""
        self.phases.forget()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()
        if self.phases.folder is not None:
            self.phases.folder.discard()

    def close(self) -> None:
        self.discard()
        if openers.get("spark") == self.open_table:
            openers.pop("spark")
            if self._opener_before is not None:
                openers["spark"] = self._opener_before
        if self._is_own:
            with contextlib.suppress(Exception):
                self.session.stop()
            self._is_own = False


def open_engine(opening: Opening) -> SparkEngine:
    """An engine on the cluster that was named, or on this machine."""
    require_installed("pyspark", extra="spark", purpose="the Spark engine")
    is_resumable = opening.run is not None and bool(opening.run.inputs)
    if opening.resumes and not is_resumable:
        raise IncompatibleChoice(
            "a run from or to a table of Spark's catalog begins anew: nothing tells whether the table changed",
            hint="run without --resume; or read files and write files",
        )
    folder = opening.folder() if is_resumable else None
    try:
        return SparkEngine(opening.spark, memory=opening.memory_given, folder=folder)
    except BaseException:
        if folder is not None and not opening.resumes:
            folder.discard()
        raise
