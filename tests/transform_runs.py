"""Transforms fitted and applied to a column alone, without an engine."""

from __future__ import annotations

import numpy as np
import polars as pl

from tablecloak import registry
from tablecloak.data.changed_columns import CellRows
from tablecloak.io.frames import column_type
from tablecloak.rng import Secret
from tablecloak.transforms.base import Fitting, Key, fitted


def series(values, dtype=None):
    return values.alias("x") if isinstance(values, pl.Series) else pl.Series("x", values, dtype)


def applied(kind, values, /, *, smallest=2, beside=None, person=None, key=b"k" * 32, secret=b"s" * 32, **params):
    """The column as a kind of transform makes it, and the transform."""
    cells = series(values)
    chosen = registry.known("transforms")[kind].model_validate(params)
    frame = pl.DataFrame({"x": cells, **(beside or {})})
    fitting = Fitting(
        column="x",
        type=column_type("x", cells.dtype),
        secret=Secret(secret),
        shared=Secret(secret),
        n_rows=len(cells),
        counts=lambda where=None: _counts(cells.drop_nulls(), where),
        rows=frame.select,
        smallest=smallest,
        key=Key(key),
        person=person,
    )
    needed = chosen.needs(person)
    step = fitted(chosen, fitting)
    made = step(cells, CellRows(np.arange(len(cells)), frame.select(needed)))
    assert len(made) == len(cells)
    return made, chosen


def cells_of(kind, values, /, **options):
    return applied(kind, values, **options)[0].to_list()


def _counts(cells, where):
    cells = cells if where is None else cells.filter(where(cells))
    counted = pl.DataFrame({"value": cells}).drop_nulls().group_by("value").agg(pl.len().cast(pl.Int64).alias("n"))
    return counted.sort("value")
