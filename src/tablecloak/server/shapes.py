"""The shape of a column: a few bars of counts, for a picture the size of a word."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["shape_of"]

MOST_BARS = 12


def shape_of(series: pl.Series) -> list[float]:
    """Heights of at most twelve bars, the highest 1: along the values where they have an order, else by frequency."""
    present = series.drop_nulls()
    if not len(present):
        return []
    counts = _along(present) if series.dtype.is_numeric() or series.dtype.is_temporal() else _by_frequency(present)
    return [round(float(count) / max(counts), 3) for count in counts]


def _along(present: pl.Series) -> list[int]:
    places = present.to_physical().cast(pl.Float64).to_numpy()
    places = places[np.isfinite(places)]
    n_bars = min(MOST_BARS, max(1, len(np.unique(places[:10_000]))))
    counts, _ = np.histogram(places, bins=n_bars)
    return [int(c) for c in counts] if len(counts) and counts.max() else [1]


def _by_frequency(present: pl.Series) -> list[int]:
    counts = present.value_counts(sort=True)["count"].to_list()
    return [int(c) for c in counts[:MOST_BARS]]
