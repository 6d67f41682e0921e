"""What text files have in common: a sample of their bytes, how it is encoded, and whether its first row has names."""

from __future__ import annotations

import codecs
import gzip
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tablecloak.data.given_names import has_given_name
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type
from tablecloak.io.formats._protect import unprotect
from tablecloak.io.header import Repair, made_names, repaired_names
from tablecloak.io.sources import HeaderUnclear, Source, truncated

HEAD_BYTES = 1 << 19
MOST_HEAD_BYTES = 1 << 28
HEAD_LINES = 4  # at least, whatever they take: names and some records
HEAD_ROWS = 10_000
MIDDLE_BYTES = 1 << 15
MIDDLE_CHUNKS = 8
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Sample:
    """The first bytes of a delimited file and some whole lines from later parts."""

    head: bytes
    middle: tuple[bytes, ...]
    is_whole: bool  # the head is the whole file


def take_sample(path: Path, compression: str | None) -> Sample:
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
    return Sample(head, () if is_whole or compression else tuple(_middle(path)), is_whole)


def _lines_sample(path: Path) -> Sample:
    """The head of a zstd file; the standard library cannot open it, polars can."""
    try:
        lines = pl.scan_lines(path, n_rows=HEAD_ROWS).collect().to_series()
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise truncated(path, "zstd") from exc
    head = "\n".join(lines.to_list()).encode()[: HEAD_BYTES - 1]
    return Sample(head, (), len(lines) < HEAD_ROWS and len(head) < HEAD_BYTES - 1)


def _middle(path: Path) -> Iterator[bytes]:
    """Whole lines from places spread over the rest of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for part in range(1, MIDDLE_CHUNKS + 1):
            file.seek(HEAD_BYTES + (size - HEAD_BYTES) * part // (MIDDLE_CHUNKS + 1))
            chunk = file.read(MIDDLE_BYTES)
            yield chunk[chunk.find(b"\n") + 1 : chunk.rfind(b"\n") + 1]


def encoding_of(sample: Sample, *, trusts_mark: bool = True) -> str:
    """The encoding of a sample; a mark at its start says which, unless it must prove true."""
    head = sample.head
    for bom, name in _BOMS.items():
        if head.startswith(bom) and (trusts_mark or _all_decode(sample, name.removesuffix("-sig"))):
            return name
    start = head[:4096]
    if len(start) >= 4 and start[1::2].count(0) > len(start) // 4:
        return "utf-16-le"
    if len(start) >= 4 and start[0::2].count(0) > len(start) // 4:
        return "utf-16-be"
    if _all_decode(sample, "utf-8"):
        return "utf-8"
    return "cp1252" if _decodes(head, "cp1252", True) else "latin-1"


def foreign_bom(head: bytes, encoding: str) -> int:
    """Bytes of a mark of UTF-8 at the start of text in another encoding, which would read as letters."""
    is_marked = head.startswith(codecs.BOM_UTF8) and not encoding.lower().startswith("utf")
    return len(codecs.BOM_UTF8) if is_marked else 0


def _all_decode(sample: Sample, encoding: str) -> bool:
    return _decodes(sample.head, encoding, sample.is_whole) and all(
        _decodes(part, encoding, True) for part in sample.middle if not encoding.startswith("utf-16")
    )


def _decodes(data: bytes, encoding: str, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True


def check_text(sample: Sample, encoding: str, source: Source) -> None:
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


# Headers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundHeader:
    """The names of columns, and whether the file has them."""

    names: tuple[str, ...]
    is_there: bool
    repairs: tuple[Repair, ...] = ()


def header_of(
    first: Sequence[str], below: Sequence[set[str]], types: Sequence[ColumnType], source: Source, *,
    is_odd: bool = False,
) -> FoundHeader:  # fmt: skip
    """The names in the first row, repaired where that is asked for; made ones where it is a record.

    Args:
        below: what stands below each of its cells, and of which type that is.
        is_odd: it has more or fewer cells than records, which tells that it is the header.

    Raises: DataError that asks which it is, unless repairs are asked for.
    """
    written = tuple(unprotect(name) for name in first)
    if not source.repair:
        has_names = source.header if source.header is not None else is_header(first, below, types, source)
        return FoundHeader(written if has_names else made_names(len(written)), has_names)
    repaired = repaired_names(written)
    doubt = None
    has_names = source.header if source.header is not None else is_odd or bool(
        source.named_columns & set(repaired.names)
    )  # fmt: skip
    if source.header is None and not has_names:
        try:
            has_names = is_header(first, below, types, source)
        except HeaderUnclear as question:
            doubt = question.message
    if has_names:
        return FoundHeader(repaired.names, True, repaired.repairs)
    # What may be a record is taken for one: nobody's cells become names of columns.
    reason = "the first row is a record" if doubt is None else f"{doubt}; if it has the names, say input.header: true"
    names = made_names(len(written))
    repairs = [] if source.header is False else [Repair(reason)]
    repairs += [Repair("no header", number, name) for number, name in enumerate(names, 1)]
    return FoundHeader(names, False, tuple(repairs))


def is_header(first: Sequence[str], below: Sequence[set[str]], types: Sequence[ColumnType], source: Source) -> bool:
    """Whether the first row has the names of columns: a guess that must not show a record as if it were names.

    Above numbers and dates a name is told from a record by its type. Otherwise it has to be known by somebody, or to be
    unlike what is below it.

    Raises: DataError that asks, and shows nothing of the row.
    """
    expected = source.named_columns
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
        reason = f"{n_alike} of its {len(first)} cells are like those below" if n_alike else "no name in it is known"
        raise HeaderUnclear(
            f"the first row may be a record instead of names of columns: {reason}",
            hint="say which it is: input.header: true, or false (without a policy: --header, --no-header);"
            " input.repair: true takes it for a record",
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
