"""Years of birth."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector


@detector("birth-year")
def birth_year(column: Column) -> Match | None:
    """Years of birth: numbers from 1850 to 2100 under a header that says so."""
    if not (column.is_number and column.is_whole) or not column.says("birth-year"):
        return None
    if not 1850 <= (column.lowest or 0) <= (column.highest or 0) <= 2100:
        return None
    return Match("year of birth", Role.QUASI, "known to many about a person", 0.8)
