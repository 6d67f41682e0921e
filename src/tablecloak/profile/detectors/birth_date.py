"""Dates of birth."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

LIFETIME = 60


@detector("birth-date")
def birth_date(column: Column) -> Match | None:
    """Dates of birth: dates under a header that says so, or over as many years as people live."""
    if column.type not in (ColumnType.DATE, ColumnType.DATETIME):
        return None
    if column.says("birth"):
        return Match("date of birth", Role.QUASI, "known to many about a person", 0.8)
    if (column.years or 0) >= LIFETIME:
        return Match("date, perhaps of birth", Role.QUASI, f"dates over {column.years:.0f} years", 0.45)
    return None
