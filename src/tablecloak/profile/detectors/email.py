"""E-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tablecloak.profile.detector import Column, Match, Role, detector, percent

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}").fullmatch


@detector("email")
def email(column: Column) -> Match | None:
    """E-mail addresses, by their pattern."""
    if column.share(_ADDRESS) < 0.8:
        return None
    check, how = _check()
    return Match(f"e-mail address ({percent(column.share(check))}{how})", Role.IDENTIFIER, "reaches one person", 0.95)


@cache
def _check() -> tuple[Callable[[str], object], str]:
    """The rules of e-mail where email-validator is installed (the extra `pii`), otherwise the pattern."""
    try:
        from email_validator import EmailNotValidError, validate_email
    except ImportError:
        return _ADDRESS, ""

    def is_valid(text: str) -> bool:
        try:
            validate_email(text, check_deliverability=False, test_environment=True)
        except EmailNotValidError:
            return False
        return True

    return is_valid, " valid"
