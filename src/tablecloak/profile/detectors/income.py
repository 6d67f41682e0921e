"""Income and wealth."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("income")
def income(column: Column) -> Match | None:
    """Income and wealth, by words of the header."""
    if not column.says("income") or column.type in (ColumnType.DATE, ColumnType.DATETIME):
        return None
    return Match("number" if column.is_number else "category", Role.SENSITIVE, "income or wealth", 0.5)
