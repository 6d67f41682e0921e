"""shift-dates: all dates of a person move by the same secret number of days."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import column_type
from tablecloak.rng import Secret
from tablecloak.transforms._line import DAYS
from tablecloak.transforms._pseudonyms import Keyed, hmac_digests, key_for
from tablecloak.transforms.base import DATES, Family, Fitting, by_value, random_of, texts_of, transform

_EVEN = 2**64  # numbers that a digest is read as, of which any remainder is as likely as the others


@transform("shift-dates", Family.PERTURB, types=DATES)
class ShiftDates(Keyed):
    """All dates of a person move by the same secret number of days, so that the time between two of them stays.

    Every date column of a person moves alike, in each table that has the same key and domain. Who knows one true date
    of a person learns all of them.
    Reference: Hripcsak et al., Preserving temporal relations in clinical data while maintaining privacy, JAMIA 2016.
    """

    days: Annotated[int, Field(ge=1, le=366_000, description="how far a person's dates move at most")] = 365
    weeks: Annotated[bool, Field(description="dates move by whole weeks, so that days of the week stay")] = False
    may_stay: Annotated[bool, Field(description="0 days is as likely as any other number")] = False
    per: Annotated[
        str | None, Field(min_length=1, description="the column that says whose a date is, instead of the person's")
    ] = None

    @model_validator(mode="after")
    def _has_a_week(self) -> Self:
        if self.weeks and self.days < 7:
            raise ValueError("whole weeks need days: 7 or more")
        return self

    def needs(self, person: str | None) -> tuple[str, ...]:
        owner = self.per or person
        return () if owner is None else (owner,)

    def fit(self, fitting: Fitting) -> CellStep:
        owner = self.per or fitting.person
        if owner is None:
            raise IncompatibleChoice(
                f"column '{fitting.column}': no column says whose a date is",
                hint="role: person for the one that does, or shift-dates with per: COLUMN",
            )
        key = key_for(fitting.key, "shift-dates", self.domain or f"dates of {owner}")
        return _Shifted(fitting.column, fitting.type, owner, _Offsets(key, self.days, self.weeks, self.may_stay))


@dataclass(frozen=True, slots=True)
class _Offsets:
    """How many days everybody's dates move."""

    key: bytes = field(repr=False)
    days: int
    weeks: bool
    may_stay: bool

    def of_owners(self, owners: pl.Series) -> pl.Series:
        """Days for different owners, none missing."""
        texts = texts_of(owners, column_type(owners.name, owners.dtype)).to_list()
        digests = np.frombuffer(b"".join(hmac_digests(self.key, texts)), ">u8")
        return pl.Series("days", self._of_words(digests[::4].astype(np.uint64)), pl.Int64)

    def of_rows(self, numbers: IntArray) -> IntArray:
        """Days for rows that are nobody's."""
        drawn = random_of(Secret(self.key).child("rows of nobody"), numbers)
        return self._of_words((drawn * 2.0**53).astype(np.uint64) << np.uint64(11))

    def _of_words(self, words: IntArray | np.ndarray[tuple[int], np.dtype[np.uint64]]) -> IntArray:
        unit = 7 if self.weeks else 1
        most = self.days // unit
        if self.may_stay:
            return ((words % np.uint64(2 * most + 1)).astype(np.int64) - most) * unit
        steps = (words % np.uint64(2 * most)).astype(np.int64) - most  # -most to most - 1
        return (steps + (steps >= 0)) * unit


@dataclass(frozen=True, slots=True)
class _Shifted:
    column: str
    type: ColumnType
    owner: str
    offsets: _Offsets

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        owners = rows.beside[self.owner].alias("owner")
        days = by_value(owners, self.offsets.of_owners).cast(pl.Int64)
        if days.null_count():
            days = days.fill_null(pl.Series(self.offsets.of_rows(rows.numbers)))
        before = cells.cast(pl.Date).cast(pl.Int32).cast(pl.Int64)
        after = before + days
        n_outside = int(((after < DAYS[0]) | (after > DAYS[1])).sum())
        if n_outside:
            raise DataError(
                f"column '{self.column}': {n_outside} of these dates would leave the years 1 to 9999",
                hint=f"days: a smaller number than {self.offsets.days}",
            )
        if self.type is ColumnType.DATE:
            return after.cast(pl.Int32).cast(pl.Date)
        return cells.cast(pl.Datetime("us")) + pl.Series((days * 86_400_000_000).cast(pl.Duration("us")))
