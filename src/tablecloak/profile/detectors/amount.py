"""Amounts and measurements."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector


@detector("amount")
def amount(column: Column) -> Match | None:
    """Amounts and measurements, by words of the header: exact ones single people out."""
    if not column.is_number or not column.says("amount"):
        return None
    if column.singles_out:
        return Match("number", Role.SENSITIVE, "exact amounts single people out", 0.5)
    return Match("number", Role.QUASI, "an amount that others may know", 0.5)
