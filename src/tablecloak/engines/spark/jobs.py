"""Jobs that workers do on the rows of a table, and what they send back: counts and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from tablecloak.engines.alike import NOBODY, Alike
from tablecloak.engines.base import PERSON
from tablecloak.engines.spark.codes import CodeTask, words_in
from tablecloak.engines.spark.rows import ROW, FileRows, Guarded, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.engines.spark.tables import SPARK_TYPES, SparkTable, quoted
from tablecloak.engines.spark.values import VALUES, AlikeTask, SomeRowsTask, SummaryTask, ValuesTask, decoded
from tablecloak.io.frames import DTYPES

__all__ = [
    "alike",
    "collected",
    "counted",
    "distinct",
    "grouped",
    "mapped",
    "n_distinct",
    "some_rows",
    "summaries",
    "values_in",
    "values_of",
]


def summaries(session: Any, table: SparkTable, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Rows, and empty cells by column."""
    task = SummaryTask(table.rows, tuple(columns))
    with explained("counting rows", table.name):
        found = mapped(session, table, task, "column int, n bigint", columns).groupBy("column").sum("n").toArrow()
    by_column = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
    return int(by_column.get(-1, 0)), {name: int(by_column.get(i, 0)) for i, name in enumerate(columns)}


def n_distinct(session: Any, table: SparkTable, columns: Sequence[str]) -> dict[str, int]:
    """How many different values columns have, the missing one included."""
    with explained("counting values", table.name):
        found = values_of(session, table, columns).groupBy("column").count().toArrow()
    by_column = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
    return {name: int(by_column.get(i, 0)) for i, name in enumerate(columns)}


def mapped(session: Any, table: SparkTable, task: Callable[..., Any], schema: str, columns: Sequence[str]) -> Any:
    """The task on all rows of a table, as a DataFrame that is computed when it is asked for."""
    if isinstance(table.rows, FileRows):
        n = len(table.rows.slices)
        return session.range(0, n, 1, n).mapInArrow(Guarded(task), schema)
    from pyspark.sql import functions as f

    names = dict.fromkeys([*columns, *table.rows.drops])
    types = table.publish.types if table.publish else table.types  # of the original
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


def values_in(found: pl.DataFrame, table: SparkTable, columns: Sequence[str]) -> dict[str, pl.Series]:
    """The different values of columns, from what `distinct` found."""
    return decoded(found, columns, {name: DTYPES[table.types[name]] for name in columns})


def collected(rows: Any, location: str, step: str = "counting tuples") -> pl.DataFrame:
    """A DataFrame of counts or values in the memory of the driver."""
    with explained(step, location):
        return frame_of(rows.toArrow())


def coded(session: Any, table: SparkTable, task: CodeTask) -> Any:
    """Tuples with their number, equal ones of a slice united, as a DataFrame."""
    schema = ", ".join(f"{name} bigint" for name in [*_names(task), "n", "first"])
    wanted = [*task.columns, *([task.person] if task.person else [])]
    return mapped(session, table, task, schema, wanted)


def grouped(session: Any, table: SparkTable, task: CodeTask) -> Any:
    """Different tuples with their number, as a DataFrame."""
    from pyspark.sql import functions as f

    return coded(session, table, task).groupBy(*_names(task)).agg(f.sum("n").alias("n"), f.min("first").alias("first"))


def counted(session: Any, table: SparkTable, task: CodeTask, *, most: int) -> pl.DataFrame:
    """Different tuples with their number, in the memory of the driver, which may hold `most` of them."""
    if table.n_rows > most:
        return collected(grouped(session, table, task), table.name)
    # all rows would fit, so nothing need be sorted among workers
    found = collected(coded(session, table, task), table.name)
    return found.group_by(_names(task)).agg(pl.col("n").sum(), pl.col("first").min())


def alike(
    session: Any, table: SparkTable, sets: Sequence[Sequence[str]], stars: Sequence[str], person: str | None = None
) -> list[Alike]:
    """Groups of equal records on every set of columns; workers send keys of rows to each other, and sums come back."""
    from pyspark.sql import functions as f

    named = [*(name for chosen in sets for name in chosen), *stars, *([person] if person else [])]
    columns = tuple(dict.fromkeys(named))
    made = table.publish if person == PERSON else None
    task = AlikeTask(made or table.rows, columns, tuple(map(tuple, sets)), tuple(stars), person)
    read = made.needed if made else columns
    with explained("counting equal records", table.name):
        keys = mapped(session, table, task, "set int, key bigint, who bigint, n bigint", read)
        if person is not None:
            return _alike_persons(keys, len(sets))
        groups = keys.groupBy("set", "key").agg(f.sum("n").alias("n"))
        found = groups.groupBy("set").agg(
            f.sum("n").alias("records"), f.sum((f.col("n") == 1).cast("bigint")).alias("alone"),
            f.count("n").alias("groups"), f.min("n").alias("smallest"),
        ).toArrow()  # fmt: skip
    by_set = {row["set"]: row for row in found.to_pylist()}
    return [
        Alike(*(int(by_set[i][name]) for name in ("records", "alone", "groups", "smallest"))) if i in by_set else NOBODY
        for i in range(len(sets))
    ]


def _alike_persons(keys: Any, n_sets: int) -> list[Alike]:
    """The same in persons: who stands alone in one group may do so in others."""
    from pyspark.sql import functions as f

    pairs = keys.groupBy("set", "key", "who").agg(f.sum("n").alias("n"))
    groups = pairs.groupBy("set", "key").agg(
        f.sum("n").alias("n"), f.count("who").alias("persons"), f.min("who").alias("who")
    )
    found = groups.groupBy("set").agg(
        f.sum("n").alias("records"), f.countDistinct(f.when(f.col("persons") == 1, f.col("who"))).alias("alone"),
        f.count("n").alias("groups"), f.min("persons").alias("smallest"), f.sum("persons").alias("appearances"),
    )  # fmt: skip
    found = found.join(pairs.groupBy("set").agg(f.countDistinct("who").alias("persons")), "set").toArrow()
    by_set = {row["set"]: row for row in found.to_pylist()}
    names = ("records", "alone", "groups", "smallest", "persons", "appearances")
    return [
        Alike(*(int(by_set[i][name]) for name in names)) if i in by_set else replace(NOBODY, n_persons=0)
        for i in range(n_sets)
    ]


def some_rows(
    session: Any, table: SparkTable, columns: Sequence[str], together: str | None, share: float
) -> pl.DataFrame:
    """About a share of the rows in the memory of the driver; those equal in `together` all or none."""
    from tablecloak.engines.spark.tables import escaped

    schema = ", ".join(f"`{escaped(name)}` {SPARK_TYPES[table.types[name]]}" for name in columns)
    task = SomeRowsTask(table.rows, tuple(columns), together, share)
    return collected(mapped(session, table, task, schema, columns), table.name, "looking at some rows")


def _names(task: CodeTask) -> list[str]:
    """What tells tuples apart."""
    return [*words_in(task.packing), *(["person"] if task.person else [])]
