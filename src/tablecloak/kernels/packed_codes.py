"""How codes are packed into 64-bit words, and what kernels know about each dimension."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray

Keys = NDArray[np.uint64]  # (n_words, n_tuples)

CHUNK = 1 << 15
ORDERED, TREE = 0, 1  # kinds of dimensions
UNKNOWN = np.uint64(2**64 - 1)  # in a table of codes, the place of a value that has none


class ClassCost(enum.IntEnum):
    """What a class costs beside or instead of its cells."""

    CELLS = 0  # its cells alone
    DISCERNIBILITY = 1  # the square of its size
    AVERAGE_SIZE = 2  # records beyond the smallest size allowed


class KeyLayout(NamedTuple):
    """Where the code of each dimension sits: `(keys[word] >> shift) & mask`."""

    word: IntArray  # (n_dims,)
    shift: NDArray[np.uint64]  # (n_dims,)
    mask: NDArray[np.uint64]  # (n_dims,)


class Space(NamedTuple):
    """The quasi-identifier space, flat so that compiled kernels can read it.

    The first `n_dims` dimensions of the layout are the quasi-identifiers; sensitive codes may follow them.
    """

    n_dims: int
    layout: KeyLayout
    kind: IntArray  # (n_dims,) DomainKind
    has_missing: BoolArray  # (n_dims,)
    n_codes: IntArray  # (n_dims,)
    weight: FloatArray  # (n_dims,) importance of the attribute
    start: IntArray  # (n_dims,) where the dimension's entries begin in the next four
    lower: FloatArray  # ordered dimensions: where an interval begins, as published, that begins with each code
    upper: FloatArray  # the same where one ends that ends with each code
    # The same without the gaps to the next values, from 0 to 1. Cuts are priced by these: most parts are cut again, and
    # of the last ones only those beside a wide gap pay for it; a cut in the gap must not look useless to both sides.
    inner_lower: FloatArray
    inner_upper: FloatArray
    tree_start: IntArray  # (n_dims,) where the dimension's rows begin in `ends` and `end_losses`
    ends: NDArray[np.int32]  # (sum of tree codes, depth) last code of the ancestor at each depth, root first
    end_losses: FloatArray  # same shape: loss of that ancestor
    exact_up_to: int = 4096  # nodes of at most this many tuples price a cut exactly, by the boxes of both its sides


def plan_layout(n_codes: Sequence[int]) -> KeyLayout:
    """Pack dimensions of the given sizes into as few words as first-fit finds."""
    used: list[int] = []
    word, shift, mask = [], [], []
    for n in n_codes:
        bits = max(1, int(n - 1).bit_length())
        place = next((w for w, filled in enumerate(used) if filled + bits <= 64), len(used))
        if place == len(used):
            used.append(0)
        word.append(place)
        shift.append(used[place])
        mask.append((1 << bits) - 1)
        used[place] += bits
    return KeyLayout(np.array(word, np.int64), np.array(shift, np.uint64), np.array(mask, np.uint64))


def pack(columns: Sequence[NDArray[np.unsignedinteger]], layout: KeyLayout) -> Keys:
    """Keys of rows given as one code array per dimension of the layout."""
    n = len(columns[0]) if columns else 0
    keys = np.zeros((int(layout.word.max(initial=0)) + 1, n), np.uint64)
    for codes, word, shift in zip(columns, layout.word, layout.shift, strict=True):
        for begin in range(0, n, CHUNK):  # in slices: temporary arrays stay in the cache
            part = codes[begin : begin + CHUNK].astype(np.uint64)
            part <<= shift
            keys[word, begin : begin + CHUNK] |= part
    return keys


def unpack(keys: Keys, layout: KeyLayout, dim: int) -> IntArray:
    """Codes of one dimension."""
    codes: IntArray = ((keys[layout.word[dim]] >> layout.shift[dim]) & layout.mask[dim]).astype(np.int64)
    return codes
