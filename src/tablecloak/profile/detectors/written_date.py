"""Dates that are written in another order than year, month, day with dashes."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tablecloak.profile.detector import Column, Match, Role, detector

FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d")
YEARS = range(1850, 2101)
ENOUGH_VALUES = 5
# Writings of which the whole column decides that they are dates, but not which century, or which part is the day.
UNDECIDED = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y")


@detector("written-date")
def written_date(column: Column) -> Match | None:
    """Dates as 31.12.1999, 12/31/1999 or 19991231, decided by all values; the policy gets their format."""
    if not column.is_code or len(column.sample) < ENOUGH_VALUES:
        return None
    fitting = [form for form in FORMATS if column.share(partial(_is_date, form), at_least=1) == 1]
    looks_like = "date of birth" if column.says("birth") else "date"
    if len(fitting) == 1:
        why = "known to many about a person" if column.says("birth") else "others may know when something happened"
        return Match(looks_like, Role.QUASI, why, 0.85, {"type": "date", "format": fitting[0]})
    if fitting or any(column.share(partial(_is_date, form), at_least=1) == 1 for form in UNDECIDED):
        why = "dates of which day, month or century cannot be told; type: date with a format makes it quasi"
        return Match(looks_like, Role.DROP, why, 0.85)
    return None


def _is_date(form: str, value: str) -> bool:
    if form == "%Y%m%d" and len(value) != 8:
        return False
    try:
        return datetime.strptime(value, form).year in YEARS
    except ValueError:
        return False
