"""Rows that an engine keeps on disk: their keys, their shards and the classes found for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable, mixed, tuples_of
from tablecloak.data.domain import Domain
from tablecloak.engines.base import OnDemand
from tablecloak.engines.shards import shard_of_rows
from tablecloak.io.atomic import writing
from tablecloak.kernels.packed_codes import Keys, Space
from tablecloak.stats.classes import SensitiveDomain

CHUNK = 1 << 20  # rows read at once


class KeyFile:
    """Packed keys of rows in their order, word by word in chunks of rows."""

    def __init__(self, path: Path, n_words: int, n_rows: int = 0) -> None:
        self.path, self.n_words, self.n_rows = path, n_words, n_rows
        if n_rows == 0:
            path.write_bytes(b"")

    def append(self, keys: Keys) -> None:
        """Add rows, (n_words, n)."""
        with writing(self.path), self.path.open("ab") as file:
            np.ascontiguousarray(keys.T).tofile(file)
        self.n_rows += keys.shape[1]

    def chunks(self, n_rows: int = CHUNK) -> Iterator[Keys]:
        """All rows in their order, a chunk at a time."""
        with self.path.open("rb") as file:
            while len(rows := np.fromfile(file, np.uint64, n_rows * self.n_words)):
                yield rows.reshape(-1, self.n_words).T

    def reader(self) -> NumberReader:
        return NumberReader(self.path, np.uint64, self.n_words)

    def rows_at(self, places: IntArray) -> Keys:
        """Some rows, read one by one."""
        width = 8 * self.n_words
        with self.path.open("rb") as file:
            parts = [os.pread(file.fileno(), width, width * place) for place in places.tolist()]
        return np.frombuffer(b"".join(parts), np.uint64).reshape(-1, self.n_words).T

    def load(self) -> Keys:
        """All rows."""
        keys = np.empty((self.n_words, self.n_rows), np.uint64)
        at = 0
        for chunk in self.chunks():
            keys[:, at : at + chunk.shape[1]] = chunk
            at += chunk.shape[1]
        return keys


def deal(keys: Keys, part: NDArray[np.uint16], files: Sequence[KeyFile]) -> None:
    """Add every row to the file of its part, in the order they have."""
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=len(files))).tolist()
    moved = keys[:, order]
    for file, begin, end in zip(files, [0, *ends[:-1]], ends, strict=True):
        if end > begin:
            file.append(moved[:, begin:end])


class NumberReader:
    """Reads rows of numbers in their order, as many as are asked for."""

    def __init__(self, path: Path, dtype: type[np.generic], width: int = 1) -> None:
        self._file, self._dtype, self._width = path.open("rb"), dtype, width

    def next(self, n: int) -> NDArray[Any]:
        """The next `n` rows, (width, n), or as many as there are."""
        return np.fromfile(self._file, self._dtype, n * self._width).reshape(-1, self._width).T

    def close(self) -> None:
        self._file.close()


class ClassFile:
    """The class of rows in their order, -1 where a row is suppressed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, parts: Iterator[NDArray[np.integer]]) -> None:
        """Store classes given in pieces."""
        partial = self.path.with_suffix(".partial")
        with writing(self.path), partial.open("wb") as file:
            for part in parts:
                part.astype(np.int32).tofile(file)
        partial.replace(self.path)

    def load(self) -> IntArray:
        """All classes."""
        return np.fromfile(self.path, np.int32).astype(np.int64)

    def rewrite(self, change: Callable[[NDArray[np.int32]], NDArray[np.integer]]) -> None:
        """Change all classes, a chunk at a time."""

        def changed(reader: NumberReader) -> Iterator[NDArray[np.integer]]:
            while len(part := reader.next(CHUNK)[0]):
                yield change(part)
            reader.close()

        self.write(changed(self.reader()))

    def reader(self) -> NumberReader:
        return NumberReader(self.path, np.int32)


class Rows:
    """All rows in their order; where they are cut apart, also shard by shard."""

    def __init__(
        self, folder: Path, keys: KeyFile, space: Space, cuts: CutTree | None = None, sizes: Sequence[int] = ()
    ) -> None:
        self.keys, self.space, self.cuts = keys, space, cuts
        self.sizes = list(sizes) if cuts is not None else [keys.n_rows]
        self.published: KeyFile | None = (
            None  # keys of published rows in the order of the release, where it has its own
        )
        n = len(self.sizes)
        self.classes = [ClassFile(folder / f"shard-{i}.classes") for i in range(n)]
        self.shard_keys = [keys] if cuts is None else [
            KeyFile(folder / f"shard-{i}.keys", keys.n_words, self.sizes[i]) for i in range(n)
        ]  # fmt: skip

    def split(self, count_rows: Callable[[int], None]) -> None:
        """Write the rows of every shard to its own file, in one pass."""
        assert self.cuts is not None
        self.shard_keys = [KeyFile(file.path, file.n_words) for file in self.shard_keys]
        for keys in self.keys.chunks():
            deal(keys, shard_of_rows(keys, self.space, self.cuts), self.shard_keys)
            count_rows(keys.shape[1])

    @property
    def are_classified(self) -> bool:
        """Whether the classes of all rows are known."""
        return all(file.path.exists() for file in self.classes)

    def in_order(self) -> RowReader:
        """Keys and classes in the order of the rows."""
        return RowReader(self)


class RowReader:
    """Reads rows in order, as many as are asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._keys = rows.keys.reader()
        self._classes = [file.reader() for file in rows.classes] if rows.are_classified else []

    def next(self, n: int, *, with_classes: bool = True) -> tuple[Keys, NDArray[np.int32]]:
        """Keys and classes of the next `n` rows; no classes where they are not wanted or not known."""
        keys = self._keys.next(n)
        if not with_classes or not self._classes:
            return keys, np.zeros(0, np.int32)
        if self._rows.cuts is None:
            return keys, self._classes[0].next(keys.shape[1])[0]
        shard = shard_of_rows(keys, self._rows.space, self._rows.cuts)
        counts = np.bincount(shard, minlength=len(self._classes)).tolist()
        parts = [reader.next(n_rows)[0] for reader, n_rows in zip(self._classes, counts, strict=True) if n_rows]
        classes = np.empty(keys.shape[1], np.int32)
        if parts:
            classes[np.argsort(shard, kind="stable")] = np.concatenate(parts)
        return keys, classes

    def chunks(self, n: int = CHUNK) -> Iterator[tuple[Keys, NDArray[np.int32]]]:
        """All rows that are left."""
        while (chunk := self.next(n))[0].shape[1]:
            yield chunk

    def close(self) -> None:
        self._keys.close()
        for reader in self._classes:
            reader.close()


class Shards(OnDemand[CodedTable]):
    """The tuples of every shard, read when asked for; only one is held at a time."""

    def __init__(
        self,
        rows: Rows,
        domains: tuple[Domain, ...],
        sensitive: tuple[SensitiveDomain, ...],
        totals: Mapping[str, IntArray],
        *,
        by_row: bool,
        grouped: Path | None = None,
    ) -> None:
        self.rows, self.domains, self.sensitive, self.totals = rows, domains, sensitive, totals
        self.by_row = by_row
        self.grouped = grouped  # distinct tuples that were counted already
        self._held: tuple[int, CodedTable] | None = None
        super().__init__(len(rows.sizes), self._shard)

    def _shard(self, index: int) -> CodedTable:
        if self._held is None or self._held[0] != index:
            self._held = None  # before the next one is read
            self._held = index, self._read(index)
        return self._held[1]

    def _read(self, index: int) -> CodedTable:
        space = self.rows.space
        if self.grouped is not None:
            stored = np.load(self.grouped)
            keys, weights = np.ascontiguousarray(stored[:-1]), stored[-1].astype(np.int64)
            return CodedTable(self.domains, self.sensitive, space, keys, weights, None, self.totals)
        keys = self.rows.shard_keys[index].load()
        return tuples_of(keys, space, self.domains, self.sensitive, self.totals, by_row=self.by_row)

    def sample(self, n: int) -> CodedTable:
        """Some rows from all over the table, about `n` of them, each a tuple of its own."""
        step = max(1, self.rows.keys.n_rows // n)
        keys = np.concatenate([chunk[:, ::step] for chunk in self.rows.keys.chunks()], axis=1)
        return CodedTable(
            self.domains, self.sensitive, self.rows.space, np.ascontiguousarray(keys), np.zeros(0, np.int64), None,
            self.totals,
        )  # fmt: skip

    def forget(self) -> None:
        """Free the memory of the shard that is held."""
        self._held = None


class KeyPartitions:
    """Packed keys of more rows than memory holds.

    Args:
        group: masks of the words; keys that agree under them are always in one part.
    """

    def __init__(self, folder: Path, group: NDArray[np.uint64], n_parts: int) -> None:
        self.group, self.n_parts = group, n_parts
        self._held = _PartInMemory(len(group)) if n_parts == 1 else None
        n_files = 0 if n_parts == 1 else n_parts
        self._files = [KeyFile(folder / f"part-{i}.keys", len(group)) for i in range(n_files)]

    def add(self, keys: Keys) -> None:
        """Add rows, (n_words, n)."""
        if self._held is not None:
            self._held.append(keys)
            return
        deal(keys, (mixed(keys & self.group[:, None]) % np.uint64(self.n_parts)).astype(np.uint16), self._files)

    def parts(self) -> Iterator[KeyFile | _PartInMemory]:
        """All parts that have rows, and the only one in any case."""
        if self._held is not None:
            yield self._held
        yield from (file for file in self._files if file.n_rows)

    def close(self) -> None:
        """Remove what was stored."""
        for file in self._files:
            file.path.unlink(missing_ok=True)


class _PartInMemory:
    """The only part, which memory holds."""

    def __init__(self, n_words: int) -> None:
        self._pieces = [np.zeros((n_words, 0), np.uint64)]

    def append(self, keys: Keys) -> None:
        self._pieces.append(keys)

    def load(self) -> Keys:
        """All rows, once."""
        pieces, self._pieces = self._pieces, self._pieces[:1]
        return np.concatenate(pieces, axis=1)
