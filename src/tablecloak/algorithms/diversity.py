"""How diverse classes are: little in quasi-identifiers keeps data useful, much in sensitive columns protects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coded import CodedTable

__all__ = ["Diversity", "diversity_of"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Diversity(NamedTuple):
    """Attribute diversities added up per class; fewer is more useful in one, better protected in the other."""

    quasi: FloatArray  # (n_classes,)
    sensitive: FloatArray  # (n_classes,)

    @property
    def usefulness(self) -> float:
        """Mean diversity of the quasi-identifiers of a class; smaller is more useful."""
        return float(self.quasi.mean())

    @property
    def protection(self) -> float:
        """Mean of 1 / diversity of the sensitive columns of a class; smaller protects more, infinite is not at all."""
        with np.errstate(divide="ignore"):
            return float((1 / self.sensitive).mean())


def diversity_of(table: CodedTable, classes: IntArray) -> Diversity:
    """Diversity of the classes of single records (-1: left out).

    Of an attribute with an order it is the range of the class over that of the table, of any other the number of
    different values over that of the table, so one value of four counts 1/4 and never 0.
    Reference: Loukides, Shao, Capturing data usefulness and privacy protection in k-anonymisation, SAC 2007.
    """
    quasi = [
        (
            table.quasi_codes(i),
            _numbers(d.values, int(d.has_missing)) if d.hierarchy is None and d.type.is_ordered else None,
        )
        for i, d in enumerate(table.domains)
    ]
    sensitive = [
        (codes, s.numbers if s.is_ordered and s.hierarchy is None else None) for s, codes in table.attributes()
    ]
    return Diversity(_total(quasi, classes), _total(sensitive, classes))


def _numbers(values: pl.Series, n_missing: int) -> FloatArray:
    numbers = values.to_physical().cast(pl.Float64).to_numpy()
    return np.concatenate([np.full(n_missing, np.nan), numbers])


def _total(columns: Sequence[tuple[IntArray, FloatArray | None]], classes: IntArray) -> FloatArray:
    n_classes = int(classes.max()) + 1
    total = np.zeros(n_classes)
    for codes, numbers in columns:
        total += (
            _distinct(codes, classes, n_classes) if numbers is None else _ranges(numbers[codes], classes, n_classes)
        )
    return total


def _distinct(codes: IntArray, classes: IntArray, n_classes: int) -> FloatArray:
    kept = classes >= 0
    pairs = np.unique(np.stack([classes[kept], codes[kept]]), axis=1)
    return np.asarray(np.bincount(pairs[0], minlength=n_classes) / len(np.unique(codes)))


def _ranges(values: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    low, high = np.full(n_classes, np.inf), np.full(n_classes, -np.inf)
    kept = (classes >= 0) & ~np.isnan(values)
    np.minimum.at(low, classes[kept], values[kept])
    np.maximum.at(high, classes[kept], values[kept])
    whole = float(np.nanmax(values, initial=-np.inf) - np.nanmin(values, initial=np.inf))
    return np.where(high > low, high - low, 0.0) / whole if whole > 0 else np.zeros(n_classes)
