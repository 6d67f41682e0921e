"""What is plain to see about a person."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector


@detector("demographic")
def demographic(column: Column) -> Match | None:
    """Sex, origin, family, schooling, work, residence, and ages in other units than years, by words of the header."""
    if not (column.says("demographic") or (column.says("age") and column.is_number)):
        return None
    return Match("number" if column.is_number else "category", Role.QUASI, "others may know it about a person", 0.5)
