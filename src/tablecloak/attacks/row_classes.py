"""Rows that agree on some columns: their classes and the sizes of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import pack, plan_layout

Codes = NDArray[np.integer[Any]]


def classes_of(columns: Sequence[Codes], n_rows: int | None = None) -> tuple[IntArray, int]:
    """The class of every row, classes being rows that agree in every given column, and how many there are.

    Args:
        n_rows: needed where there may be no column: then all rows are one class.
    """
    if not columns:
        n = n_rows or 0
        return np.zeros(n, np.int64), min(n, 1)
    firsts, classes = group_keys.sized(len(columns[0]))(_keys(columns))
    return np.asarray(classes).astype(np.int64), len(firsts)


def class_sizes(columns: Sequence[Codes]) -> IntArray:
    """Sizes of the classes of rows that agree in every given column, in no particular order."""
    keys = _keys(columns)
    if keys.shape[0] == 1:  # sorting words beats grouping them when only sizes are wanted
        ordered = np.sort(keys[0])
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else ordered
        return np.diff(np.append(begins, len(ordered))).astype(np.int64)
    _, classes = group_keys.sized(keys.shape[1])(keys)
    return np.bincount(classes).astype(np.int64)


def _keys(columns: Sequence[Codes]) -> NDArray[np.uint64]:
    layout = plan_layout([int(codes.max(initial=0)) + 1 for codes in columns])
    return pack([codes if codes.dtype.kind == "u" else codes.astype(np.uint64) for codes in columns], layout)  # type: ignore[misc]
