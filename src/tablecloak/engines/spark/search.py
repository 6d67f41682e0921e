"""Searching on a cluster: tuples that the driver cannot hold are cut apart and searched by workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree, Solution
from tablecloak.arrays import IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.domain import Domain
from tablecloak.engines.base import Answer, Coding, OnDemand, SensitiveColumn, ShardSearch, StandsAlone
from tablecloak.engines.shards import (
    NO_CUTS,
    Attempt,
    CutJudge,
    Outcome,
    compact,
    grown,
    join,
    load_answer,
    write_answer,
)
from tablecloak.engines.spark import coding as counts
from tablecloak.engines.spark.coding import CodeTask, codes_of, framed, words_in, words_of
from tablecloak.engines.spark.finished_phases import Phases
from tablecloak.engines.spark.publish import CLASS, TOGETHER, Lookup, labels_in
from tablecloak.engines.spark.rows import Guarded, SparkTable, batches_of, frame_of, gathered
from tablecloak.engines.spark.session import explained
from tablecloak.kernels.packed_codes import KeyLayout, Keys, unpack
from tablecloak.metrics.base import ClassSums

COUNTED = "pair int, side int, dim int, code bigint, n bigint"


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
    """How often each code occurs in some shards of a tree, each a side of a pair."""

    shard: ShardTask
    n_columns: int
    pairs: NDArray[np.int32]  # (n_shards,) -1 where nobody asks
    sides: NDArray[np.int32]  # (n_shards,)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        counted: list[pl.DataFrame] = []
        for frame in gathered(map(frame_of, batches), TOGETHER):
            counted.extend(self._counts(frame))
            if sum(counts.height for counts in counted) > TOGETHER:
                counted = [_summed(counted)]
        if counted:
            yield from batches_of(_summed(counted))

    def _counts(self, tuples: pl.DataFrame) -> Iterator[pl.DataFrame]:
        words, shards = words_of(tuples, self.shard.packing), self.shard.shards(tuples)
        asked = self.pairs[shards] >= 0
        of_shard = {
            "pair": self.pairs[shards[asked]],
            "side": self.sides[shards[asked]],
            "n": tuples["n"].filter(asked),
        }
        for dim in range(self.n_columns):
            codes = unpack(words, self.shard.packing, dim)[asked].astype(np.int64)
            counts = pl.DataFrame({**of_shard, "code": codes}).group_by("pair", "side", "code").agg(pl.col("n").sum())
            yield counts.select("pair", "side", pl.lit(dim, pl.Int32).alias("dim"), "code", "n")


def _summed(counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Counts added up."""
    return pl.concat(counts).group_by("pair", "side", "dim", "code").agg(pl.col("n").sum())


@dataclass(frozen=True, slots=True, eq=False)
class JudgeTask:
    """What comes of an attempt, from the codes of its two sides."""

    judge: CutJudge
    widths: tuple[int, ...]
    tried: NDArray[np.bool_]  # (n_pairs, n_dims)

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        counted = frame_of(table)
        pair = int(counted["pair"][0])
        left, right = (counts.counts_in(counted.filter(pl.col("side") == side), self.widths) for side in (0, 1))
        outcome = self.judge.outcome(left, right, self.tried[pair])
        told = pl.DataFrame({"pair": [pair], "told": [json.dumps([outcome.sizes, outcome.cuts])]})
        return pa.Table.from_batches(list(batches_of(told.cast({"pair": pl.Int32}))))


def solved_schema(packing: KeyLayout, n_dims: int) -> str:
    """What `SolveTask` says: one row about the classes, and one for every tuple with its class and their labels."""
    words = [f"{w} bigint" for w in words_in(packing)]
    labels = [f"{name} string" for name in labels_in(n_dims)]
    return ", ".join(["shard int, told string, answer binary", *words, "n bigint", f"{CLASS} int", *labels])


@dataclass(frozen=True, slots=True, eq=False)
class SolveTask:
    """The classes of one shard, found by the worker that holds it."""

    make_table: Callable[[pl.DataFrame], CodedTable]
    search: ShardSearch
    packing: KeyLayout

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        tuples = pl.concat([frame_of(batch) for batch in batches])
        coded = self.make_table(tuples.drop("shard"))
        shard = int(tuples["shard"][0])
        del tuples  # as large as what a search looks at
        solution = self.search(coded)
        yield from batches_of(self._about(shard, coded, solution, solution.sizes(coded)))
        for frame in self._tuples(shard, coded, solution):
            yield from batches_of(frame)

    def _about(self, shard: int, coded: CodedTable, solution: Solution, sizes: IntArray) -> pl.DataFrame:
        """A few numbers for the driver, and the classes themselves for those who ask for them."""
        released = np.flatnonzero(sizes > 0)
        losses = solution.losses(coded.domains, released)
        told = {
            "classes": solution.n_classes, "losses": (sizes[released] @ losses).tolist(),
            "least": losses.min(axis=0, initial=1.0).tolist(), "notes": list(solution.notes),
        }  # fmt: skip
        packed = BytesIO()
        write_answer(packed, compact(Answer(solution, sizes), int(coded.space.n_codes.max())))
        row = {"shard": [shard], "told": [json.dumps(told)], "answer": [packed.getvalue()]}
        frame = pl.DataFrame(row, schema_overrides={"shard": pl.Int32})
        empty = dict.fromkeys([*words_in(self.packing), "n"], pl.lit(None, pl.Int64))
        empty |= {CLASS: pl.lit(None, pl.Int32)}
        empty |= dict.fromkeys(labels_in(len(coded.domains)), pl.lit(None, pl.String))
        return frame.with_columns(**empty)

    def _tuples(self, shard: int, coded: CodedTable, solution: Solution) -> Iterator[pl.DataFrame]:
        """What tuples are called, some at a time: their labels take more memory than they do."""
        names, published = labels_in(len(coded.domains)), solution.published(coded.domains).values()
        weights = coded.weights if len(coded.weights) else np.ones(coded.n_tuples, np.int64)
        about = [pl.lit(None, pl.String).alias("told"), pl.lit(None, pl.Binary).alias("answer")]
        for begin in range(0, coded.n_tuples, TOGETHER):
            some = slice(begin, begin + TOGETHER)
            classes = solution.class_of_tuple[some]
            labels = [of.publish(name, classes).cast(pl.String) for name, of in zip(names, published, strict=True)]
            frame = framed(coded.keys[:, some]).with_columns(
                pl.Series("n", weights[some]), pl.Series(CLASS, classes.astype(np.int32)), *labels, *about,
                shard=pl.lit(shard, pl.Int32),
            )  # fmt: skip
            yield frame.select("shard", "told", "answer", *words_in(self.packing), "n", CLASS, *names)


JUDGED = "pair int, told string"


def outcomes_of(told: pl.DataFrame) -> list[Outcome]:
    """What workers told of attempts, in the order of these."""
    outcomes = []
    for text in told.sort("pair")["told"]:
        sizes, cuts = json.loads(text)
        outcomes.append(Outcome(sizes and tuple(sizes), tuple(cut and tuple(cut) for cut in cuts)))
    return outcomes


@dataclass(slots=True, eq=False)
class CodedState:
    """What the engine remembers of a coded table, to find its rows again."""

    table: SparkTable
    task: CodeTask
    tuples: counts.CountedTuples | None  # None: they are on the workers, in shards
    answer: Answer | None = None
    labels: Mapping[str, ClassLabels] = field(default_factory=dict)
    classes: Any = None  # a DataFrame: tuples with their classes and labels, where workers searched; None: they did not
    lookup: Lookup | None = None  # None: rows are joined with `classes`
    release: SparkTable | None = None  # as it was made, before rows got another order

    def classes_at(self, shard: int, keys: Keys) -> IntArray:
        """The class of packed tuples of a shard (-1: suppressed)."""
        words = framed(keys)
        if self.classes is None:
            assert self.lookup is not None
            return self.lookup.classes(words)
        assert isinstance(self.answer, WorkerAnswer)
        with explained("fetching classes", self.table.name):
            found = self.classes.where(f"shard = {shard}").select(*words.columns, CLASS)
            classes = frame_of(found.toArrow())
        inside = words.join(classes, on=words.columns, how="left", maintain_order="left")[CLASS].to_numpy()
        return np.where(inside < 0, -1, inside + self.answer.offsets[shard]).astype(np.int64)


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
    """Cuts by counts of codes, so that each shard fits a worker.

    Counts of the whole table come back; those of shards stay with the workers, who say where to cut.
    """
    from pyspark.sql import functions as f

    n_dims, packing = len(columns.domains), columns.packing

    def counted(tree: CutTree, pairs: Sequence[int], sides: Sequence[int]) -> Any:
        places = (np.array(numbers, np.int32) for numbers in (pairs, sides))
        task = CountTask(ShardTask(packing, tree, n_dims), len(columns.coders), *places)
        codes = grouped.mapInArrow(Guarded(task), COUNTED).groupBy("pair", "side", "dim", "code")
        return codes.agg(f.sum("n").alias("n"))

    with explained("counting codes", table.name):
        root = counts.counts_in(frame_of(counted(NO_CUTS, [0], [0]).toArrow()), columns.widths)
    totals = {s.name: root[n_dims + i] for i, s in enumerate(columns.sensitive)}
    most = max(1, int(most_tuples * table.n_rows / n_tuples))
    judge = CutJudge(make_space(columns.domains, packing), columns.sensitive, totals, most, stands_alone)

    def attempted(tree: CutTree, attempts: Sequence[Attempt]) -> list[Outcome]:
        pairs, sides = np.full(len(tree.dim) + 1, -1), np.zeros(len(tree.dim) + 1, np.int64)
        for pair, attempt in enumerate(attempts):
            pairs[[attempt.left, attempt.right]] = pair
            sides[attempt.right] = 1
        task = JudgeTask(judge, columns.widths, np.array([attempt.tried for attempt in attempts]))

        def judged(table: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
            return task(table)

        with explained("counting codes", table.name):
            told = counted(tree, pairs.tolist(), sides.tolist()).groupBy("pair").applyInArrow(judged, JUDGED)
            return outcomes_of(frame_of(told.toArrow()))

    cuts = phases.cuts(lambda: grown(root, judge, attempted)[0])
    make = counts.MakeTable(columns, tuple(SensitiveColumn(s.name) for s in sensitive), totals)
    by_shard = grouped.mapInArrow(Guarded(ShardTask(packing, cuts, n_dims)), shard_schema(packing))
    return Coding(
        columns.domains, columns.sensitive, table.n_rows, n_tuples, totals,
        WorkerShards(by_shard, make, len(cuts.dim) + 1), cuts, counts=root[:n_dims],
        rows=CodedState(table, task, None),
    )  # fmt: skip


class WorkerAnswer(Answer):
    """Classes that lie with the workers who found them; what is said of all of them is added up there.

    Who asks for the classes themselves, as a recoding or a report does, has them fetched.
    """

    def __init__(self, about: Any, cuts: CutTree | None, told: Sequence[Mapping[str, Any]], sums: ClassSums) -> None:
        object.__setattr__(self, "_state", (about, cuts, told, sums))
        object.__setattr__(self, "_fetched", [])

    _state: tuple[Any, CutTree | None, Sequence[Mapping[str, Any]], ClassSums]
    _fetched: list[Answer]

    @property
    def _whole(self) -> Answer:
        about, cuts, _, _ = self._state
        if not self._fetched:
            with explained("fetching classes", "the table"):
                rows = about.select("shard", "answer").orderBy("shard").toArrow()
            answers = [load_answer(BytesIO(packed)) for packed in rows.column("answer").to_pylist()]
            self._fetched.append(join(answers, cuts) if cuts else answers[0])
        return self._fetched[0]

    @property
    def solution(self) -> Solution:
        return self._whole.solution

    @property
    def sizes(self) -> IntArray:
        return self._whole.sizes

    @property
    def sums(self) -> ClassSums:
        return self._state[3]

    @property
    def offsets(self) -> IntArray:
        """The number that the first class of each shard has among those of all."""
        return np.cumsum([0, *(told["classes"] for told in self._state[2])])

    @property
    def n_classes(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_records(self) -> int:
        return self.sums.n_records

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for told in self._state[2] for note in told["notes"]))

    def published(self, domains: Sequence[Domain]) -> dict[str, ClassLabels]:
        return {d.name: ClassLabels((), np.zeros(0, np.uint32)) for d in domains}


def solve_shards(coding: Coding, search: ShardSearch, phases: Phases, k: int) -> WorkerAnswer:
    """The classes of shards, each searched by the worker that holds it.

    Args:
        k: the size that classes are asked to have.
    """
    shards, n_dims = coding.shards, len(coding.domains)
    assert isinstance(shards, WorkerShards)
    rows: CodedState = coding.rows
    packing = rows.task.packing
    task = SolveTask(shards.make, search, packing)

    def solve(batches: Any) -> Any:  # Spark counts the arguments, and those of a method wrongly
        return task(batches)

    solve.__annotations__ = dict.fromkeys(("batches", "return"), _batches_type())
    found = shards.tuples.groupBy("shard").applyInArrow(solve, solved_schema(packing, n_dims))
    with explained("searching", rows.table.name):
        found = phases.spread("classes", found)
        about, rows.classes = found.where("told IS NOT NULL"), found.where("told IS NULL").drop("told", "answer")
        facts = phases.facts("solve", lambda: _told(about, rows.classes, n_dims, k))
    told, (n_classes, n_records, n_kept, squares) = facts["shards"], facts["sums"]
    losses = np.sum([one["losses"] for one in told], axis=0)
    least = np.min([one["least"] for one in told], axis=0)
    return WorkerAnswer(about, coding.cuts, told, ClassSums(n_classes, n_records, n_kept, squares, losses, least))


def _batches_type() -> Any:
    """What Spark recognizes functions by that give batches one by one."""
    import pyarrow as pa

    kind: Any = Iterator
    return kind[pa.RecordBatch]


def _told(about: Any, classes: Any, n_dims: int, k: int) -> dict[str, Any]:
    """What shards tell of their classes, and sums over classes that readers can tell apart, in whatever shards."""
    from pyspark.sql import functions as f

    told = about.select("shard", "told").orderBy("shard").toArrow().column("told").to_pylist()
    sizes = classes.where(f"{CLASS} >= 0").groupBy(*labels_in(n_dims)).agg(f.sum("n").alias("n"))
    kept = f.when(f.col("n") >= k, f.col("n"))
    sums = sizes.agg(f.count("n"), f.sum("n"), f.sum(kept), f.sum(kept * kept)).toArrow()
    return {"shards": [json.loads(one) for one in told], "sums": [c.to_pylist()[0] or 0 for c in sums.columns]}


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


def lookup_of(coding: Coding, rows: CodedState, answer: Answer) -> Lookup | None:
    """Cuts where these lead to the class of every tuple, else the table of tuples; None: workers said it."""
    if rows.classes is not None:
        return None
    solution, packing, n_dims = answer.solution, rows.task.packing, len(coding.domains)
    assert rows.tuples is not None
    table = coding.table
    if solution.tree is not None:
        codes = np.stack([table.quasi_codes(d) for d in range(n_dims)])
        if np.array_equal(solution.tree.classes_of(codes), solution.class_of_tuple):
            return Lookup(packing, n_dims, tree=solution.tree)
    keys = rows.tuples.keys.with_columns(pl.Series("class", solution.class_of_tuple.astype(np.int64)))
    return Lookup(packing, n_dims, keys=keys)
