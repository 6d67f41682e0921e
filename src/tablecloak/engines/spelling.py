"""How values were written: `1.10`, `1e3`, `007`, `09.02.1933`; a release that is a text file repeats it.

Columns are typed when they are read, and a typed value has one text of its own, the canonical one. Where the file
wrote a value otherwise, always in one way, that way is remembered, and the release is written with it. A value that
the file wrote in several ways (1.1 and 1.10) is one value, and is written canonically.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.engines.disk.stream import stream_source
from tablecloak.io.cells import parser
from tablecloak.io.frames import column_type
from tablecloak.io.notation import Notation
from tablecloak.io.parts import is_many
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_frame

BATCH_ROWS = 1 << 18
MOMENT = "%Y-%m-%dT%H:%M:%S%.f"


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """The texts of values that are not written canonically, by column: `value`, its `canonical` text and its `text`."""

    columns: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()  # columns whose cells are published labels, exact values among them
    notations: Mapping[str, Notation] = field(default_factory=dict)  # of columns that are not written as usual

    def written(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame as it is written to a text file."""
        return frame.with_columns(self._written(frame[name]) for name in self.columns if name in frame.columns)

    def _written(self, series: pl.Series) -> pl.Series:
        spelling = self.columns[series.name]
        is_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
        if is_text:
            new = dict(zip(spelling["canonical"].to_list(), spelling["text"].to_list(), strict=True))
            return series.cast(pl.String).replace(new)
        if series.name in self.labels or series.dtype != spelling["value"].dtype:  # a mean of numbers is no value
            return series
        texts = series.alias("value").to_frame().join(spelling, on="value", how="left", maintain_order="left")
        plain = _canonical(pl.col("value"), series.dtype, self.notations.get(series.name))
        return texts.select(pl.coalesce("text", plain).alias(series.name)).to_series()

    def texts(self, name: str, labels: Sequence[str]) -> list[str]:
        """Labels of a column as they are written."""
        if name not in self.columns:
            return list(labels)
        return self._written(pl.Series(name, labels, dtype=pl.String)).to_list()


def spelling_of(
    source: Source, layout: Layout, columns: Sequence[str], quasi: Collection[str], *, in_memory: bool = True
) -> Spelling:
    """How a delimited file writes the values of columns; nothing is remembered of other formats.

    Labels of quasi-identifiers must read back, so only numbers and times are spelled there as they were.

    Args:
        in_memory: the columns may be read whole.
    """
    if layout.format not in ("csv", "tsv") or source.table is not None:
        return Spelling()
    known = () if is_many(source.path) else source.openings.canonical(source)
    types = {name: layout.type_of(name) for name in columns if name in layout.names}
    types = {
        name: type_
        for name, type_ in types.items()
        if type_ is not ColumnType.TEXT
        and not (type_ is ColumnType.INTEGER and name in known)
        and not (name in quasi and (not type_.is_ordered or layout.notation_of(name) is not None))
    }
    odd: dict[str, list[pl.DataFrame]] = {name: [] for name in types}
    for name, written in _written_values(source, layout, types, in_memory):
        odd[name].append(written.filter(pl.col("text") != pl.col("canonical")).unique("text"))
    values = {name: pl.concat(parts)["value"].unique() for name, parts in odd.items() if parts}
    values = {name: series for name, series in values.items() if len(series)}
    spellings: dict[str, list[pl.DataFrame]] = {name: [] for name in values}
    if values:  # once more: is each of them written in one way only?
        for name, written in _written_values(source, layout, {name: types[name] for name in values}, in_memory):
            spellings[name].append(written.filter(pl.col("value").is_in(values[name].implode())).unique("text"))
    spelled = {name: _one_way(pl.concat(parts)) for name, parts in spellings.items()}
    notations = {name: notation for name in types if (notation := layout.notation_of(name)) is not None}
    spelled = {name: texts for name, texts in spelled.items() if texts.height or name in notations}
    return Spelling(spelled, frozenset(quasi), notations)


def _written_values(
    source: Source, layout: Layout, types: Mapping[str, ColumnType], in_memory: bool
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Texts of columns with their values and the canonical texts of these, batch by batch."""
    if not types:
        return
    as_text, names = source.as_texts(types), list(types)
    batches = (
        [read_frame(as_text, columns=names, is_sound=True)]
        if in_memory
        else stream_source(as_text, names, {}, BATCH_ROWS)
    )
    for batch in batches:
        for name, type_ in types.items():
            texts = batch[name].drop_nulls().unique().alias("text").cast(pl.String).to_frame()
            read = texts.with_columns(parser("text", type_, layout.notation_of(name)).alias("value"))
            plain = _canonical(pl.col("value"), read["value"].dtype)
            yield name, read.drop_nulls().with_columns(canonical=plain)


def _one_way(written: pl.DataFrame) -> pl.DataFrame:
    """Values that are written in one way, which is not the canonical one."""
    texts = written.unique("text").group_by("value", "canonical").agg(pl.col("text").first(), n=pl.len())
    return texts.filter((pl.col("n") == 1) & (pl.col("text") != pl.col("canonical"))).drop("n")


def _canonical(value: pl.Expr, dtype: pl.DataType, notation: Notation | None = None) -> pl.Expr:
    """The text that is written of a value where nothing else is known."""
    if notation is not None:
        return notation.written(value, column_type("value", dtype))
    return value.dt.to_string(MOMENT) if isinstance(dtype, pl.Datetime) else value.cast(pl.String)
