"""round: numbers to multiples of a base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, Self, TypeAlias

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.rng import Secret
from tablecloak.transforms._groups import K, group_size, require_records
from tablecloak.transforms.base import NUMBERS, ByValue, Family, Fitting, Transform, random_of, transform

Towards: TypeAlias = Literal["nearest", "down", "up"]
LARGEST = 5 * 10**18  # base of whole numbers: twice as much is no 64-bit number
MOST_COUNT = 2.0**52  # from here on a float and its multiple are the same
MOST_TELLING = 2.0**44  # up to here a count keeps enough digits to tell a half from what is just below


@transform("round", Family.COARSEN, types=NUMBERS)
class RoundTo(Transform):
    """Numbers are published as the nearest multiple of a base, halves away from zero.

    With `k` the base is the smallest of 1, 2, 5, 10, 20, .. (of decimals also 0.5, 0.2, ..) with which every published
    number is that of at least k records. Whole numbers and a whole base are counted with exactly, up to 64 bits;
    decimals as they are written, so that 0.15 lies halfway between 0.1 and 0.2. Infinite numbers stay as they are.

    With `random` a number goes up or down by chance, the more likely the nearer, so that sums are right on average;
    several records of one number then show both multiples.
    """

    base: Annotated[int | float | None, Field(gt=0, description="what published numbers are multiples of")] = None
    k: K = None
    towards: Annotated[Towards, Field(description="which multiple: the nearest, or the next one down or up")] = (
        "nearest"
    )
    random: Annotated[bool, Field(description="up or down by chance, right on average")] = False

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if (self.base is None) == (self.k is None):
            raise ValueError("either base or k must be given")
        if self.random and (self.base is None or self.towards != "nearest"):
            raise ValueError("random goes with base alone: chance decides which multiple, and how many share it")
        return self

    @property
    def is_drawn(self) -> bool:  # type: ignore[override]  # it is by parameter here
        return self.random

    def result(self, type_: ColumnType) -> ColumnType:
        is_whole = self.base is None or float(self.base).is_integer()
        return type_ if is_whole else ColumnType.FLOAT

    def fit(self, fitting: Fitting) -> CellStep:
        base = _base_for(fitting, self.k, self.towards) if self.base is None else Decimal(repr(self.base))
        is_whole = fitting.type is ColumnType.INTEGER and base % 1 == 0
        if is_whole and base > LARGEST:
            raise IncompatibleChoice(
                f"column '{fitting.column}': no whole number of 64 bits is a multiple of so large a base",
                hint=f"columns.{fitting.column}.transform.base: up to {LARGEST}",
            )
        multiples = _Multiples(base, self.towards, is_whole, fitting.column)
        return _Drawn(multiples, fitting.secret) if self.random else ByValue(multiples)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        if self.base is None:
            return None
        ratio = cells.cast(pl.Float64, strict=False) / float(self.base)
        is_off = ((ratio - ratio.round()).abs() > 1e-9 * ratio.abs().clip(1)) & ratio.is_finite()
        if cells.dtype.is_float() or not float(self.base).is_integer() or self.base > LARGEST:
            return is_off.fill_null(value=False)
        rest = cells.cast(pl.Int64, strict=False) % int(self.base)
        both = pl.DataFrame({"exact": rest != 0, "about": is_off})
        return both.select(pl.coalesce("exact", "about")).to_series().fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Multiples:
    base: Decimal
    towards: Towards
    is_whole: bool  # whole numbers and a whole base
    column: str

    def __call__(self, values: pl.Series) -> pl.Series:
        if self.is_whole:
            return pl.Series(values.name, self.whole(values.to_numpy().astype(np.int64)), pl.Int64)
        made = float_multiples(values.cast(pl.Float64).to_numpy(), self.base, self.towards)
        return pl.Series(values.name, made, pl.Float64)

    def whole(self, values: IntArray, goes_up: BoolArray | None = None) -> IntArray:
        """The multiples of whole numbers.

        Raises: DataError where one is no 64-bit number.
        """
        made = whole_multiples(values, int(self.base), self.towards, goes_up)
        if made is None:
            raise DataError(
                f"column '{self.column}' has numbers whose multiple of the base is no 64-bit number",
                hint=f"columns.{self.column}.transform: a smaller base",
            )
        return made


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Up with the probability of the part of the base that a number is above the multiple below it."""

    multiples: _Multiples
    secret: Secret

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        drawn = random_of(self.secret, rows.numbers)
        base = float(self.multiples.base)
        if self.multiples.is_whole:
            values = cells.fill_null(0).to_numpy().astype(np.int64)
            goes_up = drawn < (values % int(base)) / base
            made = pl.Series(cells.name, self.multiples.whole(values, goes_up), pl.Int64)
        else:
            numbers = cells.cast(pl.Float64).fill_null(0).to_numpy()
            low = float_multiples(numbers, self.multiples.base, "down")
            high = float_multiples(numbers, self.multiples.base, "up")
            with np.errstate(invalid="ignore"):
                made = pl.Series(cells.name, np.where(drawn < (numbers - low) / base, high, low), pl.Float64)
        frame = pl.DataFrame({"made": made, "was": cells.is_null()})
        return frame.select(pl.when(~pl.col("was")).then("made")).to_series().alias(cells.name)


def whole_multiples(values: IntArray, base: int, towards: Towards, goes_up: BoolArray | None = None) -> IntArray | None:
    """(n,) multiples of a whole base; None where one is no 64-bit number.

    Args:
        goes_up: which ones are rounded up, where that is not decided by `towards`.
    """
    rest = values % base  # from 0 on, also of negative numbers
    if goes_up is None:
        is_half = rest == base - rest
        nearer = (rest > base - rest) | (is_half & (values > 0))
        goes_up = {"nearest": nearer, "down": np.zeros(len(rest), np.bool_), "up": rest > 0}[towards]
    low = values - rest  # of the smallest numbers it wraps around
    made = low + np.where(goes_up, base, 0)
    has_wrapped = (made < values) & goes_up | (low > values) & ~goes_up
    return None if has_wrapped.any() else made


def float_multiples(values: FloatArray, base: Decimal, towards: Towards) -> FloatArray:
    """(n,) multiples of a base, as near to the decimals that people read as floats are."""
    _, digits, exponent = base.normalize().as_tuple()
    power = int(exponent)
    unit = float(int("".join(map(str, digits))))
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.float64(10.0) ** abs(power)
        ratio = values * scale / unit if power < 0 else values / (unit * scale)
        size = np.abs(ratio)
        slack = np.where(size < MOST_TELLING, 4 * np.spacing(np.maximum(size, 1.0)), 0.0)
        if towards == "nearest":
            count = np.sign(ratio) * np.floor(size + 0.5 + slack)
        else:
            count = np.floor(ratio + slack) if towards == "down" else np.ceil(ratio - slack)
        made = count * unit / scale if power < 0 else count * (unit * scale)
    return np.where(size < MOST_COUNT, made + 0.0, values)  # no -0.0


def _base_for(fitting: Fitting, k: int | Literal["auto"] | None, towards: Towards) -> Decimal:
    """The smallest base with which every published number is that of at least k records.

    Raises: DataError where there is none.
    """
    smallest = group_size(fitting, k)
    counts = fitting.counts()
    numbers, n = counts["value"].to_numpy(), counts["n"].to_numpy()
    require_records(fitting, int(n.sum()), smallest)
    if not len(numbers):
        return Decimal(1)
    is_whole = fitting.type is ColumnType.INTEGER
    for base in _bases(numbers, is_whole=is_whole):
        made = whole_multiples(numbers, int(base), towards) if is_whole else float_multiples(numbers, base, towards)
        if made is not None and _fewest(made, n) >= smallest:
            return base
    raise DataError(
        f"column '{fitting.column}': with no base is every multiple the one of at least {smallest} records",
        hint=f"columns.{fitting.column}.transform: top-code and bottom-code before it, or bin with n",
    )


def _bases(numbers: FloatArray | IntArray, *, is_whole: bool) -> Iterator[Decimal]:
    """1, 2, 5, 10, .. up to where nothing is left; of decimals from about the least distance between two of them on."""
    finite = numbers[np.isfinite(numbers)]
    power = 0
    if not is_whole and len(finite):
        gap = float(np.diff(finite).min()) if len(finite) > 1 else 0.0
        lone = Decimal(repr(float(finite[0]))).normalize().as_tuple().exponent
        power = int(np.floor(np.log10(gap))) if gap > 0 else int(lone)
    largest = max((abs(float(number)) for number in finite[[0, -1]]), default=0.0) if len(finite) else 0.0
    while True:
        for digit in (1, 2, 5):
            base = Decimal(digit).scaleb(power)
            if is_whole and base > LARGEST:
                return
            yield base
            if base > 4 * Decimal(repr(largest)):  # everything is one multiple already, or stays two for ever
                return
        power += 1


def _fewest(made: FloatArray | IntArray, n: IntArray) -> int:
    """Records of the rarest multiple; `made` ascends, for rounding keeps the order."""
    begins = np.flatnonzero(np.append(True, made[1:] != made[:-1]))
    return int(np.add.reduceat(n, begins).min())
