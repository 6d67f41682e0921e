"""Geographic coordinates."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

LIMITS = {"longitude": 180, "latitude": 90}
_PAIR = re.compile(r"\(?-?\d{1,2}\.\d+[,; ]\s?-?\d{1,3}\.\d+\)?").fullmatch


@detector("coordinates")
def coordinates(column: Column) -> Match | None:
    """Geographic coordinates: numbers in range under a telling header, or pairs of decimals."""
    if column.type is ColumnType.TEXT and column.share(_PAIR) >= 0.9:
        return Match("coordinates", Role.DROP, "a place on the map leads to one home", 0.9)
    limit = next((limit for kind, limit in LIMITS.items() if column.says(kind)), None)
    if limit is None or column.type is not ColumnType.FLOAT or column.lowest is None or column.highest is None:
        return None
    if column.lowest < -limit or column.highest > limit:
        return None
    return Match("coordinate", Role.QUASI, "a place on the map leads to one home", 0.85)
