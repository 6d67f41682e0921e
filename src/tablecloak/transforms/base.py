"""The transform seam: parameters that a policy can write, and how they change the cells of one column.

A transform is fitted once, to what it needs to know of the whole column, and gives a `CellStep`: a value that changes
any rows of the column, in batches, in any process. Steps are all that engines see. The same secret gives the same cells
on every engine, because chance is drawn by the number of a row, by what a cell holds or by whose it is, never by when a
row is met.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows, CellStep, CellTest
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.frames import DTYPES
from tablecloak.registry import register
from tablecloak.rng import BLOCK, Secret

EVERY_TYPE = tuple(ColumnType)
# Where more of the cells differ, finding equal ones costs more than changing them twice.
NEARLY_ALL = 0.7
NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT)
DATES = (ColumnType.DATE, ColumnType.DATETIME)
LINE = (*NUMBERS, *DATES)  # types whose values lie on a line


class Family(StrEnum):
    """What a transform is for."""

    COVER = "cover"  # hides a value, or part of it
    PSEUDONYM = "pseudonym"  # stands for a value: who has the key, or enough guesses, finds it again
    COARSEN = "coarsen"  # makes a value less exact, and stays true
    PERTURB = "perturb"  # changes a value by chance: a single cell is no longer true


class Stage(StrEnum):
    """When a column is changed, and so what goals judge."""

    BEFORE = "before the search"  # goals judge what is published
    PUBLISHING = "at publishing"  # goals judge the values as they were


@dataclass(frozen=True, slots=True)
class Key:
    """Key material of pseudonyms, and what it is called in public."""

    material: bytes = field(repr=False)  # 32 bytes
    id: str = ""


class Counts(Protocol):
    """How often values occur in a column."""

    def __call__(self, where: CellTest | None = None) -> pl.DataFrame:
        """`value` and `n`: different values, missing ones left out, sorted; given a test, those for which it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """What a transform may know when it is fitted to a column."""

    column: str
    type: ColumnType
    secret: Secret  # of this use alone: other columns and transforms get others
    shared: Secret  # of all transforms of a run, for those that change several columns together: take a child of it
    n_rows: int
    counts: Counts
    rows: Callable[[Sequence[str]], pl.DataFrame]  # whole columns in memory; IncompatibleChoice where they do not fit
    smallest: int = 1  # how many records a class must have by the goals
    key: Key | None = None
    is_key_kept: bool = True  # somebody has the key after the run: it was not drawn for this run alone
    person: str | None = None  # the column that says whose a row is
    resolve: Callable[[str], Path] = Path  # paths of a policy
    run: dict[str, Any] = field(default_factory=dict)  # what transforms of one run tell each other
    afterwards: list[Callable[[], None]] = field(default_factory=list)  # what is to be kept once the release holds
    changed: Mapping[str, Sequence[Transform]] = field(default_factory=dict)  # columns, and what changes each of them


class Transform(BaseModel):
    """A transform as a policy asks for it: fields are parameters, line 1 of the docstring says what it does."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    name: ClassVar[str]
    family: ClassVar[Family]
    types: ClassVar[tuple[ColumnType, ...]]  # of the columns that it changes
    is_reversible: ClassVar[bool] = False  # its key leads back to every value
    is_drawn: ClassVar[bool] = False  # what it makes depends on the secret
    reads_published: ClassVar[bool] = False  # other columns that it needs are given as they are published

    @property
    def stage(self) -> Stage:
        return Stage.BEFORE if self.family is Family.COARSEN else Stage.PUBLISHING

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        """Other columns of the table that it reads; `person` is the one that says whose a row is, if any does."""
        return ()

    @property
    def makes_column(self) -> bool:
        """The column need not be in the table."""
        return False

    @property
    def key_place(self) -> str | None:
        """Where its key is, as env:NAME or file:PATH; None: it has none, or takes it from the secret."""
        return getattr(self, "key", None)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that it reads or adds to, as the policy names them: no output may be written over one."""
        return ()

    def with_paths(self, moved: Callable[[str], str]) -> Self:
        """The same with its files named from another folder."""
        update = {key: moved(path) for key in ("vault", "file") if (path := getattr(self, key, None)) is not None}
        kind, _, name = (self.key_place or "").partition(":")
        if kind == "file":
            path, mark, key_id = name.partition("#")
            update["key"] = f"file:{moved(path)}{mark}{key_id}"
        return self.model_copy(update=update) if update else self

    def result(self, type_: ColumnType) -> ColumnType:
        """The type of what it makes of a column of one of its types."""
        return type_

    @abstractmethod
    def fit(self, fitting: Fitting) -> CellStep:
        """How cells of a column are changed; raises DataError or IncompatibleChoice where they cannot be."""

    def faults(self, cells: pl.Series) -> pl.Series | None:  # noqa: ARG002
        """Which published cells it cannot have made, as booleans; None: every cell could be one."""
        return None

    def warnings(self, fitting: Fitting) -> list[str]:  # noqa: ARG002
        """What is likely to be a mistake, in words that show no cell."""
        return []


def is_pseudonym(chain: Sequence[Transform]) -> bool:
    """Whether what a chain of transforms makes stands for the value it was."""
    return any(each.family is Family.PSEUDONYM for each in chain)


T = TypeVar("T", bound=type[Transform])


def transform(name: str, family: Family, *, types: tuple[ColumnType, ...] = EVERY_TYPE) -> Callable[[T], T]:
    """Register a class as a kind of transform.

    Args:
        types: of the columns it can change; others are refused.
    """

    def decorate(cls: T) -> T:
        cls.name, cls.family, cls.types = name, family, types
        return register("transforms", name)(cls)

    return decorate


def fitted(chosen: Transform, fitting: Fitting) -> CellStep:
    """The step of a transform for a column of a type that it knows.

    Raises: IncompatibleChoice for another type.
    """
    if fitting.type not in chosen.types:
        known = " or ".join(chosen.types)
        raise IncompatibleChoice(
            f"column '{fitting.column}': {chosen.name} changes columns of type {known}, and this one is {fitting.type}",
            hint=f"columns.{fitting.column}.type: {chosen.types[0]}, or another transform",
        )
    return chosen.fit(fitting)


# What many transforms do ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Same:
    """A step that puts one value into every cell."""

    value: str | None
    type: ColumnType

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:  # noqa: ARG002
        return pl.repeat(self.value, len(cells), dtype=DTYPES[self.type], eager=True)


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """A step that changes equal cells alike: only different ones are looked at; missing ones stay missing."""

    change: Callable[[pl.Series], pl.Series]  # different values, none missing, to as many new ones

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:  # noqa: ARG002
        return by_value(cells, self.change)


def by_value(cells: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Cells changed value by value; missing ones stay missing."""
    values = cells.cast(pl.String) if isinstance(cells.dtype, pl.Categorical | pl.Enum) else cells
    present = values.drop_nulls()
    distinct = present.unique()
    if len(distinct) > NEARLY_ALL * len(values):
        made = change(present)
        if len(present) == len(values):
            return made.alias(cells.name)
        frame = pl.DataFrame({"is": values.is_not_null()})
        places = frame.select(pl.when("is").then(pl.col("is").cum_sum() - 1)).to_series()
        return made.gather(places).alias(cells.name)
    if not len(distinct):
        return pl.Series(cells.name, [None] * len(cells), change(distinct).dtype)
    lookup = pl.DataFrame({"value": distinct, "made": change(distinct)})
    found = pl.DataFrame({"value": values}).join(lookup, on="value", how="left", maintain_order="left")
    return found["made"].alias(cells.name)


def texts_of(values: pl.Series, type_: ColumnType) -> pl.Series:
    """Values as texts that are the same wherever they come from: 1 for 1.0, ISO dates, true and false."""
    if type_ is ColumnType.FLOAT:
        whole = values.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(pl.Float64) == values).fill_null(value=False)
        frame = pl.DataFrame({"text": values.cast(pl.String), "whole": whole.cast(pl.String), "is": is_whole})
        return frame.select(pl.when("is").then("whole").otherwise("text")).to_series().alias(values.name)
    if type_ is ColumnType.DATETIME:
        return values.dt.strftime("%Y-%m-%dT%H:%M:%S%.f").alias(values.name)
    return values.cast(pl.String)


def random_of(secret: Secret, numbers: IntArray) -> FloatArray:
    """(n,) numbers from 0 to below 1, one for every row number, the same whichever rows are asked for together."""
    drawn = np.empty(len(numbers))
    for block, here in _blocks(numbers):
        drawn[here] = secret.stream(f"block {block}").random(BLOCK)[numbers[here] % BLOCK]
    return drawn


def _blocks(numbers: IntArray) -> Iterator[tuple[int, IntArray]]:
    blocks = numbers // BLOCK
    for block in np.unique(blocks).tolist():
        yield block, np.flatnonzero(blocks == block)
