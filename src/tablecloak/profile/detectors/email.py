"""E-mail addresses."""

from __future__ import annotations

import re

from tablecloak.data.table import Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import Match, detector, percent

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}").fullmatch


@detector("email")
def email(column: Column) -> Match | None:
    """E-mail addresses, by their pattern."""
    share = column.share(_ADDRESS)
    if share < 0.8:
        return None
    return Match(f"e-mail address ({percent(share)})", Role.IDENTIFIER, "reaches one person", 0.95)
