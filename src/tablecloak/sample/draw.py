"""Vectorised draws from discrete distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from tablecloak.arrays import FloatArray

Codes: TypeAlias = npt.NDArray[np.intp]
Floats: TypeAlias = FloatArray


def zipf(n: int, exponent: float) -> Floats:
    """Probabilities proportional to 1 / rank ** exponent."""
    weights = np.power(np.arange(1, n + 1, dtype=np.float64), -exponent)
    shares: Floats = weights / weights.sum()
    return shares


def choose(uniform: Floats, weights: npt.ArrayLike) -> Codes:
    """For each uniform number in [0, 1), an index drawn with probability proportional to `weights`."""
    edges: Floats = np.cumsum(np.asarray(weights, dtype=np.float64))
    codes: Codes = np.searchsorted(edges[:-1], uniform * edges[-1], side="right")
    return codes


def choose_by_row(uniform: Floats, weights: Floats, rows: Codes) -> Codes:
    """As `choose`, where draw i uses the weights in row `rows[i]` of a table (n_rows, n_values)."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    edges = np.cumsum(shares, axis=1)[:, :-1]
    # Row r owns the stretch [r, r + 1) of one long line, so a single search serves all rows.
    line = (edges + np.arange(len(edges))[:, None]).ravel()
    chosen: Codes = np.searchsorted(line, uniform + rows, side="right") - rows * edges.shape[1]
    return chosen


def enum_series(name: str, codes: Codes, labels: Sequence[str]) -> pl.Series:
    """A text column given as positions in `labels`."""
    physical = np.uint8 if len(labels) <= 255 else np.uint16
    return pl.Series(name, codes.astype(physical)).cat.to(pl.Enum(labels))
