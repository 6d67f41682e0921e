"""Rows that an engine keeps on disk: their keys, their shards and the classes found for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.data.coded import CodedTable, tuples_of
from tablecloak.data.domain import Domain
from tablecloak.engines.keys import CHUNK, ClassFile, KeyFile
from tablecloak.engines.shards import shard_of_rows
from tablecloak.kernels.space import Keys, Space
from tablecloak.stats.classes import SensitiveDomain

__all__ = ["Rows", "Shards"]

IntArray = NDArray[np.int64]


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

    def split(self, seen: Callable[[int], None]) -> None:
        """Write the rows of every shard to its own file, in one pass."""
        assert self.cuts is not None
        self.shard_keys = [KeyFile(file.path, file.n_words) for file in self.shard_keys]
        for keys in self.keys.chunks():
            shard = shard_of_rows(keys, self.space, self.cuts)
            order = np.argsort(shard, kind="stable")
            ends = np.cumsum(np.bincount(shard, minlength=len(self.sizes)))
            moved = keys[:, order]
            for i, end in enumerate(ends.tolist()):
                begin = int(ends[i - 1]) if i else 0
                if end > begin:
                    self.shard_keys[i].append(moved[:, begin:end])
            seen(keys.shape[1])

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
            return keys, self._classes[0].next(keys.shape[1])
        shard = shard_of_rows(keys, self._rows.space, self._rows.cuts)
        counts = np.bincount(shard, minlength=len(self._classes)).tolist()
        parts = [reader.next(n_rows) for reader, n_rows in zip(self._classes, counts, strict=True) if n_rows]
        classes = np.empty(keys.shape[1], np.int32)
        if parts:
            classes[np.argsort(shard, kind="stable")] = np.concatenate(parts)
        return keys, classes

    def chunks(self, n: int = CHUNK) -> Iterator[tuple[Keys, NDArray[np.int32]]]:
        """All rows that are left."""
        while (found := self.next(n))[0].shape[1]:
            yield found

    def close(self) -> None:
        self._keys.close()
        for reader in self._classes:
            reader.close()


class Shards(Sequence[CodedTable]):
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

    def __len__(self) -> int:
        return len(self.rows.sizes)

    @overload
    def __getitem__(self, index: int) -> CodedTable: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CodedTable]: ...
    def __getitem__(self, index: int | slice) -> CodedTable | Sequence[CodedTable]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
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

    def forget(self) -> None:
        """Free the memory of the shard that is held."""
        self._held = None
