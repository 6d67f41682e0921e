"""Numbers of records, people and accounts."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, Match, Role, detector

# Below this share of different values the numbers stand for groups, such as hospitals.
MANY = 0.2
CERTAINTIES = {"record-number": 0.65, "numbering": 0.55, "household": 0.45, "person": 0.45}
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE).fullmatch


@detector("record-number")
def record_number(column: Column) -> Match | None:
    """Numbers of records, people and accounts: UUIDs, or a header that says so over mostly different values."""
    if not column.is_code:
        return None
    if column.share(_UUID) >= 0.8:
        return Match("UUID", Role.IDENTIFIER, "names one record or person", 0.95)
    # a number may be a count, and what belongs to a family its income
    certainty = next((certainty for kind, certainty in CERTAINTIES.items() if column.says(kind)), None)
    if certainty is None or column.distinct_share <= MANY:
        return None
    return Match("record number", Role.IDENTIFIER, "names one record or person", certainty)
