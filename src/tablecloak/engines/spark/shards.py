"""Tuples cut apart on the workers, and searched by them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import Answer, Search
from tablecloak.engines.solutions import compact
from tablecloak.engines.spark.codes import words_of
from tablecloak.engines.spark.rows import batches_of, frame_of
from tablecloak.kernels.space import Layout as Packing
from tablecloak.kernels.space import unpack

__all__ = ["COUNTED", "SOLVED", "CountTask", "ShardTask", "SolveTask"]

IntArray = NDArray[np.int64]
COUNTED = "shard int, dim int, code bigint, n bigint"
SOLVED = "shard int, answer binary"


@dataclass(frozen=True, slots=True, eq=False)
class ShardTask:
    """Tuples with the shard that cuts lead them to."""

    packing: Packing
    tree: CutTree
    n_dims: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(frame_of, batches):
            yield from batches_of(frame.with_columns(pl.Series("shard", self.shards(frame), dtype=pl.Int32)))

    def shards(self, frame: pl.DataFrame) -> IntArray:
        """The shard of every tuple."""
        codes = np.stack([unpack(words_of(frame, self.packing), self.packing, d) for d in range(self.n_dims)])
        return self.tree.classes_of(codes)


@dataclass(frozen=True, slots=True, eq=False)
class CountTask:
    """How often each code occurs in the shards of a tree."""

    shard: ShardTask
    n_columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(frame_of, batches):
            words, shards = words_of(frame, self.shard.packing), self.shard.shards(frame)
            for dim in range(self.n_columns):
                codes = unpack(words, self.shard.packing, dim)
                found = pl.DataFrame({"shard": shards, "code": codes, "n": frame["n"]}).group_by("shard", "code").sum()
                told = found.with_columns(pl.col("shard").cast(pl.Int32), pl.lit(dim, pl.Int32).alias("dim"))
                yield from batches_of(told.select("shard", "dim", "code", "n"))


@dataclass(frozen=True, slots=True, eq=False)
class SolveTask:
    """The classes of one shard, found by the worker that holds it."""

    make_table: Callable[[pl.DataFrame], CodedTable]
    search: Search

    def __call__(self, table: Any) -> Any:
        found = frame_of(table)
        coded = self.make_table(found.drop("shard"))
        solution = self.search(coded)
        answer = Answer(solution, solution.sizes(coded))
        codes = np.stack([coded.quasi_codes(d) for d in range(coded.space.n_dims)])
        leads = solution.tree is not None and np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple)
        told = pickle.dumps((compact(answer, int(coded.space.n_codes.max())), leads))
        said = pl.DataFrame({"shard": found["shard"].head(1), "answer": [told]})
        (batch,) = batches_of(said)
        import pyarrow as pa

        return pa.Table.from_batches([batch])
