"""Dates of any kind."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("date")
def date(column: Column) -> Match | None:
    """Dates and times, and numbers under a header that says so, such as days since some date."""
    if not column.n_present:
        return None
    why = "others may know when something happened"
    if column.type in (ColumnType.DATE, ColumnType.DATETIME):
        return Match("date", Role.QUASI, why, 0.4)
    if not column.is_number or not column.singles_out:
        return None
    is_said = column.says("birth") or (column.is_whole and column.says("date"))
    return Match("days in numbers", Role.QUASI, why, 0.55) if is_said else None
