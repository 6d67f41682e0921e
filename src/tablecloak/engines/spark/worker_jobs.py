"""Jobs that workers do on the rows of a table, and what they send back: counts and values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellTest, counts_of
from tablecloak.data.coder import Values
from tablecloak.engines.base import PERSON
from tablecloak.engines.equal_rows import NOBODY, Alike, KeyArray, count_groups, keys_of, shown_rows, some_of, words_of
from tablecloak.engines.spark.coding import CodeTask, words_in
from tablecloak.engines.spark.rows import (
    ROW,
    SLICE_ROWS,
    SPARK_TYPES,
    FileRows,
    Guarded,
    SparkTable,
    WorkerRows,
    batches_of,
    frame_of,
    gathered,
    quoted,
    wanted_of,
)
from tablecloak.engines.spark.session import explained
from tablecloak.io.frames import DTYPES
from tablecloak.stats.moments import MomentSums, columns_of, sums_of

if TYPE_CHECKING:
    from tablecloak.engines.spark.publish import PublishTask

PART_ROWS = 1_000_000  # of which keys are counted at once
VALUES = "column int, number bigint, real double, text string"


@dataclass(frozen=True, slots=True)
class ValuesTask:
    """The different values of columns: rows of (column, whole number, decimal number, text), all empty for missing."""

    rows: WorkerRows
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        of_columns = [Values(name) for name in self.columns]
        for frame in self.rows.frames(batches, self.columns):
            for values in of_columns:
                values.add(frame[values.name])
        for i, values in enumerate(of_columns):
            if len(values):
                yield from batches_of(_encoded(i, values.series()))


@dataclass(frozen=True, slots=True)
class CountsTask:
    """The different values of a column, with how often they occur in a slice: as `ValuesTask` tells them, and `n`."""

    rows: WorkerRows
    column: str
    where: CellTest | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.rows.frames(batches, (self.column,)):
            counts = counts_of([frame[self.column]], self.where)
            yield from batches_of(_encoded(0, counts["value"]).with_columns(counts["n"]))


MOST_VALUES = 10_000  # of a column in a slice, that are told along with counts


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Rows (column -1) and empty cells of columns (from -2 down), and beside them what `ValuesTask` tells, without `n`.

    A column whose values are many in a slice says so instead, by -1 as `n`: perhaps nobody needs them.
    """

    rows: WorkerRows
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        n_rows, n_missing, of_columns = 0, [0] * len(self.columns), [Values(name) for name in self.columns]
        for frame in self.rows.frames(batches, self.columns, numbered=True):
            n_rows += frame.height
            for i, values in enumerate(of_columns):
                n_missing[i] += frame[values.name].null_count()
                values.add(frame[values.name])
        counts = pl.DataFrame({"column": range(-1, -2 - len(n_missing), -1), "n": [n_rows, *n_missing]})
        yield from batches_of(_counted(counts))
        for i, values in enumerate(of_columns):
            if 0 < len(values) <= MOST_VALUES:
                yield from batches_of(_encoded(i, values.series()).with_columns(n=pl.lit(None, pl.Int64)))
            elif len(values):
                yield from batches_of(_counted(pl.DataFrame({"column": [i], "n": [-1]})))


def _counted(counts: pl.DataFrame) -> pl.DataFrame:
    """Numbers by column as rows beside those of values."""
    empty = {"number": pl.Int64, "real": pl.Float64, "text": pl.String}
    told = counts.select(pl.col("column").cast(pl.Int32), *(pl.lit(None, t).alias(k) for k, t in empty.items()), "n")
    return told.cast({"n": pl.Int64})


@dataclass(frozen=True, slots=True)
class AlikeTask:
    """Keys of rows on sets of columns, equal ones of a slice united: (set, part, keys, how often each occurs).

    A part is all keys with one remainder. Keys of a slice and a part travel as one cell, because Spark takes long for
    a cell each.
    """

    rows: WorkerRows
    columns: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    stars: tuple[str, ...]
    n_parts: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in gathered(self.rows.frames(batches, self.columns), SLICE_ROWS):
            for number, keys in enumerate(keys_of(shown_rows(frame, self.stars), self.sets)):
                groups = pl.DataFrame({"key": keys}).group_by("key").agg(n=pl.len().cast(pl.Int64))
                parted = groups.with_columns(part=(pl.col("key") % self.n_parts).cast(pl.Int32))
                cells = [
                    (number, part, of_part["key"].to_numpy().tobytes(), of_part["n"].to_numpy().tobytes())
                    for (part,), of_part in parted.group_by("part")
                ]
                yield from batches_of(pl.DataFrame(cells, schema=_KEYS, orient="row"))


_KEYS = {"set": pl.Int32, "part": pl.Int32, "keys": pl.Binary, "counts": pl.Binary}


def count_part(table: Any) -> Any:
    """The groups of equal keys of a part: (set, records, alone, groups, smallest)."""
    import pyarrow as pa

    cells = frame_of(table)
    keys, counts = (
        np.frombuffer(b"".join(cells[name].to_list()), dtype) for name, dtype in (("keys", "u8"), ("counts", "i8"))
    )
    alike = count_groups(keys, counts)
    told = {"set": cells["set"][:1], "records": [alike.n_records], "alone": [alike.n_alone]}
    frame = pl.DataFrame({**told, "groups": [alike.n_groups], "smallest": [alike.smallest]})
    return pa.Table.from_batches(list(batches_of(frame)))


@dataclass(frozen=True, slots=True)
class PersonsAlikeTask:
    """Keys of rows on sets of columns and whose they are, equal ones of a slice united: (set, key, who, number)."""

    rows: WorkerRows
    made: PublishTask | None  # None: rows are taken as they lie in a table, else as a release was made of them
    columns: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    stars: tuple[str, ...]
    person: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        frames = self.made.with_persons(batches) if self.made else self.rows.frames(batches, self.columns)
        for frame in frames:
            shown = shown_rows(frame, self.stars)
            whose = pl.Series(_signed(words_of(shown[self.person])))
            for number, keys in enumerate(keys_of(shown, self.sets)):
                pairs = pl.DataFrame({"key": _signed(keys)}).with_columns(whose.alias("who"))
                groups = pairs.group_by("key", "who").agg(n=pl.len().cast(pl.Int64))
                yield from batches_of(groups.select(pl.lit(number, pl.Int32).alias("set"), "key", "who", "n"))


@dataclass(frozen=True, slots=True)
class SomeRowsTask:
    """About a share of the rows; those equal in the column `together` all or none."""

    rows: WorkerRows
    columns: tuple[str, ...]
    together: str | None
    share: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.rows.frames(batches, self.columns):
            some = some_of(frame, self.together, self.share)
            yield from batches_of(some.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))


@dataclass(frozen=True, slots=True)
class MomentsTask:
    """What means, variances and correlations follow from: (list of columns, sums)."""

    rows: WorkerRows
    sides: tuple[tuple[str, ...], ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        sums = sums_of(self.rows.frames(batches, columns_of(self.sides)), self.sides)
        packed = [(i, pickle.dumps(each)) for i, each in enumerate(sums)]
        yield from batches_of(pl.DataFrame(packed, schema={"side": pl.Int32, "sums": pl.Binary}, orient="row"))


def _signed(words: KeyArray) -> IntArray:
    """Numbers of 64 bits as Spark has them."""
    return words.view(np.int64)


def _encoded(column: int, values: pl.Series) -> pl.DataFrame:
    kinds: dict[str, Any] = {"number": pl.Int64, "real": pl.Float64, "text": pl.String}
    kind = _kind(values.dtype)
    cells = values.to_physical() if kind == "number" and values.dtype != pl.Boolean else values
    frame = pl.DataFrame({kind: cells.cast(kinds.pop(kind))})
    empty = {other: pl.lit(None, dtype) for other, dtype in kinds.items()}
    return frame.with_columns(**empty, column=pl.lit(column, pl.Int32)).select("column", "number", "real", "text")


def decoded(frame: pl.DataFrame, columns: Sequence[str], dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.Series]:
    """The different values of columns, ascending, the missing one last, from what workers found."""
    return {name: _decoded(frame.filter(pl.col("column") == i), name, dtypes[name]) for i, name in enumerate(columns)}


def _decoded(frame: pl.DataFrame, name: str, dtype: pl.DataType) -> pl.Series:
    return _typed(frame[_kind(dtype)].unique().rename(name), dtype).sort(nulls_last=True)


def _kind(dtype: pl.DataType) -> str:
    """Which of the three holds values of a type."""
    return "text" if dtype == pl.String else "real" if dtype.is_float() else "number"


def _typed(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype in (pl.String, pl.Float64, pl.Int64):
        return values
    return values.cast(pl.Int32).cast(dtype) if dtype == pl.Date else values.cast(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """What one pass over a table found: rows, empty cells by column, and values that workers hold."""

    rows: WorkerRows
    n_rows: int
    missing: Mapping[str, int]
    values: Any  # a DataFrame of the different values of the columns
    columns: tuple[str, ...]
    many: frozenset[str]  # columns whose values are not held

    def knows(self, rows: WorkerRows, columns: Sequence[str]) -> bool:
        """Whether these are values of the same rows, and held."""
        return rows is self.rows and set(columns) <= set(self.columns) - self.many

    def distinct(self, columns: Sequence[str], location: str) -> pl.DataFrame:
        """The different values of columns, as `distinct` tells them."""
        from pyspark.sql import functions as f

        places = [self.columns.index(name) for name in columns]
        chosen = self.values.where(f.col("column").isin(places)).select("column", "number", "real", "text")
        frame = collected(chosen, location, "collecting values")
        renamed = dict(zip(places, range(len(places)), strict=True))
        return frame.with_columns(pl.col("column").replace_strict(renamed, return_dtype=pl.Int32))


def looked(session: Any, table: SparkTable, columns: Sequence[str], hold: Callable[[Any], None]) -> Looked:
    """Rows and empty cells by column, and the different values of columns that have few.

    Args:
        hold: lets workers keep a DataFrame.
    """
    from pyspark.sql import functions as f

    task = SummaryTask(table.rows, tuple(columns))
    told = mapped(session, table, task, f"{VALUES}, n bigint", columns).groupBy("column", "number", "real", "text")
    values = told.agg(f.sum("n").alias("n"))
    hold(values)
    with explained("counting rows", table.name):
        counts = values.where("n IS NOT NULL").select("column", "n").toArrow()
    of_column = dict(zip(*(column.to_pylist() for column in counts.columns), strict=True))
    missing = {name: int(of_column.get(-2 - i, 0)) for i, name in enumerate(columns)}
    many = frozenset(name for i, name in enumerate(columns) if i in of_column)
    return Looked(table.rows, int(of_column.get(-1, 0)), missing, values, tuple(columns), many)


def value_counts(session: Any, table: SparkTable, column: str, where: CellTest | None) -> pl.DataFrame:
    """`value` and `n`: the different values of a column, sorted, missing ones left out; of some cells by a test."""
    from pyspark.sql import functions as f

    task = CountsTask(table.rows, column, where)
    counts = mapped(session, table, task, f"{VALUES}, n bigint", [column])
    counts = counts.groupBy("number", "real", "text").agg(f.sum("n").alias("n"))
    frame, dtype = collected(counts, table.name, "counting values"), DTYPES[table.types[column]]
    values = _typed(frame[_kind(dtype)], dtype).alias("value")
    return pl.DataFrame([values, frame["n"].cast(pl.Int64)]).sort("value")


def n_distinct(session: Any, table: SparkTable, columns: Sequence[str]) -> dict[str, int]:
    """How many different values columns have, the missing one included."""
    with explained("counting values", table.name):
        counts = values_of(session, table, columns).groupBy("column").count().toArrow()
    by_column = dict(zip(*(column.to_pylist() for column in counts.columns), strict=True))
    return {name: int(by_column.get(i, 0)) for i, name in enumerate(columns)}


def mapped(session: Any, table: SparkTable, task: Callable[..., Any], schema: str, columns: Sequence[str]) -> Any:
    """The task on all rows of a table, as a DataFrame that is computed when it is asked for."""
    if isinstance(table.rows, FileRows):
        n = len(table.rows.slices)
        return session.range(0, n, 1, n).mapInArrow(Guarded(task), schema)
    from pyspark.sql import functions as f

    names = wanted_of(table.rows, columns)
    types = table.publish.types if table.publish else table.types  # of the original
    types = {**types, **table.rows.types}
    casts = [quoted(f, n).cast(SPARK_TYPES[types[n]]).alias(n) for n in names if n in types]
    casts += [quoted(f, n) for n in names if n not in types]
    chosen = session.table(table.table).select(*casts, f.monotonically_increasing_id().alias(ROW))
    return chosen.mapInArrow(Guarded(task), schema)


def values_of(session: Any, table: SparkTable, columns: Sequence[str]) -> Any:
    """The different values of columns, as a DataFrame."""
    return mapped(session, table, ValuesTask(table.rows, tuple(columns)), VALUES, columns).distinct()


def distinct(session: Any, table: SparkTable, columns: Sequence[str]) -> pl.DataFrame:
    """The different values of columns, as workers tell them."""
    return collected(values_of(session, table, columns), table.name, "collecting values")


def values_in(frame: pl.DataFrame, table: SparkTable, columns: Sequence[str]) -> dict[str, pl.Series]:
    """The different values of columns, from what `distinct` found."""
    return decoded(frame, columns, {name: DTYPES[table.types[name]] for name in columns})


def collected(rows: Any, location: str, step: str = "counting tuples") -> pl.DataFrame:
    """A DataFrame of counts or values in the memory of the driver."""
    with explained(step, location):
        return frame_of(rows.toArrow())


def coded(session: Any, table: SparkTable, task: CodeTask) -> Any:
    """Tuples with their number, equal ones of a slice united, as a DataFrame."""
    schema = ", ".join(f"{name} bigint" for name in [*_names(task), "n", "first"])
    names = [*task.columns, *([task.person] if task.person else [])]
    return mapped(session, table, task, schema, names)


def grouped(session: Any, table: SparkTable, task: CodeTask) -> Any:
    """Different tuples with their number, as a DataFrame."""
    from pyspark.sql import functions as f

    return coded(session, table, task).groupBy(*_names(task)).agg(f.sum("n").alias("n"), f.min("first").alias("first"))


def counted(session: Any, table: SparkTable, task: CodeTask, *, most: int) -> pl.DataFrame:
    """Different tuples with their number, in the memory of the driver, which may hold `most` of them."""
    if table.n_rows > most:
        return collected(grouped(session, table, task), table.name)
    # all rows would fit, so nothing need be sorted among workers
    frame = collected(coded(session, table, task), table.name)
    return frame.group_by(_names(task)).agg(pl.col("n").sum(), pl.col("first").min())


def alike(
    session: Any, table: SparkTable, sets: Sequence[Sequence[str]], stars: Sequence[str], person: str | None = None
) -> list[Alike]:
    """Groups of equal records on every set of columns; workers send keys of rows to each other, and sums come back."""
    from pyspark.sql import functions as f

    named = [*(name for chosen in sets for name in chosen), *stars, *([person] if person else [])]
    columns, of_sets = tuple(dict.fromkeys(named)), tuple(map(tuple, sets))
    with explained("counting equal records", table.name):
        if person is not None:
            made = table.publish if person == PERSON else None
            of_persons = PersonsAlikeTask(table.rows, made, columns, of_sets, tuple(stars), person)
            schema, read = "set int, key bigint, who bigint, n bigint", made.needed if made else columns
            return _alike_persons(mapped(session, table, of_persons, schema, read), len(sets))
        task = AlikeTask(table.rows, columns, of_sets, tuple(stars), -(-table.n_rows // PART_ROWS) or 1)
        keys = mapped(session, table, task, "set int, part int, keys binary, counts binary", columns)
        by_part = keys.groupBy("set", "part").applyInArrow(
            count_part, "set int, records bigint, alone bigint, groups bigint, smallest bigint"
        )
        by_set = by_part.groupBy("set").agg(*(f.sum(n) for n in ("records", "alone", "groups")), f.min("smallest"))
        return _alike_in(by_set, len(sets), NOBODY)


def _alike_in(by_set: Any, n_sets: int, nobody: Alike) -> list[Alike]:
    """What was counted of every set, its columns after the number of the set being those of `Alike`."""
    counted = {row.pop("set"): Alike(*map(int, row.values())) for row in by_set.toArrow().to_pylist()}
    return [counted.get(number, nobody) for number in range(n_sets)]


def _alike_persons(keys: Any, n_sets: int) -> list[Alike]:
    """The same in persons: who stands alone in one group may do so in others."""
    from pyspark.sql import functions as f

    pairs = keys.groupBy("set", "key", "who").agg(f.sum("n").alias("n"))
    groups = pairs.groupBy("set", "key").agg(
        f.sum("n").alias("n"), f.count("who").alias("persons"), f.min("who").alias("who")
    )
    by_set = groups.groupBy("set").agg(
        f.sum("n").alias("records"), f.countDistinct(f.when(f.col("persons") == 1, f.col("who"))).alias("alone"),
        f.count("n").alias("groups"), f.min("persons").alias("smallest"), f.sum("persons").alias("appearances"),
    )  # fmt: skip
    by_set = by_set.join(pairs.groupBy("set").agg(f.countDistinct("who").alias("persons")), "set")
    columns = ("set", "records", "alone", "groups", "smallest", "persons", "appearances")
    return _alike_in(by_set.select(*columns), n_sets, replace(NOBODY, n_persons=0))


def some_rows(
    session: Any, table: SparkTable, columns: Sequence[str], together: str | None, share: float
) -> pl.DataFrame:
    """About a share of the rows in the memory of the driver; those equal in `together` all or none."""
    from tablecloak.engines.spark.rows import escaped

    schema = ", ".join(f"`{escaped(name)}` {SPARK_TYPES[table.types[name]]}" for name in columns)
    task = SomeRowsTask(table.rows, tuple(columns), together, share)
    return collected(mapped(session, table, task, schema, columns), table.name, "looking at some rows")


def moment_sums(session: Any, table: SparkTable, sides: Sequence[Sequence[str]]) -> list[MomentSums]:
    """The sums of several lists of columns, added up by the workers."""
    task = MomentsTask(table.rows, tuple(tuple(columns) for columns in sides))
    parts = mapped(session, table, task, "side int, sums binary", columns_of(sides))
    sums = [MomentSums(len(columns)) for columns in sides]
    for side, packed in collected(parts, table.name, "adding up columns").select("side", "sums").iter_rows():
        sums[side].merge(pickle.loads(packed))
    return sums


def _names(task: CodeTask) -> list[str]:
    """What tells tuples apart."""
    return [*words_in(task.packing), *(["person"] if task.person else [])]
