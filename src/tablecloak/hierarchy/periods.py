"""Calendar periods: days, months, quarters, years and more, as numbers of months and as text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

_PERIODS = {"day": 0, "month": 1, "quarter": 3, "half-year": 6, "year": 12, "decade": 120, "century": 1200}


def months_of(level: str) -> int:
    """Length of a calendar period in months, 0 for a day."""
    if level in _PERIODS:
        return _PERIODS[level]
    if (match := re.fullmatch(r"(\d+) years?", level)) and 1 <= int(match[1]) <= 5000:
        return 12 * int(match[1])
    raise ValueError(f"unknown period '{level}'; use {', '.join(_PERIODS)} or '5 years'")


def day_of(value: Any) -> date:
    """The day of a date or of a time, in UTC."""
    if isinstance(value, datetime) and value.tzinfo:
        value = value.astimezone(UTC)
    return date(value.year, value.month, value.day)


def period_text(day: date, month: int, length: int) -> str:
    """The text of the period of `length` months that contains a day; `month` counts from year 0."""
    year, begin = divmod(month - month % max(1, length), 12)
    if length == 0:
        return day.isoformat()
    if length == 1:
        return f"{year:04d}-{begin + 1:02d}"
    if length == 3:
        return f"{year:04d}-Q{begin // 3 + 1}"
    if length == 6:
        return f"[{year:04d}-{begin + 1:02d}, {year:04d}-{begin + 6:02d}]"
    return f"{year:04d}" if length == 12 else f"[{max(1, year):04d}, {year + length // 12 - 1:04d}]"
