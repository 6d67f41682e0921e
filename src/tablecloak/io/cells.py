"""Text cells: which type they have, by rules that lose nothing when a value is written again, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.frames import DTYPES, normalize
from tablecloak.io.notation import DATES, NUMBERS, CellEvidence, Notation
from tablecloak.io.sources import ColumnSchema, Layout, Source
from tablecloak.values.cell_grammar import format_value

# A leading zero or plus sign would be lost by a number, so such cells are text (postal codes, phone numbers).
_integer = re.compile(r"-?(0|[1-9]\d*)").fullmatch
_float = re.compile(r"-?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", re.IGNORECASE).fullmatch
_date = re.compile(r"\d{4}-\d\d-\d\d").fullmatch
_datetime = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?").fullmatch
_INT64 = 2**63


def infer_type(cells: Collection[str]) -> ColumnType:
    """The narrowest type that every cell has; text if there is none or no cell."""
    if not cells:
        return ColumnType.TEXT
    return next((type_ for type_, accepts in _RULES if all(map(accepts, cells))), ColumnType.TEXT)


def _is_boolean(cell: str) -> bool:
    return cell in ("true", "false")


def _is_integer(cell: str) -> bool:
    return _integer(cell) is not None and (len(cell) < 19 or -_INT64 <= int(cell) < _INT64)


def _is_float(cell: str) -> bool:
    # An integer beyond 64 bits would be rounded.
    return _float(cell) is not None and (_integer(cell) is None or _is_integer(cell))


def _is_date(cell: str) -> bool:
    return _date(cell) is not None and _parses(date.fromisoformat, cell)


def _is_datetime(cell: str) -> bool:
    return _datetime(cell) is not None and _parses(datetime.fromisoformat, cell)


def _parses(parse: Callable[[str], object], cell: str) -> bool:
    try:
        parse(cell)
    except ValueError:
        return False
    return True


_RULES: tuple[tuple[ColumnType, Callable[[str], bool]], ...] = (
    (ColumnType.BOOLEAN, _is_boolean),
    (ColumnType.INTEGER, _is_integer),
    (ColumnType.FLOAT, _is_float),
    (ColumnType.DATE, _is_date),
    (ColumnType.DATETIME, _is_datetime),
)


# Values ------------------------------------------------------------------------------------------------------------


def as_laid_out(frame: pl.DataFrame, source: Source, layout: Layout, categorical: Collection[str]) -> pl.DataFrame:
    """A frame as its layout says: typed, normal, and text as Categorical where asked for, else as String."""
    return with_categories(normalize(typed(frame, source, layout)), layout, categorical)


def typed(frame: pl.DataFrame, source: Source, layout: Layout) -> pl.DataFrame:
    """Text columns turned into the type of the layout; a sniffed type that does not fit stays text.

    Raises: DataError for a declared type that does not fit, with the first row that fails.
    """
    text = [s for s in frame if _is_convertible(s.dtype, layout.column(s.name))]
    return frame.with_columns(_convert(series, source, layout.column(series.name)) for series in text)


def _is_convertible(dtype: pl.DataType, column: ColumnSchema) -> bool:
    """Text of another type, and numbers that stand for dates or are whole."""
    if dtype == pl.String:
        return column.type is not ColumnType.TEXT
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.notation is not None
    if column.type in DATES:
        return column.notation is not None and dtype.is_numeric()
    return column.type is ColumnType.INTEGER and dtype.is_float()


def _convert(series: pl.Series, source: Source, column: ColumnSchema) -> pl.Series:
    type_, notation = column.type, column.notation
    if series.dtype.is_float() and type_ is ColumnType.INTEGER:
        notation = Notation(decimal=".")
    series = series.cast(pl.String).replace("", None)
    result = series.to_frame().select(parser(series.name, type_, notation))[series.name]
    failed = result.is_null() & series.is_not_null()
    if not failed.any():
        return result
    if source.declared_type(series.name) is None:
        return series
    first, count = failed.arg_true()[0] + 1, failed.sum()
    raise DataError(
        f"column '{series.name}' is declared {type_.value}, but {count} cells are not, the first in row {first}",
        hint=column.question.hint(series.name) if column.question else _HINTS.get(type_, _HINT),
        location=str(source.path),
    )


_HINT = "correct the cells, or declare the column as text"
_HINTS = {
    **dict.fromkeys(NUMBERS, f"{_HINT}, or say how they are written: decimal, thousands, unit"),
    **dict.fromkeys(DATES, f"{_HINT}, or give its date `format`, such as dd.mm.yyyy"),
}


def parsed(series: pl.Series, type_: ColumnType, notation: Notation | None = None) -> pl.Series:
    """Text cells as values of a type, null where they are none."""
    values = series.to_frame().select(parser(series.name, type_, notation))[series.name]
    return values.fill_nan(None) if type_ is ColumnType.FLOAT else values


def canonical_texts(texts: Sequence[str], type_: ColumnType, notation: Notation | None = None) -> list[str]:
    """Texts that stand for values of a type as these are written: 32.60 is 32.6, and 34.0 of whole numbers is 34.

    What is no value of the type stays as it is.
    """
    if type_ not in (*DATES, *NUMBERS):
        return list(texts)
    written = pl.Series("text", texts, dtype=pl.String)
    values = parsed(written, type_, notation).fill_null(parsed(written, type_))
    if type_ is ColumnType.INTEGER:
        values = values.fill_null(parsed(written, type_, Notation(decimal=".")))
    elif values.has_nulls():
        evidence = CellEvidence("text", ColumnType.TEXT)
        evidence.add(written)
        values = values.fill_null(parsed(written, type_, evidence.decided().notation))
    return [
        text if value is None else str(format_value(value))
        for text, value in zip(texts, values.to_list(), strict=True)
    ]  # fmt: skip


def parser(name: str, type_: ColumnType, notation: Notation | None) -> pl.Expr:
    """A text column as values of a type, null where they are none."""
    column = pl.col(name)
    if notation is not None and type_ in (*DATES, *NUMBERS):
        return notation.parser(name, type_)
    if type_ is ColumnType.DATE:
        return column.str.to_date("%Y-%m-%d", strict=False)
    if type_ is ColumnType.DATETIME:
        return column.str.replace(" ", "T", literal=True).str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us"
        )
    if type_ is ColumnType.BOOLEAN:
        lower = column.str.to_lowercase()
        return pl.when(lower.is_in(["true", "false"])).then(lower == "true").alias(name)
    return column.cast(DTYPES[type_], strict=False)


def with_categories(frame: pl.DataFrame, layout: Layout, categorical: Collection[str]) -> pl.DataFrame:
    """Text columns as Categorical where asked for, else as String."""
    text = [name for name in frame.columns if layout.type_of(name) is ColumnType.TEXT]
    categorical_names, schema = set(categorical), frame.schema
    numbers = [n for n in text if schema[n].is_numeric() and n in categorical_names]  # the file knows them as numbers
    frame = frame.with_columns(pl.col(numbers).cast(pl.String)) if numbers else frame
    return frame.with_columns(pl.col(n).cast(pl.Categorical if n in categorical_names else pl.String) for n in text)


def with_text(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Text columns that the file knows as something else, as text."""
    other = [
        name for name, dtype in frame.schema.items()
        if layout.type_of(name) is ColumnType.TEXT and not isinstance(dtype, pl.String | pl.Categorical | pl.Enum)
    ]  # fmt: skip
    return frame.with_columns(pl.col(other).cast(pl.String)) if other else frame
