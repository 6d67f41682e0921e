"""The frame border: frames of other libraries in, the same kind out, and the few column types we work with.

Narwhals says whose a frame is. No package is imported that the caller does not have: a pandas frame goes in and comes
out without pyarrow, and narwhals itself is imported only when a frame arrives that is not one of polars.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError

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


# In ----------------------------------------------------------------------------------------------------------------


def from_frame(obj: Any) -> pl.DataFrame:
    """A polars frame of a frame of any library that narwhals knows, or of anything that exports an Arrow stream.

    The index of a pandas frame is left out; where it holds more than row numbers, a warning says so.
    """
    if isinstance(obj, pl.LazyFrame):
        return normalize(obj.collect())
    if isinstance(obj, pl.DataFrame):
        return normalize(obj)
    native, wrapped = _recognized(obj)
    if wrapped is None:
        return normalize(_from_arrow(native))
    implementation = wrapped.implementation
    if implementation.is_polars():
        return from_frame(native)
    if not implementation.is_pandas_like():
        return normalize(_collected(wrapped))
    _say_index_is_left_out(native.index)
    return normalize(_from_pandas(native if implementation.is_pandas() else wrapped.to_pandas()))


def _recognized(obj: Any) -> tuple[Any, Any]:
    """The frame itself, and the same as narwhals wraps it; None: only its Arrow stream is known.

    Raises: DataError for two columns of one name, and for what is no frame.
    """
    import narwhals as nw

    native = nw.to_native(obj, pass_through=True)
    _refuse_duplicates(_names(native))
    wrapped = nw.from_native(native, pass_through=True)
    if wrapped is not native:
        return native, wrapped
    if hasattr(native, "__arrow_c_stream__") or hasattr(native, "__arrow_c_array__"):
        return native, None
    raise DataError(
        f"cannot read a table from an object of type {type(obj).__name__}",
        hint="pass a polars, pandas or Arrow table, or a path",
    )


def _collected(wrapped: Any) -> pl.DataFrame:
    """The rows of an Arrow table, or of a relation that a database or a cluster computes now."""
    collected = wrapped.lazy().collect("polars") if hasattr(wrapped, "collect") else wrapped.to_polars()
    frame = collected if isinstance(collected, pl.DataFrame) else collected.to_native()
    assert isinstance(frame, pl.DataFrame)
    return frame


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


def _say_index_is_left_out(index: Any) -> None:
    """Row numbers, also with gaps, say nothing; names, dates and keys in an index do."""
    is_plain = getattr(index, "nlevels", 1) == 1 and index.name is None and getattr(index.dtype, "kind", "O") in "iu"
    if not is_plain:
        warnings.warn(
            "the index of the frame is left out; reset_index() makes it a column", UserWarning, stacklevel=_users_line()
        )


def _users_line() -> int:
    """How far up the first caller outside this package is, for a warning that points there."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tablecloak."):
        frame, level = frame.f_back, level + 1
    return level


def _from_pandas(frame: Any) -> pl.DataFrame:
    """Column by column, so that one column of mixed objects does not spoil the table."""
    return pl.DataFrame([_pandas_series(str(name), frame[name]) for name in frame.columns])


def _pandas_series(name: str, column: Any) -> pl.Series:
    if str(column.dtype) != "object":
        try:
            return pl.Series(name, pl.DataFrame({name: column})[name])
        except (pl.exceptions.PolarsError, TypeError, ValueError, ImportError):
            pass  # an extension type polars does not know, or only with pyarrow: go through Python objects
    if hasattr(column, "cat"):
        return _pandas_categories(name, column)
    values = column.astype(object).where(column.notna(), None).tolist()
    try:
        return pl.Series(name, values, strict=True)
    except (pl.exceptions.PolarsError, TypeError):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _pandas_categories(name: str, column: Any) -> pl.Series:
    """Codes and labels, without an object for every row."""
    codes = pl.Series(column.cat.codes.to_numpy())
    labels = _pandas_series(name, column.cat.categories.to_series())
    values = labels.gather(codes.set(codes < 0, None))
    return values.cast(pl.Categorical) if labels.dtype == pl.String else values


# Out ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrameKind:
    """Whose frames the caller works with: what we give back is of the same library."""

    library: str = "polars"
    names: Mapping[str, Hashable] = field(default_factory=dict)  # those of the caller that are no text, by our name
    dtypes: Mapping[str, Any] = field(default_factory=dict)  # the caller's, by our name

    def native(self, frame: pl.DataFrame) -> Any:
        """A frame of the caller's library with the same rows."""
        return _MAKERS[self.library](frame, self) if self.library in _MAKERS else frame


def kind_of_frame(obj: Any) -> FrameKind:
    """Whose frame it is; relations of databases and what is only known by its Arrow stream get polars frames back."""
    if isinstance(obj, (pl.DataFrame, pl.LazyFrame)):
        return FrameKind()
    native, wrapped = _recognized(obj)
    if wrapped is None:
        is_pyarrow = type(native).__module__.partition(".")[0] == "pyarrow"
        return FrameKind("pyarrow" if is_pyarrow else "polars")
    library = wrapped.implementation.value
    if wrapped.implementation.is_pandas_like():
        names = {str(name): name for name in native.columns if not isinstance(name, str)}
        return FrameKind(library, names, {str(name): dtype for name, dtype in native.dtypes.items()})
    if library == "pyarrow":
        return FrameKind(library, {}, dict(zip(native.schema.names, native.schema.types, strict=True)))
    return FrameKind()


def _to_pandas(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Columns from numpy arrays, which takes no pyarrow; extension types of the caller where values fit them."""
    import narwhals as nw

    columns = {series.name: _pandas_values(series) for series in frame}
    library: Any = kind.library  # one of those in _MAKERS
    made: Any = nw.from_dict(columns, backend=library).to_native()
    for name, dtype in kind.dtypes.items():
        # text of a release in place of numbers does not fit the caller's type, nor do times without a zone
        if name in columns and not isinstance(dtype, np.dtype) and made[name].dtype != dtype:
            made[name] = _retyped(made[name], frame[name], dtype)
    return made.rename(columns=dict(kind.names)) if kind.names else made


def _pandas_values(series: pl.Series) -> Any:
    dtype = series.dtype
    if dtype.is_integer() and series.null_count():
        return series.cast(pl.Float64).to_numpy()
    is_plain = dtype.is_numeric() or isinstance(dtype, pl.Datetime) or (dtype == pl.Boolean and not series.null_count())
    return series.to_numpy() if is_plain else _plain_text(series).to_list()


def _retyped(column: Any, series: pl.Series, dtype: Any) -> Any:
    """The column as the caller's type, or as it is where that would not hold its values."""
    if _is_text(series.dtype) != (str(dtype) == "category" or "str" in str(dtype)):
        return column
    try:
        # categories are those of the release: the caller's may be values that nobody is to see
        return column.astype("category" if str(dtype) == "category" else dtype)
    except (TypeError, ValueError):
        return column


def _to_pyarrow(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Text as pyarrow makes it by itself, unless the caller has another type of text or it is too long."""
    import pyarrow as pa

    text = [series.name for series in frame if _is_text(series.dtype)]
    table = frame.with_columns(_plain_text(frame[name]) for name in text).to_arrow(compat_level=pl.CompatLevel.oldest())
    for name in text:
        place, dtype = table.schema.get_field_index(name), kind.dtypes.get(name)
        if frame[name].estimated_size() < _MOST_TEXT_BYTES:
            wanted = dtype if dtype is not None and _is_arrow_text(dtype) else pa.string()
            table = table.set_column(place, name, table.column(place).cast(wanted))
    return table


_MOST_TEXT_BYTES = 1 << 30  # offsets of pyarrow's usual text have 32 bits


def _is_arrow_text(dtype: Any) -> bool:
    return str(dtype) in ("string", "large_string", "string_view")


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))


def _plain_text(series: pl.Series) -> pl.Series:
    return series.cast(pl.String) if isinstance(series.dtype, (pl.Categorical, pl.Enum)) else series


_MAKERS: dict[str, Callable[[pl.DataFrame, FrameKind], Any]] = {
    "pandas": _to_pandas,
    "modin": _to_pandas,
    "cudf": _to_pandas,
    "pyarrow": _to_pyarrow,
}
