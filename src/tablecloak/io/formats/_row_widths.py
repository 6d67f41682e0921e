"""Is every row of a delimited file as wide as its header? Fast when it is, exact when it is not."""

from __future__ import annotations

import codecs
import csv
import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import polars as pl

from tablecloak.errors import DataError
from tablecloak.io.header import REPAIR_HINT
from tablecloak.io.sources import Layout

if TYPE_CHECKING:
    from _csv import Reader

_CHUNK = 1 << 18  # stays in the cache


@dataclass(frozen=True)
class Blanks:
    """The data rows (from 0, counting blank lines) of a sound file that are blank lines."""

    rows: tuple[int, ...]


@dataclass(frozen=True)
class BadByte:
    """The first byte of a file that is not UTF-8."""

    offset: int  # bytes from the start
    line: int  # from 1
    after_ascii: bool  # everything before it is ASCII, so the file may be in any one-byte encoding


@dataclass(frozen=True)
class Marks:
    """Which bytes occur anywhere in a file; what does not occur needs no look at the cells."""

    nul: bool = True
    apostrophe: bool = True
    quote: bool = True


def find_marks(path: Path, layout: Layout, quote: str) -> Marks:
    """The marks of a file, all of them if it is compressed."""
    if layout.compression:
        return Marks()
    presence, wanted = [False] * 3, (b"\0", b"'", quote.encode())
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            presence = [is_present or mark in data for is_present, mark in zip(presence, wanted, strict=True)]
    return Marks(*presence)


def is_regular(path: Path, layout: Layout) -> bool:
    """Every line of an uncompressed file without quotes has as many fields as there are columns."""
    if len(layout.delimiter.encode()) > 1:
        return False
    width, at = len(layout.columns), 0  # `at` counts the fields of the row that a chunk ends in
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            chunk = np.frombuffer(data, np.uint8)
            is_end = chunk == ord(layout.eol)
            ends = is_end[np.flatnonzero(is_end | (chunk == ord(layout.delimiter)))]  # (n_separators,)
            due = ends[width - 1 - at :: width]  # where rows must end
            if not due.all() or np.count_nonzero(ends) != len(due):
                return False
            at = (at + len(ends)) % width
    return at in (0, width - 1)  # the last line may lack its end


def count_delimiters(path: Path, layout: Layout, quote: str) -> int | None:
    """How many delimiters stand outside quotes; None if that cannot be counted fast."""
    if layout.compression or len(layout.delimiter.encode()) > 1 or len(quote.encode()) != 1:
        return None
    delimiter, mark, total, is_open = ord(layout.delimiter), ord(quote), 0, False
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            chunk = np.frombuffer(data, np.uint8)
            is_delimiter = chunk == delimiter
            if is_open or quote.encode() in data:
                inside = np.cumsum(chunk == mark, dtype=np.uint8) & 1 != is_open
                is_delimiter &= ~inside
                is_open = bool(inside[-1])
            total += int(np.count_nonzero(is_delimiter))
    return total


@contextmanager
def open_rows(path: Path, layout: Layout, quote: str) -> Iterator[Reader]:
    """The rows of a file one by one, strictly parsed; the reader knows its line number."""
    csv.field_size_limit(sys.maxsize)  # the default refuses cells beyond 128 kB
    with _open_text(path, layout.compression) as lines:
        yield csv.reader(lines, delimiter=layout.delimiter, quotechar=quote, strict=True)


@contextmanager
def _open_text(path: Path, compression: str | None) -> Iterator[Iterator[str]]:
    if compression == "zst":
        lines = pl.scan_lines(path).collect().to_series()
        yield (f"{line}\n" for line in lines)
        return
    opener: Callable[..., IO[str]] = gzip.open if compression == "gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
        yield iter(text)


def scan_rows(path: Path, layout: Layout, *, quote: str, location: str) -> Blanks:
    """Walk through all rows; returns where blank lines are.

    Raises: DataError with the row number of the first ragged row or broken quote.
    Cost: one slow pass in Python, so only for files known to have a problem.
    """
    blanks: list[int] = []
    width, row = len(layout.columns), -int(layout.header)
    with open_rows(path, layout, quote) as reader:
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return Blanks(tuple(blanks))
            except csv.Error:
                raise _quote_error(row + 1, reader.line_num, location) from None
            if not fields and row < 0:
                continue  # before the header
            if not fields and width > 1:
                blanks.append(row)
            elif fields and len(fields) != width:
                raise _ragged_error(row + 1, reader.line_num, (len(fields), width), location)
            row += 1


def _quote_error(row: int, line: int, location: str) -> DataError:
    return DataError(
        f"the quotes in row {row} (ending at line {line}) do not match",
        hint="double a quote inside a quoted cell, or set `quote` to the character the file uses",
        location=location,
    )


def _ragged_error(row: int, line: int, counts: tuple[int, int], location: str) -> DataError:
    return DataError(
        f"row {row} (line {line}) has {counts[0]} fields, expected {counts[1]}",
        hint="quote cells that contain the delimiter, or set `delimiter`; if lines are sets of items, `format: sets`"
        + (
            f"; if it is the header that has other cells than all rows, {REPAIR_HINT}"
            if row == 1 or counts[1] == 1
            else ""
        ),
        location=location,
    )


def find_invalid_utf8(path: Path, compression: str | None) -> BadByte | None:
    """Where a file stops being UTF-8, or None if it never does."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, is_ascii = 0, 1, True
    with gzip.open(path) if compression == "gz" else path.open("rb") as file:
        while True:
            data = file.read(1 << 20)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as exc:
                good = data[: max(exc.start - pending, 0)]
                return BadByte(
                    offset + exc.start - pending, line + good.count(b"\n"), is_ascii and not pending and good.isascii()
                )
            if not data:
                return None
            offset, line, is_ascii = offset + len(data), line + data.count(b"\n"), is_ascii and text.isascii()
