"""Numbers with a decimal comma."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

ENOUGH_VALUES = 5
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+)(,\d+)?").fullmatch


@detector("decimal-comma")
def decimal_comma(column: Column) -> Match | None:
    """Numbers with a decimal comma, which are read as text: their order and their ranges would mean nothing."""
    if column.type is not ColumnType.TEXT or len(column.sample) < ENOUGH_VALUES or column.share(_NUMBER) < 1:
        return None
    if not any("," in value for value in column.sample):
        return None
    why = "numbers with decimal commas are read as text; write them with points to publish ranges of them"
    return Match("number with decimal comma", Role.DROP, why, 0.9)
