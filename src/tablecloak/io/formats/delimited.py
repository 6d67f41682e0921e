"""CSV and TSV: delimited text, read with polars; when that fails, find out why and say where."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type, typed
from tablecloak.io.formats import Format, Reading, Writing, _row_widths, _text, add_format, format_and_compression
from tablecloak.io.formats._protect import protect, protect_frame, unprotect, unprotect_expr
from tablecloak.io.frames import DTYPES
from tablecloak.io.header import Repair, left_out_above
from tablecloak.io.notation import may_be_odd
from tablecloak.io.private import PrivateFolder
from tablecloak.io.record_blocks import Block
from tablecloak.io.sources import ColumnSchema, Layout, Source, truncated

DELIMITERS = (",", ";", "\t", "|")
TIMES = 8  # that every value occurs, for a column to have few
_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}


# Layout ------------------------------------------------------------------------------------------------------------


def _sniff_delimited(source: Source, compression: str | None) -> Layout:
    with source.path.open("rb") as file:
        start = file.read(4)
    compression = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), compression)
    sample = _text.take_sample(source.path, compression)
    encoding = source.encoding or _text.encoding_of(sample, trusts_mark=not source.repair)
    _text.check_text(sample, encoding, source)
    kind, _ = format_and_compression(source.path, source.format, source.compression)
    default = "\t" if kind == "tsv" else None
    delimited_source = replace(source, delimiter=source.delimiter or default)
    layout = sniff_bytes(sample.head, sample.middle, delimited_source, encoding, is_whole=sample.is_whole)
    n_bytes = source.path.stat().st_size
    if _text.foreign_bom(sample.head, encoding):
        mark = Repair(f"the mark of UTF-8 at the start of a file in {encoding} left out")
        layout = replace(layout, repairs=(mark, *layout.repairs)) if source.repair else layout
    scale = 1.0 if sample.is_whole else n_bytes / len(sample.head)
    hint = None if compression and not sample.is_whole else round((layout.n_rows_hint or 0) * scale)
    return replace(layout, format=kind, compression=compression, n_bytes=n_bytes, n_rows_hint=hint)


def sniff_bytes(
    head: bytes, middle: Sequence[bytes], source: Source, encoding: str, *, is_whole: bool | None = None
) -> Layout:
    """The layout of delimited text given as its first bytes and some whole lines from later parts."""
    is_whole = len(head) < _text.HEAD_BYTES if is_whole is None else is_whole
    head = head[_text.foreign_bom(head, encoding) :]
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head, is_whole).removeprefix("\ufeff")
    eol = "\r" if "\r" in text and "\n" not in text else "\n"
    delimiter = source.delimiter or _delimiter_of(text, source.quote, is_repaired=source.repair)
    reader = read_rows(text, delimiter, source.quote)
    numbered = list(islice(reader, _text.HEAD_ROWS))
    if not is_whole and 1 < len(numbered) < _text.HEAD_ROWS:
        numbered.pop()  # cut off in the middle
    if not numbered:
        raise DataError("the file is empty", hint="check how it was exported", location=str(source.path))
    top = _repaired_top(numbered) if source.repair else _Top(numbered[0][1], 0)
    width, rows = len(top.first), [row for _, row in numbered[top.n_above + 1 :]]
    later = [r for chunk in middle for _, r in read_rows(chunk.decode(encoding, "replace"), delimiter, source.quote)]
    body = [row for row in (*rows, *later) if len(row) == width]
    distinct = _distinct(body, width)
    types = [infer_type(cells) for cells in distinct]
    header = _text.header_of(top.first, distinct, types, source, is_odd=top.is_odd)
    if not header.is_there:
        distinct = _distinct([top.first, *body], width)
        types = [infer_type(cells) for cells in distinct]
    columns = tuple(
        ColumnSchema(
            name,
            type_,
            is_empty=not cells,
            may_be_odd=may_be_odd(name, type_, cells),
            repeats=TIMES * len(cells) <= len(body),
        )
        for name, type_, cells in zip(header.names, types, distinct, strict=True)
    )
    n_rows = len(rows) + (not header.is_there) if len(numbered) < _text.HEAD_ROWS else text.count(eol)
    n_skipped = top.n_above + (header.is_there or top.is_odd)  # rows
    skip = numbered[n_skipped - 1][0] if n_skipped and (top.n_above or top.is_odd) else 0
    return Layout(
        "csv", columns, len(head), delimiter, encoding, header.is_there, None, eol, skip,
        (*top.repairs, *header.repairs), n_rows_hint=n_rows,
    )  # fmt: skip


@dataclass(frozen=True)
class _Top:
    """The first rows of a file: which of them may be its header, and what was repaired to find it."""

    first: list[str]  # cells of the row that may be the header, as many as records have
    n_above: int  # rows above it
    is_odd: bool = False  # it has more or fewer cells than records, which tells that it is the header
    repairs: tuple[Repair, ...] = ()


def _repaired_top(numbered: Sequence[tuple[int, list[str]]]) -> _Top:
    """The row that may be the header, where lines of text stand above it or it is wider or narrower than records."""
    rows = [row for _, row in numbered]
    width, count = Counter(map(len, rows[-1:0:-1])).most_common(1)[0] if len(rows) > 1 else (len(rows[0]), 1)
    at = next(i for i, row in enumerate(rows) if len(row) == width)
    if at == 0 or 2 * count < len(rows):
        return _Top(rows[0], 0)
    n_above, last = at - 1, rows[at - 1]
    above = left_out_above(n_above, "line")
    if len(last) > width and not any(last[width:]):
        reason = "the header has more names than there are columns; empty ones at its end are left out"
        return _Top(last[:width], n_above, True, (*above, Repair(reason)))
    if len(last) == width - 1 and width > 2 and all(last):
        is_last = not any(row[-1] for row in rows[at:] if len(row) == width)
        reason = f"the header has one name too few: the {'last' if is_last else 'first'} column has none"
        return _Top([*last, ""] if is_last else ["", *last], n_above, True, (*above, Repair(reason)))
    return _Top(rows[at], at, False, left_out_above(at, "line"))


def read_rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of delimited text, blank lines left out, each with the number of lines up to its end."""
    csv.field_size_limit(sys.maxsize)  # the default refuses cells beyond 128 kB
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    return ((reader.line_num, row) for row in reader if row)


def _distinct(rows: Sequence[Sequence[str]], width: int) -> list[set[str]]:
    columns = [set(column) for column in zip(*rows, strict=True)] or [set() for _ in range(width)]
    for column in columns:
        column.discard("")
    return columns


def _delimiter_of(text: str, quote: str, *, is_repaired: bool) -> str:
    """The candidate that cuts the most lines into the same number (at least two) of fields as the first line.

    Where the first line may be anything, as most lines.
    """

    def score(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in islice(read_rows(text, delimiter, quote), 100)]
        rows = rows[:-1] if len(rows) > 2 else rows
        width = 0 if not rows else Counter(map(len, rows)).most_common(1)[0][0] if is_repaired else len(rows[0])
        agreement = sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0
        return agreement, width

    return max(DELIMITERS, key=score)


# Rows --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """A UTF-8 file and what is wanted from it."""

    path: Path
    source: Source
    layout: Layout
    wanted: list[str]
    categorical: set[str]
    labels: Mapping[str, Sequence[str]]
    marks: _row_widths.Marks
    is_sound: bool = False

    @property
    def is_partial(self) -> bool:
        # A quote inside an unquoted cell makes polars lose rows silently unless it parses every column.
        return len(self.wanted) < len(self.layout.names) and not self.marks.quote

    @property
    def repeated(self) -> list[str]:
        """Whole numbers that are few and will be coded, whose texts tell at no cost how they are written."""
        layout = self.layout
        columns = [layout.column(name) for name in self.wanted if name in self.categorical]
        return [c.name for c in columns if c.type is ColumnType.INTEGER and c.repeats and c.notation is None]

    def dtype(self, name: str) -> pl.DataType:
        type_ = self.layout.type_of(name)
        if name in self.labels:
            return pl.Enum([protect(label) for label in self.labels[name]])
        if self.layout.notation_of(name) is not None:
            return pl.String()
        return pl.Categorical() if type_ is ColumnType.TEXT and name in self.categorical else DTYPES[type_]


def _read_delimited(reading: Reading) -> pl.DataFrame:
    """The wanted columns of a delimited file, text in `categorical` as Categorical, text of known `labels` as Enum."""
    source = reading.source
    with _as_utf8(source, reading.layout) as (path, plain):
        marks = _row_widths.find_marks(path, plain, source.quote)
        categorical = set(reading.categorical)
        task = _Task(path, source, plain, reading.columns, categorical, reading.labels, marks, reading.is_sound)
        frame = _read(task)
    return _clean(frame, marks, source.path)


def read_block(source: Source, layout: Layout, columns: Sequence[str], block: Block) -> pl.DataFrame:
    """The wanted columns of some bytes of a file, which hold whole records: read as they are in the whole file."""
    begin, end = block
    with PrivateFolder.temporary() as folder, source.path.open("rb") as whole:
        copy = folder / "block.csv"
        whole.seek(begin)
        with copy.open("wb") as file:
            left = end - begin
            while data := whole.read(min(left, 1 << 20)):
                file.write(data)
                left -= len(data)
        plain = replace(layout, header=layout.header and begin == 0)
        marks = _row_widths.find_marks(copy, plain, source.quote)
        try:
            frame = _read(_Task(copy, source, plain, list(columns), set(), {}, marks))
            return _clean(frame, marks, source.path)
        except DataError as exc:
            if begin == 0:
                raise
            message = f"{exc.message} (rows and lines counted from byte {begin:,} of the file)"
            raise DataError(message, hint=exc.hint, location=exc.location) from None


def _stream_delimited(reading: Reading, n_rows: int) -> Iterator[pl.DataFrame]:
    """The same in batches of about `n_rows`, for files that do not fit memory: they must be sound.

    Raises: DataError where a file of this size would have to be read whole to say more.
    """
    source, wanted = reading.source, reading.columns
    with _as_utf8(source, reading.layout) as (path, plain):
        marks = _row_widths.find_marks(path, plain, source.quote)
        task = _Task(path, source, plain, wanted, set(), reading.labels, marks)
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
    if (
        len(task.layout.names) == 1
        or task.layout.compression
        or task.marks.quote
        or _row_widths.is_regular(task.path, task.layout)
    ):
        return
    _scan(task)  # says which row it is


def _read(task: _Task) -> pl.DataFrame:
    frame = _parse_canonical(task) if task.repeated else None
    if frame is None:
        frame = _try_parse(task, {name: task.dtype(name) for name in task.wanted})
    # Outside the except block, because the message of polars shows a cell and would be chained to ours.
    if frame is None and task.labels:
        return _read(replace(task, labels={}))
    if frame is None:
        return _read_carefully(task)
    if _may_be_ragged(frame, task):
        frame = _without(frame, _scan(task))
    return typed(frame.select(task.wanted), task.source, task.layout)


def _parse_canonical(task: _Task) -> pl.DataFrame | None:
    """One pass that sees how repeated numbers are written, and remembers it; None if one is written in another way."""
    repeated = task.repeated
    dtypes = {name: task.dtype(name) for name in task.wanted} | dict.fromkeys(repeated, pl.Categorical())
    frame = _try_parse(task, dtypes)
    if frame is None:
        return None
    numbers = [canonical for name in repeated if (canonical := _canonical_numbers(frame[name])) is not None]
    if len(numbers) < len(repeated):
        return None
    task.source.openings.add_canonical(task.source, repeated)
    return frame.with_columns(numbers)


def _canonical_numbers(texts: pl.Series) -> pl.Series | None:
    """The whole numbers that texts stand for, if each is written as its number is by itself."""
    distinct = texts.unique().drop_nulls()
    written = distinct.cast(pl.String)
    values = written.cast(pl.Int64, strict=False)
    if not len(values) or values.has_nulls() or (values.cast(pl.String) != written).any():
        return None
    places = distinct.to_physical().to_numpy()
    number_of = np.zeros(int(places.max()) + 1, np.int64)
    number_of[places] = values.to_numpy()
    return pl.Series(texts.name, number_of).gather(texts.to_physical())


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
    if task.is_sound or n_columns == 1 or not (task.is_partial or frame[task.layout.names[-1]].has_nulls()):
        return False
    if not task.marks.quote:
        return not _row_widths.is_regular(task.path, task.layout)
    expected = (frame.height + task.layout.header) * (n_columns - 1)
    return _row_widths.count_delimiters(task.path, task.layout, task.source.quote) != expected


def _scan(task: _Task) -> _row_widths.Blanks:
    return _row_widths.scan_rows(task.path, task.layout, quote=task.source.quote, location=str(task.source.path))


def _without(frame: pl.DataFrame, blanks: _row_widths.Blanks) -> pl.DataFrame:
    """The frame without the rows that are blank lines."""
    rows = pl.Series(blanks.rows, dtype=pl.UInt32)
    return frame.with_row_index("\0row").filter(~pl.col("\0row").is_in(rows.implode())).drop("\0row")


# The slow road: something in the file is wrong -------------------------------------------------------------------


def _read_carefully(task: _Task) -> pl.DataFrame:
    """Everything as text first, then column by column; raises with the row of what is wrong."""
    source, layout = task.source, task.layout
    bad = _row_widths.find_invalid_utf8(task.path, layout.compression) if layout.compression != "zst" else None
    if bad is not None and source.encoding is None and bad.after_ascii:
        with _as_utf8(source, replace(layout, encoding="cp1252")) as (copy, copied):
            return _read(replace(task, path=copy, layout=copied))
    if bad is not None:
        raise _encoding_error(source, layout, bad)
    blanks = _scan(task)
    parsed = _try_parse(task, {})
    frame = _parse_in_python(task) if parsed is None else _without(parsed, blanks)
    frame = typed(frame.select(task.wanted), source, layout)
    categorical_names = [name for name in task.wanted if name in task.categorical and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(categorical_names).cast(pl.Categorical))


def _parse_in_python(task: _Task) -> pl.DataFrame:
    """Rows that the csv module accepts and polars does not, such as a quote inside an unquoted cell."""
    names = task.layout.names
    with _row_widths.open_rows(task.path, task.layout, task.source.quote) as rows:
        body = [row for row in rows if row][int(task.layout.header) :]
    columns = list(zip(*body, strict=True)) or [()] * len(names)
    frame = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    return frame.with_columns(pl.all().replace("", None))


# Encodings ---------------------------------------------------------------------------------------------------------


@contextmanager
def _as_utf8(source: Source, layout: Layout) -> Iterator[tuple[Path, Layout]]:
    """The file itself if it is UTF-8 and begins with its table, else a temporary copy that is and does."""
    if not layout.skip and layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        yield source.path, layout
        return
    with PrivateFolder.temporary() as folder:
        copy = folder / "data.csv"
        _transcode(source, layout, copy)
        header = layout.header and not layout.skip
        yield copy, replace(layout, encoding="utf-8", compression=None, header=header, skip=0)


def _transcode(source: Source, layout: Layout, copy: Path) -> None:
    if layout.compression == "zst":
        what = f"in the encoding {layout.encoding}" if not layout.skip else "with lines above its table"
        raise DataError(
            f"a zstd file {what} cannot be read",
            hint="decompress it first",
            location=str(source.path),
        )
    opener = gzip.open if layout.compression == "gz" else open
    row = 0
    encoding = "utf-8-sig" if layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else layout.encoding
    try:
        with (
            opener(source.path, "rb") as data,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            data.seek(_text.foreign_bom(data.read(4), encoding))
            text = io.TextIOWrapper(data, encoding=encoding, newline="")
            for _ in range(layout.skip):
                text.readline()
            while chunk := text.read(1 << 20):
                row += chunk.count("\n")
                out.write(chunk)
    except UnicodeError:
        raise DataError(
            f"not {layout.encoding} text after row {row}", hint="name its true encoding", location=str(source.path)
        ) from None


def _encoding_error(source: Source, layout: Layout, bad: _row_widths.BadByte) -> DataError:
    return DataError(
        f"not {layout.encoding} text: byte {bad.offset} (row {bad.line - layout.header}) cannot be decoded",
        hint="name its true encoding, for example cp1252" + _bom_hint(layout),
        location=str(source.path),
    )


def _bom_hint(layout: Layout) -> str:
    """A mark of UTF-8 at the start of a file in another encoding."""
    return "; input.repair: true takes the mark of UTF-8 off its start" if layout.encoding == "utf-8-sig" else ""


# Cells -------------------------------------------------------------------------------------------------------------


def _clean(frame: pl.DataFrame, marks: _row_widths.Marks, path: Path) -> pl.DataFrame:
    """Empty text and NaN are missing, protected cells come back, NUL characters are refused."""
    frame = frame.with_columns(s.fill_nan(None) for s in frame if s.dtype == pl.Float64 and s.is_nan().any())
    if not (marks.nul or marks.apostrophe or marks.quote):
        return frame
    text = [s for s in frame if isinstance(s.dtype, pl.String | pl.Categorical)]
    enums = [s for s in frame if isinstance(s.dtype, pl.Enum)]
    return frame.with_columns(*(_clean_text(s, path) for s in text), *(_clean_labels(s) for s in enums))


def _clean_labels(series: pl.Series) -> pl.Series:
    written = series.dtype.categories.to_list()  # type: ignore[attr-defined]
    labels = [unprotect(label) for label in written]
    return series if labels == written else series.to_physical().cat.to(pl.Enum(labels)).alias(series.name)


def _clean_text(series: pl.Series, path: Path) -> pl.Series:
    texts = series.unique().cast(pl.String) if isinstance(series.dtype, pl.Categorical) else series
    if texts.str.contains("\0", literal=True).any():
        row = series.cast(pl.String).str.contains("\0", literal=True).arg_true()[0]
        raise _text.nul_error(path, row + 1, series.name)
    if not ((texts == "").any() or texts.str.starts_with("'").any()):
        return series
    text = unprotect_expr(pl.col(series.name).cast(pl.String).replace("", None))
    return series.to_frame().select(text.cast(series.dtype).alias(series.name)).to_series()


# Writing -----------------------------------------------------------------------------------------------------------

_Packing = Literal["uncompressed", "gzip", "zstd"]
PACKING: Mapping[str | None, _Packing] = {None: "uncompressed", "gz": "gzip", "zst": "zstd"}
MOMENT = "%Y-%m-%dT%H:%M:%S%.f"


def _written_by(separator: str) -> Callable[[pl.DataFrame, Path, Writing], None]:
    def write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
        protect_frame(frame).write_csv(
            path,
            separator=how.delimiter or separator,
            compression=PACKING[how.compression],
            check_extension=False,
            datetime_format=MOMENT,
        )

    return write


def _sunk_by(separator: str) -> Callable[[pl.LazyFrame, Path, Writing], None]:
    def sink(rows: pl.LazyFrame, path: Path, how: Writing) -> None:
        rows.sink_csv(path, separator=how.delimiter or separator, check_extension=False, datetime_format=MOMENT)

    return sink


for _name, _separator, _suffixes, _summary in (
    ("csv", ",", ("txt",), "Text, cells parted by a mark that is found out (.csv, .txt), also compressed (.gz, .zst)."),
    ("tsv", "\t", ("tab",), "Text, cells parted by tabs (.tsv, .tab), also compressed (.gz, .zst)."),
):
    add_format(
        Format(
            name=_name,
            summary=_summary,
            suffixes=_suffixes,
            sniff=_sniff_delimited,
            read=_read_delimited,
            stream=_stream_delimited,
            write=_written_by(_separator),
            sink=_sunk_by(_separator),
            safe=protect_frame,
            is_guessed=True,
            is_compressed=True,
        )
    )
