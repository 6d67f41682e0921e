"""Web addresses."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent

_ADDRESS = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE).fullmatch


@detector("url")
def url(column: Column) -> Match | None:
    """Web addresses."""
    share = column.share(_ADDRESS) if column.type is ColumnType.TEXT else 0.0
    if share < 0.8:
        return None
    return Match(f"web address ({percent(share)})", Role.IDENTIFIER, "may lead to one person's page", 0.9)
