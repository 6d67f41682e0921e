"""Tables in several files: folders, patterns, and folders named `key=value` as Hive does."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.cells import infer_type, parser
from tablecloak.io.formats import format_called
from tablecloak.io.frames import DTYPES
from tablecloak.io.sources import ColumnSchema, Layout, Source

MISSING = "__HIVE_DEFAULT_PARTITION__"
_magic = re.compile(r"[*?\[]").search
_NUMBERS = {ColumnType.INTEGER, ColumnType.FLOAT}

SniffFile = Callable[[Source], Layout]
ReadFile = Callable[[Source, list[str]], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table, and what the folders it lies in say about all of its rows."""

    path: Path
    keys: Mapping[str, str | None]


def is_many(path: Path) -> bool:
    """Whether a path names a folder or a pattern instead of a file."""
    return path.is_dir() or (_magic(str(path)) is not None and not path.exists())


def parts_of(path: Path) -> list[Part]:
    """The files of a folder (and of those in it) or of a pattern, by name; hidden ones and those named _* left out.

    Raises: DataError if there are none, or if they do not agree about the folders `key=value`.
    """
    root, files = _files(path)
    if not files:
        hint = "check the path" if path.is_dir() else "check the pattern; ** matches folders"
        raise DataError("there are no data files", hint=hint, location=str(path))
    parts = [Part(file, _keys(file.relative_to(root).parts[:-1])) for file in files]
    for part in parts:
        if list(part.keys) != list(parts[0].keys):
            raise DataError(
                "files lie in folders of different keys", hint="every file needs the same key=value folders above it",
                location=str(part.path),
            )  # fmt: skip
    return parts


def files_of(source: Source) -> list[Path]:
    """The files of a source; a table of a database and a frame have none."""
    if source.table is not None or source.is_frame:
        return []
    return [part.path for part in parts_of(source.path)] if is_many(source.path) else [source.path]


def size_of(path: Path) -> int:
    """Bytes of a file, or of all in a folder or pattern."""
    return sum(part.path.stat().st_size for part in parts_of(path)) if is_many(path) else path.stat().st_size


def root_of(path: Path) -> Path:
    """The folder that all files of a folder or pattern lie in."""
    if path.is_dir():
        return path
    return Path(*path.parts[: next(i for i, step in enumerate(path.parts) if _magic(step))])


def _files(path: Path) -> tuple[Path, list[Path]]:
    root = root_of(path)
    pattern = str(Path(glob.escape(str(path))) / "**" / "*") if path.is_dir() else str(path)
    paths = map(Path, glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob refuses absolute patterns
    return root, sorted(f for f in paths if f.is_file() and not _is_hidden(f.relative_to(root)))


def _is_hidden(path: Path) -> bool:
    return any(step.startswith((".", "_")) for step in path.parts)


def _keys(folders: Iterable[str]) -> dict[str, str | None]:
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(key): None if value == MISSING else unquote(value) for key, _, value in pairs}


# Layout ------------------------------------------------------------------------------------------------------------


def sniff_parts(source: Source, sniff_file: SniffFile) -> Layout:
    """The layout of all files together; columns of `key=value` folders come last.

    Raises: DataError if files have different formats or columns, or a column different types.
    """
    parts = parts_of(source.path)
    layouts = [sniff_file(_source_of(source, part)) for part in parts]
    first = layouts[0]
    for part, layout in zip(parts, layouts, strict=True):
        _require_alike(first, layout, parts[0].path, part.path)
    columns = [_united(name, source, parts, layouts) for name in first.names]
    keys = [ColumnSchema(key, _key_type(key, source, parts), is_folder=True) for key in _own_keys(parts, first.names)]
    counts = [layout.n_rows_hint for layout in layouts]
    return replace(
        first,
        columns=(*columns, *keys),
        n_bytes=sum(layout.n_bytes for layout in layouts),
        n_rows_hint=None if None in counts else sum(count or 0 for count in counts),
    )


def _source_of(source: Source, part: Part, layout: Layout | None = None) -> Source:
    """One file as a source of its own, without what is said about the columns of folders.

    Args:
        layout: of all files together, which says how columns are written.
    """
    declared = {name: type_ for name, type_ in source.types.items() if name not in part.keys}
    notations = {name: notation for name, notation in source.notations.items() if name not in part.keys}
    if layout is None:
        return replace(source, path=part.path, types=declared, notations=notations)
    inside = [c for c in layout.columns if not c.is_folder]
    if format_called(layout.format).is_guessed:
        declared |= {c.name: ColumnType.TEXT for c in inside if c.type is ColumnType.TEXT}
    declared |= {c.name: c.type for c in inside if c.notation}
    notations |= {c.name: c.notation for c in inside if c.notation}
    return replace(source, path=part.path, types=declared, notations=notations, is_settled=True)


def _own_keys(parts: Sequence[Part], names: Sequence[str]) -> list[str]:
    """Keys of folders; a column that the files have, too, is read from them."""
    return [key for key in parts[0].keys if key not in names]


def _require_alike(first: Layout, other: Layout, first_path: Path, path: Path) -> None:
    if other.format != first.format:
        raise DataError(
            f"this is a {other.format} file, and {first_path.name} is {first.format}",
            hint="name the files you mean by a pattern, such as folder/*.csv", location=str(path),
        )  # fmt: skip
    names, other_names = set(first.names), set(other.names)
    if names != other_names:
        name = min(names ^ other_names)
        lacking, having = (path, first_path) if name in names else (first_path, path)
        raise DataError(
            f"there is no column '{name}' in {lacking.name}, but in {having.name}",
            hint="all files of a table need the same columns", location=str(lacking),
        )  # fmt: skip


def _united(name: str, source: Source, parts: Sequence[Part], layouts: Sequence[Layout]) -> ColumnSchema:
    """A column with the type that fits all files."""
    declared = source.declared_type(name)
    pairs = [
        (part, c.type) for part, layout in zip(parts, layouts, strict=True) if not (c := layout.column(name)).is_empty
    ]
    types = {type_ for _, type_ in pairs}
    if declared is not None or len(types) <= 1:
        return ColumnSchema(name, declared or next(iter(types), ColumnType.TEXT), is_empty=not types)
    if not format_called(layouts[0].format).is_guessed:
        (one, type_), (other, other_type) = pairs[0], next(p for p in pairs if p[1] is not pairs[0][1])
        raise DataError(
            f"column '{name}' is {other_type.value} here and {type_.value} in {one.path.name}",
            hint=f"convert one of them, or declare columns.{name}.type: text", location=str(other.path),
        )  # fmt: skip
    return ColumnSchema(name, ColumnType.FLOAT if types <= _NUMBERS else ColumnType.TEXT)


def _key_type(key: str, source: Source, parts: Sequence[Part]) -> ColumnType:
    values = {value for part in parts if (value := part.keys[key]) is not None}
    return source.declared_type(key) or infer_type(values)


# Rows --------------------------------------------------------------------------------------------------------------


def read_parts(source: Source, layout: Layout, wanted: list[str], read_file: ReadFile) -> pl.DataFrame:
    """The rows of all files, file after file."""
    parts = parts_of(source.path)
    frames = [read_part(source, layout, part, wanted, read_file) for part in parts]
    unlike = [name for name in wanted if not _is_one_kind([f.schema[name] for f in frames])]
    if unlike:  # a type guessed from the first cells did not hold for all: such a column is text
        text = replace(layout, columns=tuple(_as_text(c, unlike) for c in layout.columns))
        frames = [read_part(source, text, part, wanted, read_file) for part in parts]
    return pl.concat(_alike(frames, wanted), how="vertical")


def _as_text(column: ColumnSchema, names: Sequence[str]) -> ColumnSchema:
    return replace(column, type=ColumnType.TEXT) if column.name in names else column


def _is_one_kind(dtypes: Sequence[pl.DataType]) -> bool:
    return len({_kind(dtype) for dtype in dtypes}) == 1


def _kind(dtype: pl.DataType) -> pl.DataType:
    return pl.String() if isinstance(dtype, (pl.Categorical, pl.Enum)) else dtype


def read_part(source: Source, layout: Layout, part: Part, wanted: list[str], read_file: ReadFile) -> pl.DataFrame:
    """The wanted columns of one file; `layout` is that of all files together."""
    keys = [name for name in wanted if layout.column(name).is_folder]
    inside = [name for name in wanted if name not in keys] or [layout.names[0]]  # which at least says how many rows
    chosen = replace(layout, columns=tuple(c for c in layout.columns if c.name in inside))
    frame = read_file(_source_of(source, part, chosen), inside)
    frame = frame.with_columns(_widened(frame[name], layout.type_of(name)) for name in inside)
    return frame.with_columns(_key_cells(name, part.keys[name], layout) for name in keys).select(wanted)


def _widened(series: pl.Series, type_: ColumnType) -> pl.Series:
    """Whole numbers as decimals, and a column without cells as whatever the other files say."""
    is_whole = type_ is ColumnType.FLOAT and series.dtype == pl.Int64
    is_empty = type_ is not ColumnType.TEXT and series.null_count() == len(series)
    return series.cast(DTYPES[type_]) if is_whole or is_empty else series


def _key_cells(name: str, value: str | None, layout: Layout) -> pl.Expr:
    type_ = layout.type_of(name)
    cell = pl.DataFrame({name: [value]}, schema={name: pl.String})
    read = cell.select(parser(name, type_, layout.notation_of(name))).item()
    return pl.lit(read, dtype=DTYPES[type_]).alias(name)


def _alike(frames: list[pl.DataFrame], wanted: Sequence[str]) -> list[pl.DataFrame]:
    """Frames whose text columns have one dtype, so that they can be joined."""
    schemas = [frame.schema for frame in frames]
    mixed = [name for name in wanted if len({schema[name] for schema in schemas}) > 1]
    return [frame.with_columns(pl.col(mixed).cast(pl.String).cast(pl.Categorical)) for frame in frames]
