"""A finished release as it stands in its file or frame, whoever made it: read in one way for every verb.

Labels such as 1305* or [20, 29] are text, and so is whatever stands beside them in the same column; all other columns
have the types that they show.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.choose import bytes_in_memory
from tablecloak.engines.equal_rows import Hidden
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.places import place_of
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source, is_place
from tablecloak.io.tabular import read_frame, refuse_empty, require_rows
from tablecloak.policy.schema import Policy
from tablecloak.release.plan import as_policy_says, source_of


@dataclass(frozen=True, slots=True, eq=False)
class FinishedRelease:
    """All columns of a release, held by an engine."""

    engine: Engine
    source: Source
    table: Table  # labelled columns as texts, the others with their types

    @classmethod
    def read(cls, engine: Engine, source: Source, *, labelled: Collection[str]) -> FinishedRelease:
        """The release in a file, a table of a database or a frame.

        Raises: DataError if a file has no rows.
        """
        names = engine.layout(source).names
        labels = [name for name in names if name in labelled]
        if source.frame is not None:
            shown = Source.in_memory(source.frame.with_columns(pl.col(labels).cast(pl.String)))
        else:
            shown = replace(source, types={**source.types, **dict.fromkeys(labels, ColumnType.TEXT)})
        table = engine.read(shown, columns=None, categorical=names)
        if not source.is_frame:
            refuse_empty(table.n_rows, source.location)
        return cls(engine, source, table)

    @property
    def names(self) -> list[str]:
        return list(self.table.types)

    @property
    def frame(self) -> pl.DataFrame:
        """All rows in memory."""
        return self.engine.frame(self.table)

    def texts(self, columns: Sequence[str]) -> Table:
        """Some columns letter by letter."""
        return texts_of(self.engine, self.source, columns)

    def shown(self, hidden: Hidden) -> tuple[Table, int]:
        """The rows that show something, and how many do not, as suppressed records."""
        table = self.engine.without_hidden(self.table, hidden)
        return table, self.table.n_rows - table.n_rows


def texts_of(engine: Engine, source: Source, columns: Sequence[str]) -> Table:
    """Some columns of a table letter by letter."""
    if source.frame is not None:
        texts = source.frame.select(pl.col(n).cast(pl.String) for n in columns)
        return engine.read(Source.in_memory(texts), columns=None, categorical=columns)
    as_text = replace(source, types={}, notations={}, is_settled=True).as_texts(columns)
    return engine.read(as_text, columns=columns, categorical=columns)


def source_of_release(data: Any, policy: Policy | None = None, *, expected: Collection[str] = ()) -> Source:
    """Where a release is, and which columns it is expected to have; a frame is as it is."""
    if not is_place(data):
        return Source.of(data)
    output = policy.output if policy else None
    columns = frozenset([*expected, *(policy.columns if policy else ())])
    return Source.of(data, format=output.format if output else None, expected=columns)


def source_of_original(data: Any, policy: Policy | None = None, *, expected: Collection[str] = ()) -> Source:
    """Where an original is, read as the policy says; a frame is as it is."""
    if policy is None:
        return Source.of(data, expected=frozenset(expected))
    if not is_place(data):
        return as_policy_says(Source.of(data), policy)
    return source_of(policy.with_files(source=data))


def original_frame(original: Any, policy: Policy | None = None, *, expected: Collection[str] = ()) -> pl.DataFrame:
    """An original in memory: a frame as it is, what a place holds as the policy says.

    Raises: DataError if the place has no rows.
    """
    if not is_place(original):
        return read_frame(source_of_original(original, policy))
    place = place_of(original)
    source = source_of_original(place, policy, expected=expected)
    names = sniff(source).names
    source = replace(source, types={name: t for name, t in (source.types or {}).items() if name in names})
    return require_rows(read_frame(source, categorical=names), place)


def release_frame(source: Source, labelled: Collection[str]) -> pl.DataFrame:
    """A release in memory."""
    return FinishedRelease.read(LocalEngine(), source, labelled=labelled).frame


def bytes_of(*sources: Source | None) -> int:
    """About what tables take once they are read."""
    return sum(bytes_in_memory(sniff(s)) for s in sources if s is not None and not s.is_on_spark)
