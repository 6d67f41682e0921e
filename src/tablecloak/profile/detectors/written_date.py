"""Dates that are written in another order than year, month, day with dashes."""

from __future__ import annotations

from datetime import UTC, datetime

from tablecloak.io.notation import DATES, with_last_year
from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector


@detector("written-date")
def written_date(column: Column) -> Match | None:
    """Dates as 31.12.1999, 12/31/99, 19991231 or 3. März 1950, decided by all values; the policy gets their format."""
    if column.type not in (ColumnType.TEXT, ColumnType.INTEGER) or not column.n_present:
        return None
    looks_like = "date of birth" if column.says("birth") else "date"
    this_year = datetime.now(tz=UTC).year
    written = with_last_year(column.written, this_year)
    if written.notation is not None and written.type in DATES:
        why = "known to many about a person" if column.says("birth") else "others may know when something happened"
        if written.notation.last_year:
            why = f"{why}; years of two digits are read as {this_year - 99} to {this_year}"
        return Match(looks_like, Role.QUASI, why, 0.85, {"type": str(written.type), **written.notation.keys})
    if written.question is not None and written.question.looks_like == "date":
        what = written.question.hint(column.name).split("; or type")[0]
        return Match(looks_like, Role.DROP, f"{written.question.text}; {what}, which makes it quasi", 0.85)
    return None
