"""Blocks of a large delimited file that begin and end where records do, so that several readers can share it.

A line break inside quotes ends no record, and whether a place is inside quotes depends on all that stands before it. So
each stretch of the file is looked at for both cases, and what is said of all stretches together tells which case is
true. A file whose quotes do not stand where they belong is not shared: only who reads all of it knows what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.io.sources import Layout, Source

Block = tuple[int, int]  # bytes of a file: begin and end

_BESIDE = 4  # bytes on both sides of a stretch that say what its first and last ones mean
_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = (10, 13)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The bytes that give a file its form."""

    quote: int
    delimiter: int
    eol: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is seen of a stretch of a file, in case it begins outside quotes, and in case it begins inside."""

    n_quotes: int
    first: tuple[int, int]  # where the first record begins that has a whole record before it, -1 if none does
    is_sound: tuple[bool, bool]  # quotes stand at the ends of cells or are doubled, and the text is UTF-8


def punctuation_of(source: Source, layout: Layout) -> Punctuation | None:
    """What to look for in a file; None where it must be read in one piece."""
    is_plain = layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")
    if layout.format not in ("csv", "tsv") or layout.compression or layout.skip or not is_plain:
        return None
    marks = [mark.encode() for mark in (source.quote, layout.delimiter, layout.eol)]
    return Punctuation(*(mark[0] for mark in marks)) if all(len(mark) == 1 for mark in marks) else None


def stretches(n_bytes: int, most: int) -> list[Block]:
    """A file cut into pieces of equal size, wherever they begin."""
    return [(begin, min(n_bytes, begin + most)) for begin in range(0, n_bytes, most)]


def look_at(path: Path, stretch: Block, punctuation: Punctuation) -> Stretch:
    """What is seen of a stretch of a file."""
    begin, end = stretch
    before = min(begin, _BESIDE)
    with path.open("rb") as file:
        file.seek(begin - before)
        data = file.read(before + end - begin + _BESIDE)
    chunk = np.frombuffer(data, np.uint8)
    eol = np.uint8(punctuation.eol)
    padded = np.concatenate([[eol, eol], chunk, [eol]])  # byte i of `chunk` is byte i + 2 here
    if begin == 0 and data.startswith(_BOM):
        padded[2:5] = eol
    own = slice(before, before + end - begin)
    quotes = np.flatnonzero(chunk[own] == punctuation.quote) + before
    edges = np.array([punctuation.quote, punctuation.delimiter, punctuation.eol, *_LINE_ENDS], np.uint8)
    may_open, may_close = np.isin(padded[quotes + 1], edges), np.isin(padded[quotes + 3], edges)
    is_text = _is_utf8(data, before, before + end - begin)
    ends = np.flatnonzero(chunk[own] == eol) + before
    ends = ends[_between_records(padded, ends, eol)]
    is_odd = np.searchsorted(quotes, ends) & 1  # quotes before it
    firsts = [ends[is_odd == case] for case in (0, 1)]
    return Stretch(
        len(quotes),
        (_first(firsts[0], begin - before), _first(firsts[1], begin - before)),
        (
            is_text and bool(may_open[::2].all() and may_close[1::2].all()),
            is_text and bool(may_open[1::2].all() and may_close[::2].all()),
        ),
    )


def _between_records(padded: NDArray[np.uint8], ends: NDArray[np.intp], eol: np.uint8) -> NDArray[np.bool_]:
    """Ends of lines with a line before and after them that is not blank: blank ones mean something at ends of files."""
    earlier, last, following = padded[ends], padded[ends + 1], padded[ends + 3]
    is_blank = (last == eol) | ((last == _LINE_ENDS[1]) & (earlier == _LINE_ENDS[0]))
    starts: NDArray[np.bool_] = ~is_blank & ~np.isin(following, np.array([eol, *_LINE_ENDS], np.uint8))
    return starts


def _first(ends: NDArray[np.intp], offset: int) -> int:
    return int(ends[0]) + 1 + offset if len(ends) else -1


def _is_utf8(data: bytes, begin: int, end: int) -> bool:
    """Whether the characters that begin in a stretch are UTF-8; a stretch may cut one apart."""
    while begin < end and begin < len(data) and data[begin] & 0xC0 == 0x80 and begin < _BESIDE + 3:
        begin += 1
    last = end
    while last < min(len(data), end + 3) and data[last] & 0xC0 == 0x80:
        last += 1
    own = data[begin:last]
    if own.isascii():
        return True
    try:
        own.decode()
    except UnicodeDecodeError:
        return False
    return True


def record_blocks(looked: Sequence[Stretch], n_bytes: int) -> list[Block]:
    """Blocks that hold whole records, from what was seen of all stretches in their order.

    The first holds the header, too. Where quotes do not stand where they belong, the file is one block.
    """
    begins, case = [0], 0
    for number, stretch in enumerate(looked):
        if not stretch.is_sound[case]:
            return [(0, n_bytes)]
        if number and stretch.first[case] >= 0:
            begins.append(stretch.first[case])
        case = (case + stretch.n_quotes) & 1
    return [(0, n_bytes)] if case else list(zip(begins, [*begins[1:], n_bytes], strict=True))
