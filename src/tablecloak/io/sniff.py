"""Find out how a file is written: format details and column types, from a sample."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import polars as pl

from tablecloak.data.given_names import has_given_name
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, columns_hint
from tablecloak.io.cells import infer_type
from tablecloak.io.database import sniff_table
from tablecloak.io.excel import read_excel
from tablecloak.io.frames import column_type
from tablecloak.io.parts import is_many, sniff_parts
from tablecloak.io.protect import unprotect
from tablecloak.io.sets import ITEMS, delimiter_of_sets
from tablecloak.io.sources import ColumnSchema, Layout, Source, check_readable, format_and_compression
from tablecloak.io.stats_files import READERS, read_stats_file

__all__ = ["HeaderUnclear", "read_rows", "sniff", "sniff_bytes", "sniff_file"]

HEAD_BYTES = 1 << 19
MOST_HEAD_BYTES = 1 << 28
HEAD_LINES = 4  # at least, whatever they take: names and some records
HEAD_ROWS = 10_000
MIDDLE_BYTES = 1 << 15
MIDDLE_CHUNKS = 8
DELIMITERS = (",", ";", "\t", "|")
_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class HeaderUnclear(DataError):  # noqa: N818 - a question, not a fault
    """Whether a file has a header has to be said by somebody who knows it."""


@dataclass(frozen=True)
class _Sample:
    """The first bytes of a delimited file and some whole lines from later parts."""

    head: bytes
    middle: tuple[bytes, ...]
    is_whole: bool  # the head is the whole file


def sniff(source: Source) -> Layout:
    """The layout of a file; what the user declared is taken as given.

    Folders and patterns have the layout that fits all of their files, tables of databases that of their columns.

    Raises: DataError if the file is missing, empty, unreadable, of an unknown format or has duplicate column names.
    """
    if source.table is not None:
        return _checked(source, sniff_table(source))
    if is_many(source.path):
        return _checked(source, sniff_parts(source, sniff_file))
    return _checked(source, sniff_file(source))


def sniff_file(source: Source) -> Layout:
    """The layout of one file, by what is in it."""
    check_readable(source.path)
    kind, compression = format_and_compression(source.path, source.format, source.compression)
    layout = _sniffers[kind](source, compression)
    _refuse_duplicates(source, layout)
    return layout


def _checked(source: Source, layout: Layout) -> Layout:
    _check_declared(source, layout)
    return replace(layout, columns=tuple(_declared(source, column) for column in layout.columns))


def _declared(source: Source, column: ColumnSchema) -> ColumnSchema:
    return replace(column, type=source.declared_type(column.name) or column.type)


def _refuse_duplicates(source: Source, layout: Layout) -> None:
    repeated = [name for name, count in Counter(layout.names).items() if count > 1]
    if repeated and source.header is None and not set(layout.names) & source.expected and _may_be_record(layout):
        places = [str(i + 1) for i, name in enumerate(layout.names) if name == repeated[0]]
        raise DataError(
            f"the first row has the same name in the columns {' and '.join(places)}",
            hint="give every column its own name; if the row is a record, say input.header: false",
            location=str(source.path),
        )
    if repeated:
        raise DataError(
            f"duplicate column names: {', '.join(map(repr, repeated))}",
            hint="give every column its own name",
            location=str(source.path),
        )


def _may_be_record(layout: Layout) -> bool:
    """Whether nothing but its place says that the first row of a file has names: there are no numbers below it."""
    return layout.format in ("csv", "tsv") and all(c.type is ColumnType.TEXT for c in layout.columns)


def _check_declared(source: Source, layout: Layout) -> None:
    """Refuse declarations about columns the file does not have."""
    for name in [*source.types, *source.date_formats]:
        if name not in layout.names:
            hint = columns_hint(name, layout.names)
            raise DataError(f"there is no column '{name}'", hint=hint, location=source.location)


# Delimited text ----------------------------------------------------------------------------------------------------


def _sniff_delimited(source: Source, compression: str | None) -> Layout:
    with source.path.open("rb") as file:
        start = file.read(4)
    compression = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), compression)
    sample = _take_sample(source.path, compression)
    encoding = source.encoding or _encoding_of(sample)
    _check_text(sample, encoding, source)
    kind, _ = format_and_compression(source.path, source.format, source.compression)
    default = "\t" if kind == "tsv" else None
    told = replace(source, delimiter=source.delimiter or default)
    layout = sniff_bytes(sample.head, sample.middle, told, encoding, is_whole=sample.is_whole)
    n_bytes = source.path.stat().st_size
    scale = 1.0 if sample.is_whole else n_bytes / len(sample.head)
    hint = None if compression and not sample.is_whole else round((layout.n_rows_hint or 0) * scale)
    return replace(layout, format=kind, compression=compression, n_bytes=n_bytes, n_rows_hint=hint)


def _sniff_sets(source: Source, compression: str | None) -> Layout:
    sample = _take_sample(source.path, compression)
    encoding = source.encoding or _encoding_of(sample)
    _check_text(sample, encoding, source)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample.head, sample.is_whole)
    n_rows = text.count("\n") + (not text.endswith("\n")) if sample.is_whole else None
    return Layout(
        "sets", (ColumnSchema(ITEMS, ColumnType.TEXT),), source.path.stat().st_size,
        source.delimiter or delimiter_of_sets(text), encoding, False, compression, n_rows_hint=n_rows,
    )  # fmt: skip


def sniff_bytes(
    head: bytes, middle: Sequence[bytes], source: Source, encoding: str, *, is_whole: bool | None = None
) -> Layout:
    """The layout of delimited text given as its first bytes and some whole lines from later parts."""
    is_whole = len(head) < HEAD_BYTES if is_whole is None else is_whole
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head, is_whole).removeprefix("\ufeff")
    eol = "\r" if "\r" in text and "\n" not in text else "\n"
    delimiter = source.delimiter or _delimiter_of(text, source.quote)
    rows = list(islice(read_rows(text, delimiter, source.quote), HEAD_ROWS))
    if not is_whole and 1 < len(rows) < HEAD_ROWS:
        rows.pop()  # cut off in the middle
    if not rows:
        raise DataError("the file is empty", hint="check how it was exported", location=str(source.path))
    width = len(rows[0])
    later = [row for chunk in middle for row in read_rows(chunk.decode(encoding, "replace"), delimiter, source.quote)]
    body = [row for row in (*rows[1:], *later) if len(row) == width]
    distinct = _distinct(body, width)
    types = [infer_type(cells) for cells in distinct]
    header = source.header if source.header is not None else _is_header(rows[0], distinct, types, source)
    if not header:
        distinct = _distinct([rows[0], *body], width)
        types = [infer_type(cells) for cells in distinct]
    names = [unprotect(name) for name in rows[0]] if header else [f"column_{i + 1}" for i in range(width)]
    columns = tuple(
        ColumnSchema(name, type_, is_empty=not cells) for name, type_, cells in zip(names, types, distinct, strict=True)
    )
    n_rows = len(rows) - header if len(rows) < HEAD_ROWS else text.count(eol)
    return Layout("csv", columns, len(head), delimiter, encoding, header, None, eol, n_rows)


def read_rows(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    """The rows of delimited text, blank lines left out."""
    csv.field_size_limit(sys.maxsize)  # the default refuses cells beyond 128 kB
    lines = io.StringIO(text, newline="")
    return (row for row in csv.reader(lines, delimiter=delimiter, quotechar=quote) if row)


def _distinct(rows: Sequence[Sequence[str]], width: int) -> list[set[str]]:
    columns = [set(column) for column in zip(*rows, strict=True)] or [set() for _ in range(width)]
    for column in columns:
        column.discard("")
    return columns


def _take_sample(path: Path, compression: str | None) -> _Sample:
    if compression == "zst":
        return _lines_sample(path)
    try:
        with gzip.open(path) if compression == "gz" else path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            n_asked = HEAD_BYTES
            while len(head) == n_asked < MOST_HEAD_BYTES and head.count(b"\n") < HEAD_LINES:  # a very wide table
                head += file.read(n_asked)
                n_asked *= 2
    except (EOFError, gzip.BadGzipFile, OSError) as exc:
        raise truncated(path, "gzip") from exc
    is_whole = len(head) < n_asked
    return _Sample(head, () if is_whole or compression else tuple(_middle(path)), is_whole)


def truncated(path: Path, kind: str) -> DataError:
    """The error for a compressed file that ends too early or is damaged."""
    kind = {"gz": "gzip", "zst": "zstd"}.get(kind, kind)
    return DataError(f"the {kind} data is damaged or cut off", hint="copy or export the file again", location=str(path))


def _lines_sample(path: Path) -> _Sample:
    """The head of a zstd file; the standard library cannot open it, polars can."""
    try:
        lines = pl.scan_lines(path, n_rows=HEAD_ROWS).collect().to_series()
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "zstd") from exc
    head = "\n".join(lines.to_list()).encode()[: HEAD_BYTES - 1]
    return _Sample(head, (), len(lines) < HEAD_ROWS and len(head) < HEAD_BYTES - 1)


def _middle(path: Path) -> Iterator[bytes]:
    """Whole lines from places spread over the rest of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for part in range(1, MIDDLE_CHUNKS + 1):
            file.seek(HEAD_BYTES + (size - HEAD_BYTES) * part // (MIDDLE_CHUNKS + 1))
            chunk = file.read(MIDDLE_BYTES)
            yield chunk[chunk.find(b"\n") + 1 : chunk.rfind(b"\n") + 1]


def _encoding_of(sample: _Sample) -> str:
    head = sample.head
    for bom, name in _BOMS.items():
        if head.startswith(bom):
            return name
    start = head[:4096]
    if len(start) >= 4 and start[1::2].count(0) > len(start) // 4:
        return "utf-16-le"
    if len(start) >= 4 and start[0::2].count(0) > len(start) // 4:
        return "utf-16-be"
    if _decodes(head, "utf-8", sample.is_whole) and all(_decodes(part, "utf-8", True) for part in sample.middle):
        return "utf-8"
    return "cp1252" if _decodes(head, "cp1252", True) else "latin-1"


def _decodes(data: bytes, encoding: str, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _check_text(sample: _Sample, encoding: str, source: Source) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as exc:
        raise DataError(
            f"unknown encoding '{encoding}'", hint="for example utf-8 or cp1252", location=str(source.path)
        ) from exc
    if not encoding.lower().startswith(("utf-16", "utf_16", "utf-32")) and b"\0" in sample.head:
        raise nul_error(source.path, sample.head[: sample.head.index(b"\0")].count(b"\n"))


def nul_error(path: Path, row: int, column: str | None = None) -> DataError:
    """The error for a NUL character; `row` counts data rows from 1, the header being row 0."""
    where = f"column '{column}', row {row}" if column else f"row {row}"
    hint = "the file is damaged or not text; export it again, or name its encoding"
    return DataError(f"{where} contains a NUL character", hint=hint, location=str(path))


def _delimiter_of(text: str, quote: str) -> str:
    """The candidate that cuts the most lines into the same number (at least two) of fields as the first line."""

    def score(delimiter: str) -> tuple[float, int]:
        rows = list(islice(read_rows(text, delimiter, quote), 100))
        rows = rows[:-1] if len(rows) > 2 else rows
        width = len(rows[0]) if rows else 0
        agreement = sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0
        return agreement, width

    return max(DELIMITERS, key=score)


# Headers -----------------------------------------------------------------------------------------------------------


def _is_header(first: Sequence[str], below: Sequence[set[str]], types: Sequence[ColumnType], source: Source) -> bool:
    """Whether the first row has the names of columns: a guess that must not show a record as if it were names.

    Above numbers and dates a name is told from a record by its type. Otherwise it has to be known by somebody, or to be
    unlike what is below it.

    Raises: DataError that asks, and shows nothing of the row.
    """
    expected = source.expected | set(source.types) | set(source.date_formats)
    if expected & {unprotect(cell) for cell in first}:
        return True
    if expected and all(map(_made_name, expected)):
        return False
    typed = [(cell, type_) for cell, type_ in zip(first, types, strict=True) if cell and type_ is not ColumnType.TEXT]
    n_fitting = sum(infer_type({cell}) in _fits[type_] for cell, type_ in typed)
    if n_fitting == len(typed) > 0:
        if expected:
            hint = "add a row with their names, call them column_1, column_2, ..., or say input.header: true"
            raise DataError("the first row is a record: columns have no names", hint=hint, location=source.location)
        return False
    n_alike = sum(_is_like(cell, cells) for cell, cells in zip(first, below, strict=True))
    if n_alike or (expected and not typed):
        seen = f"{n_alike} of its {len(first)} cells are like those below" if n_alike else "no name in it is known"
        raise HeaderUnclear(
            f"the first row may be a record instead of names of columns: {seen}",
            hint="say which it is: input.header: true, or false (inspect and init: --header, --no-header)",
            location=source.location,
        )
    return True


# Of the values below a cell: how many must have its outline, and how many must name somebody if it does.
MOST_ALIKE, MANY_NAMES = 0.8, 0.2
_made_name = re.compile(r"column_[1-9]\d*").fullmatch
_forms = str.maketrans(string.ascii_letters + string.digits, "a" * 26 + "A" * 26 + "9" * 10)


def _is_like(cell: str, below: set[str]) -> bool:
    """Whether a cell looks like a value of its column.

    It occurs there, has the form that all values have there letter by letter, has digits where most values have some
    (`Main Street 5`), or names somebody as many values do.
    """
    if not cell:
        return False
    if cell in below or "@" in cell or infer_type({cell}) not in (ColumnType.TEXT, ColumnType.INTEGER):
        return True
    if len(below) <= 2:
        return False
    form = cell.translate(_forms)
    if len(form) > 2 and all(c.translate(_forms) == form for c in below):
        return True
    outline = _outline(cell)
    if "9" in outline and infer_type({cell}) is ColumnType.TEXT:
        return sum(_outline(c) == outline for c in below) >= MOST_ALIKE * len(below)
    return has_given_name(cell) and sum(map(has_given_name, below)) >= MANY_NAMES * len(below)


def _outline(text: str) -> str:
    """The form of a text with every word and number in one character.

    >>> _outline("Main Street 5"), _outline("Élan 17b")
    ('a a 9', 'a 9a')
    """
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


_numbers = {ColumnType.INTEGER, ColumnType.FLOAT}
_fits = {type_: _numbers if type_ in _numbers else {type_} for type_ in ColumnType}


# Typed formats -----------------------------------------------------------------------------------------------------


def _sniff_parquet(source: Source, compression: str | None) -> Layout:
    del compression
    try:
        schema = pl.read_parquet_schema(source.path)
        n_rows = pl.scan_parquet(source.path, glob=False).select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(source.path, "Parquet") from exc
    return _typed_layout("parquet", schema, source.path, n_rows)


def _sniff_arrow(source: Source, compression: str | None) -> Layout:
    del compression
    try:
        schema = pl.read_ipc_schema(source.path)
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(source.path, "Arrow") from exc
    return _typed_layout("arrow", schema, source.path, None)


def _sniff_jsonl(source: Source, compression: str | None) -> Layout:
    try:
        frame = pl.scan_ndjson(source.path, infer_schema_length=HEAD_ROWS).head(HEAD_ROWS).collect()
    except (pl.exceptions.PolarsError, OSError):
        raise DataError(
            "not valid JSON lines", hint="every line must be one flat JSON object", location=str(source.path)
        ) from None
    layout = _typed_layout("jsonl", frame.schema, source.path, None)
    columns = tuple(_json_dates(column, frame) for column in layout.columns)
    return replace(layout, columns=columns, compression=compression)


def _json_dates(column: ColumnSchema, frame: pl.DataFrame) -> ColumnSchema:
    """JSON has no dates: text that is all ISO dates is one."""
    if column.type is not ColumnType.TEXT or not isinstance(frame[column.name].dtype, pl.String):
        return column
    found = infer_type(set(frame[column.name].drop_nulls().unique()) - {""})
    return replace(column, type=found) if found in (ColumnType.DATE, ColumnType.DATETIME) else column


def _sniff_whole(source: Source, compression: str | None) -> Layout:
    """Formats whose types are known only when all rows were read."""
    del compression
    kind, _ = format_and_compression(source.path, source.format, source.compression)
    frame = read_excel(source.path) if kind == "xlsx" else read_stats_file(source.path, kind)
    if kind == "xlsx" and source.header is None:
        _refuse_record(frame, source)
    return _typed_layout(kind, frame.schema, source.path, frame.height)


def _refuse_record(frame: pl.DataFrame, source: Source) -> None:
    """Refuse a sheet whose first row, which is read as the header, is a record."""
    head = frame.head(HEAD_ROWS)
    below = [{str(v) for v in head[name].drop_nulls().unique().to_list()} for name in head.columns]
    names = [name if not _made_twice(name) else "" for name in head.columns]
    if not _is_header(names, below, [infer_type(cells) for cells in below], source):
        hint = "add a row with the names of the columns"
        raise DataError("the first row of the sheet is a record", hint=hint, location=source.location)


_made_twice = re.compile(r"__UNNAMED__\d+").fullmatch


def _typed_layout(kind: str, schema: object, path: Path, n_rows: int | None) -> Layout:
    items = dict(schema).items()  # type: ignore[call-overload]
    columns = tuple(
        ColumnSchema(name, column_type(name, dtype, str(path)), is_empty=isinstance(dtype, pl.Null))
        for name, dtype in items
    )
    return Layout(kind, columns, path.stat().st_size, n_rows_hint=n_rows)


_sniffers = {
    "csv": _sniff_delimited,
    "tsv": _sniff_delimited,
    "parquet": _sniff_parquet,
    "arrow": _sniff_arrow,
    "jsonl": _sniff_jsonl,
    "xlsx": _sniff_whole,
    "sets": _sniff_sets,
    **dict.fromkeys(READERS, _sniff_whole),
}
