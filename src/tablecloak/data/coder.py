"""Coding a column batch by batch: first its different values, then the code of every row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.domain import TABLE_RANGE, Codes
from tablecloak.errors import DataError
from tablecloak.kernels.keys import add_codes, group_keys
from tablecloak.kernels.packed_codes import UNKNOWN

MANY = 4096  # texts, from which on they are told apart by hash
WIDE = (pl.UInt64, pl.Int128, pl.UInt128)  # whole numbers that may not fit 64 bits with a sign


def kind_of(series: pl.Series, dtype: pl.DataType) -> OccurrenceMarks | Texts | None:
    """What collects values like these; None: nothing is better than `unique`."""
    if dtype == pl.String:
        return Texts() if len(series) >= MANY else None
    return OccurrenceMarks.of(series, dtype)


class OccurrenceMarks:
    """Which categories of an Enum, or which whole numbers or days close together, occurred."""

    def __init__(self, dtype: pl.DataType, low: int, n: int) -> None:
        self._dtype, self._low = dtype, low
        self._categories = dtype.categories if isinstance(dtype, pl.Enum) else None
        self._occurs = np.zeros(n, np.bool_)

    @classmethod
    def of(cls, series: pl.Series, dtype: pl.DataType) -> OccurrenceMarks | None:
        """A table for values like these; None where it would be large."""
        if isinstance(dtype, pl.Enum):
            return cls(dtype, 0, len(dtype.categories))
        if (dtype == pl.Date or dtype.is_integer()) and dtype not in WIDE:
            low, high = _range(series)
            width = high - low + 1
            is_near = width < TABLE_RANGE and max(-low, high) < 1 << 62
            # as much again on both sides, for the batches to come
            return cls(dtype, low - width, 3 * width) if is_near else None
        return None

    def add(self, series: pl.Series, dtype: pl.DataType) -> bool:
        """Note the values of a batch; whether they have a place in this table."""
        if dtype != self._dtype:
            return False
        if self._categories is not None:
            if not self._occurs.all():
                self._occurs[_present_numbers(series)] = True
            return True
        low, high = _range(series)
        if low < self._low or high >= self._low + len(self._occurs):
            return False
        self._occurs[_present_numbers(series).astype(np.int64) - self._low] = True
        return True

    def values(self) -> pl.Series:
        """Those that occurred; categories as text."""
        places = np.flatnonzero(self._occurs)
        if self._categories is not None:
            return self._categories.gather(places)
        return pl.Series(places + self._low).cast(pl.Int32 if self._dtype == pl.Date else pl.Int64).cast(self._dtype)


class Texts:
    """Texts that occurred; of two with equal 64-bit hashes one is lost, which a coder then says."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.uint64)  # ascending
        self._parts: list[pl.Series] = []

    def add(self, series: pl.Series, dtype: pl.DataType) -> bool:
        """Note the texts of a batch; whether they are texts."""
        if dtype != pl.String:
            return False
        texts = series.drop_nulls()
        hashes = texts.hash().to_numpy().copy()  # kernels would be compiled anew for what cannot be written to
        firsts, _ = group_keys.at_hand(len(hashes))(hashes[None])
        distinct = hashes[firsts]
        is_new = np.ones(len(distinct), np.bool_)
        if len(self._hashes):
            places = np.minimum(np.searchsorted(self._hashes, distinct), len(self._hashes) - 1)
            is_new = self._hashes[places] != distinct
        if is_new.any():
            self._parts.append(texts.gather(firsts[is_new]))
            self._hashes = np.sort(np.concatenate([self._hashes, distinct[is_new]]))
        return True

    def values(self) -> pl.Series:
        """All of them, in any order."""
        return pl.concat(self._parts) if self._parts else pl.Series([], dtype=pl.String)


def _present_numbers(series: pl.Series) -> NDArray[np.integer[Any]]:
    """Those that are not missing, categories by their place."""
    return (series.drop_nulls() if series.null_count() else series).to_physical().to_numpy()


def _range(series: pl.Series) -> tuple[int, int]:
    """The least and the largest number or day; of none, 0 and -1."""
    numbers = series.to_physical()
    low, high = cast("int | None", numbers.min()), cast("int | None", numbers.max())
    return (0, -1) if low is None or high is None else (low, high)


class Values:
    """The different values of a column, collected from batches.

    Args:
        all_categories: those of an Enum are its categories, whether or not they occur.
    """

    def __init__(self, name: str, *, all_categories: bool = False) -> None:
        self.name = name
        self._all_categories = all_categories
        self._known: pl.Series | None = None
        self._latest: OccurrenceMarks | Texts | None = (
            None  # values of batches of one kind, not among the known ones yet
        )
        self._has_missing = False

    def add(self, series: pl.Series) -> None:
        """Note the values of a batch."""
        self._has_missing = self._has_missing or series.null_count() > 0
        dtype = series.dtype  # made anew whenever it is asked for, which takes long for an Enum of many categories
        if isinstance(dtype, pl.Enum) and self._all_categories:
            self._unite(dtype.categories.alias(self.name))
            return
        if self._latest is not None and self._latest.add(series, dtype):
            return
        self._settle()
        self._latest = kind_of(series, dtype)
        if self._latest is None or not self._latest.add(series, dtype):
            distinct = series.drop_nulls().unique()
            self._unite(distinct.cast(pl.String) if isinstance(dtype, pl.Categorical) else distinct)

    def _settle(self) -> None:
        latest, self._latest = self._latest, None
        if latest is not None:
            self._unite(latest.values())

    def _unite(self, distinct: pl.Series) -> None:
        self._known = distinct if self._known is None else pl.concat([self._known, distinct]).unique()

    def __len__(self) -> int:
        self._settle()
        return (0 if self._known is None else len(self._known)) + self._has_missing

    def series(self) -> pl.Series:
        """All of them in ascending order, those of an Enum in their own; the missing one comes last."""
        self._settle()
        present = pl.Series(self.name, [], dtype=pl.String) if self._known is None else self._known
        present = present.rename(self.name)
        return pl.concat([present.sort(), present.clear(1)]) if self._has_missing else present.sort()


class Coder:
    """Values of a column to codes by look-up, for values that are all known."""

    def __init__(self, name: str, values: pl.Series, codes: IntArray) -> None:
        """Code `codes[i]` stands for `values[i]`."""
        self.name = name
        n_codes = int(codes.max(initial=0)) + 1
        dtype = np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32
        is_missing = values.is_null().to_numpy()
        self._missing = codes[is_missing].astype(dtype)  # none or one
        present = values.filter(values.is_not_null())
        self._codes = codes[~is_missing].astype(dtype)
        self._is_text = present.dtype == pl.String
        if self._is_text:
            self._enum = pl.Enum(present)
        else:
            numbers = _numbers(present)
            order = np.argsort(numbers)
            self._numbers, self._codes = numbers[order], self._codes[order]
            self._table = _table(self._numbers, self._codes)
        self._index: _TextIndex | None = None
        self._of_enum: tuple[pl.DataType, Codes, BoolArray | None] | None = None
        self._shifted: tuple[np.uint64, Codes, NDArray[np.uint64]] | None = None

    def codes(self, series: pl.Series) -> Codes:
        """The code of every row; raises DataError if a value is not known."""
        missing = series.null_count()
        if missing and len(self._missing) == 0:
            raise self._unknown()
        codes = self._text_codes(series) if self._is_text else self._number_codes(series)
        if missing:
            codes = np.where(series.is_null().to_numpy(), self._missing[0], codes)
        return codes

    def add_codes(self, words: NDArray[np.uint64], series: pl.Series, shift: np.uint64) -> None:
        """Put the code of every row into its word; raises DataError if a value is not known."""
        lookup = None if series.null_count() else self._table_for(series)
        if lookup is None:
            words |= self.codes(series).astype(np.uint64) << shift
            return
        low, table, is_known = lookup
        if self._shifted is None or self._shifted[0] != shift or self._shifted[1] is not table:
            shifted = table.astype(np.uint64) << shift
            shifted = shifted if is_known is None else np.where(is_known, shifted, UNKNOWN)
            self._shifted = shift, table, shifted
        if not add_codes.at_hand(len(words))(words, _numbers(series), low, self._shifted[2]):
            raise self._unknown()

    def _table_for(self, series: pl.Series) -> tuple[int, Codes, BoolArray | None] | None:
        """Codes by the place of an Enum or by whole number: (the first one, codes, which are known); None: no table."""
        dtype = series.dtype
        if self._is_text:
            return (0, *self._enum_codes(dtype)) if isinstance(dtype, pl.Enum) else None
        return self._table if self._table is not None and dtype not in WIDE else None

    def _enum_codes(self, dtype: pl.Enum) -> tuple[Codes, BoolArray | None]:
        if self._of_enum is None or self._of_enum[0] != dtype:
            self._of_enum = (dtype, *self._category_codes(dtype.categories))
        return self._of_enum[1:]

    def _text_codes(self, series: pl.Series) -> Codes:
        dtype = series.dtype
        if not isinstance(dtype, pl.Enum):
            return self._cast_codes(series)
        table, is_known = self._enum_codes(dtype)
        physical = series.to_physical()
        present = physical.drop_nulls() if physical.null_count() else physical
        if is_known is not None and not is_known[present.to_numpy()].all():
            raise self._unknown()
        places = physical.fill_null(0) if physical.null_count() else physical
        return table[places.to_numpy()] if len(table) else np.zeros(len(series), self._missing.dtype)

    def _category_codes(self, categories: pl.Series) -> tuple[Codes, BoolArray | None]:
        """Codes of the categories of an Enum, and which of them are known (None: all)."""
        places = categories.cast(self._enum, strict=False).to_physical()
        is_known = places.is_not_null().to_numpy()
        codes = self._codes[places.fill_null(0).to_numpy()] if len(self._codes) else np.zeros(0, self._missing.dtype)
        return codes, None if is_known.all() else is_known

    def _cast_codes(self, series: pl.Series) -> Codes:
        if series.dtype == pl.String and len(self._codes) >= MANY:
            self._index = self._index or _TextIndex(self._enum.categories)
            index_places = self._index.places(series)
            if index_places is not None:
                return np.asarray(self._codes[index_places])
        try:
            places = series.cast(self._enum).to_physical()
        except pl.exceptions.InvalidOperationError:
            raise self._unknown() from None  # its message shows a value
        places = places.fill_null(0) if places.null_count() else places
        return self._codes[places.to_numpy()] if len(self._codes) else np.zeros(len(series), self._missing.dtype)

    def _number_codes(self, series: pl.Series) -> Codes:
        present = series.drop_nulls() if series.null_count() else series
        numbers = _numbers(present)
        if self._table is not None:
            low, table, is_known = self._table
            inside = (numbers >= low) & (numbers < low + len(table))
            places = np.where(inside, numbers - low, 0).astype(np.int64)
            if not (inside & is_known[places]).all():
                raise self._unknown()
            codes = table[places]
        else:
            places = np.minimum(np.searchsorted(self._numbers, numbers), max(0, len(self._numbers) - 1))
            if len(numbers) and (len(self._numbers) == 0 or (self._numbers[places] != numbers).any()):
                raise self._unknown()
            codes = self._codes[places]
        if len(present) == len(series):
            return codes
        all_codes = np.zeros(len(series), codes.dtype)
        all_codes[series.is_not_null().to_numpy()] = codes
        return all_codes

    def _unknown(self) -> DataError:
        return DataError(
            f"column '{self.name}' has values that were not there when it was read first",
            hint="the input changed meanwhile; run again when it no longer does",
        )

    def __getstate__(self) -> dict[str, Any]:
        """Another process makes its own tables."""
        return {**vars(self), "_index": None, "_shifted": None}


class _TextIndex:
    """Places of many texts, found by hash and then compared: a cast to an Enum of so many takes five times as long."""

    def __init__(self, texts: pl.Series) -> None:
        hashes = texts.hash().to_numpy()
        self._texts, self._order = texts, np.argsort(hashes)
        self._hashes = hashes[self._order]
        bits = min(24, len(texts).bit_length())
        self._shift = np.uint64(64 - bits)
        self._starts = np.searchsorted(self._hashes >> self._shift, np.arange(1 << bits, dtype=np.uint64))

    def places(self, series: pl.Series) -> IntArray | None:
        """Which text every row shows, anything for a missing cell; None if one was not found."""
        hashes, last = series.hash().to_numpy(), len(self._hashes) - 1
        at = np.minimum(self._starts[hashes >> self._shift], last)
        behind = np.flatnonzero((self._hashes[at] < hashes) & (at < last))
        while len(behind):
            at[behind] += 1
            behind = behind[(self._hashes[at[behind]] < hashes[behind]) & (at[behind] < last)]
        places: IntArray = self._order[at]
        return places if (self._texts.gather(places) == series).all() else None


def _numbers(series: pl.Series) -> NDArray[Any]:
    physical = series.to_physical()
    return (physical.cast(pl.UInt8) if physical.dtype == pl.Boolean else physical).to_numpy()


def _table(numbers: NDArray[Any], codes: Codes) -> tuple[int, Codes, BoolArray] | None:
    """A look-up table where numbers are whole and close together: (first number, codes, which of them occur)."""
    if len(numbers) == 0 or numbers.dtype.kind == "f" or int(numbers[-1]) - int(numbers[0]) >= TABLE_RANGE:
        return None
    low = int(numbers[0])
    places = (numbers - numbers[0]).astype(np.int64)
    table = np.zeros(int(places[-1]) + 1, codes.dtype)
    is_known = np.zeros(len(table), bool)
    table[places] = codes
    is_known[places] = True
    return low, table, is_known
