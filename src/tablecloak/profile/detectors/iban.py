"""International bank account numbers."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent

_PATTERN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}").fullmatch


@detector("iban")
def iban(column: Column) -> Match | None:
    """International bank account numbers, by pattern and checksum (ISO 13616)."""
    share = column.share(is_iban) if column.type is ColumnType.TEXT else 0.0
    if share < 0.8:
        return None
    return Match(f"IBAN ({percent(share)} with a valid checksum)", Role.IDENTIFIER, "names one account", 0.97)


def is_iban(text: str) -> bool:
    """The letters read as numbers 10 to 35 leave 1 when divided by 97."""
    compact = text.replace(" ", "")
    if not _PATTERN(compact):
        return False
    digits = "".join(str(int(character, 36)) for character in compact[4:] + compact[:4])
    return int(digits) % 97 == 1
