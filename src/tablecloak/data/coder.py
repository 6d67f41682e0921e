"""Coding a column batch by batch: first its different values, then the code of every row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.data.domain import TABLE_RANGE, Codes
from tablecloak.errors import DataError
from tablecloak.kernels.space import UNKNOWN

__all__ = ["Coder", "Values"]

IntArray = NDArray[np.int64]
MANY = 4096  # texts, from which on they are told apart by hash
WIDE = (pl.UInt64, pl.Int128, pl.UInt128)  # whole numbers that may not fit 64 bits with a sign


class Values:
    """The different values of a column, collected from batches.

    Args:
        all_categories: those of an Enum are its categories, whether or not they occur.
    """

    def __init__(self, name: str, *, all_categories: bool = False) -> None:
        self.name = name
        self._all_categories = all_categories
        self._known: pl.Series | None = None
        self._marks: _Marks | None = None  # values of the latest batches that are not among the known ones yet
        self._has_missing = False

    def add(self, series: pl.Series) -> None:
        """Note the values of a batch."""
        self._has_missing = self._has_missing or series.null_count() > 0
        if isinstance(series.dtype, pl.Enum) and self._all_categories:
            self._unite(series.dtype.categories.alias(self.name))
        elif not self._mark(series):
            found = _unique(series.drop_nulls())
            self._unite(found.cast(pl.String) if isinstance(series.dtype, pl.Categorical) else found)

    def _mark(self, series: pl.Series) -> bool:
        """Note the values of a batch in a table of all there may be, where that is small."""
        if self._marks is not None and self._marks.add(series):
            return True
        self._settle()
        self._marks = _Marks.of(series)
        return self._marks is not None and self._marks.add(series)

    def _settle(self) -> None:
        marks, self._marks = self._marks, None
        if marks is not None:
            self._unite(marks.values())

    def _unite(self, found: pl.Series) -> None:
        self._known = found if self._known is None else _unique(pl.concat([self._known, found]))

    def __len__(self) -> int:
        self._settle()
        return (0 if self._known is None else len(self._known)) + self._has_missing

    def series(self) -> pl.Series:
        """All of them in ascending order, those of an Enum in their own; the missing one comes last."""
        self._settle()
        known = pl.Series(self.name, [], dtype=pl.String) if self._known is None else self._known
        known = known.rename(self.name)
        return pl.concat([known.sort(), known.clear(1)]) if self._has_missing else known.sort()


class _Marks:
    """Which categories of an Enum, or which whole numbers or days close together, occurred."""

    def __init__(self, dtype: pl.DataType, low: int, n: int) -> None:
        self.dtype, self._low = dtype, low
        self._occurs = np.zeros(n, np.bool_)

    @classmethod
    def of(cls, series: pl.Series) -> _Marks | None:
        """A table for values like these; None where it would be large."""
        if isinstance(series.dtype, pl.Enum):
            return cls(series.dtype, 0, len(series.dtype.categories))
        if (series.dtype == pl.Date or series.dtype.is_integer()) and series.dtype not in WIDE:
            low, high = _range(series)
            # twice as wide as what is there on both sides, for the batches to come
            width = high - low + 1
            is_near = width < TABLE_RANGE and max(-low, high) < 1 << 62
            return cls(series.dtype, low - width, 3 * width) if is_near else None
        return None

    def add(self, series: pl.Series) -> bool:
        """Note the values of a batch; whether they have a place in this table."""
        if series.dtype != self.dtype:
            return False
        is_enum = isinstance(self.dtype, pl.Enum)
        if is_enum and self._occurs.all():
            return True
        if not is_enum:
            low, high = _range(series)
            if low < self._low or high >= self._low + len(self._occurs):
                return False
        present = series.drop_nulls() if series.null_count() else series
        numbers = _numbers(present)
        self._occurs[numbers if is_enum else numbers.astype(np.int64) - self._low] = True
        return True

    def values(self) -> pl.Series:
        """Those that occurred; categories as text."""
        places = np.flatnonzero(self._occurs)
        if isinstance(self.dtype, pl.Enum):
            return self.dtype.categories.gather(places)
        return pl.Series(places + self._low).cast(pl.Int32 if self.dtype == pl.Date else pl.Int64).cast(self.dtype)


class Coder:
    """Values of a column to codes by look-up, for values that are all known."""

    def __init__(self, name: str, values: pl.Series, codes: IntArray) -> None:
        """Code `codes[i]` stands for `values[i]`."""
        self.name = name
        n_codes = int(codes.max(initial=0)) + 1
        dtype = np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32
        is_missing = values.is_null().to_numpy()
        self._missing = codes[is_missing].astype(dtype)  # none or one
        known = values.filter(values.is_not_null())
        self._codes = codes[~is_missing].astype(dtype)
        self._is_text = known.dtype == pl.String
        if self._is_text:
            self._enum = pl.Enum(known)
        else:
            numbers = _numbers(known)
            order = np.argsort(numbers)
            self._numbers, self._codes = numbers[order], self._codes[order]
            self._table = _table(self._numbers, self._codes)
        self._index: _TextIndex | None = None
        self._of_enum: tuple[pl.DataType, Codes, NDArray[np.bool_] | None] | None = None
        self._shifted: tuple[np.uint64, Codes, NDArray[np.uint64]] | None = None

    def codes(self, series: pl.Series) -> Codes:
        """The code of every row; raises DataError if a value is not known."""
        missing = series.null_count()
        if missing and len(self._missing) == 0:
            raise self._unknown()
        found = self._text_codes(series) if self._is_text else self._number_codes(series)
        if missing:
            found = np.where(series.is_null().to_numpy(), self._missing[0], found)
        return found

    def add_codes(self, words: NDArray[np.uint64], series: pl.Series, shift: np.uint64) -> None:
        """Put the code of every row into its word; raises DataError if a value is not known."""
        found = None if series.null_count() else self._table_for(series)
        if found is None:
            words |= self.codes(series).astype(np.uint64) << shift
            return
        low, table, is_known = found
        if self._shifted is None or self._shifted[0] != shift or self._shifted[1] is not table:
            shifted = table.astype(np.uint64) << shift
            shifted = shifted if is_known is None else np.where(is_known, shifted, UNKNOWN)
            self._shifted = shift, table, shifted
        if not kernels.choose(len(words)).add_codes(words, _numbers(series), low, self._shifted[2]):
            raise self._unknown()

    def _table_for(self, series: pl.Series) -> tuple[int, Codes, NDArray[np.bool_] | None] | None:
        """Codes by the place of an Enum or by whole number: (the first one, codes, which are known); None: no table."""
        if self._is_text:
            return (0, *self._enum_codes(series.dtype)) if isinstance(series.dtype, pl.Enum) else None
        return self._table if self._table is not None and series.dtype not in WIDE else None

    def _enum_codes(self, dtype: pl.Enum) -> tuple[Codes, NDArray[np.bool_] | None]:
        if self._of_enum is None or self._of_enum[0] != dtype:
            self._of_enum = (dtype, *self._category_codes(dtype.categories))
        return self._of_enum[1:]

    def _text_codes(self, series: pl.Series) -> Codes:
        if not isinstance(series.dtype, pl.Enum):
            return self._cast_codes(series)
        table, is_known = self._enum_codes(series.dtype)
        physical = series.to_physical()
        present = physical.drop_nulls() if physical.null_count() else physical
        if is_known is not None and not is_known[present.to_numpy()].all():
            raise self._unknown()
        places = physical.fill_null(0) if physical.null_count() else physical
        return table[places.to_numpy()] if len(table) else np.zeros(len(series), self._missing.dtype)

    def _category_codes(self, categories: pl.Series) -> tuple[Codes, NDArray[np.bool_] | None]:
        """Codes of the categories of an Enum, and which of them are known (None: all)."""
        places = categories.cast(self._enum, strict=False).to_physical()
        known = places.is_not_null().to_numpy()
        codes = self._codes[places.fill_null(0).to_numpy()] if len(self._codes) else np.zeros(0, self._missing.dtype)
        return codes, None if known.all() else known

    def _cast_codes(self, series: pl.Series) -> Codes:
        if series.dtype == pl.String and len(self._codes) >= MANY:
            self._index = self._index or _TextIndex(self._enum.categories)
            found = self._index.places(series)
            if found is not None:
                return np.asarray(self._codes[found])
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


def _unique(series: pl.Series) -> pl.Series:
    """Different values, in any order. Of two texts with equal 64-bit hashes one is lost, which a coder then says."""
    if series.dtype != pl.String or len(series) < MANY:
        return series.unique()
    return series.gather(series.hash().arg_unique())


def _range(series: pl.Series) -> tuple[int, int]:
    """The least and the largest number or day; of none, 0 and -1."""
    numbers = series.to_physical()
    low, high = cast("int | None", numbers.min()), cast("int | None", numbers.max())
    return (0, -1) if low is None or high is None else (low, high)


def _numbers(series: pl.Series) -> NDArray[Any]:
    physical = series.cast(pl.UInt8) if series.dtype == pl.Boolean else series.to_physical()
    return physical.to_numpy()


def _table(numbers: NDArray[Any], codes: Codes) -> tuple[int, Codes, NDArray[np.bool_]] | None:
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
