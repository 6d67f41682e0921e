"""The local engine: polars for files and columns, numpy and compiled kernels for codes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.changed_columns import CellTest, ColumnChange, counts_of, made_columns
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import code_table
from tablecloak.data.domain import ANYTHING, Codes, distinct_of, fit_domain, fit_persons, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import (
    PERSON,
    Answer,
    BytesPerTuple,
    Coding,
    Publication,
    QuasiColumn,
    Recount,
    SensitiveColumn,
    ShardSearch,
    StandsAlone,
    Summary,
    Table,
)
from tablecloak.engines.equal_rows import Alike, Hidden, count_alike, some_of, suppressed_rows
from tablecloak.engines.row_order import content_order, plain_text, published_order
from tablecloak.engines.run_folder import Opening
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import DataError
from tablecloak.io.cells import typed
from tablecloak.io.frames import column_type
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret
from tablecloak.stats.classes import Counted, SensitiveDomain, count_classes
from tablecloak.stats.joint import combine
from tablecloak.stats.moments import MomentSums, columns_of, sums_of


@dataclass(frozen=True, slots=True, eq=False)
class LocalTable:
    """A table in memory."""

    frame: pl.DataFrame
    types: Mapping[str, ColumnType]
    name: str

    @property
    def n_rows(self) -> int:
        return self.frame.height

    def spelled(self, spelling: Spelling) -> LocalTable:
        """The table as a text file shows it."""
        return replace(self, frame=spelling.written(self.frame))


def table_of(frame: pl.DataFrame, name: str = "the table") -> LocalTable:
    """A frame as a table, with the types its columns have."""
    return LocalTable(frame, {c: column_type(c, dtype) for c, dtype in frame.schema.items()}, name)


def _local(table: Table) -> LocalTable:
    """What every table of this engine is."""
    assert isinstance(table, LocalTable)
    return table


class LocalEngine:
    """Everything in memory on this machine."""

    name = "local"
    recounts_unwritten = tells_rows_apart = True
    room = None
    scratch = None

    def remembered(self, secret: Secret, *, is_new: bool) -> Secret:
        return secret

    def layout(self, source: Source) -> Layout:
        return sniff(source)

    def read(
        self, source: Source, *, columns: Sequence[str] | None, categorical: Collection[str],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> LocalTable:  # fmt: skip
        if source.frame is not None:
            frame = source.frame if columns is None else source.frame.select(columns)
            frame = typed(frame, source, sniff(source))
            return table_of(_as_categories(frame, categorical), source.location)
        frame = read_frame(source, columns=columns, categorical=categorical, labels=labels)
        return table_of(frame, source.location)

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,
        progress: Progress = silent,
    ) -> None:  # fmt: skip
        write_frame(_local(table).frame, place, format=kind, delimiter=delimiter, rows_per_file=rows_per_file)

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> LocalTable:
        frame = _local(table).frame
        rows = frame.drop_nulls(without_missing) if without_missing else frame
        return LocalTable(rows.select(columns), {c: table.types[c] for c in columns}, table.name)

    def changed(self, table: Table, changes: Sequence[ColumnChange]) -> LocalTable:
        local = _local(table)
        made = made_columns(local.frame, np.arange(local.n_rows), changes)
        types = {**local.types, **{change.name: change.type for change in changes}}
        return LocalTable(local.frame.with_columns(made), types, local.name)

    def settled(self, table: Table, columns: Sequence[str]) -> LocalTable:
        return _local(table)

    def without_hidden(self, table: Table, hidden: Hidden) -> LocalTable:
        whole = _local(table)
        is_hidden = hidden.rows(whole.frame)
        if is_hidden.all() or not is_hidden.any():
            return whole
        return replace(whole, frame=whole.frame[np.flatnonzero(~is_hidden)])

    def batches(self, table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield _local(table).frame.select(columns)

    def sorted(self, table: Table) -> LocalTable:
        local = _local(table)
        return replace(local, frame=local.frame[content_order(local.frame)])

    def value_counts(self, table: Table, column: str, where: CellTest | None = None) -> pl.DataFrame:
        return counts_of((batch[column] for batch in self.batches(table, [column])), where)

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> dict[str, Summary]:
        series = {c: _local(table).frame[c] for c in columns}
        return {c: Summary(s.null_count(), s.n_unique() if distinct else None) for c, s in series.items()}

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
        frame = _local(table).frame
        return frame if columns is None else frame.select(columns)

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, bytes_per_tuple: BytesPerTuple | None = None,
        progress: Progress = silent,
    ) -> Coding:  # fmt: skip
        table = _local(table)
        coded = [
            fit_domain(
                _finite(table, q.name),
                table.types[q.name],
                make_hierarchy=q.make_hierarchy,
                weight=q.weight,
                may_be_codes=q.may_be_codes,
            )
            for q in quasi
        ]
        counted = _counted(table, sensitive)
        codes = {domain.name: column for domain, column in coded}
        tuples = code_table(coded, counted, by_row=by_row)
        return Coding(
            tuples.domains, tuples.sensitive, table.n_rows, tuples.n_tuples, tuples.totals, (tuples,), codes=codes
        )

    def solve(self, coding: Coding, search: ShardSearch) -> Answer:
        solution = search(coding.table)
        return Answer(solution, solution.sizes(coding.table))

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[LocalTable, IntArray | None]:
        return self.publish(table, answer.solution.class_of_row(coding.table), labels, publication)

    def publish(
        self, table: Table, class_of_row: IntArray, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[LocalTable, IntArray | None]:
        """The release of rows whose class is known, and where each of its rows comes from (None: the same row)."""
        table = _local(table)
        rows = _published_rows(class_of_row, publication)
        classes = class_of_row if rows is None else class_of_row[rows]
        is_star = classes < 0 if publication.keeps_suppressed and (classes < 0).any() else None

        def cells(name: str) -> pl.Series:
            if name in publication.starred:
                return pl.repeat(ANYTHING, len(classes), eager=True).alias(name)
            if name in labels:
                return labels[name].publish(name, classes)
            series = table.frame[name] if rows is None else table.frame[name].gather(rows)
            return plain_text(series if is_star is None else starred(series, table.types[name], is_star))

        return table_of(pl.DataFrame([cells(name) for name in publication.columns]), "the release"), rows

    def arrange(
        self, release: Table, publication: Publication, secret: Secret, *, progress: Progress = silent
    ) -> tuple[LocalTable, IntArray | None]:
        table = _local(release)
        order = published_order(table.frame, publication.order, secret, first=publication.labelled)
        return (table, None) if order is None else (replace(table, frame=table.frame[order]), order)

    def class_stats(
        self, release: Table, quasi: Sequence[str], sensitive: Sequence[SensitiveColumn], *, stars_are_suppressed: bool,
        originals: Coding | None = None, progress: Progress = silent,
    ) -> Recount:  # fmt: skip
        frame = _local(release).frame
        labels = {name: distinct_of(_text(frame[name])) for name in quasi}
        is_star = None
        if stars_are_suppressed:
            is_star = suppressed_rows(frame, quasi, [s.name for s in sensitive if not s.joins], release.types)
            is_star = is_star if is_star.any() and not is_star.all() else None  # all alike are a class
        if is_star is not None:
            rows_left = np.flatnonzero(~is_star)
            frame = frame[rows_left]
            labels = {name: column.only(rows_left) for name, column in labels.items()}
        layout = plan_layout([len(column.values) for column in labels.values()])
        keys = pack([column.recoded(_numbers(len(column.values))) for column in labels.values()], layout)
        firsts, classes = group_keys.sized(frame.height)(keys)
        counted = _counted(LocalTable(frame, release.types, release.name), sensitive)
        stats = count_classes(classes, len(firsts), {d.name: (codes, d) for d, codes in counted})
        published = {name: column.only(firsts).index.astype(np.int64) for name, column in labels.items()}
        n_suppressed = 0 if is_star is None else int(is_star.sum())
        return Recount(
            (replace(stats, labels=published),), frame.height, n_suppressed, {n: c.values for n, c in labels.items()},
            cells=labels, is_suppressed=is_star, classes=classes, codes={d.name: column for d, column in counted},
        )  # fmt: skip

    def with_persons(self, release: Table, originals: Coding, row_of: IntArray | None) -> LocalTable | None:
        unpublished = originals.table.unpublished() if originals.codes else ()
        codes = next((codes for domain, codes in unpublished if domain.kind is Counted.PERSON), None)
        if codes is None:
            return None
        whose, table = codes if row_of is None else codes[row_of], _local(release)
        return LocalTable(
            table.frame.with_columns(pl.Series(PERSON, whose)), {**table.types, PERSON: ColumnType.INTEGER}, table.name
        )

    def alike(
        self, table: Table, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = (), person: str | None = None
    ) -> list[Alike]:
        return count_alike(_local(table).frame, sets, stars=stars, person=person)

    def moment_sums(self, table: Table, sides: Sequence[Sequence[str]]) -> list[MomentSums]:
        return sums_of(self.batches(table, columns_of(sides)), sides)

    def some_rows(
        self, table: Table, columns: Sequence[str], *, most: int, together: str | None = None
    ) -> pl.DataFrame:
        return some_of(_local(table).frame.select(columns), together, most / max(1, table.n_rows))

    def close(self) -> None:
        pass


def open_engine(opening: Opening) -> LocalEngine:  # noqa: ARG001
    """The engine of this machine's memory, which has no limits of its own."""
    return LocalEngine()


def _as_categories(frame: pl.DataFrame, categorical: Collection[str]) -> pl.DataFrame:
    """Text that will be coded as categories, as files are read."""
    text = [n for n, dtype in frame.schema.items() if n in categorical and dtype == pl.String]
    return frame.with_columns(pl.col(text).cast(pl.Categorical)) if text else frame


def _counted(table: LocalTable, sensitive: Sequence[SensitiveColumn]) -> list[tuple[SensitiveDomain, Codes]]:
    """Domain and codes of every attribute to count, in the given order."""
    columns: list[tuple[SensitiveDomain, Codes]] = []
    for s in sensitive:
        if s.is_person:
            columns.append(fit_persons(table.frame[s.name]))
        elif s.joins:
            columns.append(combine([pair for pair in columns if pair[0].name in s.joins], s.name, s.kind))
        else:
            series = _finite(table, s.name)
            domain, codes = fit_sensitive(series, table.types[s.name], make_hierarchy=s.make_hierarchy)
            columns.append((replace(domain, kind=s.kind, n_people=s.n_people), codes))
    return columns


def _finite(table: LocalTable, name: str) -> pl.Series:
    series = table.frame[name]
    if table.types[name] is not ColumnType.FLOAT:
        return series
    n_infinite = int(series.is_infinite().sum() or 0)
    if n_infinite:
        raise DataError(
            f"column '{name}' has {n_infinite:,} infinite values, which no interval can hold",
            hint="replace them by a number or by an empty cell",
            location=table.name,
        )
    return series


def _text(series: pl.Series) -> pl.Series:
    return series if series.dtype in (pl.Categorical, pl.Enum) else series.cast(pl.String).cast(pl.Categorical)


def _published_rows(class_of_row: IntArray, publication: Publication) -> IntArray | None:
    """Which rows are published; None means all."""
    is_left_out = class_of_row < 0
    keeps_all = publication.keeps_suppressed or not is_left_out.any()
    return None if keeps_all else np.flatnonzero(~is_left_out)


def starred(series: pl.Series, column: ColumnType, is_star: BoolArray) -> pl.Series:
    """Hide the cells of suppressed rows: `*` in text, an empty cell elsewhere."""
    hidden = ANYTHING if column is ColumnType.TEXT else None
    text = series.cast(pl.String) if column is ColumnType.TEXT else series
    frame = pl.DataFrame({"value": text, "star": is_star})
    return frame.select(pl.when("star").then(pl.lit(hidden)).otherwise("value").alias(series.name)).to_series()


def _numbers(n: int) -> NDArray[np.unsignedinteger[Any]]:
    return np.arange(n).astype(np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32)
