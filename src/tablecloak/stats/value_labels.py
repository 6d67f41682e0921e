"""The texts of values, written when they are asked for: a nearly unique number has as many as there are rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import polars as pl

from tablecloak.arrays import IntArray
from tablecloak.values.cell_grammar import format_value

# Texts of up to so many values are kept.
KEPT_UP_TO = 1 << 14
WRITTEN_AT_ONCE = 1 << 16

Labels = Sequence[str | None]


@dataclass(frozen=True, slots=True, eq=False)
class ValueLabels(Sequence[str | None]):
    """The texts of numbers or dates that ascend; the missing one comes first, where there is one."""

    values: pl.Series  # different ones, none of them missing
    has_missing: bool

    def __len__(self) -> int:
        return len(self.values) + self.has_missing

    @overload
    def __getitem__(self, place: int) -> str | None: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str | None, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str | None, ...] | None:
        at = range(len(self))[place]
        return self._text(at) if isinstance(at, int) else tuple(map(self._text, at))

    def _text(self, at: int) -> str | None:
        return None if at < self.has_missing else format_value(self.values[at - self.has_missing])

    def __iter__(self) -> Iterator[str | None]:
        if self.has_missing:
            yield None
        for begin in range(0, len(self.values), WRITTEN_AT_ONCE):
            yield from map(format_value, self.values.slice(begin, WRITTEN_AT_ONCE).to_list())

    def __contains__(self, label: Any) -> bool:
        return self.has_missing if label is None else any(label == text for text in self)

    def places_in(self, other: ValueLabels) -> IntArray:
        """The place that each has among others of its type, -1 where it is not there."""
        own, theirs = (labels.values.to_physical().to_numpy() for labels in (self, other))
        if np.array_equal(own, theirs):  # nearly always: a release shows the values of its original
            places = np.arange(len(own)) + other.has_missing
        else:
            places = np.minimum(np.searchsorted(theirs, own), len(theirs) - 1)
            places = np.where(theirs[places] == own, places + other.has_missing, -1)
        return np.append(np.full(int(self.has_missing), 0 if other.has_missing else -1), places).astype(np.int64)


def labels_of(values: pl.Series, *, has_missing: bool) -> Labels:
    """The texts of values in their order, after that of the missing one."""
    if len(values) > KEPT_UP_TO and (values.dtype.is_numeric() or values.dtype.is_temporal()):
        return ValueLabels(values, has_missing)
    return (*([None] if has_missing else []), *map(format_value, values.to_list()))


def codes_between(own: Labels, other: Labels) -> IntArray:
    """The place that each label has among others, -1 where it is not there."""
    if isinstance(own, ValueLabels) and isinstance(other, ValueLabels) and own.values.dtype == other.values.dtype:
        return own.places_in(other)
    places = {label: code for code, label in enumerate(other)}
    return np.array([places.get(label, -1) for label in own], np.int64)
