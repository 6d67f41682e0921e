"""Cells of a written release, held against what the transforms of their columns can make."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from tablecloak.data.changed_columns import plain_texts
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import Role
from tablecloak.engines.base import Engine, Table
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import Suppressed
from tablecloak.release.plan import changed_of
from tablecloak.release.recount import ROWS_NAMED, Failure
from tablecloak.transforms.base import Transform


def wrong_cells(engine: Engine, release: Table, policy: Policy) -> list[Failure]:
    """Published cells that the transforms of their columns cannot have made; of quasi-identifiers, labels are shown."""
    has_stars = bool(policy.output and policy.output.suppressed is Suppressed.STAR)
    chains = {n: chain for n, chain in changed_of(policy).items() if policy.columns[n].role is not Role.QUASI}
    failures = [_faults(engine, release, n, chain[-1], has_stars) for n, chain in chains.items() if n in release.types]
    return [failure for failure in failures if failure is not None]


def _faults(engine: Engine, release: Table, name: str, chosen: Transform, has_stars: bool) -> Failure | None:
    n_wrong, begin = 0, 0
    rows: list[int] = []
    for cells in _cells(engine, release, name):
        faults = chosen.faults(cells)
        if faults is None:
            return None
        is_wrong = faults.to_numpy()
        if has_stars:
            is_wrong = is_wrong & ~cells.cast(pl.String).eq_missing(ANYTHING).to_numpy()
        n_wrong += int(is_wrong.sum())
        rows += (np.flatnonzero(is_wrong)[: ROWS_NAMED - len(rows)] + 1 + begin).tolist()
        begin += len(cells)
    return Failure(f"a cell is not what {chosen.name} makes", name, n_wrong, tuple(rows)) if n_wrong else None


def _cells(engine: Engine, table: Table, name: str) -> Iterator[pl.Series]:
    """The cells of a column in their order; where rows stay with workers, its different cells."""
    if not engine.tells_rows_apart:
        yield engine.class_stats(table, [name], (), stars_are_suppressed=False).labels[name]
        return
    for batch in engine.batches(table, [name]):
        yield plain_texts(batch)[name]
