"""Files of SAS, SPSS and Stata.

Those we write have a number in place of every text, and the text as its value label, which is what their programs
count and cross. They say so in the label of the file, and are read back with the texts.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.data.published_columns import published_column
from tablecloak.errors import DataError
from tablecloak.io.extras import require_package
from tablecloak.io.formats import Format, Reading, Writing, add_format
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
    about: list[Any] = []

    def read_both() -> pl.DataFrame:
        frame, meta = read(str(path), output_format="polars")
        about.append(meta)
        return pl.DataFrame(frame)

    frame = read_untold(read_both, damaged)
    return _unlabelled(frame, about[0]) if about[0].file_label == MARK else frame.with_columns(map(_whole, frame))


def _whole(series: pl.Series) -> pl.Series:
    if not series.dtype.is_float():
        return series
    numbers = series.fill_nan(None)
    present = numbers.drop_nulls()
    is_whole = (
        len(present) and present.is_finite().all() and ((present == present.round()) & (present.abs() < 2**53)).all()
    )
    return numbers.cast(pl.Int64) if is_whole else numbers


# Writing --------------------------------------------------------------------------------------------------------------

MARK = "tablecloak: value labels are the cells"
MOST_LABELS = 5000  # of a column; one with more texts keeps them
LABEL_BYTES = {"sav": 120, "dta": 32_000}  # of the longest value label
NAME = {"sav": r"[A-Za-z@#$][\w.@#$]{0,63}", "dta": r"[A-Za-z_][A-Za-z0-9_]{0,31}"}
# Words that mean something else to the program, in lower case.
RESERVED = {
    "sav": frozenset("all and by eq ge gt le lt ne not or to with".split()),  # noqa: SIM905
    "dta": frozenset(
        "_all _b byte _coef _cons double float if in int long _n _pi _pred _rc _skip strl using with".split()  # noqa: SIM905
    ),
}
BOOLEAN = ("false", "true")


def _write(kind: str, frame: pl.DataFrame, path: Path, how: Writing) -> None:
    del how
    pyreadstat = require_package("pyreadstat", extra="stats-files", purpose=f"writing .{kind} files")
    odd = [n for n in frame.columns if not re.fullmatch(NAME[kind], n) or n.lower() in RESERVED[kind]]
    if odd:
        raise DataError(
            f"column '{odd[0]}' has a name that .{kind} files cannot have",
            hint="rename it in the input, or write CSV or Parquet",
            location=str(path),
        )
    texts = {s.name: labels for s in frame if (labels := _labels_of(s, LABEL_BYTES[kind])) is not None}
    numbered = frame.with_columns(_numbered(frame[name], labels) for name, labels in texts.items())
    plain = numbered.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
    write(
        plain, str(path), file_label=MARK, column_labels={s.name: _about(s) for s in frame},
        variable_value_labels={name: dict(enumerate(labels, start=1)) for name, labels in texts.items()},
    )  # fmt: skip


def _labels_of(series: pl.Series, most_bytes: int) -> list[str] | None:
    """The texts of a column in their order; None where it has none, or more or longer ones than labels can be."""
    if series.dtype == pl.Boolean:
        return list(BOOLEAN)
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    shown = [value.text for value in published_column(series).values]
    texts = shown or sorted(str(text) for text in series.drop_nulls().unique().to_list())
    fits = len(texts) <= MOST_LABELS and all(len(text.encode()) <= most_bytes for text in texts)
    return texts if fits and texts else None


def _numbered(series: pl.Series, labels: list[str]) -> pl.Series:
    number = {text: i for i, text in enumerate(labels, start=1)}
    return series.cast(pl.String).replace_strict(number, return_dtype=pl.Int32, default=None).alias(series.name)


def _about(series: pl.Series) -> str:
    """The label of a variable, which also says what kind of number it is."""
    return f"{series.name} (decimal)" if series.dtype.is_float() else series.name


def _unlabelled(frame: pl.DataFrame, meta: Any) -> pl.DataFrame:
    """The table that was written."""
    columns = []
    for series in frame:
        labels = meta.variable_value_labels.get(series.name)
        about = meta.column_names_to_labels.get(series.name) or ""
        if labels:
            texts = {int(number): text for number, text in labels.items()}
            named = series.cast(pl.Int64).replace_strict(texts, return_dtype=pl.String, default=None)
            is_boolean = tuple(texts.values()) == BOOLEAN
            columns.append((named == BOOLEAN[1] if is_boolean else named).alias(series.name))
        else:
            columns.append(series.fill_nan(None) if about.endswith("(decimal)") else _whole(series))
    return pl.DataFrame(columns)


def _sniff(kind: str, source: Source, compression: str | None) -> Layout:
    """What is a whole number is known only when all rows were read."""
    del compression
    frame = _read(source.path, kind)
    return typed_layout(kind, frame.schema, source, frame.height)


def _read_columns(kind: str, reading: Reading) -> pl.DataFrame:
    return _read(reading.source.path, kind).select(reading.layout.chosen(reading.columns))


for _name, _program in (("sas7bdat", "SAS"), ("sav", "SPSS"), ("dta", "Stata")):
    _how = ", written with value labels" if _name in LABEL_BYTES else ", only read"
    add_format(
        Format(
            name=_name,
            summary=f"Tables of {_program} (.{_name}){_how}; needs tablecloak[stats-files].",
            sniff=partial(_sniff, _name),
            read=reader(partial(_read_columns, _name)),
            write=partial(_write, _name) if _name in LABEL_BYTES else None,
        )
    )
