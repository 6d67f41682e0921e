"""The DuckDB engine: tables that do not fit memory, read and written as streams, counted under a hard limit."""

from __future__ import annotations

import collections
import contextlib
import itertools
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellTest, ColumnChange, counts_of, made_columns, read_by
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.table import Order
from tablecloak.engines.base import (
    Answer,
    BytesPerTuple,
    Coding,
    OnDisk,
    Publication,
    QuasiColumn,
    Recount,
    SensitiveColumn,
    ShardSearch,
    StandsAlone,
    Summary,
    Table,
)
from tablecloak.engines.disk.cluster_tables import solve_on_disk
from tablecloak.engines.disk.coding import CodingLimits, StoredCoder, collect_values, counting
from tablecloak.engines.disk.external_sort import Sorter
from tablecloak.engines.disk.publish import Publisher, Unordered
from tablecloak.engines.disk.recount import Recounter, count_in_parts, with_persons
from tablecloak.engines.disk.rows import Rows, Shards
from tablecloak.engines.disk.search import places_of
from tablecloak.engines.disk.stream import (
    Batches,
    StreamTable,
    beside,
    from_frame,
    open_parquet,
    store_stream,
    stream_source,
    write_elsewhere,
    write_stream,
)
from tablecloak.engines.equal_rows import Alike, Hidden, some_of
from tablecloak.engines.row_order import content_order
from tablecloak.engines.run_folder import Opening, RowsPrint, RunFolder, changed_since
from tablecloak.engines.shards import compact, join, load_answer, save_answer
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.cells import typed
from tablecloak.io.extras import require_installed
from tablecloak.io.parts import files_of, is_many
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout as FileLayout
from tablecloak.io.sources import Source
from tablecloak.io.tabular import wanted_columns
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret
from tablecloak.stats.moments import MomentSums, columns_of, sums_of

# What Python, its packages and a few batches take before any table is held.
RESIDENT = 450_000_000
LEAST_WORK = 64_000_000
# Larger batches are no faster, and several are on their way at a time.
MOST_BATCH_ROWS = 1 << 18
# Bytes of a small table that are held between two passes, for which it would be decoded again.
MOST_HELD = 1 << 26
# Of the memory for tables, what rows of a release take that are sorted at once; sorting takes several times as much.
SORTED_SHARE = 1 / 10
# Up to this many tuples, the class of each is kept for metrics that look at them.
KEEP_CLASSES_UP_TO = 1_000_000


class DuckEngine:
    """Streams of batches, keys of rows in files, and a search on as many rows as fit."""

    name = "duckdb"
    recounts_unwritten = tells_rows_apart = True

    def __init__(self, *, memory: int, threads: int | None = None, folder: RunFolder | None = None) -> None:
        require_installed("duckdb", extra="duckdb", purpose="the DuckDB engine")
        self.memory = memory
        self.threads = threads or os.cpu_count() or 1
        self.folder = folder or RunFolder.temporary()
        self.work = max(LEAST_WORK, memory - RESIDENT)
        self._read = itertools.count()
        self._found: tuple[Batches, Mapping[str, pl.Series]] | None = None  # values of the rows that were summarized
        self.batch_rows = int(min(MOST_BATCH_ROWS, max(1 << 14, self.work // 1000)))

    @property
    def room(self) -> int:
        return self.work

    @property
    def scratch(self) -> Path:
        return self.folder.path

    def remembered(self, secret: Secret, *, is_new: bool) -> Secret:
        return self.folder.remembered(secret, is_new=is_new)

    def layout(self, source: Source) -> FileLayout:
        return sniff(source)

    def read(
        self, source: Source, *, columns: Sequence[str] | None, categorical: Collection[str],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> StreamTable:  # fmt: skip
        if source.frame is not None:
            frame = source.frame if columns is None else source.frame.select(columns)
            return from_frame(typed(frame, source, sniff(source)), self.batch_rows)
        layout = sniff(source)
        names = wanted_columns(layout, columns, source.location)
        if layout.format == "parquet" and not is_many(source.path):
            return self._opened(source, layout, names)
        return self._staged(source, names, labels or {})

    def _staged(self, source: Source, names: list[str], labels: Mapping[str, Sequence[str]]) -> StreamTable:
        """Other formats are parsed once, to a Parquet file that later passes read."""
        # a release may be called as its input is, and what was written is always read anew
        is_input = source.table is not None or self.folder.reads(files_of(source))
        name = source.path.name if is_input else f"{secrets.token_hex(8)}-{next(self._read)}"
        phase, path = f"read {name}", self.folder.path / f"{name}.parquet"
        fingerprint, batches = RowsPrint(), stream_source(source, names, labels, self.batch_rows)
        if source.table is not None:  # of files, the folder knows whether they changed
            batches = fingerprint.of(batches)
        if (about := self.folder.done(phase)) is None:
            first = next(batches, None)
            schema = sniff_schema(source, names) if first is None else first.schema
            rest = iter(() if first is None else itertools.chain([first], batches))
            store_stream(rest, schema, path)
            self.folder.check_inputs()
            self.folder.finish(phase, rows=fingerprint.text)
        elif source.table is not None:
            collections.deque(batches, maxlen=0)
            if fingerprint.text != about["rows"]:
                raise changed_since(source.location)
        staged = Source(path, is_settled=True)
        return replace(self._opened(staged, sniff(staged), names), name=source.location)

    def _opened(self, source: Source, layout: FileLayout, names: list[str]) -> StreamTable:
        return open_parquet(source, layout, names, self.batch_rows, min(MOST_HELD, self.work // 16))

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,
        progress: Progress = silent,
    ) -> None:  # fmt: skip
        if isinstance(place, DatabaseTable) or place.is_dir():
            rows, schema = _begun(_stream(table))
            write_elsewhere(rows, schema, place, kind=kind, delimiter=delimiter, rows_per_file=rows_per_file)
            self.folder.check_inputs()
            return
        linked = self.folder.path / "release"
        if self.folder.done("write") is not None and linked.exists():
            os.link(linked, place)
            return
        rows, schema = _begun(_stream(table))
        write_stream(rows, schema, place, kind=kind, delimiter=delimiter, total=table.n_rows, progress=progress)
        self.folder.check_inputs()
        with contextlib.suppress(OSError):  # another disk: a resumed run writes again
            linked.unlink(missing_ok=True)
            os.link(place, linked)
            self.folder.finish("write")

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> StreamTable:
        stream = _stream(table)
        types = {c: stream.types[c] for c in columns}
        if not without_missing:
            return replace(stream, types=types)
        needed = list(without_missing)

        def batches(names: Sequence[str]) -> Iterator[pl.DataFrame]:
            for batch in stream.batches(list(dict.fromkeys([*names, *needed]))):
                yield batch.drop_nulls(needed).select(names)

        n_rows = sum(batch.height for batch in batches(needed))
        return replace(stream, types=types, n_rows=n_rows, open=batches)

    def changed(self, table: Table, changes: Sequence[ColumnChange]) -> StreamTable:
        stream = _stream(table)

        def batches(names: Sequence[str]) -> Iterator[pl.DataFrame]:
            wanted, read = read_by(changes, names)
            begin = 0
            for batch in stream.batches(read):
                numbers = np.arange(begin, begin + batch.height)
                yield batch.with_columns(made_columns(batch, numbers, wanted)).select(names)
                begin += batch.height

        return replace(stream, types={**stream.types, **{c.name: c.type for c in changes}}, open=batches)

    def settled(self, table: Table, columns: Sequence[str]) -> StreamTable:
        stream = _stream(table)
        path = self.folder.path / f"changed-{next(self._read)}.parquet"
        rows, schema = _begun(replace(stream, types={name: stream.types[name] for name in columns}))
        store_stream(rows, schema, path)
        source = Source(path, is_settled=True)
        stored = self._opened(source, sniff(source), list(columns))
        return replace(stream, open=partial(beside, stream, stored))

    def without_hidden(self, table: Table, hidden: Hidden) -> StreamTable:
        stream = _stream(table)
        only_stars = Hidden(hidden.starred)
        if not any(only_stars.rows(batch).any() for batch in stream.batches(list(hidden.starred))):
            return stream

        def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
            for batch in stream.batches(list(dict.fromkeys([*wanted, *hidden.columns]))):
                yield batch.filter(~hidden.rows(batch)).select(wanted)

        n_rows = sum(batch.height for batch in batches(hidden.starred))
        return replace(stream, n_rows=n_rows, open=batches) if 0 < n_rows < stream.n_rows else stream

    def batches(self, table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return _stream(table).batches(columns)

    def sorted(self, table: Table) -> StreamTable:
        stream = _stream(table)
        batches: list[pl.DataFrame] = []
        for batch in stream.batches(list(stream.types)):
            batches.append(batch)
            if sum(int(b.estimated_size()) for b in batches) > self.work * SORTED_SHARE:
                return stream
        frame = pl.concat(batches)
        ordered = from_frame(frame[content_order(frame)], self.batch_rows, stream.name)
        return replace(ordered, types=stream.types, all_categories=stream.all_categories)

    def value_counts(self, table: Table, column: str, where: CellTest | None = None) -> pl.DataFrame:
        return counts_of((batch[column] for batch in self.batches(table, [column])), where)

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        stream = _stream(table)
        missing = dict.fromkeys(columns, 0)

        def counted() -> Iterator[pl.DataFrame]:
            for batch in stream.batches(columns):
                for name in columns:
                    missing[name] += batch[name].null_count()
                yield batch

        with_unused = stream.all_categories and not distinct
        values = collect_values(counted(), columns, all_categories=with_unused, count_rows=lambda _: None)
        if with_unused == stream.all_categories:  # coding begins with the same values
            self._found = stream.open, values
        return {name: Summary(missing[name], len(values[name]) if distinct else None) for name in columns}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
        stream = _stream(table)
        batches: list[pl.DataFrame] = []
        n_bytes = 0
        for batch in stream.batches(list(stream.types) if columns is None else columns):
            batches.append(batch)
            n_bytes += int(batch.estimated_size())
            if 2 * n_bytes > self.work:
                raise IncompatibleChoice(
                    f"this needs all {stream.n_rows:,} rows in memory, and they do not fit",
                    hint="raise --memory, or choose another algorithm (mondrian, auto)",
                )
        return pl.concat(batches) if batches else pl.DataFrame()

    # Codes ------------------------------------------------------------------------------------------------------------

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, bytes_per_tuple: BytesPerTuple | None = None,
        progress: Progress = silent,
    ) -> Coding:  # fmt: skip
        stream = _stream(table)
        collected = self._found[1] if self._found is not None and self._found[0] is stream.open else {}
        self._found = None
        return self._coder().code(
            stream,
            quasi,
            sensitive,
            by_row=by_row,
            stands_alone=stands_alone,
            bytes_per_tuple=bytes_per_tuple,
            progress=progress,
            earlier=collected,
        )

    def _coder(self) -> StoredCoder:
        return StoredCoder(self.folder, CodingLimits(self.memory, self.work, RESIDENT, self.threads))

    # Classes ----------------------------------------------------------------------------------------------------------

    def solve(self, coding: Coding, search: ShardSearch) -> Answer:
        if (on_disk := search.on_disk) is not None:
            return self._solve_on_disk(coding, on_disk)
        if coding.needs is not None:
            coding.needs.require_fit(coding)
        answers: list[Answer] = []
        offset = 0
        for i in range(len(coding.shards)):
            answers.append(self._solve_shard(coding, i, offset, search))
            offset += answers[-1].solution.n_classes
        shards = coding.shards
        if coding.n_tuples > KEEP_CLASSES_UP_TO and isinstance(shards, Shards):
            shards.forget()
        return answers[0] if coding.cuts is None else join(answers, coding.cuts)

    def _solve_on_disk(self, coding: Coding, search: OnDisk) -> Answer:
        path, phase = self.folder.path / "shard-0.npz", "solve 0"
        if self.folder.done(phase) is not None:
            return load_answer(path)
        answer = solve_on_disk(coding, search, self.folder.path, work=self.work, threads=self.threads)
        is_large = coding.n_tuples > KEEP_CLASSES_UP_TO
        answer = compact(answer, max(d.n_codes for d in coding.domains)) if is_large else answer
        save_answer(path, answer)
        self.folder.finish(phase)
        if is_large:
            return answer
        coding.shards[0]  # held from now on, for metrics that look at records after the folder is gone
        return replace(answer, solution=replace(answer.solution, class_of_tuple=coding.rows.classes[0].load()))

    def _solve_shard(self, coding: Coding, index: int, offset: int, search: ShardSearch) -> Answer:
        path, phase = self.folder.path / f"shard-{index}.npz", f"solve {index}"
        rows: Rows = coding.rows
        if self.folder.done(phase) is not None:
            return load_answer(path)
        table = coding.shards[index]
        solution = search(table)
        answer = Answer(solution, solution.sizes(table))
        classes = solution.class_of_tuple
        parts: Iterator[IntArray]
        if len(table.weights) and table.tuple_of_row is None:
            parts = (classes[places] for places in places_of(table.keys, rows.shard_keys[index]))
        else:
            parts = iter([solution.class_of_row(table)])
        rows.classes[index].write(np.where(part < 0, -1, part + offset) for part in parts)
        if coding.n_tuples > KEEP_CLASSES_UP_TO or coding.cuts is not None:
            answer = compact(answer, max(d.n_codes for d in coding.domains))
        save_answer(path, answer)
        self.folder.finish(phase)
        return answer

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[StreamTable, IntArray | None]:
        if isinstance(coding.shards, Shards) and coding.n_tuples > KEEP_CLASSES_UP_TO:
            coding.shards.forget()
        n_rows = coding.n_rows if publication.keeps_suppressed else int(answer.sizes.sum())
        publisher = Publisher(_stream(table), coding.rows, labels, publication, self.batch_rows)
        sizes = np.append(answer.sizes, n_rows - int(answer.sizes.sum()))
        return Unordered(
            publisher.types, "the release", n_rows, publisher.batches, publisher=publisher, sizes=sizes
        ), None

    def arrange(
        self, release: Table, publication: Publication, secret: Secret, *, progress: Progress = silent
    ) -> tuple[StreamTable, IntArray | None]:
        assert isinstance(release, Unordered)
        if publication.order is Order.KEEP:
            return release, None
        publisher, ranks = release.publisher, release.ranks()
        count_rows = counting(progress, passes=2)
        limit = int(self.work * SORTED_SHARE)
        sorter = Sorter(self.folder, ranks.sizes(release.sizes), limit, publication.order, secret, count_rows)
        plain = publisher.kept(publication.columns)
        ordered = sorter.sort(release.unsorted(ranks), plain, publisher.rows.keys.n_words)
        publisher.rows.published = ordered.keys

        def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
            for cells, places in ordered.frames(publisher.kept(columns)):
                for begin in range(0, len(places), self.batch_rows):
                    part = slice(begin, begin + self.batch_rows)
                    yield publisher.labelled(cells[part], ranks.classes[places[part]], columns)

        return StreamTable(release.types, release.name, release.n_rows, batches), None

    def class_stats(
        self, release: Table, quasi: Sequence[str], sensitive: Sequence[SensitiveColumn], *, stars_are_suppressed: bool,
        originals: Coding | None = None, progress: Progress = silent,
    ) -> Recount:  # fmt: skip
        recounter = Recounter(
            _stream(release), quasi, sensitive, self.folder.path, work=self.work,
            originals=originals, progress=progress,
        )  # fmt: skip
        return recounter.count(stars_are_suppressed=stars_are_suppressed)

    def with_persons(self, release: Table, originals: Coding, row_of: IntArray | None) -> StreamTable | None:
        return with_persons(_stream(release), originals)

    def alike(
        self, table: Table, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = (), person: str | None = None
    ) -> list[Alike]:
        stream = _stream(table)
        named = [*(name for chosen in sets for name in chosen), *stars, *([person] if person else [])]
        return count_in_parts(
            stream.batches(list(dict.fromkeys(named))), sets, self.folder.path, n_rows=stream.n_rows, work=self.work,
            stars=stars, person=person,
        )  # fmt: skip

    def moment_sums(self, table: Table, sides: Sequence[Sequence[str]]) -> list[MomentSums]:
        return sums_of(self.batches(table, columns_of(sides)), sides)

    def some_rows(
        self, table: Table, columns: Sequence[str], *, most: int, together: str | None = None
    ) -> pl.DataFrame:
        stream = _stream(table)
        share = most / max(1, stream.n_rows)
        return pl.concat([some_of(batch, together, share) for batch in stream.batches(columns)])

    def close(self) -> None:
        self.folder.discard()


def _stream(table: Table) -> StreamTable:
    """What every table of this engine is."""
    assert isinstance(table, StreamTable)
    return table


def _begun(stream: StreamTable) -> tuple[Iterator[pl.DataFrame], pl.Schema]:
    """All rows, and the columns that the first of them show."""
    batches = stream.batches(list(stream.types))
    first = next(batches)
    return itertools.chain([first], batches), first.schema


def sniff_schema(source: Source, names: Sequence[str]) -> pl.Schema:
    """The columns of a file without rows."""
    from tablecloak.io.frames import DTYPES

    layout = sniff(source)
    return pl.Schema({name: DTYPES[layout.type_of(name)] for name in names})


def open_engine(opening: Opening) -> DuckEngine:
    """An engine that works under the limit of memory, in the folder of its run."""
    return DuckEngine(memory=opening.memory, threads=opening.threads, folder=opening.folder())
