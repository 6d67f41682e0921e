"""The Spark engine: rows stay on the workers of a cluster, counts and classes travel.

Workers read the files themselves, so files must lie where all of them find them; tables of Spark's catalog are read and
written by Spark. Only the DataFrame interface is used, so that classic sessions and Spark Connect both work.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.cleanup import unfinished
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.alike import Alike
from tablecloak.engines.base import (
    PERSON,
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
from tablecloak.engines.rundir import RunFolder
from tablecloak.engines.sorting import Ranks
from tablecloak.engines.spark import counts, jobs
from tablecloak.engines.spark.codes import CodeTask
from tablecloak.engines.spark.phases import Phases
from tablecloak.engines.spark.publish import PublishTask
from tablecloak.engines.spark.recount import boxes_are_covered, covers_originals, recounted, with_persons
from tablecloak.engines.spark.release import open_table, published_type, write_files, write_table
from tablecloak.engines.spark.rows import FileRows, TableRows
from tablecloak.engines.spark.search import Remembered, Shards, lookup_of, sharded, solve_shards
from tablecloak.engines.spark.session import explained, open_session
from tablecloak.engines.spark.tables import SparkTable, our_type, slices_of, spark_table
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.database import Transaction, openers
from tablecloak.io.parts import files_of
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import ColumnSchema, Layout, Source, format_and_compression
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret

__all__ = ["SparkEngine"]

IntArray = NDArray[np.int64]
DEFAULT_MASTER = "local[*]"
DRIVER_MEMORY = 4 << 30
BYTES_PER_TUPLE = 200


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

    def __init__(
        self,
        master: str | None = None,
        *,
        memory: int | None = None,
        session: Any = None,
        most_tuples: int | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        self.most_tuples = most_tuples or (memory or DRIVER_MEMORY) // BYTES_PER_TUPLE
        self._is_own = session is None
        self._folders: list[Path] = []
        self.session = session or open_session(master or DEFAULT_MASTER, memory)
        self.phases = Phases(self.session, folder)
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
        columns = tuple(ColumnSchema(n, source.declared_type(n) or our_type(n, t, source)) for n, t in fields)
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
        slices, n_rows = slices_of(source, layout)
        found = SparkTable(types, source.location, n_rows or 0, FileRows(source, layout, slices))
        return found if n_rows is not None else replace(found, n_rows=self._n_rows(found))

    def _n_rows(self, table: SparkTable) -> int:
        return int(self._counted(table, ())["rows"])

    def _counted(self, table: SparkTable, columns: Sequence[str]) -> dict[str, Any]:
        """Rows, and empty cells by column."""

        def count() -> dict[str, Any]:
            n_rows, missing = jobs.summaries(self.session, table, columns)
            return {"rows": n_rows, "missing": missing}

        return self.phases.facts(f"count {[*columns]} {[*table.rows.drops]}", count, is_input=self._is_input(table))

    def _is_input(self, table: SparkTable) -> bool:
        folder, rows = self.phases.folder, table.rows
        return folder is not None and isinstance(rows, FileRows) and folder.reads(files_of(rows.source))

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> SparkTable:
        found = spark_table(table)
        chosen = replace(found, types={c: found.types[c] for c in columns})
        if not without_missing:
            return chosen
        chosen = replace(chosen, rows=replace(found.rows, drops=(*found.rows.drops, *without_missing)))
        return replace(chosen, n_rows=self._n_rows(chosen))

    def sorted(self, table: Table) -> SparkTable:
        return spark_table(table)  # tuples are counted, whatever their order

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        missing = self._counted(spark_table(table), columns)["missing"]
        n_distinct = jobs.n_distinct(self.session, spark_table(table), columns) if distinct else {}
        return {name: Summary(missing[name], n_distinct.get(name)) for name in columns}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:  # noqa: ARG002
        raise IncompatibleChoice(
            "this choice needs all rows in one memory, and Spark keeps them on its workers",
            hint="--engine local, or another algorithm",
        )

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
        found = spark_table(table)
        names = [*(q.name for q in quasi), *(s.name for s in counts.plain(sensitive))]
        values = self._values(found, list(dict.fromkeys(names)))
        columns = counts.fit_columns(values, found.types, quasi, sensitive, found.name)
        person = next((s.name for s in sensitive if s.is_person), None)
        task = CodeTask(found.rows, columns.coders, columns.packing, person)
        may_shard = person is None and not any(s.joins for s in sensitive)
        if stands_alone is not None and may_shard and found.n_rows > self.most_tuples:
            grouped = self.phases.spread("code", jobs.grouped(self.session, found, task), reads_input=True)
            n_tuples = self._n_tuples(grouped, found.name)
            if n_tuples > self.most_tuples:
                return sharded(
                    found, task, columns, sensitive, grouped, n_tuples, stands_alone, self.most_tuples, self.phases
                )
            counted = jobs.collected(grouped, found.name)
        else:
            counted = self.phases.frame(
                "code", lambda: jobs.counted(self.session, found, task, most=self.most_tuples), reads_input=True
            )
        tuples = counts.in_local_order(counts.Tuples.of(counted, columns), columns, sensitive)
        coded = counts.coded_tuples(tuples, columns, sensitive)
        return Coding(
            coded.domains, coded.sensitive, found.n_rows, coded.n_tuples, coded.totals, (coded,),
            rows=Remembered(found, task, tuples),
        )  # fmt: skip

    def _values(self, table: SparkTable, names: list[str]) -> dict[str, pl.Series]:
        found = self.phases.frame("values", lambda: jobs.distinct(self.session, table, names))
        return jobs.values_in(found, table, names)

    def _n_tuples(self, grouped: Any, location: str) -> int:
        def count() -> dict[str, Any]:
            with explained("counting tuples", location):
                return {"n": int(grouped.count())}

        return int(self.phases.facts("tuples", count)["n"])

    def solve(self, coding: Coding, search: Search) -> Answer:
        if isinstance(coding.shards, Shards):
            return solve_shards(coding, search, self.phases)

        def searched() -> Answer:
            solution = search(coding.table)
            return Answer(solution, solution.sizes(coding.table))

        return self.phases.answer(searched)

    # Releasing -----------------------------------------------------------------------------------------------------

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[SparkTable, IntArray | None]:
        kept = spark_table(table)
        rows: Remembered = coding.rows
        rows.answer, rows.labels = answer, labels
        lookup = rows.lookup = lookup_of(coding, rows, answer)
        types = {name: published_type(name, labels, publication, rows.table.types) for name in publication.columns}
        publish = PublishTask(rows.task, lookup, labels, publication, rows.table.types)
        n_rows = coding.n_rows if publication.keeps_suppressed else int(answer.sizes.sum())
        source = replace(rows.table, types={**rows.table.types, **kept.types})
        rows.release = replace(
            source, types=types, name="the release", n_rows=n_rows, publish=publish, classes=rows.classes
        )
        return rows.release, None

    def arrange(
        self,
        release: Table,
        publication: Publication,
        secret: Secret,
        *,
        progress: Progress = silent,  # noqa: ARG002
    ) -> tuple[SparkTable, IntArray | None]:
        found = spark_table(release)
        if publication.order is Order.KEEP:
            return found, None
        assert found.publish is not None
        labels = found.publish.labels
        n_classes = max((len(column.of_class) for column in labels.values()), default=0)
        ranks = Ranks.of([labels[c] for c in publication.columns if c in labels], n_classes + 1)
        publish = replace(found.publish, ranks=ranks.of_class)  # rows are sorted when they are written
        return replace(found, publish=publish, order=publication.order, key=secret.derived("order")), None

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> None:  # fmt: skip
        release = spark_table(table)
        if isinstance(place, DatabaseTable):
            write_table(self.phases, release, place)
            return
        if place.is_dir():
            known = kind or "parquet"
        else:
            known, compression = format_and_compression(place, kind, None)
            if compression:
                raise IncompatibleChoice("Spark joins files that are not compressed", hint="write Parquet")
        if known not in ("parquet", "csv", "tsv"):
            raise IncompatibleChoice(f"Spark writes Parquet and CSV here, not {known}", hint="output.format: parquet")
        if self.phases.put_release(place):
            return
        folder = place.with_name(f"{place.name}.parts")
        self._folders.append(folder)
        write_files(self.phases, release, place, folder, kind=known, delimiter=delimiter)
        self.phases.keep_release(place)

    def open_table(
        self, target: DatabaseTable, force: bool, reads: Sequence[DatabaseTable]
    ) -> tuple[DatabaseTable, Transaction]:
        """A temporary table for a release, which gets its name when it was recounted."""
        return open_table(self.session, target, force, reads)

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
        found = spark_table(release)
        if found.publish is not None:
            raise IncompatibleChoice("Spark recounts what was written", hint="no --dry-run with --engine spark")
        asked = counts.plain(sensitive)
        names = [*quasi, *(s.name for s in asked)]
        values = jobs.values_in(jobs.distinct(self.session, found, names), found, names)
        columns = counts.fit_labels(values, found.types, quasi, sensitive, found.name)
        task = CodeTask(found.rows, columns.coders, columns.packing)
        counted = jobs.counted(self.session, found, task, most=self.most_tuples)
        tuples = counts.Tuples.of(counted, columns)
        recount = recounted(
            tuples, columns, values, quasi, sensitive, stars_are_suppressed=stars_are_suppressed,
            hidden=[(s.name, found.types[s.name]) for s in asked],
        )  # fmt: skip
        rows = originals.rows if originals else None
        if originals is None or rows is None or rows.answer is None:
            return recount
        if rows.tuples is None:
            return replace(recount, covers=boxes_are_covered(recount, originals, rows.answer, rows.labels))
        recount = with_persons(recount, originals, rows.answer, rows.labels)
        return replace(recount, covers=covers_originals(recount, originals, rows.answer, rows.labels))

    # What stands alone ----------------------------------------------------------------------------------------------

    def with_persons(self, release: Table, originals: Coding, row_of: IntArray | None) -> SparkTable | None:  # noqa: ARG002
        rows: Remembered | None = originals.rows
        if rows is None or rows.release is None or rows.task.person is None:
            return None
        # as it was made: what was written does not tell whose its rows are
        return replace(rows.release, types={**rows.release.types, PERSON: ColumnType.INTEGER})

    def alike(
        self, table: Table, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = (), person: str | None = None
    ) -> list[Alike]:
        return jobs.alike(self.session, spark_table(table), sets, stars, person)

    def some_rows(
        self, table: Table, columns: Sequence[str], *, most: int, together: str | None = None
    ) -> pl.DataFrame:
        found = spark_table(table)
        return jobs.some_rows(self.session, found, columns, together, most / max(1, found.n_rows))

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
        openers.pop("spark", None)
        if self._is_own:
            with contextlib.suppress(Exception):
                self.session.stop()
            self._is_own = False
