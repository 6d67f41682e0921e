"""Numbers with a decimal comma, thousands marks or a unit."""

from __future__ import annotations

from tablecloak.io.notation import NUMBERS
from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("decimal-comma")
def decimal_comma(column: Column) -> Match | None:
    """Numbers with decimal commas, thousands marks or units as text: their order and ranges would mean nothing."""
    if column.type is not ColumnType.TEXT or not column.n_present:
        return None
    written = column.written
    if written.notation is not None and written.type in NUMBERS:
        keys = ", ".join(f"{key}: {value}" for key, value in written.notation.keys.items())
        return Match("number as text", Role.DROP, f"numbers that are read as text; with {keys} they are numbers", 0.9)
    if written.question is not None and written.question.looks_like == "number":
        what = written.question.hint(column.name).split("; or type")[0]
        return Match("number as text", Role.DROP, f"{written.question.text}; {what}", 0.9)
    return None
