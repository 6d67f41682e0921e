"""Keys in files by a hash of their group, so that each file can be counted for itself, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.engines.keys import KeyFile
from tablecloak.kernels.space import Keys

__all__ = ["KeyPartitions"]

MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio


class KeyPartitions:
    """Packed keys of more rows than memory holds.

    Args:
        group: masks of the words; keys that agree under them are always in one part.
    """

    def __init__(self, folder: Path, group: NDArray[np.uint64], n_parts: int) -> None:
        self.group, self.n_parts = group, n_parts
        self._files = [KeyFile(folder / f"part-{i}.keys", len(group)) for i in range(n_parts)]

    def add(self, keys: Keys) -> None:
        """Add rows, (n_words, n)."""
        if self.n_parts == 1:
            self._files[0].append(keys)
            return
        part = self._parts_of(keys)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=self.n_parts)).tolist()
        moved = keys[:, order]
        for file, begin, end in zip(self._files, [0, *ends], ends, strict=False):
            if end > begin:
                file.append(moved[:, begin:end])

    def _parts_of(self, keys: Keys) -> NDArray[np.uint16]:
        mixed = np.zeros(keys.shape[1], np.uint64)
        for word, mask in zip(keys, self.group, strict=True):
            mixed = (mixed ^ (word & mask)) * MIX
            mixed ^= mixed >> np.uint64(32)
        return (mixed % np.uint64(self.n_parts)).astype(np.uint16)

    def parts(self) -> Iterator[KeyFile]:
        """The files of all parts that have rows, and of the only one in any case."""
        return (file for file in self._files if file.n_rows or self.n_parts == 1)

    def close(self) -> None:
        """Remove what was stored."""
        for file in self._files:
            file.path.unlink(missing_ok=True)
