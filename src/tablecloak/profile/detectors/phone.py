"""Telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tablecloak.profile.detector import Column, Match, Role, detector, percent

_NUMBER = re.compile(r"\+?[\d(][\d\s().\-/]{5,18}\d").fullmatch
_INTERNATIONAL = re.compile(r"\+\d[\d\s().\-/]{5,17}\d").fullmatch


@detector("phone")
def phone(column: Column) -> Match | None:
    """Telephone numbers: the international pattern, or digits under a telling header."""
    if not column.is_code:
        return None
    share = column.share(_NUMBER if column.says("phone") else _INTERNATIONAL)
    if share < 0.8:
        return None
    check = _check()
    in_plan = "" if check is None else f", {percent(column.share(check))} in a known plan"
    return Match(f"phone number ({percent(share)}{in_plan})", Role.IDENTIFIER, "reaches one person", 0.9)


@cache
def _check() -> Callable[[str], bool] | None:
    """Whether a number exists in a numbering plan, where phonenumbers is installed (the extra `pii`)."""
    try:
        import phonenumbers
    except ImportError:
        return None

    def is_valid(text: str) -> bool:
        for region in (None, "US", "GB", "DE", "FR"):
            try:
                if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
                    return True
            except phonenumbers.NumberParseException:
                continue
        return False

    return is_valid
