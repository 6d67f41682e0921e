"""dates: calendar periods, from days or months to centuries."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kinds._levels import edges, finish, ranks
from tablecloak.hierarchy.kinds.base import HierarchySpec, SortedColumn, hierarchy_kind

_PERIODS = {"day": 0, "month": 1, "quarter": 3, "half-year": 6, "year": 12, "decade": 120, "century": 1200}


@hierarchy_kind("dates", types=("date", "datetime"))
class DatesSpec(HierarchySpec):
    """Calendar periods: 2020-03-14, 2020-03, 2020-Q1, 2020, [2020, 2029]."""

    levels: list[str] = Field(
        default=["month", "year", "decade"],
        min_length=1,
        description="fine to coarse: day, month, quarter, year, '5 years', decade, century",
    )
    exact: bool = Field(default=True, description="false: nothing finer than the first level is ever published")

    @field_validator("levels")
    @classmethod
    def _nested(cls, levels: list[str]) -> list[str]:
        months = [_months_of(level) for level in levels]
        for finer, coarser, name in zip(months, months[1:], levels[1:], strict=False):
            if coarser <= finer or (finer and coarser % finer):
                raise ValueError(
                    f"'{name}' is not made of whole periods of the level before it; go from fine to coarse"
                )
        return levels

    def over(self, column: SortedColumn) -> Hierarchy:
        days = np.array([_day_of(value) for value in column.values], dtype="datetime64[D]")
        months = days.astype("datetime64[M]").astype(np.int64) + 12 * 1970  # since year 0
        span = max(1, int((days[-1] - days[0]).astype(np.int64))) if len(days) else 1
        levels = []
        for length in (_months_of(level) for level in self.levels):
            groups = ranks(days if length == 0 else months // length)
            if not len(days) or groups[-1] == 0:
                break
            begin = edges(groups)[0]
            labels = [_period_text(days[i].item(), int(months[i]), length) for i in begin]
            loss = min(1.0, max(1.0, length * 30.436875) / span)  # mean length of a month in days
            levels.append(Level(groups, labels, np.full(len(labels), loss)))
        tree = finish(column, levels, "dates")
        return tree if self.exact else tree.cut_off(tree.parent[: tree.n_leaves])


def _months_of(level: str) -> int:
    """Length of a calendar period in months, 0 for a day."""
    if level in _PERIODS:
        return _PERIODS[level]
    if (match := re.fullmatch(r"(\d+) years?", level)) and 1 <= int(match[1]) <= 5000:
        return 12 * int(match[1])
    raise ValueError(f"unknown period '{level}'; use {', '.join(_PERIODS)} or '5 years'")


def _day_of(value: Any) -> date:
    """The day of a date or of a time, in UTC."""
    if isinstance(value, datetime) and value.tzinfo:
        value = value.astimezone(UTC)
    return date(value.year, value.month, value.day)


def _period_text(day: date, month: int, length: int) -> str:
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
