"""Which tuple a row is: found by a hash of its key among those of all tuples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.engines.disk.rows import KeyFile
from tablecloak.kernels.packed_codes import Keys


def places_of(tuples: Keys, rows: KeyFile) -> Iterator[IntArray]:
    """Which of the ascending tuples each row is, chunk by chunk."""
    mixed = _mix(tuples)
    order = np.argsort(mixed)
    ordered = mixed[order]
    for chunk in rows.chunks():
        places = order[np.minimum(np.searchsorted(ordered, _mix(chunk)), len(order) - 1)]
        if not np.array_equal(tuples[:, places], chunk):
            places = _joined_places(tuples, chunk)  # two tuples share a hash
        yield places


def _mix(keys: Keys) -> NDArray[np.uint64]:
    """One number for each key, its only word as it is."""
    mixed = keys[0]
    for word in keys[1:]:
        mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ (mixed >> np.uint64(29)) ^ word
    return np.asarray(mixed)


def _joined_places(tuples: Keys, chunk: Keys) -> IntArray:
    names = [f"w{i}" for i in range(len(tuples))]
    numbered = pl.DataFrame(dict(zip(names, tuples, strict=True))).with_row_index("place")
    places = pl.DataFrame(dict(zip(names, chunk, strict=True))).join(
        numbered, on=names, how="left", maintain_order="left"
    )
    return places["place"].to_numpy().astype(np.int64)
