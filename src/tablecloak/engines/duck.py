"""The DuckDB engine: tables that do not fit memory, read and written as streams, counted under a hard limit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coded import has_repeats, make_space
from tablecloak.data.domain import Domain
from tablecloak.data.labels import ClassLabels
from tablecloak.engines.base import (
    Answer,
    Coding,
    OnDisk,
    Publication,
    QuasiColumn,
    Recount,
    Search,
    SensitiveColumn,
    StandsAlone,
    Summary,
    Table,
)
from tablecloak.engines.batches import Coders, collect_values, quasi_coders, refuse_infinite, sensitive_coders
from tablecloak.engines.disk_clusters import solve_on_disk
from tablecloak.engines.keys import CHUNK, KeyFile
from tablecloak.engines.publish import Publisher
from tablecloak.engines.recount import Recounter
from tablecloak.engines.rows import Rows, Shards
from tablecloak.engines.rundir import RunFolder
from tablecloak.engines.shards import cut_apart
from tablecloak.engines.solutions import compact, join, load_answer, save_answer
from tablecloak.engines.sql import KeyCounter
from tablecloak.engines.stream import (
    StreamTable,
    from_frame,
    open_parquet,
    stream_source,
    write_elsewhere,
    write_stream,
)
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.extras import require_package
from tablecloak.io.parts import is_many
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout as FileLayout
from tablecloak.io.sources import Source
from tablecloak.io.tabular import wanted_columns
from tablecloak.kernels.space import Keys, Layout, pack, plan_layout
from tablecloak.progress import Progress, silent
from tablecloak.stats.classes import SensitiveDomain

__all__ = ["DuckEngine"]

IntArray = NDArray[np.int64]
# What Python, its packages and a few batches take before any table is held.
RESIDENT = 450_000_000
LEAST_WORK = 64_000_000
# A search on rows needs about this much for each of them, besides three copies of its key.
BYTES_PER_ROW = 72
# Up to this many tuples, the class of each is kept for metrics that look at them.
KEEP_CLASSES_UP_TO = 1_000_000
SAMPLE = 1 << 16


class DuckEngine:
    """Streams of batches, keys of rows in files, and a search on as many rows as fit."""

    name = "duckdb"

    def __init__(self, *, memory: int, threads: int | None = None, folder: RunFolder | None = None) -> None:
        require_package("duckdb", extra="duckdb", purpose="the DuckDB engine")
        self.memory = memory
        self.threads = threads or os.cpu_count() or 1
        self.folder = folder or RunFolder.temporary()
        self.work = max(LEAST_WORK, memory - RESIDENT)
        self.batch_rows = int(min(CHUNK, max(1 << 14, self.work // 1000)))

    def layout(self, source: Source) -> FileLayout:
        return sniff(source)

    def read(
        self,
        source: Source | pl.DataFrame,
        *,
        columns: Sequence[str] | None,
        categorical: Collection[str],  # noqa: ARG002
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> StreamTable:
        if isinstance(source, pl.DataFrame):
            return from_frame(source if columns is None else source.select(columns), self.batch_rows)
        layout = sniff(source)
        wanted = wanted_columns(layout, columns, source.location)
        if layout.format == "parquet" and not is_many(source.path):
            return open_parquet(source, wanted, self.batch_rows)
        return self._staged(source, wanted, labels or {})

    def _staged(self, source: Source, wanted: list[str], labels: Mapping[str, Sequence[str]]) -> StreamTable:
        """Other formats are parsed once, to a Parquet file that later passes read."""
        phase = f"read {source.path.name}"
        path = self.folder.path / f"{source.path.name}.parquet"
        if self.folder.done(phase) is None:
            batches = stream_source(source, wanted, labels, self.batch_rows)
            first = next(batches, None)
            schema = sniff_schema(source, wanted) if first is None else first.schema
            rest = iter(() if first is None else _chained(first, batches))
            write_stream(rest, schema, path, kind="parquet", delimiter=None, total=0, progress=silent)
            self.folder.check_inputs()
            self.folder.finish(phase)
        staged = open_parquet(Source(path), wanted, self.batch_rows)
        return replace(staged, name=source.location)

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,
        progress: Progress = silent,
    ) -> None:  # fmt: skip
        if isinstance(place, DatabaseTable) or place.is_dir():
            released = _stream(table).batches(list(table.types))
            begin = next(released)
            write_elsewhere(
                _chained(begin, released), begin.schema, place,
                kind=kind, delimiter=delimiter, rows_per_file=rows_per_file,
            )  # fmt: skip
            self.folder.check_inputs()
            return
        self._write_file(table, place, kind, delimiter, progress)

    def _write_file(
        self, table: Table, path: Path, kind: str | None, delimiter: str | None, progress: Progress
    ) -> None:
        kept = self.folder.path / "release"
        if self.folder.done("write") is not None and kept.exists():
            os.link(kept, path)
            return
        stream = _stream(table)
        batches = stream.batches(list(stream.types))
        first = next(batches)
        write_stream(
            _chained(first, batches), first.schema, path,
            kind=kind, delimiter=delimiter, total=stream.n_rows, progress=progress,
        )  # fmt: skip
        self.folder.check_inputs()
        with contextlib.suppress(OSError):  # another disk: a resumed run writes again
            kept.unlink(missing_ok=True)
            os.link(path, kept)
            self.folder.finish("write")

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> StreamTable:
        stream = _stream(table)
        types = {c: stream.types[c] for c in columns}
        if not without_missing:
            return replace(stream, types=types)
        needed = list(without_missing)

        def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
            for batch in stream.batches(list(dict.fromkeys([*wanted, *needed]))):
                yield batch.drop_nulls(needed).select(wanted)

        n_rows = sum(batch.height for batch in batches(needed))
        return replace(stream, types=types, n_rows=n_rows, open=batches)

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        stream = _stream(table)
        missing = dict.fromkeys(columns, 0)
        values: dict[str, pl.Series] = {}
        for batch in stream.batches(columns):
            for name in columns:
                missing[name] += batch[name].null_count()
        if distinct:
            values = collect_values(stream.batches(columns), columns, all_categories=False, seen=lambda _: None)
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
                    hint="raise --memory, or choose another algorithm (mondrian, auto) and no shuffle",
                )
        return pl.concat(batches) if batches else pl.DataFrame()

    # Codes ------------------------------------------------------------------------------------------------------------

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, progress: Progress = silent,
    ) -> Coding:  # fmt: skip
        stream = _stream(table)
        values = self._values(stream, quasi, sensitive, progress)
        domains, quasi_codes = quasi_coders(quasi, values, stream.types)
        counted, sensitive_codes = sensitive_coders(sensitive, values, stream.types, stream.batches)
        coders = Coders(quasi_codes.columns, quasi_codes.coders), sensitive_codes
        layout = plan_layout([*(d.n_codes for d in domains), *(s.n_values for s in counted)])
        keys, totals = self._keys(stream, coders, layout, counted, progress)
        rows = Rows(self.folder.path, keys, make_space(domains, layout))
        return self._coding(rows, domains, counted, totals, by_row=by_row, stands_alone=stands_alone)

    def _values(
        self,
        stream: StreamTable,
        quasi: Sequence[QuasiColumn],
        sensitive: Sequence[SensitiveColumn],
        progress: Progress,
    ) -> dict[str, pl.Series]:
        """The different values of coded columns: found once, then stored."""
        names = list(dict.fromkeys([*(q.name for q in quasi), *(s.name for s in sensitive if not s.joins)]))
        paths = {name: self.folder.path / f"values-{i}.arrow" for i, name in enumerate(names)}
        if self.folder.done("values") is None:
            found = collect_values(
                stream.batches(names), names, all_categories=stream.all_categories, seen=_counting(progress)
            )
            for name, series in found.items():
                series.to_frame().write_ipc(paths[name])
            self.folder.finish("values")
        values = {name: pl.read_ipc(path)[name] for name, path in paths.items()}
        persons = {s.name for s in sensitive if s.is_person}
        for name in names:
            if name not in persons:
                refuse_infinite(values[name], stream.name)
        return values

    def _keys(
        self,
        stream: StreamTable,
        coders: tuple[Coders, Coders],
        layout: Layout,
        counted: tuple[SensitiveDomain, ...],
        progress: Progress,
    ) -> tuple[KeyFile, dict[str, IntArray]]:
        """Packed keys of all rows, and how often each sensitive value occurs: counted once, then stored."""
        path, about = self.folder.path / "rows.keys", self.folder.done("code")
        n_words = int(layout.word.max(initial=0)) + 1
        if about is None:
            keys = KeyFile(path, n_words)
            totals = {s.name: np.zeros(s.n_values, np.int64) for s in counted}
            seen = _counting(progress)
            columns = list(dict.fromkeys([*coders[0].read, *coders[1].read]))
            for batch in stream.batches(columns):
                quasi, sensitive = coders[0].codes(batch), coders[1].codes(batch)
                keys.append(pack([*quasi, *sensitive], layout))
                for domain, codes in zip(counted, sensitive, strict=True):
                    totals[domain.name] += np.bincount(codes, minlength=domain.n_values)
                seen(batch.height)
            self.folder.check_inputs()
            np.savez(
                self.folder.path / "totals.npz",
                allow_pickle=False,
                **{str(i): totals[s.name] for i, s in enumerate(counted)},
            )
            self.folder.finish("code", n_rows=keys.n_rows)
            return keys, totals
        with np.load(self.folder.path / "totals.npz") as stored:
            totals = {s.name: stored[str(i)] for i, s in enumerate(counted)}
        return KeyFile(path, n_words, int(about["n_rows"])), totals

    def _coding(
        self,
        rows: Rows,
        domains: tuple[Domain, ...],
        counted: tuple[SensitiveDomain, ...],
        totals: dict[str, IntArray],
        *,
        by_row: bool,
        stands_alone: StandsAlone | None,
    ) -> Coding:
        """One shard where the rows, or else their different tuples, fit memory; several where they do not."""
        n_rows, most = rows.keys.n_rows, self._rows_at_once(rows.keys.n_words)
        grouped = None
        n_tuples = n_rows
        if n_rows > most:
            if not by_row and self._has_repeats(rows.keys):
                grouped, n_tuples = self._grouped(rows)
            if n_tuples > most and not (by_row and stands_alone is None):
                grouped = None
                rows, n_tuples = self._cut_apart(rows, counted, totals, most, stands_alone, n_tuples)
        shards = Shards(rows, domains, counted, totals, by_row=by_row, grouped=grouped)
        if n_rows <= most and not by_row:
            n_tuples = shards[0].n_tuples
        return Coding(domains, counted, n_rows, n_tuples, totals, shards, rows.cuts, rows=rows)

    def _rows_at_once(self, n_words: int) -> int:
        return int(self.work * 0.75 / (24 * n_words + BYTES_PER_ROW))

    @staticmethod
    def _has_repeats(keys: KeyFile) -> bool:
        """Whether equal tuples are frequent, judged on rows spread over the table."""
        step = max(1, keys.n_rows // SAMPLE)
        parts = [chunk[:, ::step] for chunk in keys.chunks()]
        return has_repeats(np.ascontiguousarray(np.concatenate(parts, axis=1)[:, : 4 * SAMPLE]))

    def _grouped(self, rows: Rows) -> tuple[Path, int]:
        """Different tuples with their number, counted by DuckDB."""
        path, about = self.folder.path / "tuples.npy", self.folder.done("group")
        if about is None:
            every = np.full(rows.keys.n_words, np.iinfo(np.uint64).max, np.uint64)
            counter = KeyCounter(self.folder.path, every, memory=self.work // 2, threads=self.threads)
            try:
                for chunk in rows.keys.chunks():
                    counter.add(chunk)
                ((keys, weights),) = counter.counts()
            finally:
                counter.close()
            np.save(path, np.concatenate([keys, weights[None].astype(np.uint64)]))
            self.folder.finish("group", n_tuples=keys.shape[1])
            return path, keys.shape[1]
        return path, int(about["n_tuples"])

    def _cut_apart(
        self,
        rows: Rows,
        counted: tuple[SensitiveDomain, ...],
        totals: dict[str, IntArray],
        most: int,
        stands_alone: StandsAlone | None,
        n_tuples: int,
    ) -> tuple[Rows, int]:
        """Shards that fit memory one by one."""
        if stands_alone is None:
            self._refuse_whole(n_tuples, rows.keys.n_words)
        about = self.folder.done("shard")
        if about is None:
            cuts, sizes = cut_apart(
                rows.keys.chunks, rows.space, counted, totals, most_rows=most, stands_alone=stands_alone
            )
            parted = Rows(self.folder.path, rows.keys, rows.space, cuts, sizes)
            parted.split(lambda _: None)
            tree = {name: getattr(cuts, name).tolist() for name in ("dim", "cut", "left", "right")}
            self.folder.finish("shard", sizes=sizes, tree=tree)
            return parted, n_tuples
        from tablecloak.algorithms.base import CutTree

        cuts = CutTree(*(np.array(about["tree"][n], np.int64) for n in ("dim", "cut", "left", "right")))
        return Rows(self.folder.path, rows.keys, rows.space, cuts, about["sizes"]), n_tuples

    def _refuse_whole(self, n_tuples: int, n_words: int) -> NoReturn:
        needed = int(n_tuples * (24 * n_words + BYTES_PER_ROW) / 0.75) + RESIDENT
        raise IncompatibleChoice(
            f"{n_tuples:,} different tuples do not fit {_gigabytes(self.memory)}, and this algorithm needs all of "
            "them at once",
            hint=f"--memory {_gigabytes(needed)}, or algorithm: auto or mondrian, which take shards",
        )

    # Classes ----------------------------------------------------------------------------------------------------------

    def solve(self, coding: Coding, search: Search) -> Answer:
        on_disk = search.on_disk
        if on_disk is not None:
            return self._solve_on_disk(coding, on_disk)
        rows: Rows = coding.rows
        if coding.cuts is None and coding.n_tuples > self._rows_at_once(rows.keys.n_words):
            self._refuse_whole(coding.n_tuples, rows.keys.n_words)
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
        if coding.n_tuples > KEEP_CLASSES_UP_TO:
            answer = compact(answer, max(d.n_codes for d in coding.domains))
        save_answer(path, answer)
        self.folder.finish(phase)
        if coding.n_tuples > KEEP_CLASSES_UP_TO:
            return answer
        coding.shards[0]  # held from now on, for metrics that look at records after the folder is gone
        classes = coding.rows.classes[0].load()
        return replace(answer, solution=replace(answer.solution, class_of_tuple=classes))

    def _solve_shard(self, coding: Coding, index: int, offset: int, search: Search) -> Answer:
        path, phase = self.folder.path / f"shard-{index}.npz", f"solve {index}"
        rows: Rows = coding.rows
        if self.folder.done(phase) is not None:
            return load_answer(path)
        table = coding.shards[index]
        solution = search(table)
        answer = Answer(solution, solution.sizes(table))
        classes = solution.class_of_tuple
        found: Iterator[IntArray]
        if len(table.weights) and table.tuple_of_row is None:
            found = (classes[places] for places in _places(table.keys, rows.shard_keys[index]))
        else:
            found = iter([solution.class_of_row(table)])
        rows.classes[index].write(np.where(part < 0, -1, part + offset) for part in found)
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
        return StreamTable(publisher.types, "the release", n_rows, publisher.batches), None

    def class_stats(
        self,
        release: Table,
        quasi: Sequence[str],
        sensitive: Sequence[SensitiveColumn],
        *,
        stars_are_suppressed: bool,
        originals: Coding | None = None,
        progress: Progress = silent,
    ) -> Recount:
        recounter = Recounter(
            _stream(release), quasi, sensitive, self.folder.path, work=self.work, threads=self.threads,
            originals=originals, progress=progress,
        )  # fmt: skip
        return recounter.count(stars_are_suppressed=stars_are_suppressed)

    def close(self) -> None:
        self.folder.discard()


def _stream(table: Table) -> StreamTable:
    """What every table of this engine is."""
    assert isinstance(table, StreamTable)
    return table


def _chained(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def sniff_schema(source: Source, wanted: Sequence[str]) -> pl.Schema:
    """The columns of a file without rows."""
    from tablecloak.io.frames import DTYPES

    layout = sniff(source)
    return pl.Schema({name: DTYPES[layout.type_of(name)] for name in wanted})


def _counting(progress: Progress) -> Callable[[int], None]:
    done = 0

    def seen(n: int) -> None:
        nonlocal done
        done += n
        progress.advance(done)

    return seen


def _places(tuples: Keys, rows: KeyFile) -> Iterator[NDArray[np.int64]]:
    """Which of the ascending tuples each row is, chunk by chunk."""
    mixed = _mix(tuples)
    order = np.argsort(mixed)
    ordered = mixed[order]
    for chunk in rows.chunks():
        places = order[np.minimum(np.searchsorted(ordered, _mix(chunk)), len(order) - 1)]
        if not np.array_equal(tuples[:, places], chunk):
            places = _joined_places(tuples, chunk)  # two tuples share a hash
        yield places


def _mix(keys: Keys) -> NDArray[np.uint64]:
    """One number for each key, its only word as it is."""
    mixed = keys[0]
    for word in keys[1:]:
        mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ (mixed >> np.uint64(29)) ^ word
    return np.asarray(mixed)


def _joined_places(tuples: Keys, chunk: Keys) -> NDArray[np.int64]:
    names = [f"w{i}" for i in range(len(tuples))]
    known = pl.DataFrame(dict(zip(names, tuples, strict=True))).with_row_index("place")
    found = pl.DataFrame(dict(zip(names, chunk, strict=True))).join(known, on=names, how="left", maintain_order="left")
    return found["place"].to_numpy().astype(np.int64)


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f}GB"
