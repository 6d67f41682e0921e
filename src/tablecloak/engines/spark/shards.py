"""Tuples cut apart on the workers, and searched by them."""

from __future__ import annotations

import hashlib
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
from tablecloak.engines.spark.codes import words_in, words_of
from tablecloak.engines.spark.rows import batches_of, frame_of
from tablecloak.kernels.space import Layout as Packing
from tablecloak.kernels.space import unpack

__all__ = ["COUNTED", "CountTask", "ShardTask", "SolveTask", "Solved", "solved_schema"]

IntArray = NDArray[np.int64]
COUNTED = "shard int, dim int, code bigint, n bigint"


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
class Solved:
    """The classes of one shard, as its worker tells them."""

    answer: Answer
    leads: bool  # the cuts of the answer lead to the class of every tuple
    stamp: int  # differs where another search would have found other classes


def solved_schema(packing: Packing) -> str:
    """What `SolveTask` says: one row with the classes and, where no cuts lead to them, one for every tuple."""
    return ", ".join(
        ["shard int", "answer binary", *(f"{w} bigint" for w in words_in(packing)), "class int, stamp bigint"]
    )


@dataclass(frozen=True, slots=True, eq=False)
class SolveTask:
    """The classes of one shard, found by the worker that holds it."""

    make_table: Callable[[pl.DataFrame], CodedTable]
    search: Search
    packing: Packing

    def __call__(self, table: Any) -> Any:
        found = frame_of(table)
        coded = self.make_table(found.drop("shard"))
        solution = self.search(coded)
        codes = np.stack([coded.quasi_codes(d) for d in range(coded.space.n_dims)])
        leads = solution.tree is not None and np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple)
        answer = compact(Answer(solution, solution.sizes(coded)), int(coded.space.n_codes.max()))
        stamp = _stamp(solution.class_of_tuple)
        shard, told = int(found["shard"][0]), pickle.dumps(Solved(answer, leads, stamp))
        said = [self._row(shard, told, stamp)]
        if not leads:
            said.append(self._classes(coded, solution.class_of_tuple, shard, stamp))
        import pyarrow as pa

        return pa.Table.from_batches([batch for frame in said for batch in batches_of(frame)])

    def _row(self, shard: int, told: bytes, stamp: int) -> pl.DataFrame:
        words = [pl.lit(None, pl.Int64).alias(w) for w in words_in(self.packing)]
        head = pl.DataFrame({"shard": [shard], "answer": [told]}, schema={"shard": pl.Int32, "answer": pl.Binary})
        return head.with_columns(*words, pl.lit(None, pl.Int32).alias("class"), pl.lit(stamp, pl.Int64).alias("stamp"))

    def _classes(self, coded: CodedTable, classes: IntArray, shard: int, stamp: int) -> pl.DataFrame:
        words = {f"w{i}": word.view(np.int64) for i, word in enumerate(coded.keys)}
        frame = pl.DataFrame({**words, "class": classes.astype(np.int32)})
        constants = [
            pl.lit(shard, pl.Int32).alias("shard"), pl.lit(None, pl.Binary).alias("answer"),
            pl.lit(stamp, pl.Int64).alias("stamp"),
        ]  # fmt: skip
        return frame.with_columns(*constants).select("shard", "answer", *words, "class", "stamp")


def _stamp(classes: IntArray) -> int:
    return int.from_bytes(hashlib.blake2b(classes.tobytes(), digest_size=8).digest(), "little", signed=True)
