"""Numbers of records, people and accounts."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

WORDS = (
    "id", "ids", "uuid", "guid", "key", "mrn", "account", "passport", "license", "licence", "username", "userid",
    "login", "member", "patientid", "personid", "customerid", "recordid", "rowid", "index", "identifier",
    "nhs", "insee", "nhsnumber",
)  # fmt: skip
# Below this share of different values the numbers stand for groups, such as hospitals.
MANY = 0.2
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE).fullmatch


@detector("record-number")
def record_number(column: Column) -> Match | None:
    """Numbers of records, people and accounts: UUIDs, or a header that says so over mostly different values."""
    if column.type not in (ColumnType.TEXT, ColumnType.INTEGER):
        return None
    if column.share(_UUID) >= 0.8:
        return Match("UUID", Role.IDENTIFIER, "names one record or person", 0.95)
    if column.named(WORDS) and column.distinct_share > MANY:
        return Match("record number", Role.IDENTIFIER, "names one record or person", 0.6)
    return None
