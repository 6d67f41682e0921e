"""Health."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

# More whole numbers than this are no categories.
MANY_NUMBERS = 100


@detector("health")
def health(column: Column) -> Match | None:
    """Health: diagnoses, treatments and the like, by words of the header."""
    if not column.says("health") or column.type in (ColumnType.DATE, ColumnType.DATETIME):
        return None
    if column.is_number and column.is_whole and column.n_distinct > MANY_NUMBERS and column.singles_out:
        return Match("number", Role.QUASI, "too many whole numbers to be diagnoses: days, or codes", 0.6)
    kind = "category" if column.type in (ColumnType.TEXT, ColumnType.BOOLEAN) else "number"
    return Match(kind, Role.SENSITIVE, "medical vocabulary", 0.6)
