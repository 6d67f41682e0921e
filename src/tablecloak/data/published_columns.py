"""Published columns as analysts need them: bounds of intervals, members of sets, and a codebook of every value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

from tablecloak.errors import DataError
from tablecloak.values.cell_grammar import ANY, EPOCH, Cell, Labels, Number, parse

LINES: dict[str, pl.DataType] = {
    "integer": pl.Int64(), "float": pl.Float64(), "date": pl.Date(), "datetime": pl.Datetime("us"),
}  # fmt: skip
MOST_LISTED = 1000  # different values of a column that a codebook lists
CODEBOOK = ("column", "type", "value", "meaning", "low", "high", "middle", "members", "records", "share")
MEANINGS = {
    "exact": "one value", "interval": "from low to high", "set": "one of the members", "node": "one of the members",
    "all but": "any other value than those named", "any": "any value", "mask": "* hides a character",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """One text that a column shows, and what it stands for."""

    text: str
    kind: str
    low: Any = None  # of the type of the column; None: there is no such bound
    high: Any = None
    middle: Any = None
    members: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DecodedColumn:
    """A column of a release with what its cells stand for."""

    name: str
    line: str | None  # integer, float, date or datetime, where cells are values or intervals of them
    values: tuple[PublishedValue, ...]  # in their order; of a column whose cells are plain values, none

    @property
    def has_sets(self) -> bool:
        return self.line is None and any(v.kind in ("set", "node", "all but") for v in self.values)


def published_column(series: pl.Series, labels: Labels | None = None) -> DecodedColumn:
    """What the cells of a published column stand for, found out from the cells alone.

    Args:
        labels: those of its hierarchy, where that is at hand.
    """
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return DecodedColumn(series.name, None, ())
    texts = sorted(str(text) for text in series.drop_nulls().unique().to_list())
    line = _line_of(texts)
    if line is not None:
        values = sorted((_on_line(text, parse(text, line), line) for text in texts), key=_by_place)
        return DecodedColumn(series.name, line, tuple(values))
    cells = [parse(text, "text", labels) for text in texts]
    if all(cell.kind == "exact" for cell in cells):
        return DecodedColumn(series.name, None, ())
    return DecodedColumn(series.name, None, tuple(map(_in_sets, texts, cells)))


def _line_of(texts: Sequence[str]) -> str | None:
    """The type of values whose intervals, or * beside which, a column shows; None: it shows something else."""
    told = [text for text in texts if text.strip(ANY)]
    for line in LINES:
        cells = [parse(text, line) for text in told]
        if not cells or any(c.kind not in ("exact", "interval") or math.isnan(c.lo) for c in cells):
            continue
        if line == "integer" and any(isinstance(at, float) and math.isfinite(at) for c in cells for at in (c.lo, c.hi)):
            continue
        is_general = any(cell.kind == "interval" for cell in cells) or len(told) < len(texts)
        return line if is_general else None
    return None


def _on_line(text: str, cell: Cell, line: str) -> PublishedValue:
    if cell.kind == "any":
        return PublishedValue(text, "any")
    lo, hi = cell.lo, cell.hi
    if line in ("integer", "date"):  # whole steps: open ends are the next ones inside
        lo, hi = lo + cell.lo_open, hi - cell.hi_open
    is_bounded = math.isfinite(lo) and math.isfinite(hi)
    middle = _middle(lo, hi, line) if is_bounded else None
    return PublishedValue(text, cell.kind, _value(lo, line), _value(hi, line), middle)


def _middle(lo: Number, hi: Number, line: str) -> Any:
    if line in ("integer", "float"):
        return lo / 2 + hi / 2  # the sum of two large floats is none
    return _value((int(lo) + int(hi)) // 2, line)


def _value(at: Number, line: str) -> int | float | date | datetime | None:
    if not math.isfinite(at):
        return None
    if line == "date":
        return EPOCH.date() + timedelta(days=int(at))
    if line == "datetime":
        return EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(at))
    return int(at) if line == "integer" else float(at)


def _by_place(value: PublishedValue) -> tuple[bool, Any, Any]:
    """Values in the order of their bounds, what has none last."""
    place = value.low if value.low is not None else value.high
    return (True, 0, 0) if place is None else (False, place, value.high if value.high is not None else place)


def _in_sets(text: str, cell: Cell) -> PublishedValue:
    """A value of a category; of "all but" nobody who has only the release can name the members."""
    if cell.kind in ("any", "mask", "all but"):
        return PublishedValue(text, cell.kind)
    members = {str(cell.text)} if cell.kind == "exact" else cell.members
    return PublishedValue(text, cell.kind, members=tuple(sorted(members)))


def analysed(frame: pl.DataFrame, labels: Mapping[str, Labels] | None = None) -> pl.DataFrame:
    """A release with what its cells stand for beside them.

    A column x of intervals is followed by `x_low`, `x_high` and `x_mid`, a column of sets by the list `x_set`; labels
    become categories in their order. Where a cell does not say it (`*`, `all but {Bern}`), these are missing.
    """
    series: list[pl.Series] = []
    for column in frame:
        published = published_column(column, (labels or {}).get(column.name))
        series += [_categories(column, published), *_beside(column, published)]
    names = [each.name for each in series]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"the release already has columns called {', '.join(twice)}", hint="rename them before reading it"
        )
    return pl.DataFrame(series)


def _categories(column: pl.Series, published: DecodedColumn) -> pl.Series:
    if not published.values:
        return column
    return column.cast(pl.String).cast(pl.Enum(list(dict.fromkeys(_shown(published)))))


def _shown(published: DecodedColumn) -> list[str]:
    return [value.text for value in published.values]


def _beside(column: pl.Series, published: DecodedColumn) -> list[pl.Series]:
    name = column.name
    if published.line is None and not published.has_sets:
        return []
    if published.line is None:
        about = {f"{name}_set": pl.Series([v.members for v in published.values], dtype=pl.List(pl.String))}
    else:
        dtype = LINES[published.line]
        middle = pl.Float64() if dtype.is_numeric() else dtype
        about = {
            f"{name}_low": pl.Series([v.low for v in published.values], dtype=dtype),
            f"{name}_high": pl.Series([v.high for v in published.values], dtype=dtype),
            f"{name}_mid": pl.Series([v.middle for v in published.values], dtype=middle),
        }
    number = {text: i for i, text in enumerate(_shown(published))}
    places = column.cast(pl.String).replace_strict(number, return_dtype=pl.UInt32, default=None)
    return [values.gather(places).alias(each) for each, values in about.items()]


def codebook(frame: pl.DataFrame, labels: Mapping[str, Labels] | None = None) -> pl.DataFrame:
    """Every value of every column of a release: what it means, and how many records show it.

    Of a column with more than 1,000 different values that are no labels, only the first and the last are named.
    """
    rows: list[tuple[Any, ...]] = []
    for column in frame:
        rows += _entries(column, published_column(column, (labels or {}).get(column.name)))
    return pl.DataFrame(rows, schema=dict.fromkeys(CODEBOOK, pl.String) | {"records": pl.Int64}, orient="row").cast(
        {"share": pl.Float64}
    )


def _entries(column: pl.Series, published: DecodedColumn) -> list[tuple[Any, ...]]:
    name, n_rows = column.name, max(1, len(column))
    kind = published.line or _type_of(column)
    plain = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
    counts = dict(plain.value_counts().iter_rows())
    n_missing = counts.pop(None, 0)
    if published.values:
        values = list(published.values)
    elif len(counts) <= MOST_LISTED:
        values = [PublishedValue(str(value), "exact") for value in sorted(counts)]
        counts = {str(value): n for value, n in counts.items()}
    else:
        low, high = str(min(counts)), str(max(counts))
        text = f"{len(counts):,} different values"
        values, counts = [PublishedValue(text, "values", low, high)], {text: sum(counts.values())}
    if n_missing:
        values.append(PublishedValue("", "missing"))
        counts[""] = n_missing
    return [
        (
            name, kind, v.text, {**MEANINGS, "values": "values as they were", "missing": "empty"}[v.kind],
            _told(v.low), _told(v.high), _told(v.middle),
            None if v.members is None or v.kind == "exact" else "; ".join(v.members), counts[v.text],
            str(counts[v.text] / n_rows),
        )
        for v in values
    ]  # fmt: skip


def _told(value: Any) -> str | None:
    return None if value is None else str(value)


def _type_of(column: pl.Series) -> str:
    dtype = column.dtype
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "float"
    return {"Boolean": "boolean", "Date": "date", "Datetime": "datetime"}.get(type(dtype).__name__, "text")
