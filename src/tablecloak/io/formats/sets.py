"""Files of sets: one set a line, items separated by a delimiter; no header, no quotes; an empty line is an empty set.

As a table, such a file has one text column, `items`. An item that a spreadsheet would execute is written with an
apostrophe in front, which reading removes.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import with_categories
from tablecloak.io.formats import Format, Reading, Writing, add_format
from tablecloak.io.formats._protect import protect, unprotect
from tablecloak.io.formats._text import check_text, encoding_of, take_sample
from tablecloak.io.sources import ColumnSchema, Layout, Source

ITEMS = "items"
MARKS = ("|", ";", "\t", ",")


def delimiter_of_sets(text: str) -> str:
    """The mark that most lines of a file of sets hold; space only where there is no other."""
    lines = text.splitlines()
    line_counts = {mark: sum(mark in line for line in lines) for mark in MARKS}
    best = max(MARKS, key=lambda mark: line_counts[mark])
    return best if line_counts[best] else " " if any(" " in line.strip() for line in lines) else ","


def _sniff(source: Source, compression: str | None) -> Layout:
    sample = take_sample(source.path, compression)
    encoding = source.encoding or encoding_of(sample)
    check_text(sample, encoding, source)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample.head, sample.is_whole)
    n_rows = text.count("\n") + (not text.endswith("\n")) if sample.is_whole else None
    return Layout(
        "sets", (ColumnSchema(ITEMS, ColumnType.TEXT),), source.path.stat().st_size,
        source.delimiter or delimiter_of_sets(text), encoding, False, compression, n_rows_hint=n_rows,
    )  # fmt: skip


def read_sets(path: Path, layout: Layout) -> pl.DataFrame:
    """The lines of a file as the column `items`."""
    lines = _lines(path, layout)
    if any("'" in line for line in lines):
        lines = [layout.delimiter.join(map(unprotect, line.split(layout.delimiter))) for line in lines]
    return pl.DataFrame({ITEMS: pl.Series(lines, dtype=pl.String)})


def _lines(path: Path, layout: Layout) -> list[str]:
    if layout.compression == "zst":
        return [str(line).rstrip("\r") for line in pl.scan_lines(path).collect().to_series()]
    try:
        data = gzip.decompress(path.read_bytes()) if layout.compression == "gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile) as exc:
        hint = "copy or export the file again"
        raise DataError("the gzip data is damaged or cut off", hint=hint, location=str(path)) from exc
    try:
        text = data.decode(layout.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        message = f"line {line:,} is not {layout.encoding} text"
        raise DataError(message, hint="name its encoding, as in encoding: cp1252", location=str(path)) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        hint = "the file is damaged or not text; export it again, or name its encoding"
        raise DataError(f"line {line:,} contains a NUL character", hint=hint, location=str(path))
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def write_sets(sets: Iterable[str], path: Path, delimiter: str, compression: str | None = None) -> None:
    """Write one set a line; `sets` are lines whose items the delimiter separates."""
    text = "".join(f"{delimiter.join(map(protect, line.split(delimiter)))}\n" for line in sets)
    data = text.encode()
    if compression == "zst":
        raise DataError("files of sets are not written as zstd", hint="use .gz, or no compression", location=str(path))
    path.write_bytes(gzip.compress(data, mtime=0) if compression == "gz" else data)


def _read(reading: Reading) -> pl.DataFrame:
    frame = read_sets(reading.source.path, reading.layout)  # as it is: an empty text is an empty set
    return with_categories(frame, reading.layout, reading.categorical)


def _write(frame: pl.DataFrame, path: Path, how: Writing) -> None:
    write_sets(frame.to_series().cast(pl.String).fill_null(""), path, how.delimiter or ",", how.compression)


add_format(
    Format(
        name="sets",
        summary="Text, one set of items a line (say format: sets), also compressed (.gz; .zst only read).",
        sniff=_sniff,
        read=_read,
        write=_write,
        is_compressed=True,
        is_table=False,
    )
)
