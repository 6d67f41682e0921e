"""Tables that a worker reads: whole, by a sample or a page where they are large for the memory, and releases."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.choose import Demand, bytes_in_memory, choose
from tablecloak.engines.disk.stream import stream_source
from tablecloak.errors import CloakError
from tablecloak.io.cells import typed
from tablecloak.io.frames import normalize
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import HeaderUnclear, Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.release.shapes.sets.plan import has_sets, release_format

BATCH = 1 << 16
# Shares of so many records have a standard error of at most 0.1 points.
MOST_SAMPLED = 1 << 18
LARGEST_LOT = (1 << 64) - 1
LOT = "\0lot"  # no file has a column of this name
MOST_FRAMES = 2  # an original and its release
_frames: OrderedDict[tuple[str, int, int, int], pl.DataFrame] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Means:
    """What a task may use; it decides which tables are looked at whole."""

    engine: str = "auto"
    memory: int | None = None  # bytes; None: that of the machine


DEFAULT_MEANS = Means()


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """A table as the policy of a project reads it; files that the policy names start from the project's folder."""

    policy: str
    base: Path
    means: Means = DEFAULT_MEANS

    def read_policy(self) -> Policy:
        return parse_policy(self.policy, name="policy.yaml", base=self.base)


def with_header(source: Source) -> Source:
    """A file whose first row may be a record is read as if it were one, until somebody says that it has the names."""
    try:
        sniff(source)
    except HeaderUnclear:
        return replace(source, header=False)
    return source


def frame_of(source: Source) -> pl.DataFrame:
    """The table of a source, text as categories; DataError if it has no rows."""
    return require_rows(whole_frame(source), source.path)


def whole_frame(source: Source) -> pl.DataFrame:
    """The same, rows or none. The last two are kept by this process, so that screens that show the same original and
    the same release read each of them once; a file that was written since is another one."""
    facts = source.path.stat() if source.path.exists() else None
    identity = (facts.st_ino, facts.st_size, facts.st_mtime_ns) if facts else (0, 0, 0)
    key = (repr(source), *identity)
    if key not in _frames:
        text = [c.name for c in sniff(source).columns if c.type is ColumnType.TEXT]
        _frames[key] = read_frame(source, categorical=text)
    _frames.move_to_end(key)
    while len(_frames) > MOST_FRAMES:
        _frames.popitem(last=False)
    return _frames[key]


def looked_at(source: Source, means: Means) -> tuple[pl.DataFrame, int]:
    """A table, or a sample of one that is large for the memory, and how many records it has."""
    if not is_large(source, means):
        frame = frame_of(source)
        return frame, frame.height
    frame, n_rows = sample_of(source)
    require_rows(frame, source.path)
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical)), n_rows


def nameless(error: CloakError, source: Source) -> CloakError:
    """The error with the name of the file only: where it lies is nobody's business."""
    if error.location:
        error.location = error.location.replace(str(source.path), source.path.name)
    return error


def is_large(source: Source, means: Means) -> bool:
    """Whether a table would not be worked on in memory."""
    return choose(Demand(means.engine, means.memory), bytes_in_memory(sniff(source))).name != "local"


def _batches(source: Source, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
    return stream_source(source, columns or sniff(source).names, {}, BATCH)


def sample_of(source: Source, *, most: int = MOST_SAMPLED) -> tuple[pl.DataFrame, int]:
    """At most so many records, as good as drawn by lot and the same every time, in their order; how many there are.

    Cost: one pass over the table; no more than twice the sample is in memory.
    """
    drawn: list[pl.DataFrame] = []
    n_rows, limit = 0, LARGEST_LOT
    for batch in _batches(source):
        lots = pl.int_range(n_rows, n_rows + batch.height, eager=True).hash(seed=0)
        drawn.append(batch.with_columns(lots.alias(LOT)).filter(pl.col(LOT) <= limit))
        n_rows += batch.height
        if sum(frame.height for frame in drawn) > 2 * most:
            drawn, limit = _smallest(drawn, most)
    sample = pl.concat(_smallest(drawn, most)[0], how="vertical_relaxed") if drawn else pl.DataFrame({LOT: []})
    return sample.drop(LOT), n_rows


def _smallest(drawn: list[pl.DataFrame], most: int) -> tuple[list[pl.DataFrame], int]:
    """The records with the smallest lots, at most so many, and the largest lot among them."""
    lots = pl.concat([frame[LOT] for frame in drawn]).sort()
    if len(lots) <= most:
        return drawn, LARGEST_LOT
    limit = int(lots[most - 1])
    return [frame.filter(pl.col(LOT) <= limit) for frame in drawn], limit


def page_of(source: Source, offset: int, limit: int) -> pl.DataFrame:
    """Some records in a row; what comes after them is not read."""
    layout = sniff(source)
    if layout.format == "parquet" and source.path.is_file():
        part = (
            pl.scan_parquet(source.path, glob=False).slice(offset, limit).select(layout.chosen(layout.names)).collect()
        )
        return normalize(typed(part, source, layout))
    parts: list[pl.DataFrame] = []
    at = 0
    for batch in _batches(source):
        parts.append(batch.slice(max(0, offset - at), max(0, offset + limit - max(at, offset))))
        at += batch.height
        if at >= offset + limit:
            break
    return pl.concat(parts, how="vertical_relaxed").head(limit) if parts else pl.DataFrame()


def counted_values(source: Source, column: str) -> pl.DataFrame:
    """The values of a column, none missing, with their numbers of records in `count`."""
    counted: pl.DataFrame | None = None
    for batch in _batches(source, [column]):
        part = batch[column].drop_nulls().value_counts()
        part = part if counted is None else pl.concat([counted, part], how="vertical_relaxed")
        counted = part.group_by(column, maintain_order=True).agg(pl.col("count").sum())
    assert counted is not None
    return counted


def publishes_sets(policy: Policy) -> bool:
    """Whether what a policy publishes is sets of items; the server asks for the shape of a release only here."""
    return has_sets(policy)


def release_source(policy: Policy, path: Path) -> Source:
    """A release as text where labels may stand, so that `1305*` and `13053` are of one kind."""
    of_sets = release_of_sets(policy, path)
    if of_sets is not None:
        return of_sets
    labelled = policy.columns_with(Role.QUASI, Role.ITEMS)
    types = dict.fromkeys(labelled, ColumnType.TEXT)
    types |= {n: c.type for n, c in policy.columns.items() if c.type is not None and n not in labelled}
    names = sniff(Source(path)).names
    return Source(path, types={name: type_ for name, type_ in types.items() if name in names})


def release_of_sets(policy: Policy, path: Path) -> Source | None:
    """A release that is a file of sets; None if it is a table."""
    is_of_sets = bool(policy.input and policy.input.format == "sets")
    if not publishes_sets(policy) or release_format(policy, path, is_of_sets=is_of_sets) != "sets":
        return None
    assert policy.input is not None
    delimiter = policy.output.delimiter if policy.output else None
    return Source(path, format="sets", delimiter=delimiter or policy.input.delimiter)
