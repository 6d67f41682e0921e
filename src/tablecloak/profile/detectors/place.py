"""Places smaller than a state."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("place")
def place(column: Column) -> Match | None:
    """Places smaller than a state, and coordinates of maps, by words of the header."""
    if column.is_number and column.says("coordinate"):
        return Match("coordinate", Role.QUASI, "a place on the map leads to one home", 0.7)
    if not column.says("place") or column.type is not ColumnType.TEXT:
        return None
    return Match("place", Role.QUASI, "where a person lives is widely known", 0.55)
