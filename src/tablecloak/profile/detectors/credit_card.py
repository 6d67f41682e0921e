"""Payment card numbers."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, Match, Role, detector, percent

_PATTERN = re.compile(r"[2-6]\d{12,18}").fullmatch


@detector("credit-card")
def credit_card(column: Column) -> Match | None:
    """Payment card numbers, by pattern and Luhn checksum (ISO/IEC 7812)."""
    share = column.share(is_card) if column.is_code else 0.0
    if share < 0.8:  # of arbitrary numbers one in ten passes
        return None
    return Match(f"card number ({percent(share)} with a valid checksum)", Role.IDENTIFIER, "names one account", 0.96)


def is_card(text: str) -> bool:
    """13 to 19 digits; every second digit from the right doubled, the digit sum is divisible by 10."""
    compact = re.sub(r"[ -]", "", text)
    if not _PATTERN(compact):
        return False
    digits = [int(digit) for digit in reversed(compact)]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
