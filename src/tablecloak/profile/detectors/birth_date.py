"""Dates of birth."""

from __future__ import annotations

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import Match, detector

WORDS = ("birth", "dob", "birthdate", "birthday", "born", "geburtsdatum", "naissance", "dateofbirth")


@detector("birth-date")
def birth_date(column: Column) -> Match | None:
    """Dates of birth: dates under a header that says so."""
    if column.type not in (ColumnType.DATE, ColumnType.DATETIME) or not column.named(WORDS):
        return None
    return Match("date of birth", Role.QUASI, "known to many about a person", 0.8)
