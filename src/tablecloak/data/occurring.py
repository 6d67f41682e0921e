"""Which values occur in batches of a column, without sorting or hashing every batch anew."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.data.domain import TABLE_RANGE

__all__ = ["MANY", "WIDE", "Marks", "Texts", "kind_of"]

MANY = 4096  # texts, from which on they are told apart by hash
WIDE = (pl.UInt64, pl.Int128, pl.UInt128)  # whole numbers that may not fit 64 bits with a sign


def kind_of(series: pl.Series, dtype: pl.DataType) -> Marks | Texts | None:
    """What collects values like these; None: nothing is better than `unique`."""
    if dtype == pl.String:
        return Texts() if len(series) >= MANY else None
    return Marks.of(series, dtype)


class Marks:
    """Which categories of an Enum, or which whole numbers or days close together, occurred."""

    def __init__(self, dtype: pl.DataType, low: int, n: int) -> None:
        self._dtype, self._low = dtype, low
        self._categories = dtype.categories if isinstance(dtype, pl.Enum) else None
        self._occurs = np.zeros(n, np.bool_)

    @classmethod
    def of(cls, series: pl.Series, dtype: pl.DataType) -> Marks | None:
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
                self._occurs[_numbers(series)] = True
            return True
        low, high = _range(series)
        if low < self._low or high >= self._low + len(self._occurs):
            return False
        self._occurs[_numbers(series).astype(np.int64) - self._low] = True
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
        firsts, _ = kernels.at_hand(len(hashes)).group(hashes[None])
        found = hashes[firsts]
        is_new = np.ones(len(found), np.bool_)
        if len(self._hashes):
            places = np.minimum(np.searchsorted(self._hashes, found), len(self._hashes) - 1)
            is_new = self._hashes[places] != found
        if is_new.any():
            self._parts.append(texts.gather(firsts[is_new]))
            self._hashes = np.sort(np.concatenate([self._hashes, found[is_new]]))
        return True

    def values(self) -> pl.Series:
        """All of them, in any order."""
        return pl.concat(self._parts) if self._parts else pl.Series([], dtype=pl.String)


def _numbers(series: pl.Series) -> NDArray[np.integer[Any]]:
    """Those that are not missing, categories by their place."""
    return (series.drop_nulls() if series.null_count() else series).to_physical().to_numpy()


def _range(series: pl.Series) -> tuple[int, int]:
    """The least and the largest number or day; of none, 0 and -1."""
    numbers = series.to_physical()
    low, high = cast("int | None", numbers.min()), cast("int | None", numbers.max())
    return (0, -1) if low is None or high is None else (low, high)
