"""Dates of any kind."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("date")
def date(column: Column) -> Match | None:
    """Dates and times."""
    if column.type not in (ColumnType.DATE, ColumnType.DATETIME) or not column.n_present:
        return None
    return Match("date", Role.QUASI, "others may know when something happened", 0.4)
