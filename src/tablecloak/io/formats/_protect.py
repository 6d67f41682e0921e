"""Text that spreadsheets would execute is written with a leading apostrophe, and read back without it.

A cell that starts with = + - @, a tab or a carriage return runs as a formula when a CSV file is opened in a
spreadsheet. Such a cell gets one apostrophe in front, and so does a cell that already starts with apostrophes
followed by one of those characters, so that removing one apostrophe always gives the original. A plain number
with a sign is harmless and stays as it is.
"""

from __future__ import annotations

import re

import polars as pl

PROTECTED = r"^'+[=+\-@\t\r]"  # what a reader must strip one apostrophe from
DANGEROUS = r"^'*[=+\-@\t\r]"
_NUMBER = r"^[+-](\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_dangerous, _protected, _number = re.compile(DANGEROUS), re.compile(PROTECTED), re.compile(_NUMBER)


def protect(text: str) -> str:
    """The text as it is safe in a CSV cell."""
    return f"'{text}" if _dangerous.match(text) and not _number.match(text) else text


def unprotect(text: str) -> str:
    """The original of a protected text; any other text unchanged."""
    return text[1:] if _protected.match(text) else text


def unprotect_expr(expr: pl.Expr) -> pl.Expr:
    """`unprotect` on a text column."""
    return pl.when(expr.str.contains(PROTECTED)).then(expr.str.slice(1)).otherwise(expr)


def protect_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with column names and text cells safe in a CSV file; costs little for Enum and Categorical columns."""
    names = {name: protect(name) for name in frame.columns}
    return frame.with_columns(_protect_series(series) for series in frame if _is_text(series.dtype)).rename(names)


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))


def _protect_series(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.Enum):
        return _protect_enum(series)
    if isinstance(series.dtype, pl.Categorical):
        labels = series.unique().cast(pl.String).drop_nulls()
        return series if _all_safe(labels) else _protect_text(series.cast(pl.String))
    return series if _all_safe(series) else _protect_text(series)


def _all_safe(texts: pl.Series) -> bool:
    """No text is dangerous; two comparisons spare most columns the regular expression."""
    starts_like_one = (texts < "0") | ((texts >= "=") & (texts < "A"))
    return not starts_like_one.any() or not texts.str.contains(DANGEROUS).any()


def _protect_enum(series: pl.Series) -> pl.Series:
    labels = series.dtype.categories  # type: ignore[attr-defined]
    safe = [protect(label) for label in labels]
    if safe == list(labels):
        return series
    return series.to_physical().cat.to(pl.Enum(safe)).alias(series.name)


def _protect_text(series: pl.Series) -> pl.Series:
    text = pl.col(series.name)
    risky = text.str.contains(DANGEROUS) & ~text.str.contains(_NUMBER)
    return series.to_frame().select(pl.when(risky).then("'" + text).otherwise(text).alias(series.name)).to_series()
