"""Beliefs, orientation and offences."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector


@detector("belief")
def belief(column: Column) -> Match | None:
    """Beliefs, sexual orientation and offences (GDPR articles 9 and 10), by words of the header."""
    if not column.says("belief"):
        return None
    return Match("category", Role.SENSITIVE, "specially protected by law", 0.55)
