"""Telephone numbers."""

from __future__ import annotations

import re

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import Match, detector, percent

WORDS = ("phone", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "telefon", "handy", "phonenumber")
_NUMBER = re.compile(r"\+?[\d(][\d\s().\-/]{5,18}\d").fullmatch
_INTERNATIONAL = re.compile(r"\+\d[\d\s().\-/]{5,17}\d").fullmatch


@detector("phone")
def phone(column: Column) -> Match | None:
    """Telephone numbers: the international pattern, or digits under a telling header."""
    if column.type not in (ColumnType.TEXT, ColumnType.INTEGER):
        return None
    share = column.share(_NUMBER if column.named(WORDS) else _INTERNATIONAL)
    if share < 0.8:
        return None
    return Match(f"phone number ({percent(share)})", Role.IDENTIFIER, "reaches one person", 0.9)
