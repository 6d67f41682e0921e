"""Tables that are large for the memory: read batch by batch, looked at by a sample, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tablecloak.engines.choose import Demand, bytes_in_memory, choose
from tablecloak.engines.stream import stream_source
from tablecloak.io.delimited import typed
from tablecloak.io.frames import normalize
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source

__all__ = ["counted_values", "is_large", "page_of", "sample_of"]

Arguments = Mapping[str, Any]
BATCH = 1 << 16
# Shares of so many records have a standard error of at most 0.1 points.
MOST_SAMPLED = 1 << 18
LARGEST_LOT = (1 << 64) - 1
LOT = "\0lot"  # no file has a column of this name


def is_large(source: Source, arguments: Arguments) -> bool:
    """Whether a table would not be worked on in memory."""
    demand = Demand(arguments.get("engine") or "auto", arguments.get("memory"))
    return choose(demand, bytes_in_memory(sniff(source))).name != "local"


def _batches(source: Source, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
    return stream_source(source, columns or sniff(source).names, {}, BATCH)


def sample_of(source: Source, *, most: int = MOST_SAMPLED) -> tuple[pl.DataFrame, int]:
    """At most so many records, as good as drawn by lot and the same every time, in their order; how many there are.

    Cost: one pass over the table; no more than twice the sample is in memory.
    """
    kept: list[pl.DataFrame] = []
    n_rows, limit = 0, LARGEST_LOT
    for batch in _batches(source):
        lots = pl.int_range(n_rows, n_rows + batch.height, eager=True).hash(seed=0)
        kept.append(batch.with_columns(lots.alias(LOT)).filter(pl.col(LOT) <= limit))
        n_rows += batch.height
        if sum(frame.height for frame in kept) > 2 * most:
            kept, limit = _smallest(kept, most)
    found = pl.concat(_smallest(kept, most)[0], how="vertical_relaxed") if kept else pl.DataFrame({LOT: []})
    return found.drop(LOT), n_rows


def _smallest(kept: list[pl.DataFrame], most: int) -> tuple[list[pl.DataFrame], int]:
    """The records with the smallest lots, at most so many, and the largest lot among them."""
    lots = pl.concat([frame[LOT] for frame in kept]).sort()
    if len(lots) <= most:
        return kept, LARGEST_LOT
    limit = int(lots[most - 1])
    return [frame.filter(pl.col(LOT) <= limit) for frame in kept], limit


def page_of(source: Source, offset: int, limit: int) -> pl.DataFrame:
    """Some records in a row; what comes after them is not read."""
    layout = sniff(source)
    if layout.format == "parquet" and source.path.is_file():
        part = pl.scan_parquet(source.path, glob=False).slice(offset, limit).collect()
        return normalize(typed(part, source, layout))
    found: list[pl.DataFrame] = []
    at = 0
    for batch in _batches(source):
        found.append(batch.slice(max(0, offset - at), max(0, offset + limit - max(at, offset))))
        at += batch.height
        if at >= offset + limit:
            break
    return pl.concat(found, how="vertical_relaxed").head(limit) if found else pl.DataFrame()


def counted_values(source: Source, column: str) -> pl.DataFrame:
    """The values of a column, none missing, with their numbers of records in `count`."""
    counted: pl.DataFrame | None = None
    for batch in _batches(source, [column]):
        part = batch[column].drop_nulls().value_counts()
        part = part if counted is None else pl.concat([counted, part], how="vertical_relaxed")
        counted = part.group_by(column, maintain_order=True).agg(pl.col("count").sum())
    assert counted is not None
    return counted
