"""Read delimited text with polars; when it fails, find out why and say where."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.frames import DTYPES
from tablecloak.io.private import PrivateFolder
from tablecloak.io.protect import protect, unprotect, unprotect_expr
from tablecloak.io.sniff import nul_error, truncated
from tablecloak.io.sources import Layout, Source
from tablecloak.io.structure import (
    BadByte,
    Blanks,
    Marks,
    count_delimiters,
    find_invalid_utf8,
    find_marks,
    is_regular,
    open_rows,
    scan_rows,
)

__all__ = ["parsed", "parser", "read_delimited", "stream_delimited", "typed"]


@dataclass(frozen=True)
class _Task:
    """A UTF-8 file and what is wanted from it."""

    path: Path
    source: Source
    layout: Layout
    wanted: list[str]
    categorical: set[str]
    labels: Mapping[str, Sequence[str]]
    marks: Marks

    @property
    def is_partial(self) -> bool:
        # A quote inside an unquoted cell makes polars lose rows silently unless it parses every column.
        return len(self.wanted) < len(self.layout.names) and not self.marks.quote

    def dtype(self, name: str) -> pl.DataType:
        type_ = self.layout.type_of(name)
        if name in self.labels:
            return pl.Enum([protect(label) for label in self.labels[name]])
        if name in self.source.date_formats:
            return pl.String()
        return pl.Categorical() if type_ is ColumnType.TEXT and name in self.categorical else DTYPES[type_]


def read_delimited(
    source: Source,
    layout: Layout,
    wanted: list[str],
    categorical: Collection[str],
    labels: Mapping[str, Sequence[str]],
) -> pl.DataFrame:
    """The wanted columns of a delimited file, text in `categorical` as Categorical, text of known `labels` as Enum."""
    with _as_utf8(source, layout) as (path, plain):
        marks = find_marks(path, plain, source.quote)
        frame = _read(_Task(path, source, plain, wanted, set(categorical), labels, marks))
    return _clean(frame, marks, source.path)


def stream_delimited(
    source: Source, layout: Layout, wanted: list[str], labels: Mapping[str, Sequence[str]], n_rows: int
) -> Iterator[pl.DataFrame]:
    """The same in batches of about `n_rows`, for files that do not fit memory: they must be sound.

    Raises: DataError where a file of this size would have to be read whole to say more.
    """
    with _as_utf8(source, layout) as (path, plain):
        marks = find_marks(path, plain, source.quote)
        task = _Task(path, source, plain, wanted, set(), labels, marks)
        _refuse_ragged(task)
        dtypes = {name: task.dtype(name) for name in wanted}
        batches = iter(_lazy(task, dtypes).collect_batches(chunk_size=n_rows, maintain_order=True))
        while (batch := _next(batches, source.path)) is not None:
            yield _clean(typed(batch.select(wanted), source, plain), marks, source.path)


def _next(batches: Iterator[pl.DataFrame], path: Path) -> pl.DataFrame | None:
    try:
        return next(batches, None)
    except (pl.exceptions.PolarsError, OSError):
        failed = True
    # outside the except block, because the message of polars shows a cell and would be chained to ours
    if failed:
        raise DataError(
            "cells do not fit the types of their columns, which its first rows suggest or the policy declares",
            hint="declare such columns as text; --engine local names column and row, if the table fits memory",
            location=str(path),
        )
    return None


def _refuse_ragged(task: _Task) -> None:
    """Polars pads short rows and cuts long ones, which would go unnoticed."""
    if len(task.layout.names) == 1 or task.layout.compression or task.marks.quote or is_regular(task.path, task.layout):
        return
    _scan(task)  # says which row it is


def _read(task: _Task) -> pl.DataFrame:
    frame = _try_parse(task, {name: task.dtype(name) for name in task.wanted})
    # Outside the except block, because the message of polars shows a cell and would be chained to ours.
    if frame is None and task.labels:
        return _read(replace(task, labels={}))
    if frame is None:
        return _read_carefully(task)
    if _may_be_ragged(frame, task):
        frame = _without(frame, _scan(task))
    return typed(frame.select(task.wanted), task.source, task.layout)


def _try_parse(task: _Task, dtypes: dict[str, pl.DataType]) -> pl.DataFrame | None:
    """One polars pass, or None if it fails."""
    try:
        return _parse(task, dtypes)
    except pl.exceptions.NoDataError:
        return pl.DataFrame(schema={name: dtypes.get(name, pl.String()) for name in task.layout.names})
    except pl.exceptions.PolarsError:
        return None
    except OSError as exc:
        raise truncated(task.source.path, task.layout.compression or "file") from exc


def _parse(task: _Task, dtypes: dict[str, pl.DataType]) -> pl.DataFrame:
    """One polars pass."""
    lazy = _lazy(task, dtypes)
    return lazy.select(task.wanted).collect() if task.is_partial else lazy.collect()


def _lazy(task: _Task, dtypes: dict[str, pl.DataType]) -> pl.LazyFrame:
    """The file as it is; its own header is skipped so that our (unprotected, checked) names apply."""
    layout = task.layout
    return pl.scan_csv(
        task.path,
        has_header=False,
        skip_rows=int(layout.header),
        separator=layout.delimiter,
        quote_char=task.source.quote,
        schema={name: dtypes.get(name, pl.String()) for name in layout.names},
        eol_char=layout.eol,
        glob=False,
    )


def _may_be_ragged(frame: pl.DataFrame, task: _Task) -> bool:
    """Polars pads short rows, and cuts long ones when it reads only some columns."""
    n_columns = len(task.layout.names)
    if n_columns == 1 or not (task.is_partial or frame[task.layout.names[-1]].has_nulls()):
        return False
    if not task.marks.quote:
        return not is_regular(task.path, task.layout)
    expected = (frame.height + task.layout.header) * (n_columns - 1)
    return count_delimiters(task.path, task.layout, task.source.quote) != expected


def _scan(task: _Task) -> Blanks:
    return scan_rows(task.path, task.layout, quote=task.source.quote, location=str(task.source.path))


def _without(frame: pl.DataFrame, blanks: Blanks) -> pl.DataFrame:
    """The frame without the rows that are blank lines."""
    rows = pl.Series(blanks.rows, dtype=pl.UInt32)
    return frame.with_row_index("\0row").filter(~pl.col("\0row").is_in(rows.implode())).drop("\0row")


# The slow road: something in the file is wrong -------------------------------------------------------------------


def _read_carefully(task: _Task) -> pl.DataFrame:
    """Everything as text first, then column by column; raises with the row of what is wrong."""
    source, layout = task.source, task.layout
    bad = find_invalid_utf8(task.path, layout.compression) if layout.compression != "zst" else None
    if bad is not None and source.encoding is None and bad.after_ascii:
        with _as_utf8(source, replace(layout, encoding="cp1252")) as (copy, copied):
            return _read(replace(task, path=copy, layout=copied))
    if bad is not None:
        raise _encoding_error(source, layout, bad)
    blanks = _scan(task)
    parsed = _try_parse(task, {})
    frame = _parse_in_python(task) if parsed is None else _without(parsed, blanks)
    frame = typed(frame.select(task.wanted), source, layout)
    asked = [name for name in task.wanted if name in task.categorical and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(asked).cast(pl.Categorical))


def _parse_in_python(task: _Task) -> pl.DataFrame:
    """Rows that the csv module accepts and polars does not, such as a quote inside an unquoted cell."""
    names = task.layout.names
    with open_rows(task.path, task.layout, task.source.quote) as rows:
        body = [row for row in rows if row][int(task.layout.header) :]
    columns = list(zip(*body, strict=True)) or [()] * len(names)
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    return frame.with_columns(pl.all().replace("", None))


def typed(frame: pl.DataFrame, source: Source, layout: Layout) -> pl.DataFrame:
    """Text columns turned into the type of the layout; a sniffed type that does not fit stays text.

    Raises: DataError for a declared type that does not fit, with the first row that fails.
    """
    text = [s for s in frame if s.dtype == pl.String and layout.type_of(s.name) is not ColumnType.TEXT]
    return frame.with_columns(_convert(series, source, layout.type_of(series.name)) for series in text)


def _convert(series: pl.Series, source: Source, type_: ColumnType) -> pl.Series:
    series = series.replace("", None)
    result = series.to_frame().select(parser(series.name, type_, source.date_formats.get(series.name)))[series.name]
    failed = result.is_null() & series.is_not_null()
    if not failed.any():
        return result
    if source.declared_type(series.name) is None:
        return series
    first, count = failed.arg_true()[0] + 1, failed.sum()
    raise DataError(
        f"column '{series.name}' is declared {type_.value}, but {count} cells are not, the first in row {first}",
        hint="correct the cells, declare the column as text, or give its date `format`",
        location=str(source.path),
    )


def parsed(series: pl.Series, type_: ColumnType, date_format: str | None = None) -> pl.Series:
    """Text cells as values of a type, null where they are none."""
    values = series.to_frame().select(parser(series.name, type_, date_format))[series.name]
    return values.fill_nan(None) if type_ is ColumnType.FLOAT else values


def parser(name: str, type_: ColumnType, date_format: str | None) -> pl.Expr:
    """A text column as values of a type, null where they are none."""
    column = pl.col(name)
    if type_ is ColumnType.DATE:
        return column.str.to_date(date_format or "%Y-%m-%d", strict=False)
    if type_ is ColumnType.DATETIME:
        if date_format:
            return column.str.to_datetime(date_format, strict=False, time_unit="us")
        return column.str.replace(" ", "T", literal=True).str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us"
        )
    if type_ is ColumnType.BOOLEAN:
        lower = column.str.to_lowercase()
        return pl.when(lower.is_in(["true", "false"])).then(lower == "true").alias(name)
    return column.cast(DTYPES[type_], strict=False)


# Encodings ---------------------------------------------------------------------------------------------------------


@contextmanager
def _as_utf8(source: Source, layout: Layout) -> Iterator[tuple[Path, Layout]]:
    """The file itself if it is UTF-8, else a temporary copy that is."""
    if layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        yield source.path, layout
        return
    with PrivateFolder.temporary() as folder:
        copy = folder / "data.csv"
        _transcode(source, layout, copy)
        yield copy, replace(layout, encoding="utf-8", compression=None)


def _transcode(source: Source, layout: Layout, copy: Path) -> None:
    if layout.compression == "zst":
        raise DataError(
            f"a zstd file in the encoding {layout.encoding} cannot be read",
            hint="decompress it first",
            location=str(source.path),
        )
    opener = gzip.open if layout.compression == "gz" else open
    row = 0
    try:
        with (
            opener(source.path, "rt", encoding=layout.encoding, newline="") as text,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            while chunk := text.read(1 << 20):
                row += chunk.count("\n")
                out.write(chunk)
    except UnicodeError:
        raise DataError(
            f"not {layout.encoding} text after row {row}", hint="name its true encoding", location=str(source.path)
        ) from None


def _encoding_error(source: Source, layout: Layout, bad: BadByte) -> DataError:
    return DataError(
        f"not {layout.encoding} text: byte {bad.offset} (row {bad.line - layout.header}) cannot be decoded",
        hint="name its true encoding, for example cp1252",
        location=str(source.path),
    )


# Cells -------------------------------------------------------------------------------------------------------------


def _clean(frame: pl.DataFrame, marks: Marks, path: Path) -> pl.DataFrame:
    """Empty text and NaN are missing, protected cells come back, NUL characters are refused."""
    frame = frame.with_columns(s.fill_nan(None) for s in frame if s.dtype == pl.Float64 and s.is_nan().any())
    if not (marks.nul or marks.apostrophe or marks.quote):
        return frame
    text = [s for s in frame if isinstance(s.dtype, pl.String | pl.Categorical)]
    known = [s for s in frame if isinstance(s.dtype, pl.Enum)]
    return frame.with_columns(*(_clean_text(s, path) for s in text), *(_clean_labels(s) for s in known))


def _clean_labels(series: pl.Series) -> pl.Series:
    written = series.dtype.categories.to_list()  # type: ignore[attr-defined]
    labels = [unprotect(label) for label in written]
    return series if labels == written else series.to_physical().cat.to(pl.Enum(labels)).alias(series.name)


def _clean_text(series: pl.Series, path: Path) -> pl.Series:
    texts = series.unique().cast(pl.String) if isinstance(series.dtype, pl.Categorical) else series
    if texts.str.contains("\0", literal=True).any():
        row = series.cast(pl.String).str.contains("\0", literal=True).arg_true()[0]
        raise nul_error(path, row + 1, series.name)
    if not ((texts == "").any() or texts.str.starts_with("'").any()):
        return series
    text = unprotect_expr(pl.col(series.name).cast(pl.String).replace("", None))
    return series.to_frame().select(text.cast(series.dtype).alias(series.name)).to_series()
