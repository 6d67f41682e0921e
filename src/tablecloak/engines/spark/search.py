"""Searching on a cluster: tuples that the driver cannot hold are cut apart and searched by workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import CutTree
from tablecloak.arrays import IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.engines.base import Answer, Coding, OnDemand, SensitiveColumn, ShardSearch, StandsAlone
from tablecloak.engines.shards import Node, compact, cut_apart, join
from tablecloak.engines.spark import coding as counts
from tablecloak.engines.spark.coding import CodeTask, codes_of, digest, framed, words_in, words_of
from tablecloak.engines.spark.finished_phases import Phases, SolvedShard
from tablecloak.engines.spark.publish import Lookup, PlacedShard, ShardLookup
from tablecloak.engines.spark.rows import Guarded, SparkTable, batches_of, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.kernels.packed_codes import KeyLayout, Keys, unpack

COUNTED = "shard int, dim int, code bigint, n bigint"


@dataclass(frozen=True, slots=True, eq=False)
class ShardTask:
    """Tuples with the shard that cuts lead them to."""

    packing: KeyLayout
    tree: CutTree
    n_dims: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(frame_of, batches):
            yield from batches_of(frame.with_columns(pl.Series("shard", self.shards(frame), dtype=pl.Int32)))

    def shards(self, frame: pl.DataFrame) -> IntArray:
        """The shard of every tuple."""
        return self.tree.classes_of(codes_of(frame, self.packing, self.n_dims))


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
                by_code = (
                    pl.DataFrame({"shard": shards, "code": codes, "n": frame["n"]}).group_by("shard", "code").sum()
                )
                counted = by_code.with_columns(pl.col("shard").cast(pl.Int32), pl.lit(dim, pl.Int32).alias("dim"))
                yield from batches_of(counted.select("shard", "dim", "code", "n"))


def solved_schema(packing: KeyLayout) -> str:
    """What `SolveTask` says: one row with the classes and, where no cuts lead to them, one for every tuple."""
    return ", ".join(
        ["shard int", "answer binary", *(f"{w} bigint" for w in words_in(packing)), "class int, stamp bigint"]
    )


@dataclass(frozen=True, slots=True, eq=False)
class SolveTask:
    """The classes of one shard, found by the worker that holds it."""

    make_table: Callable[[pl.DataFrame], CodedTable]
    search: ShardSearch
    packing: KeyLayout

    def __call__(self, table: Any) -> Any:
        tuples = frame_of(table)
        coded = self.make_table(tuples.drop("shard"))
        solution = self.search(coded)
        codes = np.stack([coded.quasi_codes(d) for d in range(coded.space.n_dims)])
        leads = solution.tree is not None and np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple)
        answer = compact(Answer(solution, solution.sizes(coded)), int(coded.space.n_codes.max()))
        stamp = digest(solution.class_of_tuple.tobytes())
        shard, pickled = int(tuples["shard"][0]), pickle.dumps(SolvedShard(answer, leads, stamp))
        frames = [self._row(shard, pickled, stamp)]
        if not leads:
            frames.append(self._classes(coded, solution.class_of_tuple, shard, stamp))
        import pyarrow as pa

        return pa.Table.from_batches([batch for frame in frames for batch in batches_of(frame)])

    def _row(self, shard: int, pickled: bytes, stamp: int) -> pl.DataFrame:
        words = [pl.lit(None, pl.Int64).alias(w) for w in words_in(self.packing)]
        head = pl.DataFrame({"shard": [shard], "answer": [pickled]}, schema={"shard": pl.Int32, "answer": pl.Binary})
        return head.with_columns(*words, pl.lit(None, pl.Int32).alias("class"), pl.lit(stamp, pl.Int64).alias("stamp"))

    def _classes(self, coded: CodedTable, classes: IntArray, shard: int, stamp: int) -> pl.DataFrame:
        words = framed(coded.keys)
        frame = words.with_columns(pl.Series("class", classes.astype(np.int32)))
        constants = [
            pl.lit(shard, pl.Int32).alias("shard"), pl.lit(None, pl.Binary).alias("answer"),
            pl.lit(stamp, pl.Int64).alias("stamp"),
        ]  # fmt: skip
        return frame.with_columns(*constants).select("shard", "answer", *words.columns, "class", "stamp")


NO_CUTS = CutTree(*(np.zeros(0, np.int64) for _ in range(4)))


@dataclass(slots=True, eq=False)
class CodedState:
    """What the engine remembers of a coded table, to find its rows again."""

    table: SparkTable
    task: CodeTask
    tuples: counts.CountedTuples | None  # None: they are on the workers, in shards
    answer: Answer | None = None
    labels: Mapping[str, ClassLabels] = field(default_factory=dict)
    solved: tuple[SolvedShard, ...] = ()  # of every shard
    classes: Any = None  # a DataFrame: the class of tuples that no cuts lead to; None: there are none
    lookup: Lookup | ShardLookup | None = None
    release: SparkTable | None = None  # as it was made, before rows got another order

    def classes_at(self, shard: int, keys: Keys) -> IntArray:
        """The class of packed tuples of a shard (-1: suppressed)."""
        assert self.lookup is not None
        words = framed(keys)
        if self.classes is not None:
            with explained("fetching classes", self.table.name):
                classes = frame_of(self.classes.where(f"shard = {shard}").toArrow())
            words = words.join(classes.drop("shard"), on=words.columns, how="left", maintain_order="left")
        return self.lookup.classes(words)


def sharded(
    table: SparkTable,
    task: CodeTask,
    columns: counts.CodedColumns,
    sensitive: Sequence[SensitiveColumn],
    grouped: Any,
    n_tuples: int,
    stands_alone: StandsAlone,
    most_tuples: int,
    phases: Phases,
) -> Coding:
    """Cuts by counts of codes, so that each shard fits a worker."""
    n_dims, packing = len(columns.domains), columns.packing

    def count(tree: CutTree, n_shards: int) -> list[Node]:
        count_task = CountTask(ShardTask(packing, tree, n_dims), len(columns.coders))
        with explained("counting codes", table.name):
            counted = (
                grouped.mapInArrow(Guarded(count_task), COUNTED).groupBy("shard", "dim", "code").sum("n").toArrow()
            )
        frame = frame_of(counted.rename_columns(["shard", "dim", "code", "n"]))
        return counts.nodes_of(frame, columns.widths, n_shards, n_dims)

    def cut() -> CutTree:
        most = max(1, int(most_tuples * table.n_rows / n_tuples))
        space = make_space(columns.domains, packing)
        return cut_apart(count, space, columns.sensitive, totals, most_rows=most, stands_alone=stands_alone)[0]

    (root,) = count(NO_CUTS, 1)
    totals = {s.name: root.counts[n_dims + i] for i, s in enumerate(columns.sensitive)}
    cuts = phases.cuts(cut)
    make = counts.MakeTable(columns, tuple(SensitiveColumn(s.name) for s in sensitive), totals)
    by_shard = grouped.mapInArrow(Guarded(ShardTask(packing, cuts, n_dims)), shard_schema(packing))
    return Coding(
        columns.domains, columns.sensitive, table.n_rows, n_tuples, totals,
        WorkerShards(by_shard, make, len(cuts.dim) + 1), cuts, rows=CodedState(table, task, None),
    )  # fmt: skip


def solve_shards(coding: Coding, search: ShardSearch, phases: Phases) -> Answer:
    """The classes of shards, each searched by the worker that holds it."""
    shards = coding.shards
    assert isinstance(shards, WorkerShards)
    rows: CodedState = coding.rows
    packing = rows.task.packing
    task = SolveTask(shards.make, search, packing)

    def solve(table: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
        return task(table)

    solved_rows = shards.tuples.groupBy("shard").applyInArrow(solve, solved_schema(packing))
    classes = solved_rows.where("answer IS NULL").drop("answer")

    def searched() -> tuple[SolvedShard, ...]:
        phases.hold(solved_rows)
        with explained("searching", rows.table.name):
            pickled = solved_rows.where("answer IS NOT NULL").select("shard", "answer").toArrow()
        by_shard = sorted(zip(pickled.column("shard").to_pylist(), pickled.column("answer").to_pylist(), strict=True))
        solved = tuple(pickle.loads(answer) for _, answer in by_shard)
        if not all(s.leads for s in solved):
            phases.stored("classes", classes)  # before the search is called finished: it would be done again
        return solved

    rows.solved = phases.shards(searched)
    rows.classes = None if all(s.leads for s in rows.solved) else phases.stored("classes", classes)
    answers = [s.answer for s in rows.solved]
    return join(answers, coding.cuts) if coding.cuts else answers[0]


class WorkerShards(OnDemand[CodedTable]):
    """Shards on the workers; each one is fetched when it is asked for."""

    def __init__(self, tuples: Any, make: counts.MakeTable, n: int) -> None:
        self.tuples, self.make = tuples, make  # a DataFrame, and what a search looks at of one shard
        super().__init__(n, self._fetch)

    def _fetch(self, index: int) -> CodedTable:
        with explained("fetching a shard", "the table"):
            frame = frame_of(self.tuples.where(f"shard = {index}").toArrow())
        return self.make(frame.drop("shard"))


def shard_schema(packing: KeyLayout) -> str:
    """The columns of tuples with their shard, as Spark spells them."""
    return ", ".join([*(f"{name} bigint" for name in [*words_in(packing), "n", "first"]), "shard int"])


def lookup_of(coding: Coding, rows: CodedState, answer: Answer) -> Lookup | ShardLookup:
    """Cuts where these lead to the class of every tuple, else the table of tuples or what workers said of them."""
    solution, packing = answer.solution, rows.task.packing
    n_dims = len(coding.domains)
    if rows.classes is not None:
        return ShardLookup(packing, n_dims, coding.cuts or NO_CUTS, tuple(_placed(rows.solved)))
    if rows.tuples is None:
        return Lookup(packing, n_dims, tree=solution.tree)
    table = coding.table
    if solution.tree is not None:
        codes = np.stack([table.quasi_codes(d) for d in range(n_dims)])
        if np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple):
            return Lookup(packing, n_dims, tree=solution.tree)
    keys = rows.tuples.keys.with_columns(pl.Series("class", solution.class_of_tuple.astype(np.int64)))
    return Lookup(packing, n_dims, keys=keys)


def _placed(solved: Sequence[SolvedShard]) -> Iterator[PlacedShard]:
    """Shards with the number that their first class has among those of all."""
    offset = 0
    for one in solved:
        yield PlacedShard(offset, one.stamp, one.answer.solution.tree if one.leads else None)
        offset += one.answer.solution.n_classes
