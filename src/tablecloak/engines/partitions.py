"""Keys in parts by a hash of their group, so that each can be counted for itself, in memory; several are files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.data.coded import mixed
from tablecloak.engines.keys import KeyFile
from tablecloak.kernels.space import Keys

__all__ = ["KeyPartitions"]


class KeyPartitions:
    """Packed keys of more rows than memory holds.

    Args:
        group: masks of the words; keys that agree under them are always in one part.
    """

    def __init__(self, folder: Path, group: NDArray[np.uint64], n_parts: int) -> None:
        self.group, self.n_parts = group, n_parts
        self._held = _Held(len(group)) if n_parts == 1 else None
        n_files = 0 if n_parts == 1 else n_parts
        self._files = [KeyFile(folder / f"part-{i}.keys", len(group)) for i in range(n_files)]

    def add(self, keys: Keys) -> None:
        """Add rows, (n_words, n)."""
        if self._held is not None:
            self._held.append(keys)
            return
        part = self._parts_of(keys)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=self.n_parts)).tolist()
        moved = keys[:, order]
        for file, begin, end in zip(self._files, [0, *ends], ends, strict=False):
            if end > begin:
                file.append(moved[:, begin:end])

    def _parts_of(self, keys: Keys) -> NDArray[np.uint16]:
        return (mixed(keys & self.group[:, None]) % np.uint64(self.n_parts)).astype(np.uint16)

    def parts(self) -> Iterator[KeyFile | _Held]:
        """All parts that have rows, and the only one in any case."""
        if self._held is not None:
            yield self._held
        yield from (file for file in self._files if file.n_rows)

    def close(self) -> None:
        """Remove what was stored."""
        for file in self._files:
            file.path.unlink(missing_ok=True)


class _Held:
    """The only part, which memory holds."""

    def __init__(self, n_words: int) -> None:
        self._pieces = [np.zeros((n_words, 0), np.uint64)]

    def append(self, keys: Keys) -> None:
        self._pieces.append(keys)

    def load(self) -> Keys:
        """All rows, once."""
        pieces, self._pieces = self._pieces, self._pieces[:1]
        return np.concatenate(pieces, axis=1)
