"""Searching on a cluster: tuples that the driver cannot hold are cut apart and searched by workers."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import CutTree
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.labels import ClassLabels
from tablecloak.engines.base import Answer, Coding, Search, SensitiveColumn, StandsAlone
from tablecloak.engines.shards import Node, cut_apart_by
from tablecloak.engines.solutions import join
from tablecloak.engines.spark import counts
from tablecloak.engines.spark.codes import CodeTask
from tablecloak.engines.spark.publish import Lookup
from tablecloak.engines.spark.rows import Guarded, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.engines.spark.shards import COUNTED, SOLVED, CountTask, ShardTask, SolveTask
from tablecloak.engines.spark.tables import SparkTable
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.space import Layout as Packing

__all__ = ["Remembered", "Shards", "lookup_of", "sharded", "solve_shards"]


@dataclass(slots=True, eq=False)
class Remembered:
    """What the engine remembers of a coded table, to find its rows again."""

    table: SparkTable
    task: CodeTask
    tuples: counts.Tuples | None  # None: they are on the workers, in shards
    make_table: counts.MakeTable | None = None
    answer: Answer | None = None
    labels: Mapping[str, ClassLabels] = field(default_factory=dict)


def sharded(
    table: SparkTable,
    task: CodeTask,
    columns: counts.Columns,
    sensitive: Sequence[SensitiveColumn],
    grouped: Any,
    n_tuples: int,
    stands_alone: StandsAlone,
    most_tuples: int,
) -> Coding:
    """Cuts by counts of codes, so that each shard fits a worker."""
    n_dims, packing = len(columns.domains), columns.packing

    def count(tree: CutTree, n_shards: int) -> list[Node]:
        asked = CountTask(ShardTask(packing, tree, n_dims), len(columns.coders))
        with explained("counting codes", table.name):
            told = grouped.mapInArrow(Guarded(asked), COUNTED).groupBy("shard", "dim", "code").sum("n").toArrow()
        found = frame_of(told.rename_columns(["shard", "dim", "code", "n"]))
        return counts.nodes_of(found, columns.widths, n_shards, n_dims)

    (root,) = count(CutTree(*(np.zeros(0, np.int64) for _ in range(4))), 1)
    totals = {s.name: root.counts[n_dims + i] for i, s in enumerate(columns.sensitive)}
    most = max(1, int(most_tuples * table.n_rows / n_tuples))
    space = make_space(columns.domains, packing)
    cuts, _ = cut_apart_by(count, space, columns.sensitive, totals, most_rows=most, stands_alone=stands_alone)
    make = counts.MakeTable(columns, tuple(SensitiveColumn(s.name) for s in sensitive), totals)
    by_shard = grouped.mapInArrow(Guarded(ShardTask(packing, cuts, n_dims)), shard_schema(packing))
    return Coding(
        columns.domains, columns.sensitive, table.n_rows, n_tuples, totals,
        Shards(by_shard, make, len(cuts.dim) + 1), cuts, rows=Remembered(table, task, None, make),
    )  # fmt: skip


def solve_shards(coding: Coding, search: Search) -> Answer:
    """The classes of shards, each searched by the worker that holds it."""
    shards = coding.shards
    assert isinstance(shards, Shards)
    task = SolveTask(shards.make, search)

    def solve(table: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
        return task(table)

    with explained("searching", coding.rows.table.name):
        told = shards.tuples.groupBy("shard").applyInArrow(solve, SOLVED).toArrow()
    found = sorted(zip(told.column("shard").to_pylist(), told.column("answer").to_pylist(), strict=True))
    answers = [pickle.loads(answer) for _, answer in found]
    if not all(leads for _, leads in answers):
        raise IncompatibleChoice(
            f"{coding.n_tuples:,} different tuples are more than the driver takes, and this algorithm finds "
            "classes that no cuts lead to",
            hint="algorithm: mondrian without suppression_limit, or more --memory",
        )
    return join([answer for answer, _ in answers], coding.cuts) if coding.cuts else answers[0][0]


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
    words = [f"w{i}" for i in range(int(packing.word.max(initial=0)) + 1)]
    return ", ".join([*(f"{name} bigint" for name in [*words, "n", "first"]), "shard int"])


def lookup_of(coding: Coding, rows: Remembered, answer: Answer) -> Lookup:
    """Cuts where these lead to the class of every tuple, else the table of tuples."""
    solution, packing = answer.solution, rows.task.packing
    n_dims = len(coding.domains)
    if rows.tuples is None:
        return Lookup(packing, n_dims, tree=solution.tree)
    table = coding.table
    if solution.tree is not None:
        codes = np.stack([table.quasi_codes(d) for d in range(n_dims)])
        if np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple):
            return Lookup(packing, n_dims, tree=solution.tree)
    keys = rows.tuples.keys.with_columns(pl.Series("class", solution.class_of_tuple.astype(np.int64)))
    return Lookup(packing, n_dims, keys=keys)
