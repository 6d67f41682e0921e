"""What a table looks like: its profile, its rows as texts, whether it holds sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.coded_baskets import split_items
from tablecloak.data.table import ColumnType
from tablecloak.dicom import image_profile
from tablecloak.engines.choose import bytes_in_memory
from tablecloak.errors import CloakError, DataError
from tablecloak.io.formats import format_called
from tablecloak.io.header import Repair, repaired_names
from tablecloak.io.notation import Notation
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source
from tablecloak.profile.policy_text import scalar
from tablecloak.profile.profile import DELIMITED, FileFacts, Profile, inspect_frame
from tablecloak.profile.starter import starter_policy
from tablecloak.progress import Progress
from tablecloak.release.plan import source_of
from tablecloak.server import tables
from tablecloak.server.steps.home import task as home_task
from tablecloak.values.cell_grammar import format_value

MARKS = ("|", ";", ",", "/", "+", " ")
MOST_LOOKED_AT = 2_000
# A column looks like sets if so many of its cells hold the mark, and its items occur so often on average.
MANY_CELLS, MANY_TIMES = 0.3, 3.0
# A file looks like sets if fewer lines than this share have the usual number of items; a table has them all.
USUAL, FEW_LINES = 0.9, 5
HEAD_BYTES = 1 << 18
HEAD = 4_000
LONGEST_CELL = 80
MOST_BARS = 12


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A file, how it is read, and the preset that a policy for it starts from."""

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "standard"
    means: tables.Means = tables.DEFAULT_MEANS


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """What one column looks like."""

    name: str
    type: str
    distinct: int
    missing_share: float
    role: str  # suggested
    looks_like: str
    reason: str
    publishes: str  # of it, by the suggested role


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a file is written."""

    format: str
    n_bytes: int
    delimiter: str | None
    encoding: str | None
    header: bool | None  # None: names are no row of it
    compression: str | None
    repairs: tuple[Mapping[str, Any], ...] = ()  # of the header: column, name and reason
    offered: tuple[Mapping[str, Any], ...] = ()  # repairs that would be made if they were asked for


@dataclass(frozen=True, slots=True)
class ProfileAnswer:
    """What a table looks like, and a policy to start from."""

    inspected: Mapping[str, Any]  # as `tablecloak inspect --json` prints it
    rows: int
    sampled: int | None  # records that were looked at, where not all were
    file: FileForm
    policy: str
    shapes: Mapping[str, tuple[float, ...]]  # heights of bars, by column
    memory_bytes: int
    written: Mapping[str, str] = field(default_factory=dict)  # how columns are written where that is not as usual
    questions: Mapping[str, str] = field(default_factory=dict)  # what cells do not say about that

    @property
    def columns(self) -> tuple[ShownColumn, ...]:
        names = [f.name for f in fields(ShownColumn)]
        return tuple(ShownColumn(**{name: column[name] for name in names}) for column in self.inspected["columns"])

    def to_dict(self) -> dict[str, Any]:
        """What the API says of a dataset."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "inspected"}
        return {**self.inspected, **own, "file": asdict(self.file)}


def profile(request: ProfileRequest, _progress: Progress) -> ProfileAnswer:
    """What a table looks like, and a policy to start from."""
    source = Source(request.path, **{k: v for k, v in request.options.items() if v not in (None, "")})
    try:
        source = tables.with_header(source)
        layout = sniff(source)
        frame, n_rows = tables.looked_at(source, request.means)
        inspected = image_profile(frame) if home_task.is_image_table(source.path) else _inspected(frame, layout)
        suggested = _starting_text(inspected, source.path.name, request.preset)
    except CloakError as error:
        raise tables.nameless(error, source) from None
    return ProfileAnswer(
        inspected.to_dict(),
        n_rows,
        frame.height if frame.height < n_rows else None,
        _form_of(layout, () if source.repair else offered_repairs(layout)),
        suggested,
        {name: shape_of(frame[name]) for name in frame.columns},
        bytes_in_memory(layout),
        {c.name: _words(c.notation) for c in layout.columns if c.notation is not None},
        {c.name: c.question.text for c in layout.columns if c.question is not None},
    )


def _starting_text(inspected: Profile, source: str, preset: str) -> str:
    """The suggested policy; where nothing is recognised, one that takes every column for what others may know, so that
    somebody who knows better can go on from there."""
    try:
        return starter_policy(inspected, source=source, preset=preset).text
    except DataError:
        columns = [f"  {scalar(column.name)}: {{role: quasi}}" for column in inspected.columns]
        why = "# No column looks like something others know about a person: read every role."
        lines = [why, "version: 1", f"input: {scalar(source)}", "columns:", *columns, "others: drop", "goals:"]
        return "\n".join([*lines, "  - {model: k-anonymity, k: 5}", "algorithm: {kind: auto}", ""])


def _words(notation: Notation) -> str:
    """How a column is written: dd.mm.yyyy; decimal comma; thousands parted by a point."""
    said = {
        "dates as": notation.format,
        "the last year is": notation.last_year,
        "decimals after": notation.decimal,
        "thousands parted by": notation.thousands,
        "in": notation.unit,
    }
    return "; ".join(f"{what} {value}" for what, value in said.items() if value is not None)


def _inspected(frame: pl.DataFrame, layout: Layout) -> Profile:
    """The profile of a table; of a text file it is known that it can be read in other ways."""
    delimiter = layout.delimiter if layout.format in DELIMITED else None
    return replace(inspect_frame(frame), file=FileFacts("", layout.format, layout.n_bytes, delimiter=delimiter))


def offered_repairs(layout: Layout) -> tuple[Repair, ...]:
    """What a repair of the names of a file would change."""
    is_named = layout.header and format_called(layout.format).is_table
    return repaired_names(layout.names).repairs if is_named else ()


def needed_repair(request: FileRequest, _progress: Progress) -> dict[str, bool]:
    """How a file is read that can only be worked with if its header is repaired: names are missing or twice, or its
    bytes are not what its mark says."""
    source = Source(request.path)
    try:
        repaired = sniff(replace(source, repair=True))
    except CloakError:
        return {}  # what is wrong is said when it is read as it is written
    try:
        layout = sniff(tables.with_header(source))
    except (
        CloakError
    ):  # names that are twice may be cells of a record: until somebody says that they are names, they are
        return {"repair": True, "header": False}
    is_named = all(name.strip() for name in layout.names) and len(layout.names) == len(repaired.names)
    is_table = format_called(layout.format).is_table
    return {"repair": True} if is_table and (not is_named or repaired.encoding != layout.encoding) else {}


def _form_of(layout: Layout, offered: tuple[Repair, ...]) -> FileForm:
    is_text = layout.format in ("csv", "tsv", "sets")
    return FileForm(
        layout.format,
        layout.n_bytes,
        layout.delimiter if is_text else None,
        layout.encoding if is_text else None,
        layout.header if is_text or layout.format == "xlsx" else None,
        layout.compression,
        tuple(repair.to_dict() for repair in layout.repairs),
        tuple(repair.to_dict() for repair in offered),
    )


def shape_of(series: pl.Series) -> tuple[float, ...]:
    """Heights of at most twelve bars, the highest 1: along the values where they have an order, else by frequency."""
    present = series.drop_nulls()
    if not len(present):
        return ()
    counts = _along(present) if series.dtype.is_numeric() or series.dtype.is_temporal() else _by_frequency(present)
    return tuple(round(float(count) / max(counts), 3) for count in counts)


def _along(present: pl.Series) -> list[int]:
    places = present.to_physical().cast(pl.Float64).to_numpy()
    places = places[np.isfinite(places)]
    n_bars = min(MOST_BARS, max(1, len(np.unique(places[:10_000]))))
    counts, _ = np.histogram(places, bins=n_bars)
    return [int(c) for c in counts] if len(counts) and counts.max() else [1]


def _by_frequency(present: pl.Series) -> list[int]:
    counts = present.value_counts(sort=True)["count"].to_list()
    return [int(c) for c in counts[:MOST_BARS]]


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """Which rows of a table."""

    table: tables.PolicyTable
    offset: int
    limit: int


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows of a table as texts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


def rows(request: RowsRequest, _progress: Progress) -> TextRows:
    """One page of a table as texts."""
    source = source_of(request.table.read_policy())
    if tables.is_large(source, request.table.means):
        part = tables.page_of(source, request.offset, request.limit)
    else:
        part = tables.frame_of(source).slice(request.offset, request.limit)
    return text_rows(part)


def text_rows(frame: pl.DataFrame) -> TextRows:
    """Rows as texts, long ones cut."""
    return TextRows(tuple(frame.columns), tuple(tuple(_text(cell) for cell in row) for row in frame.rows()))


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A file to look into."""

    path: Path


@dataclass(frozen=True, slots=True)
class FirstLines:
    """The beginning of a text file; nothing of a file that is not text."""

    lines: tuple[str, ...]


def first_lines(request: FileRequest, _progress: Progress) -> FirstLines:
    """The first lines of a text file as they are written."""
    with request.path.open("rb") as file:
        head = file.read(HEAD)
    if b"\x00" in head or head[:2] in (b"\x1f\x8b", b"PK"):
        return FirstLines(())
    return FirstLines(tuple(head.decode("utf-8", "replace").splitlines()[:6]))


def _text(cell: Any) -> str | None:
    text = format_value(cell)
    return text if text is None or len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


@dataclass(frozen=True, slots=True)
class SetColumn:
    """A column whose cells look like sets."""

    name: str
    separator: str
    share: float  # of cells that hold the separator


def columns_of_sets(request: FileRequest, _progress: Progress) -> tuple[SetColumn, ...]:
    """Text columns whose cells look like sets, the likeliest first, each with what separates its items."""
    source = Source(request.path)
    frame = tables.frame_of(source)
    text = [c.name for c in sniff(source).columns if c.type is ColumnType.TEXT]
    guesses = [guess for name in text if (guess := _guess(frame[name].cast(pl.String).drop_nulls()))]
    return tuple(sorted(guesses, key=lambda guess: -guess.share))


def _guess(cells: pl.Series) -> SetColumn | None:
    cells = cells.head(MOST_LOOKED_AT)
    for mark in MARKS if len(cells) else ():
        share = int(cells.str.contains(mark, literal=True).sum()) / len(cells)
        items = split_items(cells, mark)[1]
        if share >= MANY_CELLS and len(items) >= MANY_TIMES * items.n_unique():
            return SetColumn(cells.name, mark, share)
    return None


@dataclass(frozen=True, slots=True)
class FileOfSets:
    """A file read as one of sets."""

    delimiter: str  # between items
    looks_like_sets: bool


def file_of_sets(request: FileRequest, _progress: Progress) -> FileOfSets:
    """What separates items if a file is read as one of sets, and whether its lines look like sets."""
    path = request.path
    layout = sniff(Source(path, format="sets"))
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    is_text = layout.compression is None and head[:2] != b"PK" and b"\0" not in head
    lines = head.decode(layout.encoding, "replace").splitlines()[:MOST_LOOKED_AT] if is_text else []
    return FileOfSets(layout.delimiter, _look_like_sets(lines, layout.delimiter))


def _look_like_sets(lines: list[str], delimiter: str) -> bool:
    """Lines of different lengths whose items come again; lines of a table have as many cells as each other."""
    if len(lines) < FEW_LINES or any('"' in line for line in lines):
        return False
    lengths = Counter(line.count(delimiter) for line in lines)
    items = Counter(item.strip() for line in lines for item in line.split(delimiter))
    return lengths.most_common(1)[0][1] < USUAL * len(lines) and len(items) * MANY_TIMES <= items.total()
