"""Places smaller than a state."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("place")
def place(column: Column) -> Match | None:
    """Places smaller than a state, by words of the header."""
    if not column.says("place") or column.type is not ColumnType.TEXT:
        return None
    return Match("place", Role.QUASI, "where a person lives is widely known", 0.55)
