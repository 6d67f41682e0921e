"""Rows on disk as packed keys and as class numbers: raw arrays that are written once and read in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.io.atomic import writing
from tablecloak.kernels.space import Keys

__all__ = ["ClassFile", "KeyFile"]

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

    def reader(self) -> KeyReader:
        return KeyReader(self.path, self.n_words)

    def rows_at(self, places: NDArray[np.int64]) -> Keys:
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


class KeyReader:
    """Reads keys in order, as many as are asked for."""

    def __init__(self, path: Path, n_words: int) -> None:
        self._file = path.open("rb")
        self._n_words = n_words

    def next(self, n: int) -> Keys:
        """The next `n` rows, or as many as there are."""
        return np.fromfile(self._file, np.uint64, n * self._n_words).reshape(-1, self._n_words).T

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

    def load(self) -> NDArray[np.int64]:
        """All classes."""
        return np.fromfile(self.path, np.int32).astype(np.int64)

    def rewrite(self, change: Callable[[NDArray[np.int32]], NDArray[np.integer]]) -> None:
        """Change all classes, a chunk at a time."""

        def changed(reader: ClassReader) -> Iterator[NDArray[np.integer]]:
            while len(part := reader.next(CHUNK)):
                yield change(part)
            reader.close()

        self.write(changed(self.reader()))

    def reader(self) -> ClassReader:
        return ClassReader(self.path)


class ClassReader:
    """Reads classes in order, as many as are asked for."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")

    def next(self, n: int) -> NDArray[np.int32]:
        """The next `n` of them."""
        return np.fromfile(self._file, np.int32, n)

    def close(self) -> None:
        self._file.close()
