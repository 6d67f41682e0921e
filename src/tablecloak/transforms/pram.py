"""pram: categories change at random, with chances that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field, model_validator

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import DTYPES
from tablecloak.rng import Secret
from tablecloak.transforms.base import Family, Fitting, Transform, random_of, texts_of, transform

CATEGORIES = (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.BOOLEAN)
_ROUNDING = 1e-9


def _texts(value: Any) -> Any:
    """A matrix whose values are written as texts: true for True, 1 for a number."""
    if not isinstance(value, Mapping):
        return value
    return {str(key).lower() if isinstance(key, bool) else str(key): _texts(each) for key, each in value.items()}


@transform("pram", Family.PERTURB, types=CATEGORIES)
class Pram(Transform):
    """Categories change at random with known chances, from which analysts can estimate how frequent each one was.

    With `invariant`, a cell is kept with the chance `keep` and else drawn from all cells of the column, so that the
    expected frequencies are those that were. Missing cells stay.
    Reference: Gouweleeuw, Kooiman, Willenborg, de Wolf, Post randomisation for statistical disclosure control, 1998.
    """

    is_drawn = True

    matrix: Annotated[
        dict[str, dict[str, Annotated[float, Field(ge=0, le=1)]]] | None,
        BeforeValidator(_texts),
        Field(description="for every value the chances of what it becomes, which add up to 1"),
    ] = None
    invariant: Annotated[bool, Field(description="chances that keep the expected frequencies of the column")] = False
    keep: Annotated[float, Field(ge=0, lt=1, description="chance that a cell is not drawn anew, if invariant")] = 0.8

    @model_validator(mode="after")
    def _has_chances(self) -> Self:
        if (self.matrix is not None) == self.invariant:
            raise ValueError("give a matrix, or invariant: true")
        if self.matrix is not None and "keep" in self.model_fields_set:
            raise ValueError("keep is for invariant: true; the matrix says what is kept")
        for i, chances in enumerate((self.matrix or {}).values()):
            total = sum(chances.values())
            if abs(total - 1) > _ROUNDING:
                raise ValueError(f"the chances of each value must add up to 1, and those of value {i + 1} to {total:g}")
        return self

    def fit(self, fitting: Fitting) -> CellStep:
        counts = fitting.counts()
        if self.matrix is None:
            shares = counts["n"].to_numpy() / max(1, int(counts["n"].sum()))
            return _Mixed(counts["value"], tuple(np.cumsum(shares).tolist()), self.keep, fitting.secret)
        texts = texts_of(counts["value"], fitting.type)
        n_unknown = int((~texts.is_in(list(self.matrix))).sum())
        if n_unknown:
            raise DataError(
                f"column '{fitting.column}': the matrix has no chances for {n_unknown} of {len(texts)} values",
                hint="a row of the matrix for each of them",
            )
        return _Changed(fitting.type, self._values(fitting), self.matrix, fitting.secret)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        if self.matrix is None:
            return None
        made = {value for chances in self.matrix.values() for value, chance in chances.items() if chance > 0}
        return ~cells.cast(pl.String).is_in(sorted(made)).fill_null(value=True)

    def warnings(self, fitting: Fitting) -> list[str]:
        counts = fitting.counts()
        n_rare = int((counts["n"] < 5).sum())
        return [f"{n_rare} of {counts.height} values are held by fewer than 5 rows"] if n_rare else []

    def _values(self, fitting: Fitting) -> pl.Series:
        """What a matrix makes of values, in the order of their texts and of the type of the column."""
        assert self.matrix is not None
        texts = sorted({value for chances in self.matrix.values() for value in chances})
        if fitting.type is ColumnType.BOOLEAN:
            values = pl.Series([{"true": True, "false": False}.get(text) for text in texts], dtype=pl.Boolean)
        else:
            values = pl.Series(texts, dtype=pl.String).cast(DTYPES[fitting.type], strict=False)
        if values.null_count():
            raise IncompatibleChoice(
                f"column '{fitting.column}': {values.null_count()} values of the matrix are not of type {fitting.type}",
                hint="values that the column can hold",
            )
        return values


@dataclass(frozen=True, slots=True, eq=False)
class _Mixed:
    """A step that keeps cells with some chance, and else draws them from all cells of the column."""

    values: pl.Series
    below: tuple[float, ...]  # share of the cells up to each value
    keep: float
    secret: Secret = field(repr=False)

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        if not len(self.values):
            return cells
        drawn = random_of(self.secret.child("value"), rows.numbers)
        at = np.minimum(np.searchsorted(self.below, drawn, side="right"), len(self.values) - 1)
        is_kept = random_of(self.secret.child("keep"), rows.numbers) < self.keep
        frame = pl.DataFrame({"old": cells, "new": self.values.gather(at), "is_kept": is_kept})
        stays = pl.col("is_kept") | pl.col("old").is_null()
        return frame.select(pl.when(stays).then("old").otherwise("new").alias("new")).to_series()


@dataclass(frozen=True, slots=True, eq=False)
class _Changed:
    """A step that draws what a cell becomes by the chances of its value."""

    type: ColumnType
    values: pl.Series  # in the order of their texts
    matrix: Mapping[str, Mapping[str, float]]
    secret: Secret = field(repr=False)

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        names = sorted({value for chances in self.matrix.values() for value in chances})
        drawn = random_of(self.secret, rows.numbers)
        texts = texts_of(cells, self.type)
        at = np.full(len(cells), -1, np.int64)
        for value in texts.unique().drop_nulls().to_list():
            here = np.flatnonzero((texts == value).fill_null(value=False).to_numpy())
            at[here] = _drawn_from(self.matrix[value], names, drawn[here])
        return self.values.gather(pl.Series(at).replace(-1, None).cast(pl.UInt32))


def _drawn_from(chances: Mapping[str, float], names: list[str], drawn: FloatArray) -> IntArray:
    """Places of values among names, for numbers from 0 to below 1."""
    possible = [name for name in names if chances.get(name, 0.0) > 0]
    below = np.cumsum([chances[name] for name in possible])
    at = np.minimum(np.searchsorted(below, drawn, side="right"), len(possible) - 1)
    places: IntArray = np.array([names.index(name) for name in possible], np.int64)[at]
    return places
