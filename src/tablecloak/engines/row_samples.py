"""Samples: some rows of a coded table with their classes, where the tuples of all rows are not in memory together."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import Answer, Coding
from tablecloak.engines.disk.rows import Rows
from tablecloak.kernels.packed_codes import Keys, Space, unpack
from tablecloak.stats.spread import spread

# Shares counted on so many rows have a standard error of at most 0.1 points.
MOST = 1 << 18


@runtime_checkable
class Classified(Protocol):
    """What an engine knows of rows that it keeps in shards."""

    def classes_at(self, shard: int, keys: Keys) -> IntArray:
        """The class of packed tuples of a shard (-1: suppressed)."""


def sample_of(coding: Coding, answer: Answer) -> tuple[CodedTable, IntArray] | None:
    """Rows spread over the table, each a tuple, with the class of each (-1: suppressed).

    None where neither rows nor cuts say which class a row is in. The same table gives the same rows.
    Cost: one pass over the rows, or over the tuples of every shard.
    """
    if isinstance(coding.rows, Rows):
        return _of_rows(coding, coding.rows, MOST)
    rows, tree = coding.rows, answer.solution.tree
    if tree is None and not isinstance(rows, Classified):
        return None
    drawn, classes = [], []
    for number, shard in enumerate(coding.shards):
        space, keys = shard.space, _drawn(shard, MOST * shard.n_rows / max(1, coding.n_rows))  # all share the space
        drawn.append(keys)
        classes.append(rows.classes_at(number, keys) if isinstance(rows, Classified) else _led(tree, keys, space))
    return _table(coding, np.concatenate(drawn, axis=1), space), np.concatenate(classes)


def _led(tree: CutTree | None, keys: Keys, space: Space) -> IntArray:
    """The classes that cuts lead to."""
    assert tree is not None
    return tree.classes_of(np.stack([unpack(keys, space.layout, dim) for dim in range(space.n_dims)]))


def _of_rows(coding: Coding, rows: Rows, most: int) -> tuple[CodedTable, IntArray] | None:
    """Rows whose number, scrambled, is small: as good as drawn by lot, and the same in every run."""
    if not rows.are_classified:
        return None
    limit = np.uint64(2**64 - 1 if most >= coding.n_rows else int(most / coding.n_rows * 2**64))
    keys, classes, begin = [], [], 0
    reader = rows.in_order()
    try:
        for chunk, of_row in reader.chunks():
            chosen = np.flatnonzero(_scrambled(begin, chunk.shape[1]) <= limit)
            keys.append(chunk[:, chosen])
            classes.append(of_row[chosen].astype(np.int64))
            begin += chunk.shape[1]
    finally:
        reader.close()
    return _table(coding, np.concatenate(keys, axis=1), rows.space), np.concatenate(classes)


def _scrambled(begin: int, n: int) -> NDArray[np.uint64]:
    """Numbers of rows as 64 bits in which neighbors look unrelated (the finalizer of SplitMix64)."""
    x = (np.arange(begin, begin + n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _drawn(shard: CodedTable, n_drawn: float) -> Keys:
    """About so many rows at equal distances in the order of their codes, (n_words, n)."""
    n = min(shard.n_rows, max(1, round(n_drawn)))
    order = np.lexsort(shard.keys)
    weights = shard.weights[order] if len(shard.weights) else np.ones(shard.n_tuples, np.int64)
    return shard.keys[:, order[spread(weights, n)]]


def _table(coding: Coding, keys: Keys, space: Space) -> CodedTable:
    keys = np.ascontiguousarray(keys)
    return CodedTable(coding.domains, coding.sensitive, space, keys, np.zeros(0, np.int64), None, coding.totals)
