"""A table as packed codes in files: coded in two passes, then in one piece or cut apart, phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl

from tablecloak.algorithms.base import TUPLE_BYTES, CutTree
from tablecloak.arrays import IntArray
from tablecloak.data.coded import has_repeats, make_space
from tablecloak.data.coder import Coder, Values
from tablecloak.data.domain import Codes, Domain, domain_of, persons_of, sensitive_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import BytesPerTuple, Coding, QuasiColumn, SensitiveColumn, StandsAlone
from tablecloak.engines.disk.rows import KeyFile, Rows, Shards
from tablecloak.engines.disk.sql import KeyCounter
from tablecloak.engines.disk.stream import StreamTable
from tablecloak.engines.run_folder import RunFolder
from tablecloak.engines.shards import CUTS, CutJudge, codes_in, cut_apart
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.kernels.packed_codes import KeyLayout, Keys, plan_layout, unpack
from tablecloak.progress import Progress
from tablecloak.stats.classes import Counted, SensitiveDomain


def collect_values(
    batches: Iterable[pl.DataFrame], columns: Sequence[str], *, all_categories: bool, count_rows: Callable[[int], None]
) -> dict[str, pl.Series]:
    """The different values of columns, the missing one included; `count_rows` is told the rows of every batch."""
    values = {name: Values(name, all_categories=all_categories) for name in columns}
    for batch in batches:
        for name in columns:
            values[name].add(batch[name])
        count_rows(batch.height)
    return {name: of_column.series() for name, of_column in values.items()}


def refuse_infinite(values: pl.Series, location: str) -> None:
    """Raise DataError if there is an infinite number, which no interval can hold."""
    if values.dtype.is_float() and values.is_infinite().any():
        raise DataError(
            f"column '{values.name}' has infinite values, which no interval can hold",
            hint="replace them by a number or by an empty cell",
            location=location,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """Combinations of attributes that were coded before: their names, and the combinations that occur."""

    parts: tuple[str, ...]
    widths: tuple[int, ...]
    occurring: IntArray  # ascending mixed-radix numbers

    def numbers(self, codes: Mapping[str, Codes]) -> IntArray:
        total = np.zeros(len(codes[self.parts[0]]), np.int64)
        for part, width in zip(self.parts, self.widths, strict=True):
            total = total * width + codes[part]
        return total

    def codes(self, codes: Mapping[str, Codes]) -> Codes:
        return np.searchsorted(self.occurring, self.numbers(codes)).astype(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Coders:
    """How columns of a batch become codes, one array per column."""

    columns: tuple[str, ...]
    coders: tuple[Coder | _Joint, ...]

    def codes(self, batch: pl.DataFrame) -> dict[str, Codes]:
        """Codes of every column, (n_rows,) each."""
        codes: dict[str, Codes] = {}
        for name, coder in zip(self.columns, self.coders, strict=True):
            codes[name] = coder.codes(codes) if isinstance(coder, _Joint) else coder.codes(batch[name])
        return codes

    def keys(self, batch: pl.DataFrame, layout: KeyLayout) -> Keys:
        """The same, packed as the first dimensions of a layout, (n_words, n_rows)."""
        keys = np.zeros((int(layout.word.max(initial=0)) + 1, batch.height), np.uint64)
        self.add_codes(keys, batch, layout, 0)
        return keys

    def add_codes(self, keys: Keys, batch: pl.DataFrame, layout: KeyLayout, first: int) -> None:
        """Put the codes of every column into keys; the first column is dimension `first` of the layout."""
        joint = next((i for i, coder in enumerate(self.coders) if isinstance(coder, _Joint)), len(self.coders))
        for i, name in enumerate(self.columns[:joint], start=first):
            coder = self.coders[i - first]
            assert isinstance(coder, Coder)
            coder.add_codes(keys[layout.word[i]], batch[name], layout.shift[i])
        rest = list(self.codes(batch).values())[joint:] if joint < len(self.coders) else []
        for i, codes in enumerate(rest, start=first + joint):
            keys[layout.word[i]] |= codes.astype(np.uint64) << layout.shift[i]

    @property
    def read(self) -> list[str]:
        """The columns that a batch must have."""
        pairs = zip(self.columns, self.coders, strict=True)
        return list(dict.fromkeys(name for name, coder in pairs if not isinstance(coder, _Joint)))


def quasi_coders(
    quasi: Sequence[QuasiColumn], values: Mapping[str, pl.Series], types: Mapping[str, ColumnType]
) -> tuple[tuple[Domain, ...], Coders]:
    """Domains and coders of quasi-identifiers."""
    domains = tuple(
        domain_of(
            values[q.name], types[q.name], make_hierarchy=q.make_hierarchy, weight=q.weight, may_be_codes=q.may_be_codes
        )
        for q in quasi
    )
    coders = tuple(Coder(d.name, values[d.name], d.code_of(values[d.name])) for d in domains)
    return domains, Coders(tuple(d.name for d in domains), coders)


def sensitive_coders(
    sensitive: Sequence[SensitiveColumn],
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    batches: Callable[[list[str]], Iterable[pl.DataFrame]],
) -> tuple[tuple[SensitiveDomain, ...], Coders]:
    """Domains and coders of counted attributes; combinations cost a pass over the rows."""
    domains: list[SensitiveDomain] = []
    coders: list[Coder | _Joint] = []
    for s in sensitive:
        if s.joins:
            joined = Coders(tuple(d.name for d in domains), tuple(coders))
            domain, joint = _join(s, domains, joined, batches(joined.read))
            domains.append(domain)
            coders.append(joint)
            continue
        occurring = values[s.name]
        if s.is_person:
            domains.append(persons_of(s.name, len(occurring)))
            coders.append(Coder(s.name, occurring, np.arange(len(occurring))))
        else:
            counted, domain_ = sensitive_of(occurring, types[s.name], make_hierarchy=s.make_hierarchy)
            domains.append(replace(counted, kind=s.kind))
            coders.append(Coder(s.name, occurring, domain_.code_of(occurring)))
    return tuple(domains), Coders(tuple(d.name for d in domains), tuple(coders))


def _join(
    column: SensitiveColumn, domains: Sequence[SensitiveDomain], coders: Coders, batches: Iterable[pl.DataFrame]
) -> tuple[SensitiveDomain, _Joint]:
    joined = [d for d in domains if d.name in column.joins]
    parts, widths = tuple(d.name for d in joined), tuple(d.n_values for d in joined)
    if np.prod(widths, dtype=np.float64) >= 2.0**62:
        raise IncompatibleChoice("there are too many combinations of sensitive values", hint="name fewer of them")
    joint = _Joint(parts, widths, np.zeros(0, np.int64))
    occurring = np.zeros(0, np.int64)
    for batch in batches:
        occurring = np.union1d(occurring, joint.numbers(coders.codes(batch)))
    codes, rest = {}, occurring
    for name, width in zip(reversed(parts), reversed(widths), strict=True):
        rest, codes[name] = np.divmod(rest, width)
    domain = SensitiveDomain(column.name, (None,) * len(occurring), kind=column.kind, parts=codes)
    return domain, _Joint(parts, widths, occurring)


# Of the memory for tables, what a search may fill: its results and batches of rows take the rest.
SEARCHED_SHARE = 0.75
# The same for counts of codes where a table is cut apart.
COUNTED_SHARE = 0.25
SAMPLE = 1 << 16
# Bytes that are held for every value of a sensitive attribute, however few tuples there are at once: the value, its
# place on a line, its count, and sums of these while a goal is judged; and for one that has no label.
VALUE_BYTES, PLAIN_VALUE_BYTES = 40, 16
# Values that leave less than the rest of this share to tuples are refused: shards would be tiny.
MOST_OF_VALUES = 0.875
# A shard that no cut makes small enough may have so many times as many tuples as planned.
MOST_BEYOND = 1.5


@dataclass(frozen=True, slots=True)
class CodingLimits:
    """What a run may take."""

    memory: int  # bytes, as the user said
    work: int  # of these, what tables may fill
    resident: int  # bytes taken before any table is held
    threads: int


def bytes_of_values(counted: Sequence[SensitiveDomain]) -> int:
    """What the values of counted attributes take as long as any tuple is looked at."""
    each = {True: VALUE_BYTES, False: PLAIN_VALUE_BYTES}
    return sum(domain.n_values * each[domain.kind is Counted.SENSITIVE] for domain in counted)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a search takes, planned before it begins."""

    limits: CodingLimits
    bytes_per_tuple: float
    value_bytes: int = 0  # what values of counted attributes take, whatever the shard

    @property
    def tuples_at_once(self) -> int:
        """The largest shard."""
        return int((self.limits.work * SEARCHED_SHARE - self.value_bytes) / self.bytes_per_tuple)

    def require_room(self) -> None:
        """Refuse attributes whose values alone leave no room for tuples.

        Raises: IncompatibleChoice.
        """
        if self.value_bytes > MOST_OF_VALUES * SEARCHED_SHARE * self.limits.work:
            needed = int(2 * self.value_bytes / SEARCHED_SHARE) + self.limits.resident
            raise IncompatibleChoice(
                f"the different values of sensitive columns take {_gigabytes(self.value_bytes)}, which leaves too "
                f"little of {_gigabytes(self.limits.memory)} for records",
                hint=f"--memory {_gigabytes(needed)}, or fewer sensitive columns that are nearly unique",
            )

    def require_fit(self, coding: Coding) -> None:
        """Refuse a search in memory on a table in one piece, or on a shard that cannot be cut, that does not fit.

        Raises: IncompatibleChoice.
        """
        if coding.cuts is None and coding.n_tuples > self.tuples_at_once:
            self.refuse(coding.n_tuples)
        largest = max(coding.rows.sizes) * coding.n_tuples // max(1, coding.n_rows)  # tuples, about
        if coding.cuts is not None and largest > MOST_BEYOND * self.tuples_at_once:
            raise IncompatibleChoice(
                f"about {largest:,} different tuples cannot be cut apart so that each part satisfies the goal, and "
                f"they do not fit {_gigabytes(self.limits.memory)}",
                hint=f"--memory {_gigabytes(self._needed(largest))}",
            )

    def refuse(self, n_tuples: int) -> NoReturn:
        """Say how much memory all tuples at once would take."""
        raise IncompatibleChoice(
            f"{n_tuples:,} different tuples do not fit {_gigabytes(self.limits.memory)}, and this algorithm needs "
            "all of them at once",
            hint=f"--memory {_gigabytes(self._needed(n_tuples))}, or algorithm: auto or mondrian, which take shards",
        )

    def _needed(self, n_tuples: int) -> int:
        held = n_tuples * self.bytes_per_tuple + self.value_bytes
        return int(held / SEARCHED_SHARE) + self.limits.resident


@dataclass(frozen=True, slots=True)
class StoredCoder:
    """Codes tables of one run; what is finished lies in its folder and is not done again."""

    folder: RunFolder
    limits: CodingLimits

    def code(
        self,
        stream: StreamTable,
        quasi: Sequence[QuasiColumn],
        sensitive: Sequence[SensitiveColumn],
        *,
        by_row: bool,
        stands_alone: StandsAlone | None,
        bytes_per_tuple: BytesPerTuple | None,
        progress: Progress,
        earlier: Mapping[str, pl.Series],
    ) -> Coding:
        """The tuples of a table.

        Args:
            earlier: the different values of columns that were looked at before.
        """
        values = self._values(stream, quasi, sensitive, earlier, progress)
        domains, quasi_codes = quasi_coders(quasi, values, stream.types)
        counted, sensitive_codes = sensitive_coders(sensitive, values, stream.types, stream.batches)
        coders = Coders(quasi_codes.columns, quasi_codes.coders), sensitive_codes
        layout = plan_layout([*(d.n_codes for d in domains), *(s.n_values for s in counted)])
        keys, totals = self._keys(stream, coders, layout, counted, progress)
        rows = Rows(self.folder.path, keys, make_space(domains, layout))
        each = TUPLE_BYTES if bytes_per_tuple is None else bytes_per_tuple(counted)
        needs = Needs(self.limits, each + 24 * keys.n_words, bytes_of_values(counted))
        return self._coding(rows, domains, counted, totals, by_row=by_row, stands_alone=stands_alone, needs=needs)

    def _values(
        self,
        stream: StreamTable,
        quasi: Sequence[QuasiColumn],
        sensitive: Sequence[SensitiveColumn],
        earlier: Mapping[str, pl.Series],
        progress: Progress,
    ) -> dict[str, pl.Series]:
        """The different values of coded columns: found once, then stored."""
        names = list(dict.fromkeys([*(q.name for q in quasi), *(s.name for s in sensitive if not s.joins)]))
        paths = {name: self.folder.path / f"values-{i}.arrow" for i, name in enumerate(names)}
        if self.folder.done("values") is None:
            rest = [name for name in names if name not in earlier]
            batches = stream.batches(rest) if rest else iter(())
            collected = collect_values(
                batches, rest, all_categories=stream.all_categories, count_rows=counting(progress)
            )
            for name, series in {**{n: earlier[n] for n in names if n in earlier}, **collected}.items():
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
        layout: KeyLayout,
        counted: tuple[SensitiveDomain, ...],
        progress: Progress,
    ) -> tuple[KeyFile, dict[str, IntArray]]:
        """Packed keys of all rows, and how often each sensitive value occurs: counted once, then stored."""
        path, about = self.folder.path / "rows.keys", self.folder.done("code")
        n_words = int(layout.word.max(initial=0)) + 1
        if about is None:
            keys = KeyFile(path, n_words)
            totals = {s.name: np.zeros(s.n_values, np.int64) for s in counted}
            count_rows, n_dims = counting(progress), len(coders[0].columns)
            columns = list(dict.fromkeys([*coders[0].read, *coders[1].read]))
            for batch in stream.batches(columns):
                packed = coders[0].keys(batch, layout)
                coders[1].add_codes(packed, batch, layout, n_dims)
                keys.append(packed)
                for i, domain in enumerate(counted, start=n_dims):
                    totals[domain.name] += np.bincount(unpack(packed, layout, i), minlength=domain.n_values)
                count_rows(batch.height)
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
        needs: Needs,
    ) -> Coding:
        """One shard where the rows, or else their different tuples, fit memory; several where they do not."""
        n_rows, most = rows.keys.n_rows, needs.tuples_at_once
        grouped = None
        n_tuples = n_rows
        if n_rows > most:
            if not by_row and self._has_repeats(rows.keys):
                grouped, n_tuples = self._grouped(rows)
            if n_tuples > most and not (by_row and stands_alone is None):  # rows may stay on disk: see `Needs`
                needs.require_room()
                grouped = None
                rows, n_tuples = self._cut_apart(rows, counted, totals, needs, stands_alone, n_tuples)
        shards = Shards(rows, domains, counted, totals, by_row=by_row, grouped=grouped)
        if n_rows <= most and not by_row:
            n_tuples = shards[0].n_tuples
        return Coding(
            domains, counted, n_rows, n_tuples, totals, shards, rows.cuts, rows=rows, needs=needs, sample=shards.sample
        )  # fmt: skip

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
            counter = KeyCounter(
                self.folder.path, rows.keys.n_words, memory=self.limits.work // 2, threads=self.limits.threads
            )
            try:
                for chunk in rows.keys.chunks():
                    counter.add(chunk)
                keys, weights = counter.counts()
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
        needs: Needs,
        stands_alone: StandsAlone | None,
        n_tuples: int,
    ) -> tuple[Rows, int]:
        """Shards that fit memory one by one."""
        if stands_alone is None:
            needs.refuse(n_tuples)
        about = self.folder.done("shard")
        if about is None:
            count = codes_in(rows.keys.chunks, rows.space, counted)
            judge = CutJudge(rows.space, counted, totals, needs.tuples_at_once, stands_alone)
            cuts, sizes = cut_apart(count, judge, at_once=int(self.limits.work * COUNTED_SHARE) // 8)
            parted = Rows(self.folder.path, rows.keys, rows.space, cuts, sizes)
            parted.split(lambda _: None)
            tree = {name: getattr(cuts, name).tolist() for name in CUTS}
            self.folder.finish("shard", sizes=sizes, tree=tree)
            return parted, n_tuples
        cuts = CutTree(*(np.array(about["tree"][n], np.int64) for n in CUTS))
        return Rows(self.folder.path, rows.keys, rows.space, cuts, about["sizes"]), n_tuples


def counting(progress: Progress, *, passes: int = 1) -> Callable[[int], None]:
    """What is told the rows of every batch, in one pass over all rows or in several."""
    done = 0

    def count_rows(n: int) -> None:
        nonlocal done
        done += n
        progress.advance(done // passes)

    return count_rows


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f}GB"
