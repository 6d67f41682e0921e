"""Searching on a cluster: tuples that the driver cannot hold are cut apart and searched by workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.labels import ClassLabels
from tablecloak.engines.base import Answer, Coding, Search, SensitiveColumn, StandsAlone
from tablecloak.engines.shards import Node, cut_apart_by
from tablecloak.engines.solutions import join
from tablecloak.engines.spark import counts
from tablecloak.engines.spark.codes import CodeTask, words_in
from tablecloak.engines.spark.phases import Phases
from tablecloak.engines.spark.publish import Lookup, PlacedShard, ShardLookup
from tablecloak.engines.spark.rows import Guarded, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.engines.spark.shards import COUNTED, CountTask, ShardTask, Solved, SolveTask, solved_schema
from tablecloak.engines.spark.tables import SparkTable
from tablecloak.kernels.space import Keys
from tablecloak.kernels.space import Layout as Packing

__all__ = ["Remembered", "Shards", "lookup_of", "sharded", "solve_shards"]

IntArray = NDArray[np.int64]
NO_CUTS = CutTree(*(np.zeros(0, np.int64) for _ in range(4)))


@dataclass(slots=True, eq=False)
class Remembered:
    """What the engine remembers of a coded table, to find its rows again."""

    table: SparkTable
    task: CodeTask
    tuples: counts.Tuples | None  # None: they are on the workers, in shards
    answer: Answer | None = None
    labels: Mapping[str, ClassLabels] = field(default_factory=dict)
    solved: tuple[Solved, ...] = ()  # of every shard
    classes: Any = None  # a DataFrame: the class of tuples that no cuts lead to; None: there are none
    lookup: Lookup | ShardLookup | None = None
    release: SparkTable | None = None  # as it was made, before rows got another order

    def classes_at(self, shard: int, keys: Keys) -> IntArray:
        """The class of packed tuples of a shard (-1: suppressed)."""
        assert self.lookup is not None
        words = pl.DataFrame({f"w{i}": word.view(np.int64) for i, word in enumerate(keys)})
        if self.classes is not None:
            with explained("fetching classes", self.table.name):
                said = frame_of(self.classes.where(f"shard = {shard}").toArrow())
            words = words.join(said.drop("shard"), on=words.columns, how="left", maintain_order="left")
        return self.lookup.classes(words)


def sharded(
    table: SparkTable,
    task: CodeTask,
    columns: counts.Columns,
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
        asked = CountTask(ShardTask(packing, tree, n_dims), len(columns.coders))
        with explained("counting codes", table.name):
            told = grouped.mapInArrow(Guarded(asked), COUNTED).groupBy("shard", "dim", "code").sum("n").toArrow()
        found = frame_of(told.rename_columns(["shard", "dim", "code", "n"]))
        return counts.nodes_of(found, columns.widths, n_shards, n_dims)

    def cut() -> CutTree:
        most = max(1, int(most_tuples * table.n_rows / n_tuples))
        space = make_space(columns.domains, packing)
        return cut_apart_by(count, space, columns.sensitive, totals, most_rows=most, stands_alone=stands_alone)[0]

    (root,) = count(NO_CUTS, 1)
    totals = {s.name: root.counts[n_dims + i] for i, s in enumerate(columns.sensitive)}
    cuts = phases.cuts(cut)
    make = counts.MakeTable(columns, tuple(SensitiveColumn(s.name) for s in sensitive), totals)
    by_shard = grouped.mapInArrow(Guarded(ShardTask(packing, cuts, n_dims)), shard_schema(packing))
    return Coding(
        columns.domains, columns.sensitive, table.n_rows, n_tuples, totals,
        Shards(by_shard, make, len(cuts.dim) + 1), cuts, rows=Remembered(table, task, None),
    )  # fmt: skip


def solve_shards(coding: Coding, search: Search, phases: Phases) -> Answer:
    """The classes of shards, each searched by the worker that holds it."""
    shards = coding.shards
    assert isinstance(shards, Shards)
    rows: Remembered = coding.rows
    packing = rows.task.packing
    task = SolveTask(shards.make, search, packing)

    def solve(table: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
        return task(table)

    told = shards.tuples.groupBy("shard").applyInArrow(solve, solved_schema(packing))
    classes = told.where("answer IS NULL").drop("answer")

    def searched() -> tuple[Solved, ...]:
        phases.hold(told)
        with explained("searching", rows.table.name):
            found = told.where("answer IS NOT NULL").select("shard", "answer").toArrow()
        by_shard = sorted(zip(found.column("shard").to_pylist(), found.column("answer").to_pylist(), strict=True))
        solved = tuple(pickle.loads(answer) for _, answer in by_shard)
        if not all(s.leads for s in solved):
            phases.stored("classes", classes)  # before the search is called finished: it would be done again
        return solved

    rows.solved = phases.shards(searched)
    rows.classes = None if all(s.leads for s in rows.solved) else phases.stored("classes", classes)
    answers = [s.answer for s in rows.solved]
    return join(answers, coding.cuts) if coding.cuts else answers[0]


@dataclass(frozen=True, slots=True, eq=False)
class Shards(Sequence[CodedTable]):
    """Shards on the workers; each one is fetched when it is asked for."""

    tuples: Any  # a DataFrame
    make: counts.MakeTable
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < self.n:
            raise IndexError(index)
        with explained("fetching a shard", "the table"):
            found = frame_of(self.tuples.where(f"shard = {index}").toArrow())
        return self.make(found.drop("shard"))


def shard_schema(packing: Packing) -> str:
    return ", ".join([*(f"{name} bigint" for name in [*words_in(packing), "n", "first"]), "shard int"])


def lookup_of(coding: Coding, rows: Remembered, answer: Answer) -> Lookup | ShardLookup:
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


def _placed(solved: Sequence[Solved]) -> Iterator[PlacedShard]:
    """Shards with the number that their first class has among those of all."""
    offset = 0
    for one in solved:
        yield PlacedShard(offset, one.stamp, one.answer.solution.tree if one.leads else None)
        offset += one.answer.solution.n_classes
