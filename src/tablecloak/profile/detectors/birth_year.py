"""Years of birth."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

WORDS = ("birth", "born", "birthyear", "yob", "yearofbirth")


@detector("birth-year")
def birth_year(column: Column) -> Match | None:
    """Years of birth: numbers from 1850 to 2100 under a header that says so."""
    if column.type is not ColumnType.INTEGER or not column.named(WORDS):
        return None
    if not 1850 <= (column.lowest or 0) <= (column.highest or 0) <= 2100:
        return None
    return Match("year of birth", Role.QUASI, "known to many about a person", 0.8)
