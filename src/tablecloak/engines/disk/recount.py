"""Counting a finished table as a stream: its classes from published cells, and each cell against its original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import mixed
from tablecloak.data.coder import Coder
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.table import ColumnType
from tablecloak.engines import equal_rows
from tablecloak.engines.base import PERSON, Coding, OnDemand, Recount, SensitiveColumn
from tablecloak.engines.disk.coding import Coders, collect_values, sensitive_coders
from tablecloak.engines.disk.rows import KeyPartitions, Rows
from tablecloak.engines.disk.stream import StreamTable
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import KeyLayout, Keys, plan_layout, unpack
from tablecloak.progress import Progress
from tablecloak.stats.classes import ClassStats, Counted, Histogram, SensitiveDomain, count_classes
from tablecloak.stats.persons import as_published

# A part may have so many rows that counting them takes a third of the memory: keys, their classes, codes of attributes.
BYTES_PER_ROW = 400
# Bytes that the key of a row takes while it is sorted.
BYTES_PER_KEY = 32


class Recounter:
    """Counts one release."""

    def __init__(
        self,
        release: StreamTable,
        quasi: Sequence[str],
        sensitive: Sequence[SensitiveColumn],
        folder: Path,
        *,
        work: int,
        originals: Coding | None,
        progress: Progress,
    ) -> None:
        self.release, self.quasi, self.sensitive = release, list(quasi), list(sensitive)
        self.folder, self.work, self.progress = folder, work, progress
        self.coding = originals
        self.rows: Rows | None = originals.rows if originals is not None else None
        self.plain = [s.name for s in sensitive if not s.joins]
        self.columns = list(dict.fromkeys([*quasi, *self.plain]))
        self.drops_stars = False

    def count(self, *, stars_are_suppressed: bool) -> Recount:
        """The recount; where all rows look suppressed, they are a class."""
        batches = self.release.batches(self.columns) if stars_are_suppressed else iter(())
        n_stars = sum(int(self._is_star(batch).sum()) for batch in batches)
        self.drops_stars = 0 < n_stars < self.release.n_rows
        labels, coders, domains = self._coders()
        layout = plan_layout([*(len(v) for v in labels.values()), *(d.n_values for d in domains)])
        covers, keys, totals, n_rows = self._pass(coders, domains, layout, self._coverage(labels))
        try:
            parts = self._parts(keys, layout, domains, totals)
        finally:
            keys.close()
        return Recount(parts, n_rows, n_stars if self.drops_stars else 0, labels, covers=covers)

    # What is there ----------------------------------------------------------------------------------------------------

    def _is_star(self, batch: pl.DataFrame) -> BoolArray:
        return equal_rows.suppressed_rows(batch, self.quasi, self.plain, self.release.types)

    def _kept(self) -> Iterator[tuple[pl.DataFrame, BoolArray | None]]:
        """Published records, and which rows of the file they are."""
        for read in self.release.batches(self.columns):
            batch = read.with_columns(equal_rows.as_text(read[name]) for name in self.quasi)
            is_star = self._is_star(batch) if self.drops_stars else None
            yield (batch, None) if is_star is None else (batch.filter(~is_star), ~is_star)

    def _coders(self) -> tuple[dict[str, pl.Series], Coders, tuple[SensitiveDomain, ...]]:
        values = collect_values(
            (b for b, _ in self._kept()), self.columns, all_categories=False, count_rows=lambda _: None
        )
        labels = {name: equal_rows.as_text(values[name]) for name in self.quasi}
        domains, counted = sensitive_coders(
            self.sensitive, values, self.release.types, lambda names: (b.select(names) for b, _ in self._kept())
        )
        quasi = tuple(Coder(name, labels[name], np.arange(len(labels[name]))) for name in self.quasi)
        return (
            labels,
            Coders((*self.quasi, *counted.columns), (*quasi, *counted.coders)),
            (*domains, *(domain for domain, _ in self._unpublished(domains))),
        )

    def _unpublished(self, shown: Sequence[SensitiveDomain]) -> list[tuple[SensitiveDomain, int]]:
        """The persons of the originals and what they hold, which no release tells, and the dimensions of their codes.

        Args:
            shown: how the values of the release are coded.
        """
        if self.coding is None or self.rows is None:
            return []
        domains = []
        for i, domain in enumerate(self.coding.sensitive, start=len(self.coding.domains)):
            if domain.kind is Counted.PERSON:
                domains.append((domain, i))
            elif domain.kind is Counted.HOLDING:
                domains.append((as_published(domain, self.coding.sensitive, shown), i))
        return domains

    def _coverage(self, labels: Mapping[str, pl.Series]) -> list[Coverage] | None:
        if self.coding is None or self.rows is None:
            return None
        domains = {d.name: d for d in self.coding.domains}
        return [coverage_of(labels[name], domains[name]) for name in self.quasi]

    # One pass ---------------------------------------------------------------------------------------------------------

    def _pass(
        self, coders: Coders, domains: tuple[SensitiveDomain, ...], layout: KeyLayout, coverage: list[Coverage] | None
    ) -> tuple[bool | None, KeyPartitions, dict[str, IntArray], int]:
        """Keys of all records, and whether every cell covers its original."""
        keys = self._sink(layout)
        totals = {d.name: np.zeros(d.n_values, np.int64) for d in domains}
        originals = _Originals(self.rows, self.release.n_rows) if self.rows is not None else None
        shown = [d for d in domains if d.kind is Counted.SENSITIVE]
        unpublished = self._unpublished(shown)
        covers: bool | None = None if originals is None else originals.is_aligned
        n_rows = done = 0
        for batch, rows_left in self._kept():
            packed = coders.keys(batch, layout)
            height = batch.height if rows_left is None else len(rows_left)
            if originals is not None and originals.is_aligned and coverage is not None:
                before = originals.next(height)
                before = before if rows_left is None else before[:, rows_left]
                covers = bool(covers) and self._holds(coverage, packed, layout, before)
                # where nobody can be told apart, all are one person
                for own, (domain, dim) in enumerate(
                    unpublished, start=len(self.quasi) + len(domains) - len(unpublished)
                ):
                    codes_before = unpack(before, originals.rows.space.layout, dim)
                    packed[layout.word[own]] |= codes_before.astype(np.uint64) << layout.shift[own]
                    covers = covers and self._shows(packed, layout, shown, domain, codes_before)
            keys.add(packed)
            for i, domain in enumerate(domains, start=len(self.quasi)):
                totals[domain.name] += np.bincount(unpack(packed, layout, i), minlength=domain.n_values)
            n_rows += batch.height
            done += height
            self.progress.advance(done)
        if originals is not None and covers:
            covers = originals.is_used_up()
        return covers, keys, totals, n_rows

    def _holds(self, coverage: Sequence[Coverage], shown: Keys, layout: KeyLayout, originals: Keys) -> bool:
        """Every cell covers its original."""
        assert self.coding is not None
        assert self.rows is not None
        names, of = [d.name for d in self.coding.domains], self.rows.space.layout
        return all(
            one.holds_all((shown, layout, i), (originals, of, names.index(name)))
            for i, (one, name) in enumerate(zip(coverage, self.quasi, strict=True))
        )

    def _shows(
        self,
        packed: Keys,
        layout: KeyLayout,
        shown: Sequence[SensitiveDomain],
        domain: SensitiveDomain,
        codes: IntArray,
    ) -> bool:
        """Every row shows the values that its person holds."""
        if domain.parts is None:
            return True
        dims = enumerate(shown, start=len(self.quasi))
        return all(np.array_equal(domain.parts[d.name][codes], unpack(packed, layout, dim)) for dim, d in dims)

    def _sink(self, layout: KeyLayout) -> KeyPartitions:
        """Where keys go until they are counted: to as many files as are needed for each to fit memory."""
        n_words = int(layout.word.max(initial=0)) + 1
        masks = np.zeros(n_words, np.uint64)
        for word, shift, mask in zip(*(side[: len(self.quasi)] for side in layout), strict=True):
            masks[word] |= mask << shift
        n_parts = 1 + self.release.n_rows * (BYTES_PER_ROW + 32 * n_words) // self.work
        return KeyPartitions(self.folder, masks, n_parts)

    def _parts(
        self, keys: KeyPartitions, layout: KeyLayout, domains: tuple[SensitiveDomain, ...], totals: dict[str, IntArray]
    ) -> Sequence[ClassStats]:
        # keys are loaded in the call, so that those of two parts are never held together
        stats = (_stats(part.load(), layout, self.quasi, domains, totals) for part in keys.parts())
        return list(stats) if keys.n_parts == 1 else _StoredClasses(self.folder, stats)


def with_persons(release: StreamTable, coding: Coding) -> StreamTable | None:
    """A release with whose every row is, from the keys of its originals; None where that is not known."""
    rows: Rows | None = coding.rows
    kinds = [domain.kind for domain in coding.sensitive]
    if rows is None or Counted.PERSON not in kinds or not _Originals(rows, release.n_rows).is_aligned:
        return None
    dim = len(coding.domains) + kinds.index(Counted.PERSON)

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        originals = _Originals(rows, release.n_rows)
        others = [name for name in columns if name != PERSON]
        for batch in release.batches(others or list(release.types)[:1]):
            persons = unpack(originals.next(batch.height), rows.space.layout, dim)
            yield batch.with_columns(pl.Series(PERSON, persons.astype(np.int64))).select(columns)

    return replace(release, types={**release.types, PERSON: ColumnType.INTEGER}, open=batches)


class _Originals:
    """The originals of published rows, in the order of these."""

    def __init__(self, rows: Rows, n_published: int) -> None:
        self.rows = rows
        self._left = np.zeros((rows.keys.n_words, 0), np.uint64)
        self._leaves_out = n_published != rows.keys.n_rows
        # rows may be left out only where it is known which
        self.is_aligned = not self._leaves_out or rows.are_classified
        self._chunks = self._of_table() if rows.published is None else rows.published.chunks(1 << 16)
        self._sums = np.zeros(2, np.uint64)

    def _of_table(self) -> Iterator[Keys]:
        """The keys of all originals that are published, in their own order."""
        reader = self.rows.in_order()
        while (chunk := reader.next(1 << 16, with_classes=self._leaves_out))[0].shape[1]:
            keys, classes = chunk
            yield keys[:, classes >= 0] if self._leaves_out else keys
        reader.close()

    def next(self, n: int) -> Keys:
        """Keys of the originals of the next `n` rows of the release; fewer if there are no more."""
        parts, n_keys = [self._left], self._left.shape[1]
        while n_keys < n and (keys := next(self._chunks, None)) is not None:
            parts.append(keys)
            n_keys += keys.shape[1]
        keys = np.concatenate(parts, axis=1)
        self._left = keys[:, n:]
        self._sums += _sums(keys[:, :n])
        return keys[:, :n]

    def is_used_up(self) -> bool:
        """No original is left over, and in another order than that of the table every one was there once."""
        if self.next(1).shape[1]:
            return False
        if self.rows.published is None:
            return True
        expected = np.zeros(2, np.uint64)
        for keys in self._of_table():
            expected += _sums(keys)
        return bool((expected == self._sums).all())


def _sums(keys: Keys) -> NDArray[np.uint64]:
    """128 bits that tell sets of keys apart, whatever their order."""
    numbers = mixed(keys)
    return np.array([numbers.sum(), mixed(np.stack([numbers, numbers >> np.uint64(7)])).sum()], np.uint64)


# Classes --------------------------------------------------------------------------------------------------------------


def _stats(
    keys: Keys,
    layout: KeyLayout,
    quasi: Sequence[str],
    domains: tuple[SensitiveDomain, ...],
    totals: Mapping[str, IntArray],
) -> ClassStats:
    """Statistics of the classes that keys form, which hold labels first and sensitive codes after them."""
    n_dims = len(quasi)
    label_keys = np.zeros_like(keys)
    for word, shift, mask in zip(*(side[:n_dims] for side in layout), strict=True):
        label_keys[word] |= keys[word] & (mask << shift)
    firsts, classes = group_keys.sized(keys.shape[1])(label_keys)
    codes = {d.name: (unpack(keys, layout, n_dims + i), d) for i, d in enumerate(domains)}
    stats = count_classes(classes, len(firsts), codes, totals=totals)
    published = np.ascontiguousarray(label_keys[:, firsts])
    return replace(stats, labels={name: unpack(published, layout, i) for i, name in enumerate(quasi)})


class _StoredClasses(OnDemand[ClassStats]):
    """Statistics of classes in parts on disk."""

    def __init__(self, folder: Path, parts: Iterator[ClassStats]) -> None:
        self._domains: dict[str, SensitiveDomain] = {}
        self._totals: dict[str, IntArray] = {}
        self._names: list[str] = []
        self._paths: list[Path] = []
        for i, part in enumerate(parts):
            self._paths.append(folder / f"classes-{i}.npz")
            self._save(self._paths[-1], part)
        super().__init__(len(self._paths), self._load)

    def _save(self, path: Path, part: ClassStats) -> None:
        assert part.labels is not None
        self._names = list(part.labels)
        arrays = {"size": part.size}
        for i, name in enumerate(self._names):
            arrays[f"label{i}"] = part.labels[name].astype(np.uint32)
        for i, (name, hist) in enumerate(part.hist.items()):
            self._domains[name], self._totals[name] = hist.domain, hist.totals
            arrays |= {f"indptr{i}": hist.indptr, f"codes{i}": hist.codes.astype(np.uint32)}
            arrays[f"counts{i}"] = hist.counts.astype(np.uint32)
        np.savez(path, allow_pickle=False, **arrays)

    def _load(self, part: int) -> ClassStats:
        with np.load(self._paths[part]) as stored:
            hist = {
                name: Histogram(
                    domain, stored[f"indptr{i}"], stored[f"codes{i}"].astype(np.int64),
                    stored[f"counts{i}"].astype(np.int64), self._totals[name],
                )
                for i, (name, domain) in enumerate(self._domains.items())
            }  # fmt: skip
            labels = {name: stored[f"label{i}"].astype(np.int64) for i, name in enumerate(self._names)}
            return ClassStats(stored["size"], hist, labels)


# What stands alone ----------------------------------------------------------------------------------------------------


def count_in_parts(
    batches: Iterable[pl.DataFrame], sets: Sequence[Sequence[str]], folder: Path, *, n_rows: int, work: int,
    stars: Sequence[str] = (), person: str | None = None,
) -> list[equal_rows.Alike]:  # fmt: skip
    """The same for rows that come in batches and may be more than memory holds: keys wait in files, in parts."""
    n_words = 1 if person is None else 2
    n_parts = 1 + n_rows * BYTES_PER_KEY * n_words * len(sets) // max(1, work)
    of_key = np.array([np.iinfo(np.uint64).max, 0], np.uint64)[:n_words]
    everybody = [pl.Series([], dtype=pl.UInt64)]  # persons are in memory where they are coded, too
    stores = []
    for number in range(len(sets)):
        place = folder / f"alike-{number}"
        place.mkdir(exist_ok=True)
        stores.append(KeyPartitions(place, of_key, n_parts))
    try:
        for batch in batches:
            shown = equal_rows.shown_rows(batch, stars)
            whose = [] if person is None else [equal_rows.words_of(shown[person])]
            everybody += [pl.Series(persons).unique() for persons in whose]
            if sum(map(len, everybody[1:])) > len(everybody[0]):  # as many again: united so seldom, each costs little
                everybody = [pl.concat(everybody).unique()]
            for store, keys in zip(stores, equal_rows.keys_of(shown, sets), strict=True):
                store.add(np.stack([keys, *whose]))
        if person is not None:
            loaded = ((part.load() for part in store.parts()) for store in stores)
            n_persons = pl.concat(everybody).n_unique()
            return [equal_rows.count_persons(((keys, of) for keys, of in each), n_persons) for each in loaded]
        return [
            sum((equal_rows.count_keys(part.load()[0]) for part in store.parts()), equal_rows.NOBODY)
            for store in stores
        ]
    finally:
        for store in stores:
            store.close()
