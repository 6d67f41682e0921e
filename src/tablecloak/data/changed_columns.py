"""Columns that are made of others, row by row or value by value, as engines see it: steps that batches pass through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.data.table import ColumnType


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """Which rows cells belong to, and what else these hold."""

    numbers: IntArray  # (n,) in the order of the source
    beside: pl.DataFrame  # the columns that the step needs, as they are in the table


class CellStep(Protocol):
    """Changes cells of a column; it can be sent to another process."""

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        """New cells for some rows, as many as there were."""


class CellTest(Protocol):
    """Says of cells, none missing, for which of them something holds; it can be sent to another process."""

    def __call__(self, cells: pl.Series) -> pl.Series:
        """As many booleans."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChange:
    """A column as a step makes it, added to a table or in place of another."""

    name: str  # of the column that is made
    type: ColumnType
    step: CellStep
    source: str  # the column whose cells it is given
    needs: tuple[str, ...] = ()  # other columns that it reads


def made_columns(frame: pl.DataFrame, numbers: IntArray, changes: Sequence[ColumnChange]) -> list[pl.Series]:
    """The columns that changes make of some rows, given their numbers."""
    read = list(dict.fromkeys(name for change in changes for name in (change.source, *change.needs)))
    cells = plain_texts(frame.select(read))
    return [
        change.step(cells[change.source], CellRows(numbers, cells.select(change.needs))).alias(change.name)
        for change in changes
    ]


def counts_of(cells: Iterable[pl.Series], where: CellTest | None = None) -> pl.DataFrame:
    """`value` and `n`: different values of a column's batches, missing ones left out, sorted, and how often they occur.

    Args:
        where: only of cells for which this holds.
    """
    counts = pl.DataFrame()
    for batch in cells:
        present = plain_texts(pl.DataFrame({"value": batch}).drop_nulls())
        present = present if where is None else present.filter(where(present["value"]))
        here = present.group_by("value").agg(pl.len().cast(pl.Int64).alias("n"))
        counts = pl.concat([counts, here]).group_by("value").agg(pl.col("n").sum()) if counts.width else here
    return counts.sort("value")


def plain_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Categories as the texts they stand for."""
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def read_by(changes: Sequence[ColumnChange], columns: Sequence[str]) -> tuple[list[ColumnChange], list[str]]:
    """The changes that make some of the wanted columns, and the columns of the table that must be read for all."""
    wanted = [change for change in changes if change.name in columns]
    made = {change.name for change in wanted}
    needed = [name for change in wanted for name in (change.source, *change.needs)]
    return wanted, list(dict.fromkeys([*(name for name in columns if name not in made), *needed]))
