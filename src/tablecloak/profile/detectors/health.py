"""Health."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("health")
def health(column: Column) -> Match | None:
    """Health: diagnoses, treatments and the like, by words of the header."""
    if not column.says("health") or column.type in (ColumnType.DATE, ColumnType.DATETIME):
        return None
    kind = "category" if column.type in (ColumnType.TEXT, ColumnType.BOOLEAN) else "number"
    return Match(kind, Role.SENSITIVE, "medical vocabulary", 0.6)
