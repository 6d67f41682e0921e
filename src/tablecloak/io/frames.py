"""Frames of other libraries, and the few column types we work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError

__all__ = ["DTYPES", "column_type", "from_frame", "is_normal", "normalize"]

DTYPES: dict[ColumnType, pl.DataType] = {
    ColumnType.INTEGER: pl.Int64(),
    ColumnType.FLOAT: pl.Float64(),
    ColumnType.BOOLEAN: pl.Boolean(),
    ColumnType.DATE: pl.Date(),
    ColumnType.DATETIME: pl.Datetime("us"),
    ColumnType.TEXT: pl.String(),
}


def column_type(name: str, dtype: pl.DataType, location: str | None = None) -> ColumnType:
    """Our type of a polars column."""
    if dtype.is_integer():
        return ColumnType.INTEGER
    if dtype.is_float() or dtype.is_decimal():
        return ColumnType.FLOAT
    simple: list[tuple[type[pl.DataType], ColumnType]] = [
        (pl.Boolean, ColumnType.BOOLEAN),
        (pl.Date, ColumnType.DATE),
        (pl.Datetime, ColumnType.DATETIME),
        (pl.String, ColumnType.TEXT),
        (pl.Categorical, ColumnType.TEXT),
        (pl.Enum, ColumnType.TEXT),
        (pl.Null, ColumnType.TEXT),
    ]
    for kind, type_ in simple:
        if isinstance(dtype, kind):
            return type_
    raise DataError(
        f"column '{name}' has the unsupported type {dtype}",
        hint="convert it to text, number or date, or leave it out",
        location=location,
    )


def normalize(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with 64-bit numbers, microsecond naive UTC times, and missing in place of NaN and empty text.

    Categorical and Enum columns stay as they are.
    """
    changed = [normal for series in frame if (normal := _normal(series)) is not series]
    return frame.with_columns(changed) if changed else frame


def _normal(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    type_ = column_type(series.name, dtype)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        return series
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    try:
        series = series if dtype == DTYPES[type_] else series.cast(DTYPES[type_])
    except pl.exceptions.InvalidOperationError:
        series = series.cast(pl.String)  # unsigned integers beyond 64 bits
    if type_ is ColumnType.FLOAT and series.is_nan().any():
        return series.fill_nan(None)
    if type_ is ColumnType.TEXT and (series == "").any():
        return series.replace("", None)
    return series


def is_normal(dtype: pl.DataType, type_: ColumnType) -> bool:
    """Whether `normalize` leaves every column of this kind as it is, if it is to be of the given type."""
    if isinstance(dtype, pl.Enum):
        return type_ is ColumnType.TEXT
    return dtype == DTYPES[type_] and type_ not in (ColumnType.FLOAT, ColumnType.TEXT)


def from_frame(obj: Any) -> pl.DataFrame:
    """A polars frame of a polars, pandas or Arrow table, or of anything that exports an Arrow stream."""
    if isinstance(obj, pl.LazyFrame):
        return normalize(obj.collect())
    if isinstance(obj, pl.DataFrame):
        return normalize(obj)
    _refuse_duplicates(_names(obj))
    if hasattr(obj, "iloc"):
        return normalize(_from_pandas(obj))
    if hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__"):
        return normalize(_from_arrow(obj))
    raise DataError(
        f"cannot read a table from an object of type {type(obj).__name__}",
        hint="pass a polars, pandas or Arrow table, or a path",
    )


def _from_arrow(obj: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(obj)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as exc:
        raise DataError(
            f"cannot read a table from an object of type {type(obj).__name__}", hint="it must have named columns"
        ) from exc


def _names(obj: Any) -> list[str]:
    columns = getattr(obj, "column_names", None)  # pyarrow table
    if columns is None and hasattr(obj, "schema"):
        columns = getattr(obj.schema, "names", None)  # pyarrow record batch
    if columns is None:
        columns = getattr(obj, "columns", ())
    return [str(name) for name in columns] if isinstance(columns, Iterable) else []


def _refuse_duplicates(names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"duplicate column names: {', '.join(map(repr, repeated))}", hint="give every column its own name"
        )


def _from_pandas(frame: Any) -> pl.DataFrame:
    """Column by column, so that one column of mixed objects does not spoil the table; the index is left out."""
    return pl.DataFrame([_pandas_series(str(name), frame[name]) for name in frame.columns])


def _pandas_series(name: str, column: Any) -> pl.Series:
    if str(column.dtype) != "object":
        try:
            return pl.Series(name, pl.DataFrame({name: column})[name])
        except (pl.exceptions.PolarsError, TypeError, ValueError, ImportError):
            pass  # an extension type polars does not know: go through Python objects
    values = column.astype(object).where(column.notna(), None).tolist()
    try:
        return pl.Series(name, values, strict=True)
    except (pl.exceptions.PolarsError, TypeError):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
