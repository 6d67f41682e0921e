"""Read and write tables as CSV, TSV, Parquet, JSON lines, Arrow and Excel files; read SAS, SPSS and Stata files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, columns_hint
from tablecloak.io.atomic import writing
from tablecloak.io.database import read_table, write_table
from tablecloak.io.delimited import read_delimited, typed
from tablecloak.io.excel import read_excel, write_excel
from tablecloak.io.frames import normalize
from tablecloak.io.parts import Part, is_many, read_part, read_parts
from tablecloak.io.places import DatabaseTable, Place
from tablecloak.io.protect import protect_frame
from tablecloak.io.sets import read_sets, write_sets
from tablecloak.io.sniff import sniff, truncated
from tablecloak.io.sources import WRITABLE, Layout, Source, format_and_compression
from tablecloak.io.stats_files import READERS, read_stats_file

__all__ = ["read_frame", "read_slice", "refuse_empty", "require_rows", "wanted_columns", "write_frame"]

ROWS_PER_FILE = 1_000_000


def read_frame(
    source: Source | Place | str,
    *,
    columns: Sequence[str] | None = None,
    categorical: Collection[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
) -> pl.DataFrame:
    """The table in a file, a folder of files or a database, in row order, with only the given columns.

    Integers are Int64, decimals Float64 (NaN is missing), times naive microseconds, text String; text columns named in
    `categorical` are Categorical. An empty cell is missing.

    Args:
        labels: all values that text columns are expected to have, which makes reading them faster: such a column is an
            Enum of them if it holds nothing else.

    Raises: DataError naming the file, the column and the row of what cannot be read, never the value.
    """
    if not isinstance(source, Source):
        source = Source.of(Path(source) if isinstance(source, str) else source)
    source = replace(source, expected=source.expected | set(columns or ()))
    layout = sniff(source)
    wanted = wanted_columns(layout, columns, source.location)
    if source.table is not None:
        frames = [_typed(batch, source, layout, categorical) for batch in read_table(source.table, layout, wanted)]
        return pl.concat(frames)
    if is_many(source.path):
        return read_parts(
            source, layout, wanted, lambda part, names: _read_one(part, sniff(part), names, categorical, labels)
        )
    return _read_one(source, layout, wanted, categorical, labels)


def _read_one(
    source: Source,
    layout: Layout,
    wanted: list[str],
    categorical: Collection[str],
    labels: Mapping[str, Sequence[str]] | None,
) -> pl.DataFrame:
    if layout.format in ("csv", "tsv"):
        return read_delimited(source, layout, wanted, categorical, labels or {})
    if layout.format == "sets":
        return _with_categories(read_sets(source.path, layout), layout, categorical)
    return _typed(_read_typed(source.path, layout, wanted), source, layout, categorical)


def _typed(frame: pl.DataFrame, source: Source, layout: Layout, categorical: Collection[str]) -> pl.DataFrame:
    return _with_categories(normalize(typed(frame, source, layout)), layout, categorical)


def read_slice(source: Source, layout: Layout, part: Part, columns: Sequence[str], rows: slice | None) -> pl.DataFrame:
    """Some columns of one file of a source whose layout is known, all rows or, of Parquet, some; text as String.

    Types are those of the layout: a cell that has another one is an error, because other files were read by then.
    """

    def read_file(file: Source, names: list[str]) -> pl.DataFrame:
        if rows is None:
            inside = {c.name: c.type for c in layout.columns if not c.is_folder}
            return read_frame(replace(file, types={**inside, **file.types}), columns=names)
        known = replace(layout, columns=tuple(c for c in layout.columns if c.name in names))
        try:
            chosen = pl.scan_parquet(file.path, glob=False).slice(rows.start, rows.stop - rows.start).select(names)
            return _typed(chosen.collect(), file, known, ())
        except (pl.exceptions.PolarsError, OSError) as exc:
            raise truncated(file.path, "Parquet") from exc

    return read_part(source, layout, part, list(columns), read_file)


def require_rows(frame: pl.DataFrame, path: Place | str) -> pl.DataFrame:
    """The frame itself, or a DataError if it has no rows."""
    refuse_empty(frame.height, str(path))
    return frame


def refuse_empty(n_rows: int, location: str) -> None:
    """Raise a DataError if a table has no rows."""
    if n_rows == 0:
        raise DataError("has a header but no rows", hint="check how it was exported", location=location)


def wanted_columns(layout: Layout, columns: Sequence[str] | None, location: str) -> list[str]:
    """The columns to read, all where none are named; raises DataError for one that is not there."""
    if columns is None:
        return list(layout.names)
    known = set(layout.names)
    for name in columns:
        if name not in known:
            hint = columns_hint(name, layout.names)
            raise DataError(f"there is no column '{name}'", hint=hint, location=location)
    return list(columns)


def _read_typed(path: Path, layout: Layout, wanted: list[str]) -> pl.DataFrame:
    if layout.format == "xlsx":
        return read_excel(path).select(wanted)
    if layout.format in READERS:
        return read_stats_file(path, layout.format).select(wanted)
    try:
        if layout.format == "parquet":
            return pl.read_parquet(path, columns=wanted, glob=False)
        if layout.format == "arrow":
            return pl.read_ipc(path, columns=wanted)
        return pl.scan_ndjson(path, infer_schema_length=None).select(wanted).collect()
    except (pl.exceptions.PolarsError, OSError) as exc:
        if layout.format == "jsonl":
            raise DataError(
                "not valid JSON lines", hint="every line must be one flat JSON object", location=str(path)
            ) from None
        raise truncated(path, layout.format.capitalize()) from exc


def _with_categories(frame: pl.DataFrame, layout: Layout, categorical: Collection[str]) -> pl.DataFrame:
    """Text columns as Categorical where asked for, else as String."""
    text = [name for name in frame.columns if layout.type_of(name) is ColumnType.TEXT]
    asked, schema = set(categorical), frame.schema
    numbers = [n for n in text if schema[n].is_numeric() and n in asked]  # the file knows them as numbers
    frame = frame.with_columns(pl.col(numbers).cast(pl.String)) if numbers else frame
    return frame.with_columns(pl.col(n).cast(pl.Categorical if n in asked else pl.String) for n in text)


def write_frame(
    frame: pl.DataFrame,
    place: Place,
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    compression: str | None = None,
    rows_per_file: int | None = None,
) -> None:
    """Write a table; format and compression follow the file name unless given.

    A folder gets files of `rows_per_file` rows each, Parquet unless another format is given. In CSV and TSV, text that
    a spreadsheet would execute is protected by an apostrophe that `read_frame` removes.
    """
    if isinstance(place, DatabaseTable):
        write_table([frame], frame.schema, place)
        return
    path = Path(place)
    if path.is_dir():
        kind, step = format or "parquet", rows_per_file or ROWS_PER_FILE
        for number, start in enumerate(range(0, max(frame.height, 1), step)):
            file = path / f"part-{number:05d}.{kind}"
            write_frame(frame.slice(start, step), file, delimiter=delimiter, compression=compression)
        return
    kind, compression = format_and_compression(path, format, compression)
    if kind not in (*WRITABLE, "sets"):
        raise DataError(
            f".{kind} files can be read, not written", hint=f"write one of {', '.join(WRITABLE)}", location=str(path)
        )
    with writing(path):
        _write(frame, path, kind, delimiter=delimiter, compression=compression)


_Packing = Literal["uncompressed", "gzip", "zstd"]
_PACKING: dict[str | None, _Packing] = {None: "uncompressed", "gz": "gzip", "zst": "zstd"}


def _write(frame: pl.DataFrame, path: Path, kind: str, *, delimiter: str | None, compression: str | None) -> None:
    packing = _PACKING[compression]
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "arrow":
        frame.write_ipc(path)
    elif kind == "xlsx":
        write_excel(frame, path)
    elif kind == "sets":
        write_sets(frame.to_series().cast(pl.String).fill_null(""), path, delimiter or ",", compression)
    elif kind == "jsonl":
        _refuse_infinities(frame, path)
        frame.write_ndjson(path, compression=packing, check_extension=False)
    else:
        separator = delimiter or ("\t" if kind == "tsv" else ",")
        protect_frame(frame).write_csv(
            path,
            separator=separator,
            compression=packing,
            check_extension=False,
            datetime_format="%Y-%m-%dT%H:%M:%S%.f",
        )


def _refuse_infinities(frame: pl.DataFrame, path: Path) -> None:
    names = [s.name for s in frame if s.dtype.is_float() and s.is_infinite().any()]
    if names:
        raise DataError(
            f"JSON has no infinite numbers, and column '{names[0]}' has some",
            hint="write CSV or Parquet",
            location=str(path),
        )
