"""Which type a set of text cells has: rules that lose nothing when the value is written again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date, datetime

from tablecloak.data.table import ColumnType

__all__ = ["infer_type"]

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
