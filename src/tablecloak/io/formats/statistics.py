"""Files of SAS, SPSS and Stata."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from tablecloak.errors import DataError
from tablecloak.io.extras import require_package
from tablecloak.io.formats import Format, add_format
from tablecloak.io.formats._typed import read_untold, reader, typed_layout
from tablecloak.io.sources import Layout, Source

# By format, the function of pyreadstat that reads it.
_READERS = {"sas7bdat": "read_sas7bdat", "sav": "read_sav", "dta": "read_dta"}


def _read(path: Path, kind: str) -> pl.DataFrame:
    """The table of a file: codes as they are stored, not their labels; whole numbers as integers.

    These formats store every number as a decimal, so a column of whole numbers is read as what it means.
    """
    pyreadstat = require_package("pyreadstat", extra="stats-files", purpose=f"reading .{kind} files")
    read = getattr(pyreadstat, _READERS[kind])
    damaged = DataError(f"not a readable .{kind} file", hint="export it again", location=str(path))
    frame = read_untold(lambda: read(str(path), output_format="polars")[0], damaged)
    return frame.with_columns(_whole(series) for series in frame)


def _whole(series: pl.Series) -> pl.Series:
    if not series.dtype.is_float():
        return series
    numbers = series.fill_nan(None)
    present = numbers.drop_nulls()
    is_whole = (
        len(present) and present.is_finite().all() and ((present == present.round()) & (present.abs() < 2**53)).all()
    )
    return numbers.cast(pl.Int64) if is_whole else numbers


def _sniff(kind: str, source: Source, compression: str | None) -> Layout:
    """What is a whole number is known only when all rows were read."""
    del compression
    frame = _read(source.path, kind)
    return typed_layout(kind, frame.schema, source.path, frame.height)


def _read_columns(kind: str, path: Path, columns: list[str]) -> pl.DataFrame:
    return _read(path, kind).select(columns)


for _name, _program in (("sas7bdat", "SAS"), ("sav", "SPSS"), ("dta", "Stata")):
    add_format(
        Format(
            name=_name,
            summary=f"Tables of {_program} (.{_name}), only read; needs tablecloak[stats-files].",
            sniff=partial(_sniff, _name),
            read=reader(partial(_read_columns, _name)),
        )
    )
