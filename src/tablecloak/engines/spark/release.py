"""Writing releases: files that workers wrote, or a table of Spark's catalog that gets its name when recounted."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import Publication
from tablecloak.engines.spark.codes import words_in
from tablecloak.engines.spark.jobs import mapped
from tablecloak.engines.spark.phases import Phases
from tablecloak.engines.spark.publish import (
    RANK,
    SIZES,
    TOGETHER,
    WORD,
    WRITTEN,
    CombineTask,
    DrawTask,
    KeyTask,
    PublishTask,
    SizeTask,
    WriteTask,
)
from tablecloak.engines.spark.rows import ROW, Guarded, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.engines.spark.tables import SPARK_TYPES, SparkTable, escaped, quoted
from tablecloak.errors import IncompatibleChoice, PolicyError
from tablecloak.io.database import OTHER_NAME, OVER_INPUT, OVER_QUERY, Transaction
from tablecloak.io.places import DatabaseTable

__all__ = ["open_table", "published_type", "write_files", "write_table"]


def write_files(
    phases: Phases, release: SparkTable, place: Path, folder: Path, *, kind: str, delimiter: str | None
) -> None:
    """Write a release to a file, or to files of a folder; workers write theirs to `folder`, which is then removed."""
    folder.mkdir()
    try:
        is_kept = release.order is Order.KEEP
        publish = publishing(release)
        task = WriteTask(publish if is_kept else None, folder, kind, delimiter, tuple(release.types), publish.spelling)
        with explained("writing the release", str(place)):
            if is_kept:
                written = _published(phases.session, release, task, WRITTEN)
            else:
                written = _ordered(phases, release).mapInArrow(Guarded(task), WRITTEN)
            said = frame_of(written.toArrow()).sort("first")
            paths = [Path(path) for path in said["path"].to_list()]
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
    with explained("writing the release", str(place)):
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
        found = None if read.table is None else session.catalog.getTable(read.table)
        if found is None or found.tableType not in ("MANAGED", "EXTERNAL"):
            raise PolicyError(OVER_QUERY, hint=OTHER_NAME, location=str(target))
        own = session.catalog.getTable(target.table)
        if (found.catalog, found.namespace, found.name) == (own.catalog, own.namespace, own.name):
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
    assert release.publish is not None
    return release.publish


def _rows(session: Any, release: SparkTable) -> Any:
    """Published rows, with their numbers or what sorts them, as a DataFrame."""
    publish = publishing(release)
    beside = [ROW] if publish.ranks is None else [RANK, *publish.bits.values()]
    columns = [*(_declared(name, release.types) for name in release.types), *(f"`{name}` bigint" for name in beside)]
    return _published(session, release, publish, ", ".join(columns))


def _ordered(phases: Phases, release: SparkTable) -> Any:
    """Published rows in their order: every partition lies behind the one before it, and is sorted."""
    from pyspark.sql import functions as f

    by, n_parts = publishing(release).sorted_by, max(1, release.n_rows // TOGETHER)
    rows = _sorted(_rows(phases.session, release), by, n_parts, f)
    if release.order is not Order.RANDOM:
        return rows
    assert release.key is not None
    phases.hold(rows)
    told = frame_of(rows.mapInArrow(Guarded(SizeTask()), SIZES).toArrow()).sort("part")
    offsets = dict(zip(told["part"].to_list(), (told["n"].cum_sum() - told["n"]).to_list(), strict=True))
    schema = ", ".join([*(f"`{escaped(c.name)}` {c.dataType.simpleString()}" for c in rows.schema), f"{WORD} bigint"])
    return _sorted(rows.mapInArrow(Guarded(DrawTask(offsets, release.key)), schema), [WORD, *by], n_parts, f)


def _sorted(rows: Any, by: Sequence[str], n_parts: int, functions: Any) -> Any:
    columns = [quoted(functions, name) for name in by]
    return rows.repartitionByRange(n_parts, *columns).sortWithinPartitions(*columns)


def _published(session: Any, release: SparkTable, task: Callable[..., Any], schema: str) -> Any:
    """The task on all rows that are published, as a DataFrame."""
    publish = publishing(release)
    if release.classes is None:
        return mapped(session, release, task, schema, publish.needed)
    words = words_in(publish.code.packing)
    columns = [*(f"{w} bigint" for w in words), *(_declared(c, publish.types) for c in publish.kept), f"`{ROW}` bigint"]
    keyed = mapped(session, release, KeyTask(publish.code, publish.kept), ", ".join(columns), publish.needed)
    n_parts = max(1, release.n_rows // TOGETHER)
    joined = keyed.join(release.classes, words, "left")
    return joined.repartitionByRange(n_parts, ROW).sortWithinPartitions(ROW).mapInArrow(Guarded(task), schema)


def _declared(name: str, types: Mapping[str, ColumnType]) -> str:
    return f"`{escaped(name)}` {SPARK_TYPES[types[name]]}"


def published_type(
    name: str, labels: Mapping[str, ClassLabels], publication: Publication, types: Mapping[str, ColumnType]
) -> ColumnType:
    """The type a column has in the release."""
    if name in publication.starred:
        return ColumnType.TEXT
    if name in labels:
        return ColumnType.FLOAT if labels[name].are_numbers else ColumnType.TEXT
    return types[name]
