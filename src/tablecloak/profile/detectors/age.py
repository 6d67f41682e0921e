"""Ages."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector

OLDEST = 125


@detector("age")
def age(column: Column) -> Match | None:
    """Ages: numbers from 0 to 125 under a header that says so."""
    if not column.says("age") or not column.is_number:
        return None
    if column.lowest is None or column.highest is None or column.lowest < 0 or column.highest > OLDEST:
        return None
    return Match("age", Role.QUASI, "known to many about a person", 0.8)
