"""Sets of codes: which values of a column each class holds, where they are no interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CodeSets:
    """One set of codes for every class; they take as much room as they have members, however many codes there are."""

    starts: IntArray  # (n_classes + 1,)
    codes: IntArray  # those of class i from starts[i] on, ascending

    @classmethod
    def of(cls, classes: NDArray[np.integer[Any]], codes: NDArray[np.integer[Any]], n_classes: int) -> CodeSets:
        """The codes that occur in each class; records of class -1 are in none."""
        is_in = classes >= 0
        width = int(codes.max(initial=0)) + 1
        pairs = classes[is_in].astype(np.int64) * width + codes[is_in]
        if n_classes * width <= 4 * len(pairs):  # no sorting
            occurs = np.zeros(n_classes * width, np.bool_)
            occurs[pairs] = True
            pairs = np.flatnonzero(occurs)
        else:
            pairs = np.unique(pairs)
        owner, members = np.divmod(pairs, width)
        return cls(np.searchsorted(owner, np.arange(n_classes + 1)), members)

    @classmethod
    def of_boxes(cls, lo: NDArray[np.integer[Any]], hi: NDArray[np.integer[Any]]) -> CodeSets:
        """Intervals as sets."""
        sizes = hi.astype(np.int64) - lo + 1
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(starts, np.arange(starts[-1]) - np.repeat(starts[:-1] - lo, sizes))

    @classmethod
    def joined(cls, parts: Sequence[CodeSets]) -> CodeSets:
        """The classes of several parts, one after the other."""
        sizes = np.concatenate([[0], *(part.sizes for part in parts)])
        return cls(np.cumsum(sizes), np.concatenate([np.zeros(0, np.int64), *(part.codes for part in parts)]))

    @classmethod
    def united(cls, parts: Sequence[CodeSets], n_classes: int) -> CodeSets:
        """The same classes, of which every part has seen some records."""
        owners = [np.repeat(np.arange(len(part)), part.sizes) for part in parts]
        empty = np.zeros(0, np.int64)
        codes = np.concatenate([empty, *(part.codes for part in parts)])
        return cls.of(np.concatenate([empty, *owners]), codes, n_classes)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def first(self) -> IntArray:
        """The least code of every class, -1 where a set is empty."""
        return np.where(self.sizes > 0, np.append(self.codes, -1)[self.starts[:-1]], -1)

    @property
    def are_intervals(self) -> bool:
        """Every set holds all codes between its first and its last."""
        is_inner = np.ones(len(self.codes), np.bool_)
        is_inner[self.starts[:-1][self.sizes > 0]] = False
        return bool((np.diff(self.codes, prepend=0)[is_inner] == 1).all())

    def of_classes(self, classes: IntArray | slice) -> CodeSets:
        """The same for some classes, in the given order."""
        classes = np.arange(len(self))[classes]
        sizes = self.sizes[classes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return CodeSets(
            starts, self.codes[np.arange(starts[-1]) + np.repeat(self.starts[classes] - starts[:-1], sizes)]
        )

    def lists(self) -> list[list[int]]:
        """The members of every set."""
        return [self.codes[a:b].tolist() for a, b in pairwise(self.starts.tolist())]

    def distinct(self) -> tuple[CodeSets, IntArray]:
        """The different sets, and which of them every class has."""
        sizes, width = self.sizes, int(self.codes.max(initial=0)) + 1
        numbers = np.zeros(len(self), np.int64)
        for step in range(int(sizes.max(initial=0))):  # sets of one size are told apart by one member after the other
            longer = np.flatnonzero(sizes > step)
            numbers[longer] = np.unique(
                numbers[longer] * width + self.codes[self.starts[longer] + step], return_inverse=True
            )[1]
        _, firsts, place = np.unique(sizes * (len(self) + 1) + numbers, return_index=True, return_inverse=True)
        return self.of_classes(firsts), place.astype(np.int64)
