"""Names of persons."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent

_NAME = re.compile(r"[^\W\d_]['’.\-\w]*(,? [^\W\d_]['’.\-\w]*){0,4}").fullmatch


@detector("person-name")
def person_name(column: Column) -> Match | None:
    """Names of persons: a header that says so over text that is written like names."""
    if column.type is not ColumnType.TEXT or not column.says("person-name") or column.says("thing"):
        return None
    share = column.share(_NAME)
    if share < 0.5:
        return None
    reason = "near unique" if column.is_near_unique else "names people"
    return Match(f"person name ({percent(share)})", Role.IDENTIFIER, reason, 0.85)
