"""Cells that drawn amounts are added to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows
from tablecloak.data.table import ColumnType
from tablecloak.rng import Secret
from tablecloak.transforms._draws import Draw
from tablecloak.transforms._line import (
    Bounds,
    from_units,
    refuse_infinite,
    refuse_out_of_range,
    refuse_too_large,
    to_digits,
    to_units,
    whole,
)
from tablecloak.transforms.base import Fitting, random_of

_DIGITS = 6  # decimals are published to a millionth of the size of the noise


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """What makes noise add up to nothing over a column."""

    mean: float = 0.0  # is taken from every amount
    each: int = 0  # is added to every amount after it was made whole
    raised: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # numbers of rows that get one more


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A step that adds drawn amounts to numbers and dates.

    Decimals are rounded to what is small beside the noise: the last digits of a sum tell what was added, for amounts
    that a program can draw are few.
    """

    column: str
    type: ColumnType
    draw: Draw  # in units of the column, or as shares of each value
    scale: float  # of what is drawn
    secret: Secret = field(repr=False)
    is_share: bool = False
    bounds: Bounds | None = None
    balance: Balance = field(default_factory=Balance)

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        values, is_missing = to_units(cells, self.type)
        refuse_infinite(values, self.column)
        amounts = self.draw(rows.numbers) - self.balance.mean
        if self.is_share:
            amounts = amounts * values
        amounts = np.where(is_missing, 0.0, amounts)
        refuse_out_of_range(values, amounts, is_missing, self.type, self.column)
        made: IntArray | FloatArray
        if self.type is ColumnType.FLOAT:
            made = self._decimals(values.astype(np.float64, copy=False), amounts)
        else:
            made = self._wholes(values.astype(np.int64, copy=False), amounts, rows)
        if self.bounds is not None:
            made = self._bounded(made, is_missing)
        return from_units(made, is_missing, self.type)

    def _decimals(self, values: FloatArray, amounts: FloatArray) -> FloatArray:
        made = values + amounts
        if not self.is_share:
            return to_digits(made, exponent(self.scale))
        sizes = np.abs(made) * self.scale
        return to_digits(made, np.where(sizes > 0, np.floor(np.log10(np.where(sizes > 0, sizes, 1.0))), 0) - _DIGITS)

    def _wholes(self, values: IntArray, amounts: FloatArray, rows: CellRows) -> IntArray:
        added = whole_amounts(amounts, self.secret, rows.numbers) + self.balance.each
        added += np.isin(rows.numbers, self.balance.raised)
        return values + added

    def _bounded(self, made: IntArray | FloatArray, is_missing: BoolArray) -> IntArray | FloatArray:
        assert self.bounds is not None
        if self.bounds.reflects:
            made = np.where(is_missing, 0, made)
            refuse_too_large(made, self.column)
        return self.bounds(made)


def exponent(scale: float) -> int:
    """The power of ten to which sums with noise of a scale are rounded."""
    return int(np.floor(np.log10(scale))) - _DIGITS


def whole_amounts(amounts: FloatArray, secret: Secret, numbers: IntArray) -> IntArray:
    """Amounts as whole numbers."""
    is_large = bool((np.abs(amounts) >= 2.0**53).any())
    fill = random_of(secret.child("last digits"), numbers) if is_large else amounts
    return whole(amounts, fill)


def repeated(fitting: Fitting) -> list[str]:
    """A warning where persons have one value in several rows, each with noise of its own: their mean tells it."""
    if fitting.person is None or fitting.person == fitting.column:
        return []
    rows = fitting.rows([fitting.person, fitting.column]).rename({fitting.person: "who", fitting.column: "cell"})
    cells = rows.drop_nulls().group_by("who").agg(pl.len().alias("n"), pl.col("cell").n_unique().alias("n_values"))
    n = int((cells["n"] > cells["n_values"]).sum())
    return [f"{n} persons have the same value in several rows: the mean of these tells it"] if n else []


def balanced(fitting: Fitting, draw: Draw) -> Balance:
    """What brings the sum of the noise of all cells that are not missing to 0: for whole numbers and dates exactly."""
    n_present = int(fitting.counts()["n"].sum())
    numbers = np.arange(fitting.n_rows)
    if n_present < fitting.n_rows:
        numbers = numbers[fitting.rows([fitting.column])[fitting.column].is_not_null().to_numpy()]
    if not len(numbers):
        return Balance()
    amounts = draw(numbers)
    mean = float(amounts.mean())
    if fitting.type is ColumnType.FLOAT:
        return Balance(mean)
    wholes = whole_amounts(amounts - mean, fitting.secret, numbers)
    total = (int((wholes >> 32).sum()) << 32) + int((wholes & 0xFFFFFFFF).sum())  # of halves, which do not overflow
    each, n_raised = divmod(-total, len(numbers))
    order = np.argsort(random_of(fitting.secret.child("raised"), numbers), kind="stable")
    return Balance(mean, each, np.sort(numbers[order[:n_raised]]))
